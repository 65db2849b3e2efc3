"""Functions that fill parameters: their threads, their shared state, and their ends."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from functools import wraps
from typing import Annotated, Any

import pytest
from support.revisions import ERAS
from support.sessions.talking import notification, request
from support.tables import case
from support.toolkit.kits import ToolError, asking, call, mcp, pkg, shaken, text_of

Depends = pkg.Depends
noted: list[str] = []
"""What has happened, in order."""


@pytest.fixture(autouse=True)
def _clear_noted() -> None:
    noted.clear()


def where() -> str:
    return threading.current_thread().name


class There:
    def __init__(self) -> None:
        self.name = where()


async def on_the_loop() -> str:
    return where()


@wraps(on_the_loop)
def wrapper() -> Any:
    return on_the_loop()


def both_halves(above: Annotated[str, Depends(where)]) -> Iterator[str]:
    begun = where()
    yield f"{above} {begun}"
    noted.append(f"{begun} {where()}")


async def on_the_loop_twice() -> AsyncIterator[str]:
    begun = where()
    yield begun
    noted.append(f"{begun} {where()}")


def quick() -> Iterator[str]:
    begun = where()
    yield begun
    noted.append(f"{begun} {where()}")


def needing(under: Annotated[str, Depends(both_halves)]) -> str:
    return f"{under} {where()}"


def app_of(*functions: Callable[..., Any], max_threads: int = 32) -> Any:
    members = {"max_threads": max_threads}
    app = type("Own", (mcp.App,), members)("any")
    for function in functions:
        app.tool(function)
    return app


def plain(
    a: Annotated[str, Depends(needing)],
    b: Annotated[str, Depends(on_the_loop_twice)],
    c: Annotated[str, Depends(quick, thread=False)],
    d: Annotated[str, Depends(wrapper)],
    e: Annotated[str, Depends(lambda: on_the_loop())],
    f: Annotated[There, Depends(There)],
) -> str:
    return "/".join([*a.split(), b, c, d, e, f.name, where()])


async def waiting(a: Annotated[str, Depends(needing)], f: Annotated[There, Depends(There)]) -> str:
    return "/".join([*a.split(), f.name, where()])


async def test_plain_functions_run_in_the_thread_of_their_tool_and_the_rest_on_the_loop() -> None:
    here = where()
    for spoken in ERAS:
        with case(spoken):
            noted.clear()
            async with asking(app_of(plain, waiting), spoken, bridged=True) as ask:
                one = text_of(await ask("tools/call", name="plain")).split("/")
                ended = noted.copy()
                two = text_of(await ask("tools/call", name="waiting")).split("/")
            (own,) = set(one[:3])
            assert own.startswith("Own-")
            assert one[3:] == [here, here, here, here, own, own]
            # The second halves run where the first ones did, in the opposite order.
            assert ended == [f"{own} {own}", f"{here} {here}", f"{here} {here}"]
            assert all(name.startswith("Own-") for name in two[:4])
            assert two[4] == here


async def until(done: threading.Semaphore) -> None:
    assert await asyncio.to_thread(done.acquire, timeout=30)


who: ContextVar[str] = ContextVar("who", default="nobody")


def signed_in() -> Iterator[None]:
    token = who.set("Ada")
    yield
    noted.append(who.get())
    who.reset(token)


async def rename_user(_: Annotated[None, Depends(signed_in)]) -> None:
    noted.append(who.get())
    who.set("Bo")


async def test_context_variables_go_from_one_function_to_the_next() -> None:
    def in_thread(_: Annotated[None, Depends(signed_in)]) -> str:
        return who.get()

    async def on_loop(_: Annotated[None, Depends(signed_in)]) -> str:
        return who.get()

    def mix_user(_: Annotated[None, Depends(rename_user)]) -> str:
        return who.get()

    async with asking(app_of(in_thread, on_loop, mix_user)) as ask:
        for name, expected, seen in (
            ("in_thread", "Ada", ["Ada"]),
            ("on_loop", "Ada", ["Ada"]),
            ("mix_user", "Bo", ["Ada", "Bo"]),
        ):
            noted.clear()
            assert text_of(await ask("tools/call", name=name)) == expected
            assert noted == seen
    assert who.get() == "nobody"


def test_generators_in_a_thread_end_after_a_failure_which_stays_the_answer() -> None:
    def noting() -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            noted.append(type(error).__name__)

    def breaking(_: Annotated[None, Depends(noting)]) -> Iterator[None]:
        yield
        raise ToolError("late")

    def refusing(_: Annotated[None, Depends(noting)]) -> None:
        raise ToolError("early")

    def fails(_: Annotated[None, Depends(noting)], how: str) -> None:
        raise ToolError(how)

    def late(_: Annotated[None, Depends(breaking)]) -> None:
        noted.append("called")

    def early(_: Annotated[None, Depends(refusing)]) -> None:
        raise AssertionError

    async def also_late(_: Annotated[None, Depends(breaking)]) -> None:
        noted.append("called")

    async def also_early(_: Annotated[None, Depends(refusing)]) -> None:
        raise AssertionError

    app = app_of(fails, late, early, also_late, also_early)
    for name, given, said, seen in (
        ("fails", {"how": "so"}, "so", ["ToolError"]),
        ("late", {}, "late", ["called", "ToolError"]),
        ("also_late", {}, "late", ["called", "ToolError"]),
        ("early", {}, "early", ["ToolError"]),
        ("also_early", {}, "early", ["ToolError"]),
    ):
        with case(name):
            noted.clear()
            answer = call(app, name, **given)
            assert answer["isError"] and text_of(answer) == said
            assert noted == seen


class HeldDependency:
    """Functions that wait in their threads until they are released, one after the other."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.released = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)

    def wait(self, what: str) -> None:
        noted.append(what)
        self.begun.release()
        assert self.released.acquire(timeout=30)

    def generator(self, *, slow: str = "") -> Callable[[], Iterator[None]]:
        def go_on() -> Iterator[None]:
            if slow == "open":
                self.wait("open")
            try:
                yield
            except BaseException as error:
                noted.append(f"{type(error).__name__} {where()}")
                raise
            finally:
                if slow == "close":
                    self.wait("close")
                noted.append("closed")
                self.ended.release()

        return go_on


