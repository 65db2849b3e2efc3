"""For each rule of an inspection, a transcript that breaks it, and a similar one that keeps it."""

import json
from typing import Any, Final

from mcp_protogen.servers.inspect.revision_facts import HTTP
from mcp_protogen.servers.inspect.transcript import (
    CLOSED,
    FLOOD,
    KILLED,
    TIMEOUT,
    UNKNOWN_REVISION,
    Exchange,
    Transcript,
)
from support.inspection.transcripts import (
    ID,
    error,
    exchange,
    note,
    open_exchange,
    request,
    request_exchange,
    result,
    transcript,
)
from support.revisions import STATELESS

Pair = tuple[Transcript, Transcript]
JSON: Final = {"content-type": "application/json"}
FINE: Final[dict[str, Any]] = {"status": 200, "answered": JSON}
_NEW: Final[dict[str, Any]] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def pair(broken: Exchange, kept: Exchange, **about: Any) -> Pair:
    return transcript(broken, **about), transcript(kept, **about)


def error_pair(probe: str, method: str, wrong: int, right: int, **about: Any) -> Pair:
    """Return a request that needs one error, and gets the wrong or the right one."""
    return pair(
        request_exchange(probe, method, error(wrong)),
        request_exchange(probe, method, error(right)),
        **about,
    )


def plain(method: str, answer: dict[str, Any]) -> Exchange:
    """The step of a method, by its name."""
    return request_exchange(method, method, answer)


def message_pair(broken: dict[str, Any], kept: dict[str, Any], **about: Any) -> Pair:
    """Return a server message beside the answer to a ping."""
    ping = request("ping")
    return pair(
        exchange("ping", ping, broken, result()), exchange("ping", ping, kept, result()), **about
    )


def noted_text(text: bytes) -> Pair:
    """Return an answer as a text that is not strict JSON."""
    ping = request("ping")
    return pair(exchange("ping", ping, text), exchange("ping", ping, _ANSWER.encode()), **_LOGGING)


def status_pair(probe: str, wrong: int, right: int, **about: Any) -> Pair:
    sent = request("ping")
    return pair(
        exchange(probe, sent, status=wrong),
        exchange(probe, sent, status=right),
        transport=HTTP,
        **about,
    )


def tool(**members: Any) -> dict[str, Any]:
    return {"name": "add", "inputSchema": {"type": "object"}, **members}


def tools(*listed: dict[str, Any]) -> Exchange:
    return request_exchange("tools/list", "tools/list", result({"tools": list(listed)}))


def listing(method: str, member: str, *items: dict[str, Any]) -> Exchange:
    return request_exchange(method, method, result({member: list(items)}))


def call_transcript(value: dict[str, Any], schema: dict[str, Any] | None = None) -> Transcript:
    call = exchange("tools/call", request("tools/call", {"name": "add"}), result(value))
    return transcript(tools(tool(outputSchema=schema or {"type": "object"})), call)


_TEXT: Final = {"type": "text", "text": "{}"}
_TOKEN: Final = {"_meta": {"progressToken": "t"}}


def _progress(*values: float, token: str = "t") -> Transcript:
    notes = [
        note("notifications/progress", {"progressToken": token, "progress": value})
        for value in values
    ]
    return transcript(exchange("tools/call", request("tools/call", _TOKEN), *notes, error(-1)))


def _http_transcript(**answered: str) -> Transcript:
    return transcript(
        transport=HTTP,
        opening=open_exchange("2025-11-25", {}, status=200, answered={**JSON, **answered}),
    )


def _in_session(id: str) -> Transcript:
    """Return a transcript of the session `ab`, in which the answer to a ping has an id."""
    sent: dict[str, Any] = {"headers": {"mcp-session-id": "ab"}, "status": 200}
    begun = _http_transcript(**{"mcp-session-id": "ab"})
    begun.exchanges.append(
        exchange("ping", request("ping"), result(), answered={**JSON, "mcp-session-id": id}, **sent)
    )
    return begun


def _refused_transcript(answered: dict[str, str], *more: Exchange) -> Transcript:
    opening = exchange("open", request("initialize"), status=401, answered=answered)
    return transcript(*more, transport=HTTP, opening=opening)


def _metadata(value: dict[str, Any]) -> Transcript:
    known = exchange("resource metadata", None, value, status=200, answered=JSON)
    return _refused_transcript({"www-authenticate": "Bearer"}, known)


