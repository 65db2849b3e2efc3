"""Transcripts of inspections, in few words."""

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp_protogen.servers.connect.traffic import PassedMessage
from mcp_protogen.servers.inspect.rules import judge
from mcp_protogen.servers.inspect.transcript import Exchange, Transcript
from support.revisions import STATELESS

STDIO: Final = "stdio"
HTTP: Final = "Streamable HTTP"
SSE: Final = "HTTP+SSE"
ID: Final = 5
"""The id of each request."""
USUAL: Final[Mapping[str, Any]] = {"tools": {}, "prompts": {}, "resources": {}}
"""What servers declare where it does not matter."""
Json = dict[str, Any]


def message(sender: str, value: Any) -> PassedMessage:
    """Return a message of one side; bytes stay as they are."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return PassedMessage(0.5, "client" if sender == "client" else "server", data)


def request(method: str, params: Json | None = None, id: Any = ID) -> Json:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}


def note(method: str, params: Json | None = None) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params or {}}


def result(value: Json | None = None, id: Any = ID) -> Json:
    return {"jsonrpc": "2.0", "id": id, "result": value or {}}


def error(code: int, data: Any = None, id: Any = ID) -> Json:
    more = {} if data is None else {"data": data}
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "no", **more}}


def exchange(probe: str, sent: Any, *received: Any, **http: Any) -> Exchange:
    asked = () if sent is None else (message("client", sent),)
    answers = tuple(message("server", value) for value in received)
    return Exchange(probe=probe, messages=(*asked, *answers), **http)


def request_exchange(probe: str, method: str, answer: Json, **http: Any) -> Exchange:
    return exchange(probe, request(method), answer, **http)


def open_exchange(revision: str, capabilities: Mapping[str, Any], **http: Any) -> Exchange:
    """Return the first exchange of a transcript, which agrees to the revision."""
    declared: Json = {"capabilities": dict(capabilities)}
    if revision == STATELESS:
        declared |= {"supportedVersions": [revision], "resultType": "complete"}
        declared |= {"ttlMs": 0, "cacheScope": "private"}
        return exchange("open", request("server/discover", id=1), result(declared, 1), **http)
    server = {"name": "made up", "version": "1"}
    agreed = {"protocolVersion": revision, "serverInfo": server, **declared}
    return exchange("open", request("initialize", id=1), result(agreed, 1), **http)


def transcript(
    *exchanges: Exchange,
    revision: str = "2025-11-25",
    transport: str = STDIO,
    capabilities: Mapping[str, Any] | None = None,
    opening: Exchange | None = None,
) -> Transcript:
    """Return a transcript that begins well, unless there is another `opening`."""
    first = opening or open_exchange(revision, USUAL if capabilities is None else capabilities)
    return Transcript(revision=revision, transport=transport, exchanges=[first, *exchanges])


def codes(*transcripts: Transcript) -> set[str]:
    return {violation.rule.code for violation in judge(transcripts)}