async def cancel_held(app: Any, held: HeldDependency, name: str = "tool") -> None:
    """Call a tool, and cancel the call where it waits; then release it, and await its end."""
    async with shaken(app) as hand:
        await hand.send(request("tools/call", 1, name=name))
        await until(held.begun)
        await hand.send(notification("notifications/cancelled", requestId=1))
        assert (await hand.ask("ping", 2))["result"] == {}
        noted.append("released")
        held.released.release()
        await until(held.ended)


async def test_a_tool_that_was_cancelled_in_its_thread_ends_before_its_generators() -> None:
    held = HeldDependency()

    async def beside() -> AsyncIterator[None]:
        try:
            yield
        finally:
            noted.append("beside")

    def tool(
        _: Annotated[None, Depends(held.generator())], also: Annotated[None, Depends(beside)]
    ) -> str:
        held.wait("tool")
        noted.append("done")
        return where()

    await cancel_held(app_of(tool), held)
    assert noted == ["tool", "beside", "released", "done", "CancelledError Own-1", "closed"]


async def test_dependency_cancelled_while_opening_is_closed_and_tool_is_skipped() -> None:
    held, under = HeldDependency(), HeldDependency()

    async def tool(
        a: Annotated[None, Depends(under.generator())],
        b: Annotated[None, Depends(held.generator(slow="open"))],
    ) -> None:
        raise AssertionError

    await cancel_held(app_of(tool), held)
    await until(under.ended)
    assert noted == ["open", "released", *["CancelledError Own-1", "closed"] * 2]


async def test_dependencies_close_without_free_thread() -> None:
    held, late, begun = HeldDependency(), HeldDependency(), asyncio.Event()

    async def tool(a: Annotated[None, Depends(late.generator())]) -> None:
        begun.set()
        await asyncio.sleep(60)

    def busy() -> None:
        held.wait("busy")

    def never(a: Annotated[None, Depends(held.generator())]) -> None:
        raise AssertionError

    async with shaken(app_of(tool, busy, never, max_threads=1), drain=0.01) as hand:
        await hand.send(request("tools/call", 1, name="tool"))
        await begun.wait()
        for id, name in ((2, "busy"), (3, "never")):
            await hand.send(request("tools/call", id, name=name))
        await until(held.begun)
        # The third never runs, and the first waits for a thread to close in.
        for id in (3, 1):
            await hand.send(notification("notifications/cancelled", requestId=id))
        assert (await hand.ask("ping", 4))["result"] == {}
        assert noted == ["busy"]
    # With the server, the call ends whose place it waited for.
    await until(late.ended)
    assert noted == ["busy", "CancelledError Own-2", "closed"]
    held.released.release()


async def test_a_server_that_ends_does_not_wait_for_what_closes() -> None:
    held, under = HeldDependency(), HeldDependency()

    async def tool(
        a: Annotated[None, Depends(under.generator())],
        b: Annotated[None, Depends(held.generator(slow="close"))],
    ) -> None:
        noted.append("tool")

    async with shaken(app_of(tool), drain=0.01) as hand:
        await hand.send(request("tools/call", 1, name="tool"))
        await until(held.begun)
    assert noted == ["tool", "close"]
    held.released.release()
    await until(under.ended)
    assert noted == ["tool", "close", "closed", "closed"]


async def test_failure_after_cancellation_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    held = HeldDependency()

    def breaking(_: Annotated[None, Depends(held.generator())]) -> Iterator[None]:
        try:
            yield
        finally:
            raise ValueError("not closed")

    def tool(_: Annotated[None, Depends(breaking)]) -> None:
        held.wait("tool")

    await cancel_held(app_of(tool), held)
    assert noted[-2:] == ["ValueError Own-1", "closed"]
    async with asyncio.timeout(30):
        while "not closed" not in caplog.text:
            await asyncio.sleep(0.001)
    assert "a dependency of a cancelled call failed" in caplog.text


def test_impossible_thread_option_is_refused() -> None:
    def coroutine(_: Annotated[str, Depends(on_the_loop, thread=True)]) -> None: ...

    def generator(_: Annotated[str, Depends(on_the_loop_twice, thread=True)]) -> None: ...

    def both(
        a: Annotated[str, Depends(where)], b: Annotated[str, Depends(where, thread=False)]
    ) -> None: ...

    for function, why in (
        (coroutine, "on_the_loop: a coroutine function cannot run in a thread"),
        (generator, "on_the_loop_twice: a coroutine function cannot run in a thread"),
        (both, r"Depends\(where\) must not be both inside and outside a thread: it runs once"),
    ):
        with case(function.__name__), pytest.raises(TypeError, match=why):
            app_of(function)