_ANSWER: Final = json.dumps(result())
_LOG: Final = note("notifications/message", {"level": "info", "data": "x"})
_LOGGING: Final[dict[str, Any]] = {"capabilities": {"logging": {}}}
_SET: Final = request_exchange("logging/setLevel", "logging/setLevel", result())
_STATELESS: Final[dict[str, Any]] = {"revision": STATELESS}
_WITHOUT: Final = "tasks/get without the extension", "tasks/get"
_CHANGED: Final = "notifications/tools/list_changed"
_BATCH: Final = [request("ping"), request("ping", id=6)]


def of_messages() -> dict[str, Pair]:
    """The rules of JSON-RPC and the schema."""
    ping = request("ping")
    unknown = exchange("unknown notification", note("notifications/none"), error(-1, id=None))
    return {
        "not-a-message": pair(
            exchange("ping", ping, b"Listening on 8000", result()), exchange("ping", ping, result())
        ),
        "not-utf-8": noted_text(_ANSWER.encode("utf-16-le")),
        "byte-order-mark": noted_text(_ANSWER.encode("utf-8-sig")),
        "not-strict-json": noted_text(_ANSWER.replace("{}", '{"a": NaN}').encode()),
        "lone-surrogate": noted_text(_ANSWER.replace("{}", '{"a": "\\ud83d"}').encode()),
        "several-messages": noted_text(f"{_ANSWER} {json.dumps(_LOG)}".encode()),
        "invalid-envelope": message_pair({"jsonrpc": "2.0", "id": ID}, _LOG, **_LOGGING),
        "invalid-message": pair(tools(tool(inputSchema={"type": "array"})), tools(tool())),
        "unknown-id": pair(
            exchange("ping", ping, result(id=str(ID)), result()), exchange("ping", ping, result())
        ),
        "answered-twice": pair(
            exchange("ping", ping, result(), result()), exchange("ping", ping, result())
        ),
        "answered-notification": pair(
            unknown, exchange("unknown notification", note("notifications/none"))
        ),
        "no-answer": pair(
            exchange("ping", ping, outcome=TIMEOUT), exchange("ping", ping, result())
        ),
        "ended-early": pair(
            exchange("no JSON", b"{", outcome=CLOSED), exchange("no JSON", b"{", error(-32700))
        ),
        "unknown-method-sent": message_pair(request("made/up"), note("notifications/made_up")),
        "client-capability-assumed": message_pair(request("roots/list"), request("ping", id="s")),
        "notification-undeclared": message_pair(note(_CHANGED), note("notifications/made_up")),
        "log-undeclared": (message_pair(_LOG, _LOG)[0], message_pair(_LOG, _LOG, **_LOGGING)[0]),
        "request-of-server": message_pair(
            request("roots/list"), note("notifications/made_up"), **_STATELESS
        ),
        "sent-too-early": (
            transcript(opening=_with_early(note("notifications/tools/list_changed"))),
            transcript(opening=_with_early(_LOG)),
        ),
        "unknown-revision-agreed": (
            transcript(revision=UNKNOWN_REVISION),
            transcript(revision=UNKNOWN_REVISION, opening=open_exchange("2025-11-25", {})),
        ),
    }


def _with_early(early: dict[str, Any]) -> Exchange:
    first = open_exchange("2025-11-25", {"tools": {"listChanged": True}, "logging": {}})
    return exchange("open", first.request, early, first.answer)


