"""One class for the `_meta` of all requests, if a schema repeats the same object in each.

The specification's source inherits `_meta` from the base params; its schemas repeat it at every
place. `CallToolRequestParams` is a `RequestParams`, so that its `_meta` is a `RequestParamsMeta`.
"""

from collections.abc import Container
from typing import Any

from mcp_protogen.pipeline.normalise import references

Json = dict[str, Any]

_SUFFIX = "Meta"
_OPEN = "x-open"


def shared(definitions: Json, named: Container[str]) -> Json:
    """Return `definitions` with one `_meta` type for equal ones of a type and its base.

    Types in `named` have their names from the schema and keep them. One of which the schema says
    somewhere that it is open is open everywhere.
    """
    lifted = (name for name in definitions if name.endswith(_SUFFIX) and name not in named)
    bases: set[str] = set()
    same: dict[str, str] = {}
    for name in sorted(lifted, key=len):
        shorter = (name[start:] for start in range(len(name) - len(_SUFFIX), 0, -1))
        found = (base for base in shorter if base in bases)
        base = next(
            (base for base in found if _said(definitions[base]) == _said(definitions[name])), None
        )
        if base is None:
            bases.add(name)
        else:
            same[name] = base
    kept = {name: schema for name, schema in definitions.items() if name not in same}
    for name, base in same.items():
        if _OPEN in definitions[name]:
            kept[base] = {**kept[base], _OPEN: True}
    return references.renamed(kept, same)


def _said(schema: Json) -> Json:
    return {key: value for key, value in schema.items() if key != _OPEN}
