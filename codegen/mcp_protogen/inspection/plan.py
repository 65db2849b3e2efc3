"""The plan of an inspection: what is sent in each session, whatever its transport.

Nothing in it changes anything on a server: no tool is called unless a user names it, or asks for
those that say that they only read. What may end a server comes last.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.inspection.steps import (
    HANDSHAKE,
    REVISIONS,
    SSE,
    STATELESS,
    STDIO,
    Probe,
    SessionClient,
    Step,
)
from mcp_protogen.inspection.transcript import UNKNOWN_REVISION, Session, listed

NONE: Final = "mcp-gen-inspect-none"
"""The name of a tool, a prompt, a method, a cursor or a session that does not exist."""
NO_RESOURCE: Final = "mcp-gen-inspect://none"
PAGES: Final = 50
"""How many pages of a list are read."""
LISTS: Final[Mapping[str, str]] = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""The methods that list something, and the member with the items."""


def listing(session: Session, method: str) -> tuple[dict[str, Any], ...]:
    """Return what a method lists."""
    return tuple(listed(session, method, LISTS[method]))


def _page(client: SessionClient, method: str) -> Step | None:
    pages = list(client.session.all(method))
    if not pages:
        return client.ask(method)
    cursor = (pages[-1].result or {}).get("nextCursor")
    seen = [one.request.get("params", {}).get("cursor") for one in pages]
    if not isinstance(cursor, str) or cursor in seen or len(pages) >= PAGES:
        return None
    return client.ask(method, {"cursor": cursor})


def _listing_probes() -> Iterator[Probe]:
    for method in LISTS:
        feature = method.partition("/")[0]

        def page(client: SessionClient, method: str = method) -> Step | None:
            return _page(client, method)

        def once(client: SessionClient, method: str = method) -> Step | None:
            return client.ask(method)

        def wrong(client: SessionClient, method: str = method) -> Step | None:
            return client.ask(method, {"cursor": NONE})

        yield Probe(name=method, make=page, declared=(feature,), repeats=True)
        yield Probe(name=f"{method} undeclared", make=once, declared=(feature,), undeclared=True)
        yield Probe(name=f"{method} wrong cursor", make=wrong, declared=(feature,))


def _read(client: SessionClient) -> Step | None:
    found = next(iter(_uris(client.session)), None)
    return None if found is None else client.ask("resources/read", {"uri": found})


def _uris(session: Session) -> Iterator[str]:
    return (
        one["uri"] for one in listing(session, "resources/list") if isinstance(one.get("uri"), str)
    )


def _subscription(client: SessionClient, method: str) -> Step | None:
    found = next(iter(_uris(client.session)), None)
    return None if found is None else client.ask(method, {"uri": found})


