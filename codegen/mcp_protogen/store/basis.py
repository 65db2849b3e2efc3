"""Which known revision a schema without facts of its own takes after.

A schema says by its methods how sessions open; facts of a revision that opens them otherwise would
be about another protocol. Among those that open alike, the best basis is the one whose facts and
patches are about the same things: the fewest types and methods that only one of both has. The
name of a revision, since a draft may be called anything, decides only between equals, and for a
schema that does not say how sessions open.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mcp_protogen.canonical import parse_json
from mcp_protogen.ir import Era
from mcp_protogen.jsonvalue import is_object
from mcp_protogen.store.pins import Pins, nearest_revision, read_snapshot

# basic/versioning: what a client of each era sends first.
_OPENING: Mapping[str, Era] = {"initialize": "handshake", "server/discover": "stateless"}


def era_of(schema: Mapping[str, Any]) -> Era | None:
    """How sessions open by the methods of a snapshot; None if it has neither way, or both."""
    eras: set[Era] = {_OPENING[method] for method in _OPENING.keys() & set(_methods(schema))}
    return eras.pop() if len(eras) == 1 else None


def best_basis(
    revision: str, schema: Mapping[str, Any], eras: Mapping[str, Era], folder: Path, pins: Pins
) -> str | None:
    """The pinned revision that a schema called `revision` takes after, of those in `eras`.

    `eras` has the era of each candidate. None if there are no candidates.
    """
    era = era_of(schema)
    alike = [name for name, other in eras.items() if other == era]
    if not alike:
        return nearest_revision(revision, {name: pins[name] for name in eras})
    named = set(_names(schema))
    apart = {name: len(named ^ set(_names(_snapshot(name, folder)))) for name in alike}
    closest = min(apart.values())
    return nearest_revision(revision, {n: pins[n] for n in alike if apart[n] == closest})


def _snapshot(revision: str, folder: Path) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = parse_json(read_snapshot(revision, folder), revision)
    return schema


def _names(schema: Mapping[str, Any]) -> Iterator[str]:
    """The types and methods of a snapshot; no type is called as a method is."""
    yield from _definitions(schema)
    yield from _methods(schema)


def _methods(schema: Mapping[str, Any]) -> Iterator[str]:
    for definition in _definitions(schema).values():
        value = _inside(_inside(_inside(definition, "properties"), "method"), "const")
        if isinstance(value, str):
            yield value


def _definitions(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found = _inside(schema, "$defs")
    return found if is_object(found) else {}


def _inside(value: Any, member: str) -> Any:
    """A member of what need not be an object: nothing has been checked yet."""
    return value.get(member) if is_object(value) else None
