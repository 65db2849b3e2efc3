"""For each rule of an inspection, a transcript that breaks it, and a similar one that keeps it."""

import json
from collections.abc import Sequence
from typing import Any, Final

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
    HTTP,
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

Json = dict[str, Any]
Pair = tuple[Transcript, Transcript]
PING: Final = request("ping")
JSON: Final = {"content-type": "application/json"}
FINE: Final[Json] = {"status": 200, "answered": JSON}
_NEW: Final[Json] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def pair(broken: Exchange, kept: Exchange, **about: Any) -> Pair:
    return transcript(broken, **about), transcript(kept, **about)


def answer_pair(probe: str, method: str, wrong: Json, right: Json, **about: Any) -> Pair:
    """Return a request that gets a wrong or a right answer."""
    answers = (request_exchange(probe, method, answer) for answer in (wrong, right))
    return pair(*answers, **about)


def error_pair(probe: str, method: str, wrong: int, right: int, **about: Any) -> Pair:
    """Return a request that needs one error, and gets the wrong or the right one."""
    return answer_pair(probe, method, error(wrong), error(right), **about)


def received_pair(
    probe: str, sent: Any, broken: Sequence[Any], kept: Sequence[Any], **about: Any
) -> Pair:
    """Return an exchange with messages that break a rule, and with others that keep it."""
    return pair(exchange(probe, sent, *broken), exchange(probe, sent, *kept), **about)


def plain(method: str, answer: Json) -> Exchange:
    """The step of a method, by its name."""
    return request_exchange(method, method, answer)


def message_pair(broken: Json, kept: Json, **about: Any) -> Pair:
    """Return a server message beside the answer to a ping."""
    return received_pair("ping", PING, (broken, result()), (kept, result()), **about)


def noted_text(text: bytes) -> Pair:
    """Return an answer as a text that is not strict JSON."""
    return received_pair("ping", PING, (text,), (_ANSWER.encode(),), **_LOGGING)


def status_pair(probe: str, wrong: int, right: int, **about: Any) -> Pair:
    exchanges = (exchange(probe, PING, status=status) for status in (wrong, right))
    return pair(*exchanges, transport=HTTP, **about)


def tool(**members: Any) -> Json:
    return {"name": "add", "inputSchema": {"type": "object"}, **members}


def tools(*listed: Json) -> Exchange:
    return request_exchange("tools/list", "tools/list", result({"tools": list(listed)}))


def listing(method: str, member: str, *items: Json) -> Exchange:
    return request_exchange(method, method, result({member: list(items)}))


def call_transcript(value: Json, schema: Json | None = None) -> Transcript:
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
    sent: Json = {"headers": {"mcp-session-id": "ab"}, "status": 200}
    begun = _http_transcript(**{"mcp-session-id": "ab"})
    begun.exchanges.append(
        exchange("ping", PING, result(), answered={**JSON, "mcp-session-id": id}, **sent)
    )
    return begun


def _refused_transcript(answered: dict[str, str], *more: Exchange) -> Transcript:
    opening = exchange("open", request("initialize"), status=401, answered=answered)
    return transcript(*more, transport=HTTP, opening=opening)


def _metadata(value: Json) -> Transcript:
    known = exchange("resource metadata", None, value, status=200, answered=JSON)
    return _refused_transcript({"www-authenticate": "Bearer"}, known)


_ANSWER: Final = json.dumps(result())
_LOG: Final = note("notifications/message", {"level": "info", "data": "x"})
_LOGGING: Final[Json] = {"capabilities": {"logging": {}}}
_SET: Final = request_exchange("logging/setLevel", "logging/setLevel", result())
_STATELESS: Final[Json] = {"revision": STATELESS}
_WITHOUT: Final = "tasks/get without the extension", "tasks/get"
_CHANGED: Final = "notifications/tools/list_changed"
_BATCH: Final = [PING, request("ping", id=6)]