def of_errors() -> dict[str, Pair]:
    missing = "unknown resource", "resources/read"
    return {
        "unknown-method-code": error_pair("unknown method", "none", -32600, -32601),
        "wrong-params-code": error_pair("wrong params", "tools/call", -32603, -32602),
        "unknown-tool-code": pair(
            request_exchange(
                "unknown tool", "tools/call", result({"content": [], "isError": True})
            ),
            request_exchange("unknown tool", "tools/call", error(-32602)),
        ),
        "unknown-prompt-code": error_pair("unknown prompt", "prompts/get", -32603, -32602),
        "missing-argument-code": error_pair(
            "prompt without its arguments", "prompts/get", 0, -32602
        ),
        "resource-missing-code": error_pair(*missing, -32602, -32002),
        "resource-missing-error": error_pair(*missing, -32002, -32602, **_STATELESS),
        "wrong-log-level-code": error_pair("wrong log level", "logging/setLevel", -32603, -32602),
        "wrong-cursor-code": pair(
            request_exchange("tools/list wrong cursor", "tools/list", result({"tools": []})),
            request_exchange("tools/list wrong cursor", "tools/list", error(-32602)),
        ),
        "meta-missing-code": error_pair(
            "without clientCapabilities", "server/discover", -32600, -32602, **_STATELESS
        ),
        "unsupported-revision-code": error_pair(
            "unknown revision in _meta", "server/discover", -32600, -32022, **_STATELESS
        ),
        "unsupported-revision-data": pair(
            request_exchange("unknown revision in _meta", "server/discover", error(-32022)),
            request_exchange(
                *("unknown revision in _meta", "server/discover"),
                error(-32022, {"supported": [STATELESS], "requested": "x"}),
            ),
            **_STATELESS,
        ),
        "missing-capability-data": pair(
            request_exchange(*_WITHOUT, error(-32021, {"requiredCapabilities": {}})),
            request_exchange(*_WITHOUT, error(-32021, {"requiredCapabilities": {"roots": {}}})),
            **_STATELESS,
        ),
        "no-jsonrpc-accepted": pair(
            exchange("without jsonrpc", {"id": ID, "method": "ping"}, result()),
            exchange("without jsonrpc", {"id": ID, "method": "ping"}, error(-32600)),
        ),
        "parse-error-code": pair(
            exchange("no JSON", b"{", error(-32600, id=None)),
            exchange("no JSON", b"{", error(-32700, id=None)),
        ),
        "invalid-request-code": pair(
            exchange("without method", {"jsonrpc": "2.0", "id": ID}, error(-32700)),
            exchange("without method", {"jsonrpc": "2.0", "id": ID}, error(-32600)),
        ),
    }


def of_features() -> dict[str, Pair]:
    hidden = "tools/list undeclared", "tools/list"
    batched = exchange("batch", _BATCH, [result(), result(id=6)])
    return {
        "declared-method-missing": pair(plain("tools/list", error(-32601)), tools()),
        "served-undeclared": pair(
            request_exchange(*hidden, result({"tools": [tool()]})),
            request_exchange(*hidden, result({"tools": []})),
        ),
        "listed-not-readable": pair(
            plain("resources/read", error(-32603)),
            plain("resources/read", result({"contents": []})),
        ),
        "pages-without-end": (
            transcript(*[plain("tools/list", _page("a")) for _ in range(2)]),
            transcript(*[plain("tools/list", _page(cursor)) for cursor in "ab"]),
        ),
        "batch-not-served": pair(
            exchange("batch", _BATCH, error(-32600, id=None)), batched, revision="2025-03-26"
        ),
        "log-below-level": (
            transcript(_SET, exchange("ping", request("ping"), _LOG, result()), **_LOGGING),
            transcript(exchange("ping", request("ping"), _LOG, result()), _SET, **_LOGGING),
        ),
        "log-unasked": message_pair(_LOG, note("notifications/made_up"), **_LOGGING, **_STATELESS),
        "progress-token-unknown": (_progress(1, token="other"), _progress(1)),
        "progress-not-rising": (_progress(2, 1), _progress(1, 2)),
        "too-much": pair(
            exchange("ping", request("ping"), outcome=FLOOD),
            exchange("ping", request("ping"), result()),
        ),
        "process-does-not-end": pair(
            exchange("close", None, outcome=KILLED), exchange("close", None)
        ),
    }


def _page(cursor: str) -> dict[str, Any]:
    return result({"tools": [], "nextCursor": cursor})


def of_items() -> dict[str, Pair]:
    """Yield the rules about tools, prompts, resources and their results."""
    prompt, resource = {"name": "p"}, {"name": "r", "uri": "file:///r"}
    templates = "resources/templates/list", "resourceTemplates"
    image = {"type": "image", "mimeType": "image/png"}
    structured: dict[str, Any] = {"content": [_TEXT], "structuredContent": {"n": 1}}
    number = {"type": "object", "properties": {"n": {"type": "integer"}}}
    return {
        "tool-name-not-unique": pair(tools(tool(), tool()), tools(tool())),
        "listed-twice": pair(
            listing("prompts/list", "prompts", prompt, prompt),
            listing("prompts/list", "prompts", prompt),
        ),
        "tool-name": pair(tools(tool(name="add two")), tools(tool(name="add.two"))),
        "tool-schema-invalid": pair(
            tools(tool(inputSchema={"type": "object", "required": "n"})), tools(tool())
        ),
        "structured-missing": (call_transcript({"content": [_TEXT]}), call_transcript(structured)),
        "structured-misfit": (
            call_transcript({**structured, "structuredContent": {"n": "1"}}, number),
            call_transcript(structured, number),
        ),
        "structured-without-text": (
            call_transcript({**structured, "content": []}),
            call_transcript(structured),
        ),
        "resource-uri": pair(
            listing("resources/list", "resources", {**resource, "uri": "r"}),
            listing("resources/list", "resources", resource),
        ),
        "uri-template": pair(
            listing(*templates, {"name": "t", "uriTemplate": "file:///{a b}"}),
            listing(*templates, {"name": "t", "uriTemplate": "file:///{+path}{?a,b*}"}),
        ),
        "icon-source": pair(
            tools(tool(icons=[{"src": "file:///i.png"}])),
            tools(tool(icons=[{"src": "https://example.com/i.png"}])),
        ),
        "binary-not-base64": (
            call_transcript({"content": [{**image, "data": "%"}], "structuredContent": {}}),
            call_transcript({"content": [{**image, "data": "AAAA"}], "structuredContent": {}}),
        ),
    }


