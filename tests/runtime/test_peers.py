"""A client and a server that talk to each other in memory."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp_protogen.runtime.codec import MethodTable
from mcp_protogen.runtime.errors import (
    Disconnected,
    InvalidParams,
    LocalError,
    McpError,
    MissingCapability,
)
from mcp_protogen.runtime.memory import connect_in_memory
from mcp_protogen.runtime.peer import Link
from mcp_protogen.runtime.spec import Role
from mini import methods
from mini import models as m
from mini.client import Client
from mini.server import Server, Session


class Echo(Server):
    """Answers tools/call and tools/list in many ways."""

    SENDS = frozenset({"notifications/message", "notifications/tools/list_changed"})

    def __init__(self) -> None:
        self.progress: list[float] = []
        self.gate = asyncio.Event()

    async def on_call_tool(
        self, session: Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult | m.CreateTaskResult:
        result: m.CallToolResult | m.CreateTaskResult = await getattr(self, f"tool_{params.name}")(
            session, params
        )
        return result

    async def on_list_tools(
        self, session: Session, params: m.PaginatedRequestParams
    ) -> m.ListToolsResult:
        return m.ListToolsResult(tools=[m.Tool(name="echo", input_schema={"type": "object"})])

    async def on_progress(self, session: Session, params: m.ProgressNotificationParams) -> None:
        self.progress.append(params.progress)

    async def tool_echo(
        self, session: Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult:
        return m.CallToolResult(content=[m.TextContent(text=str(params.arguments))])

    async def tool_task(
        self, session: Session, params: m.CallToolRequestParams
    ) -> m.CreateTaskResult:
        return m.CreateTaskResult(task=m.Task(task_id="t", status="working", ttl=None))

    async def tool_wait(
        self, session: Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult:
        await self.gate.wait()
        return m.CallToolResult(content=[])

    async def tool_open(
        self, session: Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult:
        self.gate.set()
        return m.CallToolResult(content=[])

    async def tool_crash(
        self, session: Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult:
        raise RuntimeError("the password is hunter2")

    async def tool_refuse(
        self, session: Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult:
        raise McpError(-32002, "not today", {"retry": True})

    async def tool_complain(
        self, session: Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult:
        raise InvalidParams("arguments do not fit", [("/params/arguments/a", "too small")])

    async def tool_mistake(self, session: Session, params: m.CallToolRequestParams) -> Any:
        return m.EmptyResult()

    async def tool_sample(
        self, session: Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult:
        answer = await session.create_message(
            m.CreateMessageRequestParams(max_tokens=9, messages=[])
        )
        return m.CallToolResult(content=[m.TextContent(text=answer.model)])

    async def tool_elicit(
        self, session: Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult:
        await session.elicit(m.ElicitRequestURLParams(message="m", url="u"))
        return m.CallToolResult(content=[])


class Host(Client):
    """Answers sampling requests and remembers notifications."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    async def on_create_message(
        self, params: m.CreateMessageRequestParams
    ) -> m.CreateMessageResult:
        return m.CreateMessageResult(
            content=m.TextContent(text="x"), model=f"model-{params.max_tokens}", role="assistant"
        )

    async def on_logging_message(self, params: m.LoggingMessageNotificationParams) -> None:
        if params.data == "crash":
            raise RuntimeError("handler of a notification")
        self.heard.append(params.data)


def call(name: str, **arguments: Any) -> m.CallToolRequestParams:
    return m.CallToolRequestParams(name=name, arguments=arguments or None)


class Talk:
    """A client and a server, and all that travelled between them."""

    def __init__(self) -> None:
        self.client = Host()
        self.server = Echo()
        self.sent: list[tuple[Role, Any]] = []

    def run(self, script: Callable[[Host, Session], Awaitable[None]]) -> None:
        async def main() -> None:
            async with asyncio.timeout(5):
                async with connect_in_memory(self.client, self.server, tap=self.tap) as session:
                    await script(self.client, session)

        asyncio.run(main())

    def tap(self, sender: Role, data: bytes) -> None:
        self.sent.append((sender, json.loads(data)))


@pytest.fixture
def talk() -> Talk:
    return Talk()


