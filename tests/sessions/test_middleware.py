"""What stands around each message of a server or client: middleware, and layers of features."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager
from functools import cached_property
from typing import Any

import pytest
from mcp_protogen.runtime.core.json import JSONObject
from mcp_protogen.runtime.messages.codec import Request
from mcp_protogen.runtime.messages.method_table import MethodTable
from mcp_protogen.runtime.rpc.jobs import Job
from mcp_protogen.runtime.server.base import ServerRuntime
from mcp_protogen.runtime.server.layers import Following, Layer
from mcp_revisions import CallNext, McpError, MethodCall
from mcp_revisions.v2026_07_28.ext.tasks import TasksServer
from support.revisions import HANDSHAKE, OLD, REVISIONS, STATELESS
from support.sessions.talking import (
    INITIALIZED,
    call_params,
    client,
    entry,
    hello,
    models,
    modern,
    notification,
    pkg,
    request,
    serve_by_hand,
    server,
    shaken,
    tools,
)
from support.tables import case

Called = list[tuple[Any, ...]]
PAIRS = [(own, spoken) for own in (OLD, STATELESS) for spoken in REVISIONS]


async def echo(session: Any, params: Any) -> str:
    return str(params.name)


def noting(seen: Called, name: str) -> Any:
    async def note(call: MethodCall, next: CallNext) -> Any:
        seen.append((name, call.method, call.target))
        try:
            return await next(call)
        finally:
            seen.append((name, "after"))

    return note


def connect_pair(own: str, spoken: str, **members: Any) -> AbstractAsyncContextManager[Any]:
    """A client of one revision with a server of another, whose tools give back their names."""
    ours = tools(own, members.pop("call", echo), **members)
    return pkg.connect_in_memory(client(spoken), ours, revisions=pkg.REVISIONS)


async def text(caller: Any, spoken: str, name: str = "a") -> str:
    result = await caller.call_tool(name)
    return str(result.content[0].text)


async def test_the_first_is_outermost_and_around_is_within() -> None:
    for own, spoken in PAIRS:
        with case((own, spoken)):
            seen: Called = []
            inner = staticmethod(noting(seen, "around"))
            outer = noting(seen, "first"), noting(seen, "second")
            async with connect_pair(own, spoken, middleware=outer, around=inner) as caller:
                seen.clear()
                assert await text(caller, spoken) == "a"
            names = ("first", "second", "around")
            called: Called = [(name, "tools/call", "a") for name in names]
            ended: Called = [(name, "after") for name in reversed(names)]
            assert [entry for entry in seen if entry[1] in ("tools/call", "after")][
                -6:
            ] == called + ended


async def test_a_call_says_what_it_is() -> None:
    for own, spoken in PAIRS:
        with case((own, spoken)):
            seen: list[MethodCall] = []

            async def around(self: Any, call: MethodCall, next: CallNext, seen: Any = seen) -> Any:
                seen.append(call)
                return await next(call)

            async with connect_pair(own, spoken, around=around) as caller:
                await text(caller, spoken)
            call = seen[-1]
            assert type(call.params) is models(own).CallToolRequestParams
            assert (call.revision, call.is_request, call.is_sent) == (spoken, True, False)
            assert (call.session.revision, call.session.request_id) == (spoken, call.request_id)
            with pytest.raises(AttributeError):
                call.method = "tools/list"  # type: ignore[misc]  # pyright: ignore
            with pytest.raises(TypeError, match="the params of tools/call must be CallToolRequest"):
                call.replace(params=None)


async def change_name(call: MethodCall, next: CallNext) -> Any:
    given = call.params.model_copy(update={"name": "b"})
    return await next(call.replace(params=given))


async def twice(call: MethodCall, next: CallNext) -> Any:
    await next(call)
    return await next(call)


async def in_another_task(call: MethodCall, next: CallNext) -> Any:
    async def go_on() -> Any:
        return await next(call)

    return await asyncio.create_task(go_on())


async def refusing(call: MethodCall, next: CallNext) -> Any:
    raise McpError(-32000, "not today", {"until": 7})


async def failing(call: MethodCall, next: CallNext) -> Any:
    raise ValueError("a secret")


async def of_nothing(call: MethodCall, next: CallNext) -> Any:
    return {"content": []}


def only_tools(one: Callable[[MethodCall, CallNext], Awaitable[Any]]) -> Any:
    def around(call: MethodCall, next: CallNext) -> Awaitable[Any]:
        return one(call, next) if call.method == "tools/call" else next(call)

    return around


OUTCOMES: dict[Any, Any] = {
    change_name: "b",
    twice: "a",
    in_another_task: "a",
    refusing: (-32000, "not today"),
    failing: (-32603, "Internal error"),
    of_nothing: (-32603, "Internal error"),
}


async def test_middleware_may_change_answer_repeat_and_refuse() -> None:
    for own, spoken in PAIRS:
        for wrap, outcome in OUTCOMES.items():
            with case((own, spoken, wrap)):
                async with connect_pair(own, spoken, middleware=[only_tools(wrap)]) as caller:
                    if isinstance(outcome, str):
                        assert await text(caller, spoken) == outcome
                        continue
                    with pytest.raises(McpError) as raised:
                        await text(caller, spoken)
                    assert (raised.value.code, raised.value.message) == outcome


async def test_middleware_sees_runtime_answers_but_not_refusals() -> None:
    seen: list[Any] = []

    async def around(self: Any, call: MethodCall, next: CallNext) -> Any:
        result = await next(call)
        seen.append((call.method, type(result).__name__))
        return result

    async with shaken(tools(OLD, echo, around=around)) as hand:
        assert (await hand.ask("ping"))["result"] == {}
        assert (await hand.ask("prompts/list"))["error"]["code"] == -32601
        assert (await hand.ask("tools/call"))["error"]["code"] == -32602
    async with serve_by_hand(tools(STATELESS, echo, around=around)) as hand:
        await hand.send(modern("server/discover"))
        assert "supportedVersions" in (await hand.take())["result"]
    answered = [("ping", "EmptyResult"), ("server/discover", "DiscoverResult")]
    assert seen == [("notifications/initialized", "NoneType"), *answered]


async def test_slow_middleware_around_initialized_delays_no_request() -> None:
    held = asyncio.Event()

    async def around(self: Any, call: MethodCall, next: CallNext) -> Any:
        if not call.is_request:
            await held.wait()
        return await next(call)

    async with shaken(tools(OLD, echo, around=around)) as hand:
        assert "result" in await hand.ask("tools/call", name="a", arguments={})
        held.set()


async def test_members_of_a_batch_are_calls_of_their_own() -> None:
    seen: list[Any] = []

    async def around(self: Any, call: MethodCall, next: CallNext) -> Any:
        seen.append((call.method, call.request_id))
        return await next(call)

    async with shaken(tools("2025-03-26", echo, around=around), "2025-03-26") as hand:
        await hand.send([request("ping", 1), notification("notifications/roots/list_changed")])
        assert [answer["id"] for answer in await hand.take()] == [1]
    rest = {("ping", 1), ("notifications/roots/list_changed", None)}
    assert set(seen) == {("notifications/initialized", None), *rest}


async def test_middleware_continues_after_cancellation() -> None:
    begun, after = asyncio.Event(), asyncio.Event()

    async def forever(session: Any, params: Any) -> str:
        begun.set()
        await asyncio.Event().wait()
        return ""

    async def around(self: Any, call: MethodCall, next: CallNext) -> Any:
        try:
            return await next(call)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            after.set()
            raise

    async with shaken(tools(OLD, forever, around=around)) as hand:
        await hand.send(request("tools/call", 5, name="a", arguments={}))
        await begun.wait()
        await hand.send(notification("notifications/cancelled", requestId=5))
        await after.wait()
        assert (await hand.ask("ping", 6))["id"] == 6


async def test_middleware_is_called_per_arriving_request() -> None:
    """A handler of 2026-07-28 that asks takes several requests, one for each round."""

    async def asks(session: Any, params: Any) -> str:
        m = models(session.TABLE.revision)
        schema: Any = {"type": "object", "properties": {}}
        form = m.ElicitRequestFormParams(message="sure?", requested_schema=schema)
        return str((await session.request(entry(session, "elicitation/create"), form)).action)

    async def on_elicit(self: Any, params: Any) -> Any:
        return models(self.TABLE.revision).ElicitResult(action="decline")

    for own, spoken in PAIRS:
        if not hasattr(pkg.load(spoken).Client, "on_elicit"):
            continue
        for extra in ((), (in_another_task,)):
            with case((own, spoken, extra)):
                results: list[str] = []

                async def around(call: MethodCall, next: CallNext, results: Any = results) -> Any:
                    result = await next(call)
                    if call.method == "tools/call":
                        results.append(type(result).__name__)
                    return result

                ours = tools(own, asks, middleware=(around, *extra))
                asked = client(spoken, on_elicit=on_elicit)
                async with pkg.connect_in_memory(asked, ours, revisions=pkg.REVISIONS) as caller:
                    runtime: Any = caller.__mcp_runtime__
                    spec = pkg.load(spoken).methods.CALL_TOOL
                    send = runtime.request if spoken in HANDSHAKE else runtime.complete
                    result = await send(spec, call_params(spoken, "a"), {})
                    assert result.content[0].text == "decline"
                asking = [] if spoken in HANDSHAKE else ["InputRequiredResult"]
                assert results == [*asking, "CallToolResult"]


async def test_a_client_has_it_around_what_it_sends_and_handles() -> None:
    for own, spoken in PAIRS:
        with case((own, spoken)):
            seen: list[Any] = []

            async def around(self: Any, call: MethodCall, next: CallNext, seen: Any = seen) -> Any:
                seen.append((call.method, call.is_sent, call.is_request, call.target))
                return await next(call.with_meta({"traceparent": "00-1-2-01"}))

            came: list[Any] = []

            async def note(call: MethodCall, next: CallNext, came: Any = came) -> Any:
                if call.method in ("tools/call", "tools/list"):
                    came.append(call.meta["traceparent"])
                    assert call.params.to_wire()["_meta"]["traceparent"] == "00-1-2-01"
                return await next(call)

            async def on_list_tools(self: Any, session: Any, params: Any, own: str = own) -> Any:
                await session.log("error", "listing")
                return models(own).ListToolsResult(tools=[])

            heard = asyncio.Event()

            async def on_logging_message(self: Any, params: Any, heard: Any = heard) -> None:
                heard.set()

            ours = tools(
                own,
                echo,
                on_list_tools=on_list_tools,
                middleware=[note],
                SENDS=frozenset({"notifications/message"}),
            )
            mine = client(spoken, around=around, on_logging_message=on_logging_message)
            async with pkg.connect_in_memory(mine, ours, revisions=pkg.REVISIONS) as caller:
                assert await text(caller, spoken) == "a"
                if spoken in HANDSHAKE:
                    await caller.list_tools()
                    await heard.wait()
                    assert ("notifications/message", False, False, None) in seen
                    assert ("tools/list", True, True, None) in seen
            assert seen[0] == ("tools/call", True, True, "a")
            assert set(came) == {"00-1-2-01"}


WRONG: list[tuple[Any, str]] = [
    (change_name, r"Ours.middleware must be a tuple, got <function change_name"),
    ((dict,), r"Ours.middleware: dict is a class: write dict\(\)"),
    (("timing",), r"Ours.middleware: 'timing' must be a function"),
]


def test_invalid_middleware_is_refused_in_class_or_at_binding() -> None:
    for wrong, said in WRONG:
        with case(said):
            with pytest.raises(TypeError, match=said):
                server(OLD, middleware=wrong)
            made: Any = server(OLD)
            made.middleware = wrong
            with pytest.raises(TypeError, match=said):
                made.__mcp_runtime__.middleware()


async def test_server_requests_pass_middleware() -> None:
    for own, spoken in PAIRS:
        if spoken not in HANDSHAKE:
            continue
        with case((own, spoken)):
            seen: list[Any] = []
            ended: list[Any] = []

            class Watching:
                async def __call__(self, call: MethodCall, next: CallNext, seen: Any = seen) -> Any:
                    result = await next(call)
                    told = (call.method, call.is_sent, call.is_request, len(call.sent_ids))
                    seen.append((*told, call.revision, call.network))
                    return result

                def on_session_end(self, end: Any, ended: Any = ended) -> None:
                    ended.append(end)
                    raise ValueError("not noted")

            async def ask(session: Any, params: Any) -> str:
                await session.log("info", "asking")
                return str((await session.list_roots()).roots[0].uri)

            async def on_list_roots(self: object, params: Any = None, spoken: str = spoken) -> Any:
                m: Any = models(spoken)
                return m.ListRootsResult(roots=[m.Root(uri="file:///a")])

            ours = tools(own, ask, middleware=(Watching(),))
            mine = client(spoken, on_list_roots=on_list_roots)
            async with pkg.connect_in_memory(mine, ours, revisions=pkg.REVISIONS) as caller:
                result = await caller.call_tool("ask")
                assert "file:///a" in str(result)
                assert ended == []
            assert seen[-2:] == [
                ("roots/list", True, True, 1, spoken, None),
                ("tools/call", False, True, 0, spoken, None),
            ]
            (end,) = ended
            assert (end.role, end.revision, end.error) == ("server", spoken, None)
            assert 0 < end.seconds < 60


class Counting(Layer):
    """A layer that counts requests, adds a method, and hides one."""

    hidden = ("prompts/get",)

    def __init__(self) -> None:
        self.served: list[str] = []
        self.asked: Collection[str] = ()
        self.handlers = {"completion/complete": self._complete}

    async def _complete(self, session: Any, params: Any) -> Any:
        result, *_ = session.__mcp_runtime__.table.requests["completion/complete"].results
        return result.from_wire({"completion": {"values": [params.argument.value]}})

    def extend_capabilities(self, declared: JSONObject) -> JSONObject:
        return {**declared, "completions": {}}

    async def serve(self, connection: Any, job: Job) -> Any:
        self.served.append(job.request.spec.method)
        return await super().serve(connection, job)

    async def find_following(
        self, connection: Any, request: Request[Any], ids: Collection[str]
    ) -> Following:
        self.asked = sorted(ids)

        async def follow() -> None:
            await connection.publish("notifications/tools/list_changed", None)

        return {"one": follow}


def server_with_layer(revision: str, layer: Layer, **members: Any) -> Any:
    """A server of a revision with a layer."""

    class Runtime(ServerRuntime):
        def layer(self, table: MethodTable, tells_apart: bool) -> Layer:
            return layer

    return tools(revision, echo, __mcp_runtime__=cached_property(Runtime), **members)


async def get_prompt(self: object, session: Any, params: Any) -> Any:
    return models(OLD).GetPromptResult(messages=[])


COMPLETING = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "v"}}


async def test_layer_stands_around_requests_answers_further_ones_and_hides_others() -> None:
    layer = Counting()
    async with serve_by_hand(server_with_layer(OLD, layer, on_get_prompt=get_prompt)) as hand:
        await hand.send(hello())
        capabilities = (await hand.take())["result"]["capabilities"]
        assert capabilities.keys() == {"tools", "prompts", "completions"}
        await hand.send(INITIALIZED)
        await hand.send(request("completion/complete", 2, **COMPLETING))
        assert (await hand.take())["result"]["completion"]["values"] == ["v"]
        await hand.send(request("tools/call", 3, name="x"))
        assert (await hand.take())["result"]["content"][0]["text"] == "x"
        await hand.send(request("prompts/get", 4, name="p"))
        assert (await hand.take())["error"]["code"] == -32601
    assert layer.served == ["completion/complete", "tools/call", "prompts/get"]


async def test_listen_stream_hears_of_what_a_layer_follows() -> None:
    layer, changed = Counting(), "notifications/tools/list_changed"
    plain: Any = server_with_layer(STATELESS, layer, SENDS=frozenset({changed}))
    # The extension has a member of the filter.
    bases: Any = TasksServer, type(plain)
    server = type("Server", bases, {})()
    async with serve_by_hand(server) as hand:
        wanted = {"taskIds": ["two", "one"], "toolsListChanged": True}
        await hand.send(modern("subscriptions/listen", 1, notifications=wanted))
        acknowledged = (await hand.take())["params"]["notifications"]
        assert acknowledged == {"toolsListChanged": True, "taskIds": ["one"]}
        assert (await hand.take())["method"] == changed
    assert layer.asked == ["one", "two"]


GREETING = """
import asyncio, sys
from mcp_revisions import in_memory, v2025_11_25 as mcp, connect_in_memory
app = mcp.App("greeter")
@app.tool
def greet(name: str) -> str:
    return name
async def main():
    async with connect_in_memory(app, mcp.Client()) as client:
        await client.call_tool("greet", {"name": "Ada"})
asyncio.run(main())
print(*(name for name in sys.modules if "task" in name and "mcp_protogen" in name))
"""


def test_server_without_tasks_imports_nothing_of_them() -> None:
    done = subprocess.run(
        [sys.executable, "-c", GREETING], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["mcp_protogen.runtime.core.tasks"]