def _arguments(prompt: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = prompt.get("arguments")
    return [one for one in given if is_object(one)] if is_array(given) else []


def _prompt(client: SessionClient, needs: bool) -> Step | None:
    for prompt in listing(client.session, "prompts/list"):
        required = any(one.get("required") is True for one in _arguments(prompt))
        if required is needs and isinstance(prompt.get("name"), str):
            return client.ask("prompts/get", {"name": prompt["name"]})
    return None


def _complete(client: SessionClient) -> Step | None:
    for prompt in listing(client.session, "prompts/list"):
        for argument in _arguments(prompt):
            ref = {"type": "ref/prompt", "name": prompt.get("name")}
            argument = {"name": argument.get("name"), "value": ""}
            return client.ask("completion/complete", {"ref": ref, "argument": argument})
    return None


def _call(client: SessionClient) -> Step | None:
    called = {one.request.get("params", {}).get("name") for one in client.session.all("tools/call")}
    for tool in listing(client.session, "tools/list"):
        name = tool.get("name")
        if not isinstance(name, str) or name in called:
            continue
        hints = tool.get("annotations")
        reads = client.reading and is_object(hints) and hints.get("readOnlyHint") is True
        if name in client.calls or (reads and not _requires(tool)):
            token = {"_meta": {"progressToken": f"progress-{name}"}}
            arguments = client.calls.get(name, {})
            return client.ask("tools/call", {"name": name, "arguments": arguments, **token})
    return None


def _requires(tool: Mapping[str, Any]) -> bool:
    schema = tool.get("inputSchema")
    return is_object(schema) and bool(schema.get("required"))


def _wrong_params(client: SessionClient) -> Step | None:
    session = client.session
    named = (
        ("tools", "tools/call"),
        ("prompts", "prompts/get"),
        ("resources", "resources/read"),
    )
    found = (method for feature, method in named if session.declares(feature))
    method = next(found, None)
    return None if method is None else client.ask(method)


def _cancelled(client: SessionClient) -> Step | None:
    method = next((one for one in LISTS if client.session.declares(one.partition("/")[0])), None)
    request = client.request(method or client.harmless)
    return client.tell(request, _cancellation(request["id"]))


def _cancellation(id: object) -> dict[str, Any]:
    params = {"requestId": id, "reason": "a test"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


def _notification(method: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method}


def _with_id(client: SessionClient, id: object) -> Step:
    request = {**client.request(client.harmless), "id": id}
    return Step(messages=(request,), waits=(id,))


def _without_version(client: SessionClient) -> Step:
    request = client.request(client.harmless)
    del request["jsonrpc"]
    return client.tell(request)


def _without_method(client: SessionClient) -> Step:
    request = client.request(client.harmless)
    del request["method"]
    return client.tell(request)


def _batch(client: SessionClient) -> Step:
    first, second = client.request("ping"), client.request("ping")
    batch = [first, _notification(f"notifications/{NONE}"), second]
    last = client.request("ping")
    return Step(messages=(batch,), waits=(first["id"], second["id"]), barrier=last)


def _without_capabilities(client: SessionClient) -> Step:
    # Without any _meta it could be a request of an earlier revision.
    request = client.request("server/discover")
    del request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    return Step(messages=(request,), waits=(request["id"],))


def _other_revision(client: SessionClient) -> Step:
    headers = {"mcp-protocol-version": UNKNOWN_REVISION}
    meta = {"_meta": client.meta(UNKNOWN_REVISION)}
    return client.ask("server/discover", meta, headers=headers)


_STATEFUL: Final[dict[str, Any]] = {"revisions": HANDSHAKE}
_STREAMS: Final[dict[str, Any]] = {"transports": (STDIO, SSE)}

OPENING: Final = (
    Probe(
        name="open",
        make=lambda client: client.begin(client.session.revision),
        revisions=(*REVISIONS, UNKNOWN_REVISION),
    ),
    Probe(
        name="initialized",
        make=lambda client: client.tell(_notification("notifications/initialized")),
        **_STATEFUL,
    ),
)
"""How a session begins; without an agreement it ends with the first step."""

READING: Final = (
    *_listing_probes(),
    Probe(name="resources/read", make=_read, declared=("resources",)),
    Probe(name="prompts/get", make=lambda client: _prompt(client, False), declared=("prompts",)),
    Probe(name="completion/complete", make=_complete, declared=("completions",)),
    Probe(name="tools/call", make=_call, declared=("tools",), repeats=True),
)
"""What servers offer, and what can be had of it without an effect."""

SETTING: Final = (
    Probe(
        name="resources/subscribe",
        make=lambda client: _subscription(client, "resources/subscribe"),
        declared=("resources", "subscribe"),
        **_STATEFUL,
    ),
    Probe(
        name="resources/unsubscribe",
        make=lambda client: _subscription(client, "resources/unsubscribe"),
        declared=("resources", "subscribe"),
        **_STATEFUL,
    ),
    Probe(
        name="logging/setLevel",
        make=lambda client: client.ask("logging/setLevel", {"level": "emergency"}),
        declared=("logging",),
        **_STATEFUL,
    ),
    Probe(
        name="logging/setLevel undeclared",
        make=lambda client: client.ask("logging/setLevel", {"level": "emergency"}),
        declared=("logging",),
        undeclared=True,
        **_STATEFUL,
    ),
    Probe(
        name="wrong log level",
        make=lambda client: client.ask("logging/setLevel", {"level": NONE}),
        declared=("logging",),
        **_STATEFUL,
    ),
)
"""What is set for this session only."""

MISTAKES: Final = (
    Probe(name="ping", make=lambda client: client.ask("ping"), **_STATEFUL),
    Probe(name="id zero", make=lambda client: _with_id(client, 0)),
    Probe(name="id of text", make=lambda client: _with_id(client, "70007")),
    Probe(name="unknown method", make=lambda client: client.ask(NONE)),
    Probe(
        name="unknown tool",
        make=lambda client: client.ask("tools/call", {"name": NONE, "arguments": {}}),
        declared=("tools",),
    ),
    Probe(
        name="unknown prompt",
        make=lambda client: client.ask("prompts/get", {"name": NONE}),
        declared=("prompts",),
    ),
    Probe(
        name="prompt without its arguments",
        make=lambda client: _prompt(client, True),
        declared=("prompts",),
    ),
    Probe(
        name="unknown resource",
        make=lambda client: client.ask("resources/read", {"uri": NO_RESOURCE}),
        declared=("resources",),
    ),
    Probe(name="wrong params", make=_wrong_params),
    Probe(
        name="without clientCapabilities",
        make=_without_capabilities,
        revisions=(STATELESS,),
    ),
    Probe(name="unknown revision in _meta", make=_other_revision, revisions=(STATELESS,)),
    Probe(
        name="unknown notification",
        make=lambda client: client.tell(_notification(f"notifications/{NONE}")),
    ),
    Probe(
        name="request without id",
        make=lambda client: client.tell(_notification("ping")),
        **_STATEFUL,
    ),
    Probe(
        name="unknown request cancelled",
        make=lambda client: client.tell(_cancellation(NONE)),
    ),
    Probe(name="request cancelled", make=_cancelled, **_STREAMS),
    Probe(name="without jsonrpc", make=_without_version),
    Probe(name="without method", make=_without_method),
    Probe(name="batch", make=_batch, revisions=("2025-03-26",)),
    Probe(
        name="no JSON",
        make=lambda client: client.tell(b'{"jsonrpc": "2.0", "id": 1, "method": '),
    ),
)
"""Mistakes of a client, and what is unusual but allowed."""
