"""Outgoing messages, as far as HTTP needs to know them."""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ...core.errors import RequestId
from ...core.json import JSONObject, is_array, is_object, json_text
from ...messages.envelope import PROTOCOL_VERSION
from ...messages.jsonrpc import Call, answered, read

INITIALIZE: Final = "initialize"
INITIALIZED: Final = "notifications/initialized"
CANCELLED: Final = "notifications/cancelled"
DISCOVER: Final = "server/discover"
LIST_TOOLS: Final = "tools/list"
CALL_TOOL: Final = "tools/call"

Kind: TypeAlias = Literal["request", "notification", "response"]


class Message(NamedTuple):
    """A message on its way to the server."""

    body: bytes
    kind: Kind
    method: str
    """The method; empty for a response."""
    params: Mapping[str, Any]
    id: RequestId = ""
    """The id of a request; empty for other messages."""
    revision: str | None = None
    """The stateless revision that the message names or inherits; None in the handshake era."""

    @property
    def name(self) -> str:
        """The method or kind, for error messages."""
        # A bridge forwards methods of any name.
        shown = self.method if self.method.isprintable() else repr(self.method)
        return shown[:100] or self.kind


def message_of(body: bytes) -> Message:
    """Return the kind and the parts of a message that this side wrote, so it is well-formed.

    An array can only contain responses, because requests are not sent in batches.
    """
    call = read(body)
    if not isinstance(call, Call):
        return Message(body, "response", "", {})
    version = call.meta.get(PROTOCOL_VERSION)
    revision = version if isinstance(version, str) else None
    if call.id is None:
        return Message(body, "notification", call.method, call.params, revision=revision)
    return Message(body, "request", call.method, call.params, call.id, revision)


def request_of(id: str, method: str, params: Mapping[str, Any]) -> Message:
    """Return one of the transport's own requests."""
    value = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return message_of(json_text(value))


def answer_in(value: object, id: RequestId) -> JSONObject | None:
    """Return the answer to a request from a message, or from an array of them."""
    if is_array(value):
        return next((one for one in value if answered(one) == id), None)
    return value if is_object(value) and answered(value) == id else None
