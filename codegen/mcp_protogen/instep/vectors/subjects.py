"""The subjects of vectors: each definition of the schema, and each message that is sent.

A message is the envelope of JSON-RPC together with the method's own definition. Requests that are
only sent inside a result (embedded ones) are not messages; their definitions have vectors like all
others.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_protogen.base import names
from mcp_protogen.instep.vectors.envelope import ENVELOPES
from mcp_protogen.instep.vectors.shapes import Node, PlacedSchema
from mcp_protogen.instep.vectors.vector import Subject
from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.ir import OTHER, MethodIR, RevisionIR, UnionIR

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Topic:
    """A subject, and the schema that says which values are valid."""

    subject: Subject
    schema: Json

    @property
    def node(self) -> Node:
        """The schema as a place."""
        return Node((PlacedSchema("", self.schema),))


def topics(document: Json, ir: RevisionIR) -> Iterator[Topic]:
    """Yield all subjects: definitions by name, then messages by method."""
    definitions: Json = document["$defs"]
    for name in sorted(definitions):
        yield Topic(Subject(type=name), _ref(name))
    wire = {names.type_name(name): name for name in definitions}
    for union in ir.types:
        if isinstance(union, UnionIR) and union.name in wire:
            # A method has the arms as its results, and not all of them have a definition.
            wire = dict.fromkeys(recursion.uses(union), wire[union.name]) | wire
    for method in ir.methods:
        if method.kind != "embedded":
            yield from _messages(method, wire)


def _messages(method: MethodIR, wire: Mapping[str, str]) -> Iterator[Topic]:
    for sender in sorted(method.senders):
        subject = Subject(method=method.method, kind=method.kind, sender=sender)
        own = _ref(wire[method.message])
        yield Topic(subject, {"allOf": [*_envelope(method.kind, wire), own]})
    if method.kind == "request":
        results = [_ref(name) for name in dict.fromkeys(wire[name] for name in method.results)]
        result = results[0] if len(results) == 1 else {"anyOf": results}
        body = {"type": "object", "properties": {"result": result}, "required": ["result"]}
        for sender in sorted(OTHER[role] for role in method.senders):
            subject = Subject(method=method.method, kind="result", sender=sender)
            yield Topic(subject, {"allOf": [*_envelope("result", wire), body]})


def _envelope(kind: str, wire: Mapping[str, str]) -> Iterator[Json]:
    known = set(wire.values())
    found = next((name for name in ENVELOPES[kind] if name in known), None)
    if found is not None:
        yield _ref(found)


def _ref(name: str) -> Json:
    return {"$ref": f"#/$defs/{name}"}
