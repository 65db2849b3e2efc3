"""The probes of an inspection: the messages to send on each connection, for all transports.

They change nothing on a server: they call only tools that the user names, or, on request, those
that declare to only read. Messages that may end a server come last.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.runtime.http.headers import PROTOCOL_VERSION
from mcp_protogen.runtime.messages.envelope import CLIENT_CAPABILITIES, LOG_LEVEL
from mcp_protogen.servers.call.kinds import prompt_arguments
from mcp_protogen.servers.inspect.revision_facts import (
    EVENTS,
    LINES,
    has_batches,
    is_stateful,
    is_stateless,
    path_in,
    value_in,
)
from mcp_protogen.servers.inspect.steps import (
    PlanClient,
    Probe,
    ProbeStep,
    awaiting,
    notification,
    request_step,
    telling,
)
from mcp_protogen.servers.inspect.transcript import UNKNOWN_REVISION, Transcript, list_items

NONE: Final = "mcp-gen-inspect-none"
"""The name of a tool, a prompt, a method, a cursor or a session that does not exist."""
NO_RESOURCE: Final = "mcp-gen-inspect://none"
SET_LEVEL: Final = "logging/setLevel"
PAGES: Final = 50
"""How many pages of a list are read."""
LISTS: Final = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
"""The methods that list something."""


def listing(transcript: Transcript, method: str) -> tuple[dict[str, Any], ...]:
    """Return the items that a method lists."""
    return tuple(item for item, _, _ in list_items(transcript, method))


def _page(client: PlanClient, method: str) -> ProbeStep | None:
    pages = list(client.transcript.all(method))
    if not pages:
        return client.ask(method)
    read = partial(value_in, client.transcript.revision)
    cursor = read("next_cursor", pages[-1].result)
    seen = [read("cursor", page.request.get("params", {})) for page in pages]
    if not isinstance(cursor, str) or cursor in seen or len(pages) >= PAGES:
        return None
    return client.ask(method, {path_in(client.transcript.revision, "cursor"): cursor})


def _wrong_cursor(client: PlanClient, method: str) -> ProbeStep:
    return client.ask(method, {path_in(client.transcript.revision, "cursor"): NONE})


def _listing_probes() -> Iterator[Probe]:
    for method in LISTS:
        feature = method.partition("/")[0]
        page, wrong = partial(_page, method=method), partial(_wrong_cursor, method=method)
        yield Probe(name=method, make=page, declared=(feature,), repeats=True)
        yield request_step(f"{method} undeclared", method, declared=(feature,), undeclared=True)
        yield Probe(name=f"{method} wrong cursor", make=wrong, declared=(feature,))


def first_uri(transcript: Transcript, method: str) -> str | None:
    """Return the URI of the first item that a method lists, or None."""
    uris = (item.get("uri") for item, _, _ in list_items(transcript, method))
    return next((uri for uri in uris if isinstance(uri, str)), None)


def of_first(method: str, listed_by: str = "resources/list", **about: Any) -> Probe:
    """Return a probe with a request about the first listed item, by default a resource."""

    def make(client: PlanClient) -> ProbeStep | None:
        uri = first_uri(client.transcript, listed_by)
        return None if uri is None else client.ask(method, {"uri": uri})

    return Probe(name=method, make=make, **about)


def _prompt(client: PlanClient, needs: bool) -> ProbeStep | None:
    for prompt in listing(client.transcript, "prompts/list"):
        required = any(argument.get("required") is True for argument in prompt_arguments(prompt))
        if required is needs and isinstance(prompt.get("name"), str):
            return client.ask("prompts/get", {"name": prompt["name"]})
    return None


def _complete(client: PlanClient) -> ProbeStep | None:
    for prompt in listing(client.transcript, "prompts/list"):
        for argument in prompt_arguments(prompt):
            ref = {"type": "ref/prompt", "name": prompt.get("name")}
            argument = {"name": argument.get("name"), "value": ""}
            return client.ask("completion/complete", {"ref": ref, "argument": argument})
    return None


def _call(client: PlanClient) -> ProbeStep | None:
    called = {
        exchange.request.get("params", {}).get("name")
        for exchange in client.transcript.all("tools/call")
    }
    for tool in listing(client.transcript, "tools/list"):
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


def _wrong_params(client: PlanClient) -> ProbeStep | None:
    named = {"tools": "tools/call", "prompts": "prompts/get", "resources": "resources/read"}
    found = (method for feature, method in named.items() if client.transcript.declares(feature))
    method = next(found, None)
    return None if method is None else client.ask(method)


def _cancel(client: PlanClient) -> ProbeStep | None:
    declared = (name for name in LISTS if client.transcript.declares(name.partition("/")[0]))
    request = client.request(next(declared, client.harmless))
    return client.tell(request, cancellation(request["id"]))


def cancellation(id: object) -> dict[str, Any]:
    """Return a notification that cancels a request."""
    return notification("notifications/cancelled", {"requestId": id, "reason": "a test"})


def _with_id(client: PlanClient, id: object) -> ProbeStep:
    return awaiting({**client.request(client.harmless), "id": id})


def _omit_member(client: PlanClient, member: str) -> ProbeStep:
    request = client.request(client.harmless)
    del request[member]
    return client.tell(request)


def _cut_off(client: PlanClient) -> ProbeStep:
    return client.tell(b'{"jsonrpc": "2.0", "id": %d, "method": ' % next(client.ids))


def _batch(client: PlanClient) -> ProbeStep:
    first, second = client.request("ping"), client.request("ping")
    batch = [first, notification(f"notifications/{NONE}"), second]
    last = client.request("ping")
    return ProbeStep(messages=(batch,), waits=(first["id"], second["id"]), last=last)


def _without_capabilities(client: PlanClient) -> ProbeStep:
    # Without any _meta it could be a request of an earlier revision.
    request = client.request("server/discover")
    del request["params"]["_meta"][CLIENT_CAPABILITIES]
    return awaiting(request)


def _other_revision(client: PlanClient) -> ProbeStep:
    headers = {PROTOCOL_VERSION: UNKNOWN_REVISION}
    meta = {"_meta": client.meta(UNKNOWN_REVISION)}
    return client.ask("server/discover", meta, headers=headers)


_STATEFUL: Final[dict[str, Any]] = {"of": is_stateful}
_STATELESS: Final[dict[str, Any]] = {"of": is_stateless}
_STREAMS: Final[dict[str, Any]] = {"framings": (LINES, EVENTS)}
_SUBSCRIBE: Final[dict[str, Any]] = {"declared": ("resources", "subscribe"), **_STATEFUL}
_HIGHEST: Final = {"level": "emergency"}
_NO_LEVEL: Final = {"_meta": {LOG_LEVEL: NONE}}
_LOGGING: Final[dict[str, Any]] = {"declared": ("logging",), **_STATEFUL}

OPENING: Final = (
    Probe(name="open", make=PlanClient.begin, of=lambda revision: True),
    telling("initialized", notification("notifications/initialized"), **_STATEFUL),
)
"""The start of a connection; without an agreement it ends with the first probe."""

READING: Final = (
    *_listing_probes(),
    of_first("resources/read", declared=("resources",)),
    Probe(name="prompts/get", make=partial(_prompt, needs=False), declared=("prompts",)),
    Probe(name="completion/complete", make=_complete, declared=("completions",)),
    Probe(name="tools/call", make=_call, declared=("tools",), repeats=True),
)
"""Probes that list the items of a server, and read them without effects."""

SETTING: Final = (
    of_first("resources/subscribe", **_SUBSCRIBE),
    of_first("resources/unsubscribe", **_SUBSCRIBE),
    request_step(SET_LEVEL, SET_LEVEL, _HIGHEST, **_LOGGING),
    request_step(f"{SET_LEVEL} undeclared", SET_LEVEL, _HIGHEST, undeclared=True, **_LOGGING),
    request_step("wrong log level", SET_LEVEL, {"level": NONE}, **_LOGGING),
    request_step("wrong log level", params=_NO_LEVEL, declared=("logging",), **_STATELESS),
)
"""Settings for this connection only."""

MISTAKES: Final = (
    request_step("ping", "ping", **_STATEFUL),
    Probe(name="id zero", make=partial(_with_id, id=0)),
    Probe(name="id of text", make=partial(_with_id, id="70007")),
    request_step("unknown method", NONE),
    request_step(
        "unknown tool", "tools/call", {"name": NONE, "arguments": {}}, declared=("tools",)
    ),
    request_step("unknown prompt", "prompts/get", {"name": NONE}, declared=("prompts",)),
    Probe(
        name="prompt without its arguments",
        make=partial(_prompt, needs=True),
        declared=("prompts",),
    ),
    request_step(
        "unknown resource", "resources/read", {"uri": NO_RESOURCE}, declared=("resources",)
    ),
    Probe(name="wrong params", make=_wrong_params),
    Probe(name="without clientCapabilities", make=_without_capabilities, **_STATELESS),
    Probe(name="unknown revision in _meta", make=_other_revision, **_STATELESS),
    telling("unknown notification", notification(f"notifications/{NONE}")),
    telling("request without id", notification("ping"), **_STATEFUL),
    telling("unknown request cancelled", cancellation(NONE)),
    Probe(name="request cancelled", make=_cancel, **_STREAMS),
    Probe(name="without jsonrpc", make=partial(_omit_member, member="jsonrpc")),
    Probe(name="without method", make=partial(_omit_member, member="method")),
    Probe(name="batch", make=_batch, of=has_batches),
    Probe(name="no JSON", make=_cut_off),
)
"""Mistakes of a client, and unusual but allowed requests."""
