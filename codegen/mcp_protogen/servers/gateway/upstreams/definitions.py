"""Definitions of items, compared whatever revisions a server and a client speak."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.runtime.core.errors import Untranslatable
from mcp_protogen.servers.call.kinds import Kind
from mcp_protogen.servers.connect.protocol import protocol

Json = dict[str, Any]

_TYPES: Final = {
    Kind.TOOLS: "Tool",
    Kind.PROMPTS: "Prompt",
    Kind.RESOURCES: "Resource",
    Kind.TEMPLATES: "ResourceTemplate",
}
_LEFT_OUT: Final[Mapping[tuple[str, ...], str]] = {
    ("execution",): "how it is called depends on what both ends declare",
    ("size",): "it changes with the content",
    ("annotations", "lastModified"): "it changes with the content",
}
"""Members that a definition leaves out, and why."""


def definition(entry: Json) -> Json:
    """Return the definition of an item, by its entry in a list."""
    kept = {name: value for name, value in entry.items() if (name,) not in _LEFT_OUT}
    if is_object(hints := kept.get("annotations")):
        kept["annotations"] = {
            name: value for name, value in hints.items() if ("annotations", name) not in _LEFT_OUT
        }
    return kept


def as_seen(kind: Kind, item: Json, *revisions: str) -> Json:
    """Return a definition of the first revision, carried through the others.

    It is empty if a revision cannot express it.
    """
    translate: Any = protocol().translate
    try:
        for before, after in pairwise(revisions):
            item = translate(item, before, after, type=_TYPES[kind]).value
    except Untranslatable:
        return {}
    return item


def changed_members(listed: Json, accepted: Json, seen: Json) -> list[str]:
    """Return the members of a listed item that differ from its accepted definition.

    `seen` is the accepted one as the client's revision has it. A server may send a member in either
    form; it may leave out what `seen` lacks.
    """
    now, was, shown = (dict(_parts(item)) for item in (listed, accepted, seen))
    changed = {path for path, text in now.items() if text not in (was.get(path), shown.get(path))}
    missing = (was.keys() & shown.keys()) - now.keys()
    return sorted(".".join(path) for path in changed | missing)


def _parts(item: Json) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """Yield each member with its canonical text; an older revision may lack some of them.

    Raise `ValueError` or `RecursionError` for a value that has none.
    """
    for name, value in definition(item).items():
        parts: dict[tuple[str, ...], Any] = {(name,): value}
        if name == "annotations" and is_object(value):
            parts = {(name, hint): said for hint, said in value.items()}
        elif name == "arguments" and is_array(value):
            parts = {
                (name, str(number), member): said
                for number, argument in enumerate(value)
                if is_object(argument)
                for member, said in argument.items()
            }
        for path, said in parts.items():
            if said not in (None, "", [], {}):
                yield path, canonical(said)
