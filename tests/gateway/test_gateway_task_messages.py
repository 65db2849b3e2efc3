"""Messages about tasks between clients, a gateway and its servers, played by hand."""

from typing import Any, Final

import pytest
from mcp_protogen.runtime.testing import in_memory
from mcp_protogen.servers.gateway.tasks import owned
from mcp_revisions import McpError, TaskOptions
from support.gateway.gateways import (
    behind,
    client_of,
    gateway,
)
from support.gateway.listing import Listing, tool
from support.json_types import Json, JsonObject
from support.revisions import OLD, REVISIONS, STATELESS
from support.sessions.talking import Accepting, Hand, pkg, serve_by_hand, shaken
from support.tables import case
from support.tasks.asking import DECLARED, begin_task, cancel_task, got, refused
from support.tasks.by_hand import ScriptedServer, core_task, elicit, task_created, task_details
from support.tasks.gateway import CLIENTS, OPTIONS, PAIRS, SERVERS
from support.tasks.jobs import RELATED

CALL: Final = "tools/call"
LISTED: Final[JsonObject] = {"tools": [tool("x", execution={"taskSupport": "required"})]}

pytestmark = pytest.mark.skips_time


def make_played(revision: str, **answers: Any) -> ScriptedServer:
    """Return a server of a revision whose tool `x` becomes the task `t`."""
    created = {"task": core_task("t")} if revision == OLD else task_created("t")
    return ScriptedServer(revision, **{"tools_list": [LISTED], "tools_call": [created], **answers})


def fronts_of(*servers: ScriptedServer, **options: Any) -> list[Any]:
    """Return the servers of a gateway before played ones: `up`, and perhaps `more`."""
    names = zip(("up", "more"), servers, strict=False)
    return gateway(
        *(
            behind(name, Accepting(server.play), revision=server.revision, **options)
            for name, server in names
        )
    )


async def begin(hand: Hand, **members: Any) -> Json:
    """Call the tool as a task of 2025-11-25; return the result."""
    answer = await hand.ask(CALL, "call", name="up_x", task={}, **members)
    return answer["result"]


async def test_messages_of_a_task_name_it_as_its_client_does() -> None:
    async def ask_and_finish(hand: Hand, message: JsonObject) -> JsonObject:
        related: JsonObject = {RELATED: {"taskId": "t"}}
        token = served.params(CALL)[0]["_meta"]["progressToken"]
        for method, params in (
            ("notifications/tasks/status", core_task("t", "input_required")),
            ("notifications/tasks/status", core_task("another")),
            ("notifications/progress", {"progressToken": token, "progress": 1, "_meta": related}),
            ("notifications/message", {"level": "info", "data": "x", "_meta": related}),
        ):
            await served.notify(method, **params)
        question = elicit(7, "Sure?")
        question["params"]["_meta"] = related
        await hand.send(question)
        assert (await hand.take())["result"] == {"action": "decline"}
        return {"content": [], "_meta": {**related, "a/b": 1}}

    served = make_played(OLD, tasks_result=[ask_and_finish])
    served.capabilities["logging"] = {}
    async with shaken(fronts_of(served)) as hand:
        created = await begin(hand, _meta={"progressToken": "mine"})
        related = {RELATED: {"taskId": "up:t"}}
        assert created["task"]["taskId"] == "up:t" and created["_meta"] == related
        await hand.send(
            {"jsonrpc": "2.0", "id": 2, "method": "tasks/result", "params": {"taskId": "up:t"}}
        )
        came: list[Json] = []
        while "result" not in (message := await hand.take()):
            came.append(message)
            if "id" in message:
                declined = {"jsonrpc": "2.0", "id": message["id"], "result": {"action": "decline"}}
                await hand.send(declined)
    assert message["result"] == {"content": [], "_meta": {**related, "a/b": 1}}
    by_name = {message["method"].rpartition("/")[2]: message["params"] for message in came}
    assert len(came) == len(by_name) == 4
    assert by_name["status"] == core_task("up:t", "input_required")
    assert by_name["progress"] == {"progressToken": "mine", "progress": 1, "_meta": related}
    assert by_name["message"]["_meta"] == by_name["create"]["_meta"] == related
    assert by_name["create"]["message"] == "up: Sure?"


async def test_listen_stream_follows_tasks_of_its_client_until_they_end() -> None:
    done = {"resultType": "complete", **task_details("t", "completed", result={"content": []})}
    states = [{"resultType": "complete", **task_details("t", pollIntervalMs=10)}, done]
    served = make_played(STATELESS, tasks_get=states)
    async with serve_by_hand(fronts_of(served)) as hand:
        answer = await hand.ask(CALL, 1, name="up_x", _meta=DECLARED)
        assert answer["result"]["taskId"] == "up:t"
        wanted = {"taskIds": ["up:t", "up:u", "t"]}
        said = await hand.ask("subscriptions/listen", 2, notifications=wanted, _meta=DECLARED)
        assert said["params"]["notifications"]["taskIds"] == ["up:t"]
        first, last = (await hand.take())["params"], (await hand.take())["params"]
        assert (first["taskId"], first["status"]) == ("up:t", "working")
        assert (last["taskId"], last["status"], last["result"]) == (
            "up:t",
            "completed",
            {"content": []},
        )