def listening(*received: dict[str, Any], **wanted: Any) -> Exchange:
    """Return a subscription, by default to changes of tools, and its messages."""
    asked = request("subscriptions/listen", {"notifications": wanted or {"toolsListChanged": True}})
    return exchange("subscriptions/listen", asked, *received)


def _subscription_note(
    method: str, params: dict[str, Any] | None = None, id: Any = ID
) -> dict[str, Any]:
    return note(method, {**(params or {}), "_meta": {_SUBSCRIPTION: id}})


def acknowledgment(id: Any = ID, **honoured: Any) -> dict[str, Any]:
    """The first message on a subscription."""
    return _subscription_note(
        "notifications/subscriptions/acknowledged", {"notifications": honoured}, id
    )


_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"


def of_subscriptions() -> dict[str, Pair]:
    about: dict[str, Any] = {**_STATELESS, "capabilities": {"tools": {"listChanged": True}}}
    kept = listening(acknowledgment(toolsListChanged=True), _subscription_note(_CHANGED))
    end = exchange(
        "subscriptions/listen cancelled", note("notifications/cancelled", {"requestId": ID})
    )
    later = exchange(
        "unknown method", request("none", id=6), _subscription_note(_CHANGED), error(-32601, id=6)
    )
    answered = exchange(end.probe, end.request, result({"resultType": "complete"}))
    return {
        "listen-not-acknowledged": pair(
            listening(_subscription_note(_CHANGED), acknowledgment()), kept, **about
        ),
        "subscription-id": pair(
            listening(acknowledgment(), _subscription_note(_CHANGED, id=str(ID))), kept, **about
        ),
        "subscription-unasked": pair(
            listening(acknowledgment(), _subscription_note("notifications/prompts/list_changed")),
            kept,
            **about,
        ),
        "acknowledged-too-much": (
            transcript(kept, capabilities={"tools": {}}, **_STATELESS),
            transcript(kept, **about),
        ),
        "subscription-goes-on": (
            transcript(kept, end, later, **about),
            transcript(kept, later, **about),
        ),
        "cancelled-answered": (transcript(kept, answered, **about), transcript(kept, end, **about)),
        "cancelled-by-server": message_pair(
            note("notifications/cancelled", {"requestId": ID}), note("notifications/x"), **about
        ),
    }


def of_extensions() -> dict[str, Pair]:
    get, cancel = "unknown task: tasks/get", "unknown task: tasks/cancel"
    made: dict[str, Any] = {"taskId": "t", "status": "working", "resultType": "task"}
    made |= {"createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z"}
    made["ttlMs"] = None
    knows: dict[str, Any] = {
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {_TASKS: {}}}
    }
    return {
        "unknown-task-code": error_pair(get, "tasks/get", -32603, -32602),
        "unknown-task-changed-code": error_pair(
            cancel, "tasks/cancel", -32603, -32602, **_STATELESS
        ),
        "task-cursor-code": error_pair("tasks/list wrong cursor", "tasks/list", -32603, -32602),
        "missing-extension-code": error_pair(*_WITHOUT, -32602, -32021, **_STATELESS),
        "result-type": pair(
            exchange("tools/call", request("tools/call"), result(made)),
            exchange("tools/call", request("tools/call", {"_meta": knows}), result(made)),
            **_STATELESS,
        ),
        "extension-name": (
            transcript(capabilities={"extensions": {"tasks": {}}}, **_STATELESS),
            transcript(capabilities={"extensions": {_TASKS: {}}}, **_STATELESS),
        ),
    }


_TASKS: Final = "io.modelcontextprotocol/tasks"
_EVENTS: Final = {"content-type": "text/event-stream"}


