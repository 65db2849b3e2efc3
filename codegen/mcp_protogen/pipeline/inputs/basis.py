"""The choice of the known revision whose facts a schema without its own facts takes.

The methods of a schema show how its sessions open; facts of a revision that opens them in another
way would not fit. Among the revisions that open sessions in the same way, the best basis is the one
that differs in the fewest types and methods. The name of the revision decides only between equals,
because a draft may have any name, and for a schema that does not show how sessions open.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.names import Era
from mcp_protogen.pipeline.inputs.pins import (
    Pins,
    nearest_revision,
    pinned_structure,
)

# basic/versioning: the first request of a client of each era.
_OPENING: Mapping[str, Era] = {"initialize": "handshake", "server/discover": "stateless"}


def era_of(schema: Mapping[str, Any]) -> Era | None:
    """Return the era of a snapshot by its methods; None if they do not show it."""
    eras: set[Era] = {_OPENING[method] for method in _OPENING.keys() & set(_methods(schema))}
    return eras.pop() if len(eras) == 1 else None


def best_basis(
    revision: str, schema: Mapping[str, Any], eras: Mapping[str, Era], folder: Path, pins: Pins
) -> str | None:
    """Return the pinned revision in `eras` whose facts a schema called `revision` takes.

    `eras` has the era of each candidate. Return None if there are no candidates.
    """
    era = era_of(schema)
    alike = [name for name, other in eras.items() if other == era]
    if not alike:
        return nearest_revision(revision, {name: pins[name] for name in eras})
    named = set(_names(schema))
    apart = {name: len(named ^ set(_names(pinned_structure(name, folder)))) for name in alike}
    closest = min(apart.values())
    return nearest_revision(revision, {n: pins[n] for n in alike if apart[n] == closest})


def _names(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the types and methods of a snapshot; no type has the name of a method."""
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
    """Return a member of a value that may not be an object, because nothing was checked yet."""
    return value.get(member) if is_object(value) else None
