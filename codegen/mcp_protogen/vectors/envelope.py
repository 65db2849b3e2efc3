"""The envelope of a message: all of it but what its method or its answer is about.

An implementation may have a part of its own for that. Where a responder says so, what becomes of
the envelope is nothing that the tried part does.
"""

from mcp_protogen.jsonpointer import split
from mcp_protogen.jsonvalue import is_object
from mcp_protogen.vectors.vector import Vector

ENVELOPE_PREFIX = "JSONRPC"
"""The types of JSON-RPC itself, which either side sends, and which hold anything at first."""
KEPT_APART = "another part of the implementation reads the envelope of messages"
_INSIDE = frozenset({"params", "result", "error"})
_OF_MESSAGES = frozenset({"jsonrpc", "method"})


def is_envelope(vector: Vector, pointer: str) -> bool:
    """Whether a place in the value of a vector is in the envelope of a message."""
    subject, value = vector.subject, vector.value
    if not pointer:
        return bool(subject.method) and not is_object(value)
    member = split(pointer)[0]
    members = {member, *value} if is_object(value) else {member}
    is_message = bool(subject.method) or not members.isdisjoint(_OF_MESSAGES)
    return is_message and not subject.type.startswith(ENVELOPE_PREFIX) and member not in _INSIDE