def of_streams() -> dict[str, Pair]:
    """The rules about streams of events, and what a client accepts."""
    ping, other = request("ping"), request("ping", id=6)
    stream: dict[str, Any] = {"status": 200, "answered": _EVENTS}
    first = exchange("ping", ping, result(), events=("a-1", "a-2"), **stream)
    resumed: dict[str, Any] = {"headers": {"last-event-id": "a-1"}, **stream}
    json_only = "Accept of JSON only"
    again = exchange("GET with Last-Event-ID", None, result(), events=("a-2",), **resumed)
    strange = exchange("GET with Last-Event-ID", None, result(id=6), events=("b-2",), **resumed)
    second = exchange("ping", other, result(id=6), events=("b-1", "b-2"), **stream)
    return {
        "type-not-accepted": pair(
            exchange(json_only, ping, result(), **stream),
            exchange(json_only, ping, result(), **FINE),
            transport=HTTP,
        ),
        "accept-refused": status_pair("Accept with weights", 406, 200),
        "stream-buffered": pair(
            exchange("ping", ping, result(), **stream),
            exchange(
                *("ping", ping, result()),
                status=200,
                answered={**_EVENTS, "x-accel-buffering": "no"},
            ),
            transport=HTTP,
            **_STATELESS,
        ),
        "stream-not-primed": pair(
            exchange("ping", ping, result(), method="POST", primed=False, events=("a",), **stream),
            exchange("ping", ping, result(), method="POST", primed=True, events=("a",), **stream),
            transport=HTTP,
        ),
        "event-id-not-unique": (
            transcript(first, exchange("ping", other, result(id=6), events=("a-1",), **stream)),
            transcript(first, second),
        ),
        "replayed-elsewhere": (
            transcript(first, second, strange),
            transcript(first, second, again),
        ),
    }


def of_http() -> dict[str, Pair]:
    ping, told = request("ping"), note("notifications/initialized")
    stateless: dict[str, Any] = {**_STATELESS, "transport": HTTP}
    mismatch = request_exchange("no Mcp-Method", "server/discover", error(-32020), status=400)
    other = request_exchange("other Mcp-Method", "server/discover", error(-32020), status=400)
    served = {**FINE}
    discovered = result({**_NEW, "capabilities": {}, "supportedVersions": [STATELESS]})
    return {
        "server-error": status_pair("ping", 500, 400),
        "content-type": pair(
            exchange("ping", ping, result(), status=200, answered={"content-type": "text/html"}),
            exchange("ping", ping, result(), **FINE),
            transport=HTTP,
        ),
        "notification-status": pair(
            exchange("initialized", told, status=200),
            exchange("initialized", told, status=202),
            transport=HTTP,
        ),
        "notification-body": pair(
            exchange("initialized", told, b"ok", status=202),
            exchange("initialized", told, status=202),
            transport=HTTP,
        ),
        "session-id-characters": (
            _http_transcript(**{"mcp-session-id": "a b"}),
            _http_transcript(**{"mcp-session-id": "ab"}),
        ),
        "session-id-changed": (_in_session("cd"), _in_session("ab")),
        "session-id-missing-status": status_pair("no session id", 200, 400),
        "session-id-unknown-status": status_pair("wrong session id", 400, 404),
        "session-ended-status": status_pair("ping after DELETE", 200, 404),
        "version-header-status": status_pair("wrong version header", 200, 400),
        "version-header-required": status_pair("no version header", 400, 200),
        "origin-accepted": status_pair("foreign Origin", 200, 403),
        "origin-status": status_pair("foreign Origin", 400, 403),
        "get-status": status_pair("GET", 404, 405),
        "method-not-allowed-status": status_pair("GET", 400, 405, **_STATELESS),
        "header-missing-status": pair(
            request_exchange("no Mcp-Method", "server/discover", discovered, **served),
            mismatch,
            **stateless,
        ),
        "header-mismatch-status": pair(
            request_exchange("other Mcp-Method", "server/discover", discovered, **served),
            other,
            **stateless,
        ),
        "error-status": pair(
            request_exchange("unknown method", "none", error(-32601), **FINE),
            request_exchange("unknown method", "none", error(-32601), status=404),
            **stateless,
        ),
        "body-not-refused": status_pair("no JSON", 202, 400),
        "challenge-missing": (
            _refused_transcript({}),
            _refused_transcript({"www-authenticate": "Bearer"}),
        ),
        "resource-metadata": (
            _metadata({}),
            _metadata({"authorization_servers": ["https://issuer.example"]}),
        ),
    }


BROKEN_AND_KEPT: Final[dict[str, Pair]] = {
    **of_messages(),
    **of_errors(),
    **of_features(),
    **of_items(),
    **of_subscriptions(),
    **of_extensions(),
    **of_streams(),
    **of_http(),
}