def of_messages() -> dict[str, Pair]:
    """The rules of JSON-RPC and the schema."""
    return {
        "not-a-message": received_pair("ping", PING, (b"Listening on 8000", result()), (result(),)),
        "not-utf-8": noted_text(_ANSWER.encode("utf-16-le")),
        "byte-order-mark": noted_text(_ANSWER.encode("utf-8-sig")),
        "not-strict-json": noted_text(_ANSWER.replace("{}", '{"a": NaN}').encode()),
        "lone-surrogate": noted_text(_ANSWER.replace("{}", '{"a": "\\ud83d"}').encode()),
        "several-messages": noted_text(f"{_ANSWER} {json.dumps(_LOG)}".encode()),
        "invalid-envelope": message_pair({"jsonrpc": "2.0", "id": ID}, _LOG, **_LOGGING),
        "invalid-message": pair(tools(tool(inputSchema={"type": "array"})), tools(tool())),
        "unknown-id": received_pair("ping", PING, (result(id=str(ID)), result()), (result(),)),
        "answered-twice": received_pair("ping", PING, (result(), result()), (result(),)),
        "answered-notification": received_pair(
            "unknown notification", note("notifications/none"), (error(-1, id=None),), ()
        ),
        "no-answer": pair(
            exchange("ping", PING, outcome=TIMEOUT), exchange("ping", PING, result())
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


def _with_early(early: Json) -> Exchange:
    first = open_exchange("2025-11-25", {"tools": {"listChanged": True}, "logging": {}})
    return exchange("open", first.request, early, first.answer)


def of_errors() -> dict[str, Pair]:
    missing = "unknown resource", "resources/read"
    return {
        "unknown-method-code": error_pair("unknown method", "none", -32600, -32601),
        "wrong-params-code": error_pair("wrong params", "tools/call", -32603, -32602),
        "unknown-tool-code": answer_pair(
            "unknown tool", "tools/call", result({"content": [], "isError": True}), error(-32602)
        ),
        "unknown-prompt-code": error_pair("unknown prompt", "prompts/get", -32603, -32602),
        "missing-argument-code": error_pair(
            "prompt without its arguments", "prompts/get", 0, -32602
        ),
        "resource-missing-code": error_pair(*missing, -32602, -32002),
        "resource-missing-error": error_pair(*missing, -32002, -32602, **_STATELESS),
        "wrong-log-level-code": error_pair("wrong log level", "logging/setLevel", -32603, -32602),
        "wrong-cursor-code": answer_pair(
            "tools/list wrong cursor", "tools/list", result({"tools": []}), error(-32602)
        ),
        "meta-missing-code": error_pair(
            "without clientCapabilities", "server/discover", -32600, -32602, **_STATELESS
        ),
        "unsupported-revision-code": error_pair(
            "unknown revision in _meta", "server/discover", -32600, -32022, **_STATELESS
        ),
        "unsupported-revision-data": answer_pair(
            *("unknown revision in _meta", "server/discover"),
            error(-32022),
            error(-32022, {"supported": [STATELESS], "requested": "x"}),
            **_STATELESS,
        ),
        "missing-capability-data": answer_pair(
            *_WITHOUT,
            error(-32021, {"requiredCapabilities": {}}),
            error(-32021, {"requiredCapabilities": {"roots": {}}}),
            **_STATELESS,
        ),
        "no-jsonrpc-accepted": received_pair(
            "without jsonrpc", {"id": ID, "method": "ping"}, (result(),), (error(-32600),)
        ),
        "parse-error-code": received_pair(
            "no JSON", b"{", (error(-32600, id=None),), (error(-32700, id=None),)
        ),
        "invalid-request-code": received_pair(
            "without method", {"jsonrpc": "2.0", "id": ID}, (error(-32700),), (error(-32600),)
        ),
    }


def of_features() -> dict[str, Pair]:
    batched = exchange("batch", _BATCH, [result(), result(id=6)])
    return {
        "declared-method-missing": pair(plain("tools/list", error(-32601)), tools()),
        "served-undeclared": answer_pair(
            "tools/list undeclared",
            "tools/list",
            result({"tools": [tool()]}),
            result({"tools": []}),
        ),
        "listed-not-readable": answer_pair(
            *("resources/read", "resources/read"), error(-32603), result({"contents": []})
        ),
        "pages-without-end": (
            transcript(*[plain("tools/list", _page("a")) for _ in range(2)]),
            transcript(*[plain("tools/list", _page(cursor)) for cursor in "ab"]),
        ),
        "batch-not-served": pair(
            exchange("batch", _BATCH, error(-32600, id=None)), batched, revision="2025-03-26"
        ),
        "log-below-level": (
            transcript(_SET, exchange("ping", PING, _LOG, result()), **_LOGGING),
            transcript(exchange("ping", PING, _LOG, result()), _SET, **_LOGGING),
        ),
        "log-unasked": message_pair(_LOG, note("notifications/made_up"), **_LOGGING, **_STATELESS),
        "progress-token-unknown": (_progress(1, token="other"), _progress(1)),
        "progress-not-rising": (_progress(2, 1), _progress(1, 2)),
        "too-much": pair(
            exchange("ping", PING, outcome=FLOOD),
            exchange("ping", PING, result()),
        ),
        "process-does-not-end": pair(
            exchange("close", None, outcome=KILLED), exchange("close", None)
        ),
    }


def _page(cursor: str) -> Json:
    return result({"tools": [], "nextCursor": cursor})


def of_items() -> dict[str, Pair]:
    """Yield the rules about tools, prompts, resources and their results."""
    prompt, resource = {"name": "p"}, {"name": "r", "uri": "file:///r"}
    templates = "resources/templates/list", "resourceTemplates"
    image = {"type": "image", "mimeType": "image/png"}
    structured: Json = {"content": [_TEXT], "structuredContent": {"n": 1}}
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


def listening(*received: Json, **wanted: Any) -> Exchange:
    """Return a subscription, by default to changes of tools, and its messages."""
    asked = request("subscriptions/listen", {"notifications": wanted or {"toolsListChanged": True}})
    return exchange("subscriptions/listen", asked, *received)


def _subscription_note(method: str, params: Json | None = None, id: Any = ID) -> Json:
    return note(method, {**(params or {}), "_meta": {_SUBSCRIPTION: id}})


def acknowledgment(id: Any = ID, **honoured: Any) -> Json:
    """The first message on a subscription."""
    return _subscription_note(
        "notifications/subscriptions/acknowledged", {"notifications": honoured}, id
    )


_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"


def of_subscriptions() -> dict[str, Pair]:
    about: Json = {**_STATELESS, "capabilities": {"tools": {"listChanged": True}}}
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
    made: Json = {"taskId": "t", "status": "working", "resultType": "task"}
    made |= {"createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z"}
    made["ttlMs"] = None
    knows: Json = {"io.modelcontextprotocol/clientCapabilities": {"extensions": {_TASKS: {}}}}
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
    other = request("ping", id=6)
    stream: Json = {"status": 200, "answered": _EVENTS}
    first = exchange("ping", PING, result(), events=("a-1", "a-2"), **stream)
    resumed: Json = {"headers": {"last-event-id": "a-1"}, **stream}
    json_only = "Accept of JSON only"
    again = exchange("GET with Last-Event-ID", None, result(), events=("a-2",), **resumed)
    strange = exchange("GET with Last-Event-ID", None, result(id=6), events=("b-2",), **resumed)
    second = exchange("ping", other, result(id=6), events=("b-1", "b-2"), **stream)
    return {
        "type-not-accepted": pair(
            exchange(json_only, PING, result(), **stream),
            exchange(json_only, PING, result(), **FINE),
            transport=HTTP,
        ),
        "accept-refused": status_pair("Accept with weights", 406, 200),
        "stream-buffered": pair(
            exchange("ping", PING, result(), **stream),
            exchange(
                *("ping", PING, result()),
                status=200,
                answered={**_EVENTS, "x-accel-buffering": "no"},
            ),
            transport=HTTP,
            **_STATELESS,
        ),
        "stream-not-primed": pair(
            exchange("ping", PING, result(), method="POST", primed=False, events=("a",), **stream),
            exchange("ping", PING, result(), method="POST", primed=True, events=("a",), **stream),
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
    told = note("notifications/initialized")
    stateless: Json = {**_STATELESS, "transport": HTTP}
    discovered = result({**_NEW, "capabilities": {}, "supportedVersions": [STATELESS]})
    return {
        "server-error": status_pair("ping", 500, 400),
        "content-type": pair(
            exchange("ping", PING, result(), status=200, answered={"content-type": "text/html"}),
            exchange("ping", PING, result(), **FINE),
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
        **{
            rule: pair(
                request_exchange(probe, "server/discover", discovered, **FINE),
                request_exchange(probe, "server/discover", error(-32020), status=400),
                **stateless,
            )
            for rule, probe in (
                ("header-missing-status", "no Mcp-Method"),
                ("header-mismatch-status", "other Mcp-Method"),
            )
        },
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


_CARD: Final[Json] = {
    "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
    "name": "com.example/x",
    "version": "1",
    "description": "Answers.",
}
_CARD_FIELDS: Final = {
    "content-type": "application/mcp-server-card+json",
    "access-control-allow-origin": "*",
    "cache-control": "public, max-age=3600",
    "etag": '"1"',
}


def _card(card: Json | None = None, again: int = 304, **answered: str) -> Transcript:
    """Return a transcript with a card, which a client asks for twice."""
    got = {name.replace("_", "-"): value for name, value in answered.items()}
    fields = {name: value for name, value in {**_CARD_FIELDS, **got}.items() if value}
    return transcript(
        exchange("server card", None, {**_CARD, **(card or {})}, status=200, answered=fields),
        exchange("server card again", None, status=again),
        transport=HTTP,
        opening=_named_opening(),
    )


def _named_opening() -> Exchange:
    opened = open_exchange("2025-11-25", {}, **FINE)
    info = {"name": _CARD["name"], "version": "1"}
    answer = {**opened.answer["result"], "serverInfo": info}
    return exchange("open", request("initialize", id=1), result(answer, 1), **FINE)


def _remote(url: str = "", *revisions: str, **members: Any) -> Json:
    listed = list(revisions or ("2025-11-25",))
    remote = {"type": "streamable-http", "url": url or "{place}/mcp", **members}
    return {"remotes": [{**remote, "supportedProtocolVersions": listed}]}


def _key(**members: Any) -> Json:
    return _remote(headers=[{"name": "X-Key", "isSecret": True, **members}])


def _catalog(**entry: Any) -> Transcript:
    content = {"entries": [{"type": _CARD_FIELDS["content-type"], "url": "/a", **entry}]}
    answered = {"content-type": "application/ai-catalog+json"}
    found = exchange("server catalog", None, content, status=200, answered=answered)
    return transcript(found, transport=HTTP)


def of_cards() -> dict[str, Pair]:
    """Return the rules about server cards."""
    kept = _card()
    return {
        "card-invalid": (_card({"name": "x"}), kept),
        "card-secret": (_card(_key(value="s3cret")), _card(_key(value="Bearer {token}"))),
        "card-media-type": (_card(content_type="application/json"), kept),
        "card-cors": (_card(access_control_allow_origin=""), kept),
        "card-not-cached": (_card(etag=""), kept),
        "card-not-revalidated": (_card(again=200), kept),
        "card-differs": (_card({"version": "2"}), kept),
        "card-revisions": (_card(_remote("", "2024-11-05")), _card(_remote())),
        "card-endpoint": (_card(_remote("https://other.example/mcp")), _card(_remote())),
        "catalog-entry": (_catalog(), _catalog(identifier="urn:air:example.com:mcp:x")),
    }


BROKEN_AND_KEPT: Final[dict[str, Pair]] = {
    **of_cards(),
    **of_messages(),
    **of_errors(),
    **of_features(),
    **of_items(),
    **of_subscriptions(),
    **of_extensions(),
    **of_streams(),
    **of_http(),
}
