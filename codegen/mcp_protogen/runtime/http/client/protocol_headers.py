"""What the transport learns from messages, and the header fields that follow from it.

In the stateless era each request contains what its header fields repeat. In the handshake era the
answer to `initialize` contains it once (2026-07-28, basic/transports/streamable-http, "Request
Metadata"; 2025-11-25, basic/transports, "Session Management", "Protocol Version Header").
"""

import re
from collections.abc import Mapping
from logging import getLogger
from typing import Any, Final

from ...core.json import is_array, is_object, json_text
from ...core.recent_names import RecentNames
from ...core.throttle import Throttle
from .. import headers as fields
from ..param_headers import BadAnnotation, Mirror, headers_for, mirrors_of
from .outgoing import CALL_TOOL, INITIALIZE, LIST_TOOLS, Message, answer_in

_log: Final = getLogger(__name__)

# 2025-11-25, basic/transports, "Session Management"
_SESSION_ID: Final = re.compile(r"[!-~]+")

POSTED: Final[Mapping[str, str]] = {
    "accept": f"{fields.JSON}, {fields.EVENTS}",
    "content-type": fields.JSON,
}


class ProtocolHeaders:
    """The part of the messages so far that later requests depend on."""

    __slots__ = ("_log", "_mirrors", "_stateless", "agreed", "opening", "session", "sessions")

    def __init__(self) -> None:
        self.opening: Message | None = None
        """The `initialize` request, which is sent again if the session is lost."""
        self.agreed: str | None = None
        """The revision that a handshake has negotiated."""
        self.session: str | None = None
        self.sessions = 0
        """How many sessions have begun."""
        self._log = Throttle(_log)
        self._stateless: str | None = None
        self._mirrors: RecentNames[tuple[Mirror, ...]] = RecentNames()

    def going(self, message: Message) -> Message:
        """Note an outgoing message, and return it with its era's revision."""
        if message.method == INITIALIZE:
            self.opening, self._stateless = message, None
        elif message.revision is not None:
            self._stateless = message.revision
        elif self._stateless is not None:
            return message._replace(revision=self._stateless)
        return message

    def headers(self, message: Message) -> dict[str, str]:
        """Return the header fields for the POST of a message."""
        if message.revision is not None:
            return {**POSTED, **self._mirrored(message, message.revision)}
        # The handshake has neither revision nor session yet.
        own = {} if message.method == INITIALIZE else self.session_headers()
        return {**POSTED, **own}

    def _mirrored(self, message: Message, revision: str) -> dict[str, str]:
        headers = {fields.PROTOCOL_VERSION: revision, fields.METHOD: message.method}
        member = fields.NAMED.get(message.method)
        name = None if member is None else message.params.get(member)
        if isinstance(name, str):
            headers[fields.NAME] = fields.encoded(name)
            if message.method == CALL_TOOL:
                mirrors = self._mirrors.get(name) or ()
                headers |= headers_for(mirrors, message.params.get("arguments"))
        return headers

    def session_headers(self) -> dict[str, str]:
        """Return the header fields of every request after the handshake."""
        headers: dict[str, str] = {}
        if self.agreed is not None:
            # The first revisions do not know this field, and ignore it.
            headers[fields.PROTOCOL_VERSION] = self.agreed
        if self.session is not None:
            headers[fields.SESSION_ID] = self.session
        return headers

    def stream_headers(self, last_id: str | None = None) -> dict[str, str]:
        """Return the header fields of a GET for the events after `last_id`."""
        headers = {"accept": fields.EVENTS, **self.session_headers()}
        if last_id is not None:
            headers[fields.LAST_EVENT_ID] = last_id
        return headers

    def came(self, request: Message, value: Any, data: bytes, session: str | None) -> bytes:
        """Note what came in answer to a request, and return the text to pass on."""
        if request.method == INITIALIZE:
            self._welcomed(answer_in(value, request.id), session)
        elif request.method == LIST_TOOLS and request.revision is not None:
            answer = answer_in(value, request.id)
            result = None if answer is None else answer.get("result")
            if is_object(result) and self._learn(result):
                return json_text(value)
        return data

    def _welcomed(self, answer: Mapping[str, Any] | None, session: str | None) -> None:
        result = None if answer is None else answer.get("result")
        agreed = result.get("protocolVersion") if is_object(result) else None
        if not isinstance(agreed, str):
            return
        self.agreed = agreed
        self.sessions += 1
        self.session = session
        if session is not None and not _SESSION_ID.fullmatch(session):
            self._log.warning("the server's session id is not visible ASCII, and is ignored")
            self.session = None

    def _learn(self, result: dict[str, Any]) -> bool:
        """Learn which arguments to repeat; return whether any tool was removed as invalid.

        2026-07-28, basic/transports/streamable-http, "Schema Extension"
        """
        tools = result.get("tools")
        if not is_array(tools):
            return False
        kept = [tool for tool in tools if self._is_sound(tool)]
        result["tools"] = kept
        return len(kept) < len(tools)

    def _is_sound(self, tool: object) -> bool:
        name = tool.get("name") if is_object(tool) else None
        if not is_object(tool) or not isinstance(name, str):
            # The validation of the result reports what is wrong here.
            return True
        self._mirrors.forget(name)
        try:
            mirrors = mirrors_of(tool.get("inputSchema"))
        except BadAnnotation as error:
            self._log.warning("the tool %.100r is left out: inputSchema%s", name, error)
            return False
        if mirrors:
            # If an entry is dropped, the server refuses the call, and the tools are listed again.
            self._mirrors.learn(name, mirrors, mirrors)
        return True
