"""The envelope of a message: everything except its params, result or error.

An implementation may have a separate part for it. If a responder says so, its envelopes are not
part of the test.
"""

from collections.abc import Container, Mapping

from mcp_protogen.base.jsonpointer import split
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.instep.vectors.vector import Vector

ENVELOPE_PREFIX = "JSONRPC"
"""The start of the names of JSON-RPC's own types, which both sides send."""
ENVELOPES: Mapping[str, tuple[str, ...]] = {
    "request": ("JSONRPCRequest",),
    "notification": ("JSONRPCNotification",),
    "result": ("JSONRPCResultResponse", "JSONRPCResponse"),
}
"""The definitions of each kind of message, of which the first that a revision has is used.

A response had the shorter name while its definition had no errors.
"""
KEPT_APART = "another part of the implementation reads the envelope of messages"
_INSIDE = frozenset({"params", "result", "error"})
_OF_MESSAGES = frozenset({"jsonrpc", "method"})


def envelope_of(vector: Vector, definitions: Container[str]) -> str:
    """Return the definition of the envelope that a message is in."""
    value = vector.value
    kind = "request" if "id" in value else "notification"
    names = ENVELOPES[vector.subject.kind or (kind if "method" in value else "result")]
    return next(name for name in names if name in definitions)


def is_envelope(vector: Vector, pointer: str) -> bool:
    """Return whether a place in the value of a vector is in the envelope of a message."""
    subject, value = vector.subject, vector.value
    if not pointer:
        return bool(subject.method) and not is_object(value)
    member = split(pointer)[0]
    members = {member, *value} if is_object(value) else {member}
    is_message = bool(subject.method) or not members.isdisjoint(_OF_MESSAGES)
    return is_message and not subject.type.startswith(ENVELOPE_PREFIX) and member not in _INSIDE
