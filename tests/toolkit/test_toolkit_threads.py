"""Plain functions in threads: their number, their arguments, and their ends."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Awaitable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.runtime.toolkit import threads
from support.sessions.talking import entry, notification, request
from support.toolkit.kits import (
    Refused,
    Toolkit,
    asking,
    call,
    kit,
    mcp,
    prompt,
    resource,
    shaken,
    text_of,
    tool,
)

m: Any = mcp.models
ROOT = Path(__file__).parents[2]
FORM: Any = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


def where() -> str:
    return threading.current_thread().name


async def there(self: object) -> str:
    return where()


@wraps(there)
def wrapper(self: object) -> Awaitable[str]:
    return there(self)


class Everywhere(Toolkit, mcp.Server):
    """Functions that tell which thread they run in."""

    wrapped = tool(name="wrapped")(wrapper)

    @tool
    def plain(self) -> str:
        return where()

    @tool(thread=False)
    def quick(self) -> str:
        return where()

    @tool
    async def slow(self) -> str:
        return where()

    @resource("a:b")
    def read(self) -> str:
        return where()

    @prompt
    def ask(self) -> str:
        return where()


async def test_plain_functions_run_in_threads_of_the_server_and_the_rest_on_its_loop() -> None:
    here = where()
    async with asking(Everywhere()) as ask:
        names = {
            name: text_of(await ask("tools/call", name=name))
            for name in ("plain", "quick", "slow", "wrapped")
        }
        (read,) = (await ask("resources/read", uri="a:b"))["contents"]
        (message,) = (await ask("prompts/get", name="ask"))["messages"]
    # One call after the other needs one thread.
    own = "Everywhere-1"
    assert names == {"plain": own, "quick": here, "slow": here, "wrapped": here}
    assert (read["text"], message["content"]["text"]) == (own, own)


async def test_as_many_run_at_once_as_there_are_threads_and_the_rest_wait() -> None:
    together = threading.Barrier(3, timeout=30)
    running: list[int] = []

    @tool
    def meet(self: object) -> int:
        running.append(1)
        most = len(running)
        together.wait()
        running.pop()
        return most

    server = kit(meet=meet, max_threads=3)()
    async with shaken(server) as hand:
        for id in range(9):
            await hand.send(request("tools/call", id, name="meet"))
        answers = [await hand.take() for _ in range(9)]
    # Each three meet at the barrier, and a fourth would have been counted.
    assert sorted(answer["id"] for answer in answers) == list(range(9))
    assert all(int(answer["result"]["structuredContent"]["result"]) <= 3 for answer in answers)


class Blocked:
    """A tool that waits in its thread until it is released."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.released = threading.Event()
        self.ended = threading.Semaphore(0)

    def wait(self, text: str) -> str:
        self.begun.release()
        self.released.wait(30)
        self.ended.release()
        return text


async def until(done: threading.Semaphore) -> None:
    assert await asyncio.to_thread(done.acquire, timeout=30)


async def test_a_cancelled_call_lets_go_of_its_thread() -> None:
    blocked = Blocked()
    server = kit(max_threads=1)()
    server.add_tool(blocked.wait)
    server.add_tool(lambda: "free", name="free")
    async with shaken(server) as hand:
        await hand.send(request("tools/call", 1, name="wait", arguments={"text": "a"}))
        await until(blocked.begun)
        await hand.send(notification("notifications/cancelled", requestId=1))
        # The only place is free again, though the function goes on.
        assert text_of((await hand.ask("tools/call", 2, name="free"))["result"]) == "free"
        assert not blocked.released.is_set()
        # There are never more than twice as many threads as places: the next one waits.
        await hand.send(request("tools/call", 3, name="wait", arguments={"text": "b"}))
        await until(blocked.begun)
        await hand.send(notification("notifications/cancelled", requestId=3))
        await hand.send(request("tools/call", 4, name="free"))
        assert (await hand.ask("ping", 5))["result"] == {}
        blocked.released.set()
        assert text_of((await hand.take())["result"]) == "free"
    await until(blocked.ended)
    await until(blocked.ended)


