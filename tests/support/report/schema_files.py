"""The JSON files with the decisions of people about revisions."""

from collections.abc import Iterator
from typing import Any, Final

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.pipeline.inputs.todo import TODO
from support.folders import ROOT

Json = dict[str, Any]

SCHEMA: Final = ROOT / "schema"

# Our statements about revisions as a whole, their sources, and the order of arguments.
_OURS: Final = {"inherits", "projects", "since", "removed", "order", "source"}


def facts_in(document: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield each value of a file of facts with its pointer; the value of a mark is True.

    Undecided values are left out.
    """
    rest = {name: value for name, value in document.items() if name not in _OURS}
    if not rest and "source" in document:
        yield jsonpointer.join(*path), True
    for name, value in rest.items():
        if is_object(value):
            yield from facts_in(value, (*path, name))
        elif value != TODO:
            yield jsonpointer.join(*path, name), value


def sources_in(document: Any) -> Iterator[str]:
    if is_object(document):
        if isinstance(document.get("source"), str):
            yield document["source"]
        for value in document.values():
            yield from sources_in(value)
    elif is_array(document):
        for item in document:
            yield from sources_in(item)
