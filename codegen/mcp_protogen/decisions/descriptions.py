"""The texts that a revision lacks."""

from collections.abc import Iterable, Iterator
from typing import Any

from mcp_protogen.inputs.todo import TODO
from mcp_protogen.ir import FieldIR, LiteralOf, ObjectIR, RevisionIR

Json = dict[str, Any]

# The texts of something that we have not described.
_NOTHING = ("", "Deprecated.")


def with_missing(texts: Json, keys: Iterable[tuple[str, str]]) -> Json:
    """Return all texts, with a TODO for each missing one, given by kind and key."""
    done: Json = {kind: dict(entries) for kind, entries in texts.items()}
    for kind, key in keys:
        done[kind].setdefault(key, TODO)
    return {kind: dict(sorted(entries.items())) for kind, entries in done.items()}


def missing(ir: RevisionIR) -> Iterator[tuple[str, str]]:
    """Yield what a revision has that people look up and that has no text."""
    lacking = {
        "methods": (one.method for one in ir.methods if one.doc in _NOTHING),
        "capabilities": (
            ".".join((one.role, *one.path)) for one in ir.capabilities if one.doc in _NOTHING
        ),
        "errors": (str(one.name) for one in ir.errors if one.doc in _NOTHING),
        "types": (str(one.name) for one in ir.types if one.doc in _NOTHING),
        "fields": (
            f"{one.name}.{member.wire}"
            for one in ir.types
            for member in (one.fields if isinstance(one, ObjectIR) else ())
            if member.doc in _NOTHING and not _speaks_for_itself(member)
        ),
    }
    yield from ((kind, key) for kind, keys in lacking.items() for key in keys)


def _speaks_for_itself(member: FieldIR) -> bool:
    """Return whether a member has one constant value, or is in every message."""
    constant = isinstance(member.type, LiteralOf) and len(member.type.values) == 1
    return constant or member.wire in ("method", "params")