def test_a_call_travels_as_bytes_and_comes_back_typed(talk: Talk) -> None:
    async def script(client: Host, session: Session) -> None:
        result = await client.call_tool(call("echo", a=None))
        assert result == m.CallToolResult(content=[m.TextContent(text="{'a': None}")])

    talk.run(script)
    assert talk.sent == [
        (
            "client",
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "echo", "arguments": {"a": None}},
            },
        ),
        (
            "server",
            {
                "jsonrpc": "2.0",
                "id": 1,
                "result": {"content": [{"text": "{'a': None}", "type": "text"}]},
            },
        ),
    ]


def test_an_alternative_result_comes_back_as_its_class(talk: Talk) -> None:
    async def script(client: Host, session: Session) -> None:
        result = await client.call_tool(call("task"))
        assert isinstance(result, m.CreateTaskResult)
        assert result.task.ttl is None

    talk.run(script)


def test_both_sides_may_call_and_handlers_run_side_by_side(talk: Talk) -> None:
    async def script(client: Host, session: Session) -> None:
        waiting = asyncio.create_task(client.call_tool(call("wait")))
        result = await client.call_tool(call("sample"))
        assert isinstance(result, m.CallToolResult)
        assert result.to_wire()["content"][0]["text"] == "model-9"
        assert not waiting.done()
        await client.call_tool(call("open"))
        await waiting

    talk.run(script)


def test_notifications_are_heeded_on_both_sides(talk: Talk) -> None:
    async def script(client: Host, session: Session) -> None:
        for number in range(3):
            await client.notify_progress(
                m.ProgressNotificationParams(progress=number, progress_token="t")
            )
            await session.notify_logging_message(
                m.LoggingMessageNotificationParams(data=number, level="debug")
            )
        await session.notify_tool_list_changed(m.NotificationParams())
        await client.list_tools(m.PaginatedRequestParams())

    talk.run(script)
    assert talk.server.progress == [0, 1, 2]
    assert talk.client.heard == [0, 1, 2]


def test_a_handler_that_fails_says_nothing_about_it(
    talk: Talk, caplog: pytest.LogCaptureFixture
) -> None:
    async def script(client: Host, session: Session) -> None:
        for name in ("crash", "mistake", "no_such_tool"):
            with pytest.raises(McpError) as caught:
                await client.call_tool(call(name))
            assert (caught.value.code, caught.value.message) == (-32603, "Internal error")
            assert caught.value.data is None
        assert await client.call_tool(call("echo"))

    talk.run(script)
    assert "hunter2" not in str(talk.sent)
    assert "hunter2" in caplog.text


def test_a_handler_of_a_notification_that_fails_does_no_harm(
    talk: Talk, caplog: pytest.LogCaptureFixture
) -> None:
    async def script(client: Host, session: Session) -> None:
        for data in ("crash", "after"):
            await session.notify_logging_message(
                m.LoggingMessageNotificationParams(data=data, level="debug")
            )
        await client.list_tools(m.PaginatedRequestParams())

    talk.run(script)
    assert talk.client.heard == ["after"]
    assert "handler of a notification" in caplog.text


def test_a_handler_may_choose_its_error(talk: Talk) -> None:
    async def script(client: Host, session: Session) -> None:
        with pytest.raises(McpError) as caught:
            await client.call_tool(call("refuse"))
        assert (caught.value.code, caught.value.message) == (-32002, "not today")
        assert caught.value.data == {"retry": True}
        with pytest.raises(McpError) as caught:
            await client.call_tool(call("complain"))
        assert caught.value.code == -32602
        assert caught.value.data == {
            "problems": [{"pointer": "/params/arguments/a", "message": "too small"}]
        }

    talk.run(script)


def test_what_is_not_declared_is_not_sent(talk: Talk) -> None:
    async def script(client: Host, session: Session) -> None:
        with pytest.raises(MissingCapability) as caught:
            await client.read_resource(m.ReadResourceRequestParams(uri="u"))
        assert caught.value.path == "server.resources"
        with pytest.raises(MissingCapability):
            await session.elicit(m.ElicitRequestFormParams(message="m", requested_schema={}))

    talk.run(script)
    assert talk.sent == []


def test_a_missing_capability_inside_a_handler_is_an_internal_error(talk: Talk) -> None:
    async def script(client: Host, session: Session) -> None:
        with pytest.raises(McpError) as caught:
            await client.call_tool(call("elicit"))
        assert caught.value.code == -32603

    talk.run(script)


