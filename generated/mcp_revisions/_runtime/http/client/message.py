"""What passes through the transport, as far as HTTP needs to know it."""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ...envelope import PROTOCOL_VERSION
from ...errors import RequestId
from ...jsonrpc import Call, answered, read
from ...jsonvalue import JSONObject, is_array, is_object, json_text

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
    """Empty for a response."""
    params: Mapping[str, Any]
    id: RequestId = ""
    """Of a request; not of others."""
    revision: str | None = None
    """The one of the stateless era that it names or follows; None in the handshake era."""

    @property
    def name(self) -> str:
        """What to call it in an error."""
        # A bridge carries methods of any name.
        shown = self.method if self.method.isprintable() else repr(self.method)
        return shown[:100] or self.kind


def message_of(body: bytes) -> Message:
    """What a message is that this side has written, and which is therefore well-formed.

    An array can only be one of responses, for requests are not sent together.
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
    """A request of the transport's own making."""
    value = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return message_of(json_text(value))


def answer_in(value: object, id: RequestId) -> JSONObject | None:
    """The answer to a request inside of what came: a message, or an array of them."""
    if is_array(value):
        return next((one for one in value if answered(one) == id), None)
    return value if is_object(value) and answered(value) == id else None