def test_a_program_ends_although_a_function_does_not() -> None:
    program = """
import asyncio, sys, threading
sys.path.insert(0, "generated")
from mcp_protogen.runtime.toolkit.threads import Threads

async def main():
    begun = threading.Event()
    def wait():
        begun.set()
        threading.Event().wait()
    task = asyncio.create_task(Threads("x", 1).run(wait, {}))
    await asyncio.to_thread(begun.wait)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    print("over", task.cancelled())

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=60,
    )
    assert done.stdout == "over True\n"


def test_a_thread_that_ends_with_an_odd_exception_is_not_waited_for_for_ever() -> None:
    @tool
    def first(self: object, items: list[int]) -> int:
        return next(iter(items))

    server = kit(first=first)()
    assert text_of(call(server, "first", items=[7])) == '{"result":7}'
    assert text_of(call(server, "first", items=[])) == "first failed."


def test_a_coroutine_function_does_not_run_in_a_thread() -> None:
    @tool(thread=True)
    async def take(self: object) -> str:
        return ""

    with pytest.raises(TypeError, match="take: a coroutine function cannot run in a thread"):
        kit(take=take)


def test_there_has_to_be_a_thread() -> None:
    with pytest.raises(ValueError, match="Kit: max_threads must be at least 1, got 0"):
        kit(max_threads=0)()


async def test_threads_without_work_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_IDLE", 0.0)
    pool = threads.Threads("brief", 2)
    for _ in range(5):
        own = await pool.run(threading.current_thread, {})
        await asyncio.to_thread(own.join, 30)
        assert not own.is_alive()


async def test_a_call_fails_if_there_can_be_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    pool = threads.Threads("none", 2)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            await pool.run(str, {})
    assert await pool.run(lambda: "again", {}) == "again"


class Curious(Toolkit, mcp.Server):
    """Plain functions that talk to the client meanwhile."""

    @tool
    def ask(self, who: str, session: mcp.Session) -> str:
        session.from_thread(session.progress(1, 2, "asking"))
        session.from_thread(session.log("info", f"asking {who}"))
        form = m.ElicitRequestFormParams(message=f"{who}?", requested_schema=FORM)
        answer: Any = session.from_thread(
            session.request(entry(session, "elicitation/create"), form)
        )
        return f"{who} is {answer.content['age']}"

    @tool
    async def wrong(self, session: mcp.Session) -> str:
        return str(session.from_thread(session.progress(1)))


async def test_question_awaited_in_thread_ends_with_call() -> None:
    ended = threading.Semaphore(0)
    raised: list[BaseException] = []

    class Patient(Toolkit, mcp.Server):
        @tool
        def ask(self, session: mcp.Session) -> str:
            form = m.ElicitRequestFormParams(message="?", requested_schema=FORM)
            for _ in range(2):
                # The second time it is over before it begins.
                try:
                    session.from_thread(session.request(entry(session, "elicitation/create"), form))
                except BaseException as error:
                    raised.append(error)
            ended.release()
            return ""

    async with shaken(Patient()) as hand:
        await hand.send(request("tools/call", 1, name="ask"))
        asked = await hand.take()
        assert asked["method"] == "elicitation/create"
        await hand.send(notification("notifications/cancelled", requestId=1))
        assert (await hand.take())["method"] == "notifications/cancelled"
        await until(ended)
        assert (await hand.ask("ping", 2))["result"] == {}
    assert [type(error) for error in raised] == [asyncio.CancelledError] * 2


async def test_where_the_server_runs_nothing_can_be_waited_for_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with asking(Curious()) as ask:
        with pytest.raises(Refused, match="Internal error"):
            await ask("tools/call", name="wrong")
    assert "from_thread is for threads; on the event loop, await the coroutine" in caplog.text
