"""Tasks between a client and a server of the same form, and of different ones, with a bridge."""

from asyncio import create_task, sleep, wait_for
from typing import Any

import pytest
from mcp_revisions import McpError, TaskCancelled
from support.revisions import OLD, STATELESS
from support.sessions.talking import content_of
from support.tables import case
from support.tasks.gateway import CLIENTS, SERVERS, joined

PAIRS = [(OLD, OLD), (STATELESS, STATELESS), (OLD, STATELESS), (STATELESS, OLD)]
FORMS = pytest.mark.parametrize(("client", "server"), PAIRS)


def text_of(result: Any) -> str:
    return str(content_of(result)[0].text)


@FORMS
async def test_a_call_becomes_a_task_of_the_clients_form(client: str, server: str) -> None:
    theirs = SERVERS[server]()
    async with joined(CLIENTS[client](), theirs) as one:
        handle = await one.start_task("slow")
        assert handle.id is not None
        assert (await handle.status()).status == "working"
        await wait_for(theirs.began.wait(), 5)
        waiting = create_task(handle.result())
        theirs.go_on.set()
        assert text_of(await waiting) == "slow is done"
        state = await handle.status()
    assert (state.status, state.has_ended, theirs.runs) == ("completed", True, 1)


@FORMS
async def test_what_a_task_asks_reaches_the_client(client: str, server: str) -> None:
    ours = CLIENTS[client]()
    async with joined(ours, SERVERS[server]()) as one:
        handle = await one.start_task("sure")
        assert text_of(await handle.result()) == "True True"
        assert [asked.message for asked in ours.asked] == ["Sure?", "Quite?"]
        handle = await one.start_task("say")
        assert text_of(await handle.result()) == "It"
    assert len(ours.asked) == 3


@FORMS
async def test_what_fails_does_so_in_the_words_of_the_clients_form(
    client: str, server: str
) -> None:
    async with joined(CLIENTS[client](), SERVERS[server]()) as one:
        handle = await one.start_task("wrong", {"how": "isError"})
        result = await handle.result()
        assert result.is_error and "No disk" in text_of(result)
        failed = await handle.status()
        handle = await one.start_task("wrong", {"how": "error"})
        with pytest.raises(McpError) as raised:
            await handle.result()
        assert (raised.value.code, raised.value.data) == (-7, {"more": 1})
        assert (await handle.status()).status == "failed"
    assert failed.status == ("failed" if client == OLD else "completed")


@FORMS
async def test_a_cancelled_task_stops_at_the_server(client: str, server: str) -> None:
    theirs = SERVERS[server]()
    async with joined(CLIENTS[client](), theirs) as one:
        handle = await one.start_task("slow")
        await wait_for(theirs.began.wait(), 5)
        await handle.cancel()
        await wait_for(theirs.stopped.wait(), 5)
        with pytest.raises(TaskCancelled):
            await handle.result()
        assert (await handle.status()).status == "cancelled"
        # The client's handle sees to what each form says to a second one.
        await handle.cancel()


@FORMS
async def test_a_task_that_nobody_knows_is_unknown(client: str, server: str) -> None:
    async with joined(CLIENTS[client](), SERVERS[server]()) as one:
        handle = await one.start_task("slow")
        kept = {**handle.to_json(), "taskId": "none"}
        for ask in ("status", "cancel", "result"):
            with case(ask), pytest.raises(McpError) as raised:
                await getattr(one.task(kept), ask)()
            assert raised.value.code == -32602


@FORMS
async def test_a_plain_call_gets_its_result(client: str, server: str) -> None:
    async with joined(CLIENTS[client](), SERVERS[server]()) as one:
        assert text_of(await one.call_tool("quick")) == "quick is done"
        assert text_of(await one.call_tool("sure")) == "True True"
        assert text_of(await one.call_tool("needed")) == "needed is done"
    await sleep(0)