async def test_call_as_a_task_is_refused_by_servers_without_tasks() -> None:
    for revision in REVISIONS:
        server = Listing("x", revision=revision)
        with case(revision):
            async with shaken(gateway(behind("up", server))) as hand:
                answer = await hand.ask(CALL, 1, name="up_x", task={})
            assert refused(answer) == -32601
            assert answer["error"]["message"] == "x cannot be run as a task"


async def test_hidden_tool_is_unknown_to_calls_as_tasks() -> None:
    for revision in (OLD, STATELESS):
        served = make_played(revision)
        with case(revision):
            async with shaken(fronts_of(served, deny={"tools": ("x",)})) as hand:
                hidden = await hand.ask(CALL, 1, name="up_x", task={})
                plain = await hand.ask(CALL, 2, name="up_x")
                assert refused(hidden) == -32602 and hidden["error"] == plain["error"]
            assert CALL not in served.methods()


async def test_unknown_ids_are_refused_without_asking_a_server() -> None:
    served = make_played(STATELESS)
    async with serve_by_hand(fronts_of(served)) as hand:
        await begin_task(hand, "up_x")
        for id in ("t", "up:", "up:u", "down:t"):
            for answer in (await got(hand, id), await cancel_task(hand, id)):
                assert refused(answer) == -32602
    assert served.methods() == [CALL]


async def test_uris_in_the_result_of_a_task_are_those_for_clients() -> None:
    content = [{"type": "resource_link", "name": "n", "uri": "db://users"}]
    done = task_details("t", "completed", result={"content": content})
    rows = {
        OLD: {"tasks_result": [{"content": content}]},
        STATELESS: {"tasks_get": [{"resultType": "complete", **done}]},
    }
    for client in (OLD, STATELESS):
        for revision, answers in rows.items():
            served = make_played(revision, **answers)
            if revision == OLD:
                served.answers["tasks/get"] = [core_task("t", "completed")]
            with case((client, revision)):
                async with client_of(fronts_of(served), CLIENTS[client]()) as one:
                    result = await (await one.start_task("up_x")).result()
                assert result.content[0].uri == "db://up/users"


async def test_list_has_the_tasks_of_all_servers_on_pages() -> None:
    count = iter(range(1000))

    async def create(hand: Hand, message: JsonObject) -> JsonObject:
        return {"task": core_task(f"t{next(count)}")}

    async def look(hand: Hand, message: JsonObject) -> JsonObject:
        id = message["params"]["taskId"]
        unknown: JsonObject = {"error": {"code": -32602, "message": "unknown"}}
        return unknown if id == "t2" else core_task(id, statusMessage="seen")

    one, other = (make_played(OLD, tools_call=[create], tasks_get=[look]) for _ in range(2))
    async with shaken(fronts_of(one, other)) as hand:
        for _ in range(60):
            for name in ("up_x", "more_x"):
                await hand.ask(CALL, 1, name=name, task={})
        first = (await hand.ask("tasks/list", 2))["result"]
        rest = (await hand.ask("tasks/list", 3, cursor=first["nextCursor"]))["result"]
        wrong = await hand.ask("tasks/list", 4, cursor="?")
    assert refused(wrong) == -32602 and "nextCursor" not in rest
    found = [(task["taskId"], task["statusMessage"]) for task in first["tasks"] + rest["tasks"]]
    expected = [f"{'up' if number % 2 == 0 else 'more'}:t{number}" for number in range(120)]
    # A task that its server no longer knows is left out.
    assert found == [(id, "seen") for id in expected if id != "up:t2"]


class Restarted:
    """An opener of a server that knows no earlier tasks when it starts again, once."""

    def __init__(self, revision: str) -> None:
        self._revision = revision
        self._transports: list[pkg.Transport] = []

    async def __call__(self) -> pkg.Transport:
        if len(self._transports) == 2:
            raise pkg.Disconnected("nothing runs there")
        opener = in_memory(SERVERS[self._revision](), options=pkg.Options(**OPTIONS))
        self._transports.append(await opener())
        return self._transports[-1]

    async def stop(self) -> None:
        await self._transports[-1].close()


async def test_task_of_a_server_that_has_gone_is_refused_with_the_reason() -> None:
    for client, server in PAIRS:
        up = Restarted(server)
        with case((client, server)):
            async with client_of(gateway(behind("up", up)), CLIENTS[client]()) as one:
                first, second = [await one.start_task("up_slow") for _ in range(2)]
                await up.stop()
                with pytest.raises(McpError) as raised:
                    await first.status()
                assert raised.value.code == -32602
                assert raised.value.message == "The server of up has gone, and with it the task"
                await up.stop()
                with pytest.raises(McpError) as raised:
                    await second.status()
                assert raised.value.code == -32603
                assert raised.value.data == {"server": "up", "reason": "unreachable"}


async def test_principal_may_have_many_tasks_of_which_ended_ones_make_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(owned, "_LIMITS", TaskOptions(max_tasks=2))
    created = [{"task": core_task(id)} for id in ("a", "b", "c")]
    served = make_played(OLD, tools_call=created, tasks_cancel=[core_task("b", "cancelled")])
    async with shaken(fronts_of(served)) as hand:
        for _ in range(2):
            await begin(hand)
        answer = await hand.ask(CALL, 1, name="up_x", task={})
        assert refused(answer) == -32603 and "Too many tasks" in answer["error"]["message"]
        assert "result" in await hand.ask("tasks/cancel", 2, taskId="up:b")
        assert (await begin(hand))["task"]["taskId"] == "up:c"
        assert refused(await hand.ask("tasks/get", 3, taskId="up:b")) == -32602
