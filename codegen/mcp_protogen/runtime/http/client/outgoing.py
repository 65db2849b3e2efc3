"""Outgoing messages at the level of HTTP, and their header fields.

2026-07-28, basic/transports/streamable-http, "Request Metadata"; 2025-11-25, basic/transports,
"Session Management", "Protocol Version Header".
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

from ...core.errors import RequestId
from ...core.json import JSONObject, is_array, is_object, json_text
from ...core.recent_names import RecentNames
from ...core.spec import HeaderField, Rules
from ...core.throttle import Throttle
from ...messages.envelope import PROTOCOL_VERSION
from ...messages.jsonrpc import Call
from ...messages.method_table import MethodTable
from ...messages.reading import answered_id, read
from ...rules.param_headers import BadAnnotation, HeaderParam, header_params
from ...rules.server_negotiation import INITIALIZE
from .. import headers as fields

POSTED: Final[Mapping[str, str]] = {
    "accept": f"{fields.JSON}, {fields.EVENTS}",
    "content-type": fields.JSON,
}

# Until the transport knows the tables, or for an unknown revision.
_RULES: Final = Rules(headers=(HeaderField(fields.METHOD, ("method",)),))
_UNKNOWN: Final = fields.HttpFacts(
    MethodTable("", requests={}, notifications={}, errors={}, rules=_RULES)
)

# 2025-11-25, basic/transports, "Session Management"
_SESSION_ID: Final = re.compile(r"[!-~]+")


class Message(NamedTuple):
    body: bytes
    kind: Literal["request", "notification", "response"]
    method: str
    params: Mapping[str, Any]
    id: RequestId = ""
    revision: str | None = None
    """The stateless revision of the message; None in the handshake era."""

    @property
    def name(self) -> str:
        # A bridge forwards methods of any name.
        text = self.method if self.method.isprintable() else repr(self.method)
        return text[:100] or self.kind


def message_of(body: bytes) -> Message:
    call = read(body)
    if not isinstance(call, Call):
        # An array is one, too: requests are not sent in batches.
        return Message(body, "response", "", {})
    version = call.meta.get(PROTOCOL_VERSION)
    revision = version if isinstance(version, str) else None
    if call.id is None:
        return Message(body, "notification", call.method, call.params, revision=revision)
    return Message(body, "request", call.method, call.params, call.id, revision)


def answer_in(value: object, id: RequestId) -> JSONObject | None:
    if is_array(value):
        return next((message for message in value if answered_id(message) == id), None)
    return value if is_object(value) and answered_id(value) == id else None


class ProtocolState:
    def __init__(self) -> None:
        self.table_of: Callable[[str], MethodTable] = dict[str, MethodTable]().__getitem__
        self.opening: Message | None = None
        """The `initialize` request, repeated if the session is lost."""
        self.agreed: str | None = None
        self.session_id: str | None = None
        self.sessions = 0
        self.session_headers: Mapping[str, str] = {}
        self._posted = POSTED
        self._log = Throttle(__name__)
        self._stateless: str | None = None
        self._header_params: RecentNames[tuple[HeaderParam, ...]] = RecentNames()

    def outgoing(self, body: bytes) -> Message:
        message = message_of(body)
        if message.method == INITIALIZE:
            self.opening, self._stateless = message, None
        elif message.revision is not None:
            self._stateless = message.revision
        elif self._stateless is not None:
            return message._replace(revision=self._stateless)
        return message

    def facts_of(self, message: Message) -> fields.HttpFacts:
        try:
            return fields.facts_of(self.table_of(message.revision or self.agreed or ""))
        except LookupError:
            return _UNKNOWN

    def post_headers(self, message: Message) -> Mapping[str, str]:
        if message.revision is None:
            # The handshake has no revision and no session yet.
            return POSTED if message.method == INITIALIZE else self._posted
        facts = self.facts_of(message)
        headers = {**POSTED, fields.PROTOCOL_VERSION: message.revision}
        whole = {"method": message.method, "params": message.params}
        headers |= facts.request_fields(message.method, whole)
        name = message.params.get("name")
        if message.method == facts.call_tool and isinstance(name, str):
            params = self._header_params.get(name) or ()
            headers |= fields.headers_for(params, message.params.get("arguments"))
        return headers

    def incoming(self, request: Message, value: Any, data: bytes, session_id: str | None) -> bytes:
        if request.method == INITIALIZE:
            agreed = _result_in(value, request.id).get("protocolVersion")
            if isinstance(agreed, str):
                self.begin(agreed, session_id)
            return data
        tools = self.facts_of(request).tool_list
        if tools is None or request.method != tools.method:
            return data
        removed = self._learn(_result_in(value, request.id), tools.items)
        return json_text(value) if removed else data

    def begin(self, agreed: str, session_id: str | None) -> None:
        self.agreed = agreed
        self.sessions += 1
        self.session_id = session_id
        if session_id is not None and not _SESSION_ID.fullmatch(session_id):
            self._log.warning("the server's session id was ignored: it is not visible ASCII")
            self.session_id = None
        own = {} if self.session_id is None else {fields.SESSION_ID: self.session_id}
        # Early revisions ignore the field of the version.
        self.session_headers = {fields.PROTOCOL_VERSION: agreed, **own}
        self._posted = {**POSTED, **self.session_headers}

    def _learn(self, result: JSONObject, member: str) -> bool:
        tools = result.get(member)
        if not is_array(tools):
            return False
        sound = result[member] = [tool for tool in tools if self._is_sound(tool)]
        return len(sound) < len(tools)

    def _is_sound(self, tool: object) -> bool:
        if not is_object(tool) or not isinstance(name := tool.get("name"), str):
            # Validation reports this.
            return True
        self._header_params.forget(name)
        try:
            params = header_params(tool.get("inputSchema"))
        except BadAnnotation as error:
            self._log.warning("the tool %.100r is left out: inputSchema%s", name, error)
            return False
        if params:
            # If an entry is dropped, the server refuses the call, and tools are listed again.
            self._header_params.learn(name, params, params)
        return True


def _result_in(value: object, id: RequestId) -> JSONObject:
    result = (answer_in(value, id) or {}).get("result")
    return result if is_object(result) else {}
