"""The files in which people decide about revisions, as JSON."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.pipeline.inputs.todo import TODO

from support.folders import ROOT
from support.generated.json_values import is_array

Json = dict[str, Any]

SCHEMA: Final = ROOT / "schema"

# What we say about revisions as a whole, where it is from, and in which order a call takes members.
_OURS: Final = {"inherits", "projects", "since", "removed", "order", "source"}


def read(file: Path) -> Json:
    """Return a JSON file."""
    content: Json = json.loads(file.read_bytes())
    return content


def facts_in(document: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield each single value of a file of facts, with its pointer; that of a mark is True.

    What is still to be decided is none.
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
    """Yield the page of each entry."""
    if is_object(document):
        if isinstance(document.get("source"), str):
            yield document["source"]
        for value in document.values():
            yield from sources_in(value)
    elif is_array(document):
        for item in document:
            yield from sources_in(item)
