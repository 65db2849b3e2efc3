"""Servers and clients that echo each request, and make the calls they are told to.

As a program it is such a server over stdio; it takes its revision, and a file with its results.
"""

import inspect
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args

from mcp_protogen.runtime.core.models.base import WireModel
from mcp_protogen.runtime.core.spec import CallSpec
from mcp_protogen.runtime.rpc.peer import all_items
from mcp_protogen.runtime.rules.capabilities import declare

from support.json_types import JsonObject
from support.sessions.talking import AnyServer, entry, models, pkg, stub

Results = Mapping[str, JsonObject]
"""A valid result for each method."""

# The runtime answers these itself, or keeps them open.
OF_THE_RUNTIME = ("server/discover", "subscriptions/listen")


class Call(NamedTuple):
    """A call of a stub with its params as JSON."""

    name: str
    cls: str
    params: JsonObject


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """Return the members and options that a stub takes; None if it takes whole params."""
    if "methods" not in function.__code__.co_names:
        return None  # without a stub
    signature = inspect.signature(function)
    if signature.parameters.keys() & {"params", "form"}:
        return None
    own = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.name not in ("as_", "check")
    ]
    return signature.replace(parameters=own)


def method_of(function: Callable[..., Any]) -> str:
    """Return the method of a stub: the first name in its docstring."""
    return (function.__doc__ or "").partition("`")[2].partition("`")[0]


def classes_of(spec: CallSpec[Any]) -> list[type[WireModel]]:
    """Return the possible params classes of a message."""
    params = getattr(spec.params, "__value__", spec.params)
    return [kind for kind in get_args(params) or [params] if isinstance(kind, type)]


def members_of(params: Any) -> dict[str, Any]:
    """Return the members of params except those that a signature leaves out."""
    fields = params.__class__.model_fields
    return {
        name: getattr(params, name)
        for name in params.model_fields_set & fields.keys()
        if getattr(params, name) != fields[name].default or name != "mode"
    }


def split(signature: inspect.Signature, members: dict[str, Any]) -> tuple[list[Any], Any] | None:
    """Return the members by position and by keyword; None if the signature does not fit."""
    parameters = {**signature.parameters}
    needed = {
        name
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty and name not in ("self", "options")
    }
    if members.keys() - parameters.keys() or needed - members.keys():
        return None
    given, leading = dict(members), list[Any]()
    for name, parameter in parameters.items():
        if name == "self":
            continue
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or name not in given:
            break
        leading.append(given.pop(name))
    return leading, given


async def outcome(peer: Any, call: Call, *, flat: bool) -> JsonObject:
    """Return the result of a call, or the error that it raises."""
    stub = getattr(peer.__class__, call.name)
    whole = getattr(models(peer.TABLE.revision), call.cls).from_wire(call.params)
    signature = signature_of(stub)
    assert signature is not None
    given: Any = split(signature, members_of(whole))
    try:
        called = stub(peer, *given[0], **given[1]) if flat else _whole(peer, stub, whole)
        if hasattr(called, "__anext__"):
            return {"result": [item.to_wire() async for item in called]}
        result = await called
    except pkg.ProtocolError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"result": None if result is None else result.to_wire()}


def _whole(peer: Any, stub: Callable[..., Any], params: Any) -> Any:
    """Send a stub's request with whole params."""
    method = method_of(stub)
    if method.startswith("notifications/"):
        return peer.notify(peer.TABLE.notifications[method], params)
    if stub.__name__.startswith("iter_"):
        return all_items(peer, entry(peer, method), params, {})
    send = peer.request_once if stub.__name__ == "call_as_task" else peer.request
    return send(entry(peer, method), params)


def echoing_server(revision: str, results: Results) -> AnyServer:
    """Return a server that answers all requests of a revision; tools named like stubs call them."""
    heard: list[Any] = []
    base = pkg.load(revision).Server
    members = _echoes(base.REQUESTS, results) | _ears(base.NOTIFICATIONS, heard)
    echo: Any = members["on_call_tool"]

    async def on_call_tool(self: object, session: Any, params: Any) -> Any:
        given: JsonObject = params.arguments or {}
        said: Any = None
        if params.name == "calls":
            said = await outcome(session, Call(*given["call"]), flat=given["flat"])
        elif params.name == "heard":
            said = [*heard]
            heard.clear()
        else:
            return await echo(self, session, params)
        m = models(revision)
        return m.CallToolResult(content=[m.TextContent(text=json.dumps(said))])

    members |= {"on_call_tool": on_call_tool, **_declaring(base, "server")}
    return cast(AnyServer, stub(base, **members))


def echoing_client(revision: str, results: Results, heard: list[Any]) -> Any:
    """Return a client that answers all requests of a revision, and records notifications."""
    base = pkg.load(revision).Client
    requests = base.REQUESTS | base.INPUT_REQUESTS
    members = _echoes(requests, results) | _ears(base.NOTIFICATIONS, heard)
    return stub(base, **members, **_declaring(base, "client"))


def _declaring(base: Any, role: str) -> dict[str, Any]:
    """Return the members with which a class declares every capability of its revision."""
    table = base.TABLE
    specs = (*table.requests.values(), *table.input_requests.values())
    sent = {
        method: notification
        for method, notification in table.notifications.items()
        if role in notification.senders
    }
    needs = {need.capability for spec in (*specs, *sent.values()) for need in spec.requires}
    declared = declare(required for required in needs if required.role == role)
    return {"SENDS": frozenset(sent), "DECLARES": declared}


def _echoes(requests: Mapping[str, Any], results: Results) -> dict[str, Any]:
    def echo(method: str, spec: Any) -> Any:
        async def answer(self: object, *given: Any) -> Any:
            params = given[-1]
            seen = None if params is None else params.to_wire()
            result = {**results[method]}
            meta = {**result.get("_meta", {}), "echo": seen}
            return spec.results[0].from_wire({**result, "_meta": meta})

        return answer

    return {
        name: echo(method, spec)
        for method, (spec, name) in requests.items()
        if method not in OF_THE_RUNTIME
    }


def _ears(notifications: Mapping[str, Any], heard: list[Any]) -> dict[str, Any]:
    def ear(method: str) -> Any:
        async def hear(self: object, *given: Any) -> None:
            heard.append([method, None if given[-1] is None else given[-1].to_wire()])

        return hear

    return {name: ear(method) for method, (_, name) in notifications.items()}


if __name__ == "__main__":
    own, file = sys.argv[1:]
    answers = json.loads(Path(file).read_text())
    pkg.run_stdio(echoing_server(own, answers), revisions=pkg.REVISIONS)