def test_a_method_left_alone_is_not_found(talk: Talk) -> None:
    async def script(client: Host, session: Session) -> None:
        with pytest.raises(McpError) as caught:
            await client.ping(m.RequestParams())
        assert caught.value.code == -32601

    talk.run(script)


def test_capabilities_follow_from_what_is_handled_and_sent() -> None:
    assert Server.handled() == frozenset()
    assert Server().declaration() == {}
    assert Echo.handled() == {"tools/call", "tools/list", "notifications/progress"}
    assert Host.handled() == {"sampling/createMessage", "notifications/message"}
    assert Host().declaration() == {"sampling": {}}

    async def main() -> None:
        assert Echo().declaration() == {"logging": {}, "tools": {"listChanged": True}}

    asyncio.run(main())


def test_handlers_inherited_from_a_mixin_count() -> None:
    class Pings:
        async def on_ping(self, session: Session, params: m.RequestParams) -> m.EmptyResult:
            return m.EmptyResult()

    class Both(Pings, Server):
        pass

    assert Both.handled() == {"ping"}


def test_leaving_ends_open_requests(talk: Talk) -> None:
    async def main() -> None:
        async with connect_in_memory(talk.client, talk.server):
            waiting = asyncio.create_task(talk.client.call_tool(call("wait")))
            await asyncio.sleep(0)
        with pytest.raises(Disconnected):
            await waiting
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


def test_an_error_inside_the_block_is_not_wrapped(talk: Talk) -> None:
    async def script(client: Host, session: Session) -> None:
        raise KeyError("own")

    with pytest.raises(KeyError):
        talk.run(script)


def test_nothing_is_sent_without_a_connection(talk: Talk) -> None:
    with pytest.raises(LocalError, match="not connected"):
        asyncio.run(talk.client.list_tools(m.PaginatedRequestParams()))
    talk.client.receive(b"{}")


def test_a_cancelled_call_is_forgotten(talk: Talk) -> None:
    async def script(client: Host, session: Session) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await client.call_tool(call("wait"))
        await client.call_tool(call("open"))
        await client.list_tools(m.PaginatedRequestParams())

    talk.run(script)


def test_one_server_answers_many_clients(talk: Talk) -> None:
    async def main() -> None:
        other = Host()
        async with (
            connect_in_memory(talk.client, talk.server) as one,
            connect_in_memory(other, talk.server) as two,
        ):
            assert one is not two
            for client in (talk.client, other):
                assert await client.call_tool(call("sample"))

    asyncio.run(main())


def answers_of(server: Server, *received: bytes) -> list[Any]:
    """What a session of `server` sends when a transport hands it `received`."""
    sent: list[Any] = []

    async def send(data: bytes) -> None:
        sent.append(json.loads(data))

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            declared: dict[Role, Any] = {"client": {}, "server": server.declaration()}
            session = server.accept(Link(send, tasks.create_task, declared))
            for data in received:
                session.receive(data)

    asyncio.run(main())
    return sent


def test_what_cannot_be_read_is_refused_on_the_wire(talk: Talk) -> None:
    unasked = b'{"jsonrpc":"2.0","id":1,"result":{}}'
    sent = answers_of(talk.server, b"{", b"[]", unasked)
    assert [message["error"]["code"] for message in sent] == [-32700, -32600]
    assert not any("id" in message for message in sent)


def test_a_batch_is_answered_by_one_batch() -> None:
    class BatchSession(Session):
        TABLE = MethodTable(
            "2025-03-26", methods.REQUESTS, methods.NOTIFICATIONS, methods.ERRORS, batching=True
        )

    class BatchServer(Echo):
        SESSION = BatchSession

    (answers,) = answers_of(
        BatchServer(),
        b'[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}},'
        b'{"jsonrpc":"2.0","method":"notifications/progress",'
        b'"params":{"progress":1,"progressToken":"t"}},'
        b'{"jsonrpc":"2.0","id":2,"method":"tools/nothing"}]',
        b'[{"jsonrpc":"2.0","method":"notifications/nothing"}]',
    )
    assert [(answer["id"], "result" in answer) for answer in answers] == [(1, True), (2, False)]
