"""The senders of types: the types that are sent in each direction, found from the methods.

A type is sent by every side that sends a message in which it may occur, at any depth. Both sides
send envelopes. Types that no message contains, such as bases, have no sender.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_protogen.base.graph import reach
from mcp_protogen.instep.compare.revisions import ComparedRevision
from mcp_protogen.pipeline.ir import BOTH, EMITTERS, OTHER, ROLES, MethodIR, Role, Senders
from mcp_protogen.pipeline.normalise.references import references_in

Json = dict[str, Any]


def senders(revision: ComparedRevision) -> Mapping[str, Senders]:
    """Return the senders of each type."""
    found: dict[str, set[Role]] = {}
    starts = [start for method in revision.ir.methods for start in _starts(method)]
    for error, roles in _errors(revision):
        starts += [(error, role) for role in roles]
    for role in ROLES:
        for name in find_reachable(
            revision.definitions, [name for name, sender in starts if sender == role]
        ):
            found.setdefault(name, set()).add(role)
    for name in envelopes(revision.definitions):
        found.setdefault(name, set()).update(ROLES)
    return {name: frozenset(roles) for name, roles in found.items()}


def answerers(method: MethodIR) -> Senders:
    """Return the sides that send the results of a method."""
    return frozenset(OTHER[role] for role in method.senders)


def _starts(method: MethodIR) -> Iterator[tuple[str, Role]]:
    for role in method.senders:
        yield str(method.message), role
        for result in method.results:
            yield str(result), OTHER[role]


def _errors(revision: ComparedRevision) -> Iterator[tuple[str, Senders]]:
    """Yield the error types that have their own code, with their senders.

    Without a fact about the code, either side may answer with it.
    """
    emitters = {error.code: EMITTERS[error.emit] for error in revision.ir.errors}
    for name, schema in revision.definitions.items():
        if (error := error_code(schema)) is not None:
            yield name, emitters.get(error.code, BOTH)


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """The code that an error type has as a constant; `steps` lead to that member."""

    code: int
    steps: tuple[str, ...]

    @property
    def pointer(self) -> tuple[str, ...]:
        """The steps as keys of the schema."""
        return tuple(key for step in self.steps for key in ("properties", step))


def error_code(schema: Json) -> ErrorCode | None:
    """Return the code of an error of JSON-RPC, or of a response with one, if it is constant."""
    members: Json = schema.get("properties", {})
    steps: tuple[str, ...] = ("code",)
    if "error" in members:
        steps, members = ("error", "code"), members["error"].get("properties", {})
    elif "message" not in members:
        return None
    code = members.get("code", {}).get("const")
    return ErrorCode(code, steps) if type(code) is int else None


def envelopes(definitions: Json) -> Iterator[str]:
    """Yield the types of messages of JSON-RPC, and the types that these are made of.

    The content of envelopes is left out: otherwise, both sides would send every type.
    """

    def below(here: str) -> Iterator[str]:
        schema: Json = definitions.get(here, {})
        members: Json | None = schema.get("properties")
        own = schema if members is None else [members[name] for name in members if name in _OWN]
        return references_in(own)

    found = reach(["JSONRPCMessage"], below)
    return (name for name in found if definitions.get(name, {}).get("properties"))


# The members of envelopes themselves (https://www.jsonrpc.org/specification), without contents.
_OWN = frozenset({"error", "id", "jsonrpc", "method"})


def find_reachable(definitions: Json, names: Iterable[str]) -> frozenset[str]:
    """Return the definitions that may occur in some types, at any depth, and these themselves."""
    # Objects without a name in the schema have one in the IR only, which leads nowhere.
    starts = (name for name in names if name in definitions)
    return frozenset(reach(starts, lambda here: references_in(definitions[here])))
