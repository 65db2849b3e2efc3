"""The requests of the load over HTTP, as bytes that need only an id.

Ids begin at a million, so that all have the same number of digits and one length fits each body.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .places import REVISION

STATELESS: Final = "2026-07-28"
"""The revision that is measured without sessions."""

FIRST_ID: Final = 1_000_000

_CALL: Final[dict[str, Any]] = {"name": "echo", "arguments": {"text": "hello"}}
_CLIENT: Final = {"name": "load", "version": "1"}
_INITIALIZE: Final = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": _CLIENT}
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": _CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_META_OF_TASKS: Final[dict[str, Any]] = {
    **_META,
    "io.modelcontextprotocol/clientCapabilities": {
        "extensions": {"io.modelcontextprotocol/tasks": {}}
    },
}
_ALONE: Final = {
    "MCP-Protocol-Version": STATELESS,
    "Mcp-Method": "tools/call",
    "Mcp-Name": _CALL["name"],
}


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests to the server at `port`; in calls, `%d` stands for the id."""

    port: int
    path: str = "/mcp"
    tool: str = _CALL["name"]

    def initialize(self) -> bytes:
        """Return the request that opens a session."""
        return self._post({}, _message("initialize", _INITIALIZE, FIRST_ID - 1))

    def initialized_notification(self, session: str) -> bytes:
        """Return the notification that completes the handshake."""
        return self._post(_in_session(session), _message("notifications/initialized"))

    def call_in_session(self, session: str) -> bytes:
        """Return a call of the tool in a session."""
        return self._call(_in_session(session), {**_CALL, "name": self.tool})

    def streamed_call(self, session: str) -> bytes:
        """Return a call, in a session, of a tool that reports progress before its answer."""
        params = {**_CALL, "name": "say", "_meta": {"progressToken": 1}}
        return self._call(_in_session(session), params)

    def stream(self, session: str, last: str = "") -> bytes:
        """Return the request for the stream of a session, after the event `last` if given."""
        after = {"Last-Event-ID": last} if last else {}
        return self._post({**_in_session(session), **after}, b"", "GET")

    def subscribe(self, session: str, uri: str) -> bytes:
        """Return the request for changes of a resource."""
        return self._call(_in_session(session), {"uri": uri}, "resources/subscribe")

    def tell(self, session: str, uri: str) -> bytes:
        """Return a call of a tool that publishes a change of a resource."""
        params = {"name": "tell", "arguments": {"text": uri}}
        return self._call(_in_session(session), params)

    def listen(self) -> bytes:
        """Return the request for a stream of changes of the list of tools."""
        method, wanted = "subscriptions/listen", {"toolsListChanged": True}
        named = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": method}
        params = {"notifications": wanted, "_meta": _META}
        return self._post(named, _message(method, params, FIRST_ID))

    def publish(self, session: str | None) -> bytes:
        """Return a call of a tool that publishes a change of the list of tools."""
        call, alone = {**_CALL, "name": "publish"}, {**_ALONE, "Mcp-Name": "publish"}
        if session is None:
            return self._call(alone, {**call, "_meta": _META}) % FIRST_ID
        return self._call(_in_session(session), call) % FIRST_ID

    def start_task(self, seconds: float) -> bytes:
        """Return a call of a tool that works that long, as a task."""
        params = {"name": "work", "arguments": {"seconds": seconds}, "_meta": _META_OF_TASKS}
        return self._call({**_ALONE, "Mcp-Name": "work"}, params)

    def poll(self, task: str) -> bytes:
        """Return the request for the status of a task."""
        named = {**_ALONE, "Mcp-Method": "tasks/get", "Mcp-Name": task}
        params = {"taskId": task, "_meta": _META_OF_TASKS}
        return self._call(named, params, "tasks/get")

    def end(self, session: str) -> bytes:
        """Return the request that ends a session."""
        return self._post(_in_session(session), b"", "DELETE")

    def call_alone(self) -> bytes:
        """Return a call of the tool without a session."""
        return self._call(_ALONE, {**_CALL, "_meta": _META})

    def _call(
        self, headers: Mapping[str, str], params: Mapping[str, Any], method: str = "tools/call"
    ) -> bytes:
        request = self._post(headers, _message(method, params, FIRST_ID))
        before, _, after = request.rpartition(b"%d" % FIRST_ID)
        return before.replace(b"%", b"%%") + b"%d" + after.replace(b"%", b"%%")

    def _post(self, headers: Mapping[str, str], body: bytes, method: str = "POST") -> bytes:
        lines = {
            "Host": f"127.0.0.1:{self.port}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **headers,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return f"{method} {self.path} HTTP/1.1\r\n{head}\r\n".encode() + body


def _in_session(session: str) -> dict[str, str]:
    return {"MCP-Protocol-Version": REVISION, "Mcp-Session-Id": session}


def _message(method: str, params: Any = None, id: int | None = None) -> bytes:
    members = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    present = {name: value for name, value in members.items() if value is not None}
    return json.dumps(present, separators=(",", ":")).encode()
