"""Times calls of tools in one process, beside a handwritten handler.

`python -m benchmarks.toolkit_worker ROUNDS` prints the median seconds of processor time of each
call as a JSON object. A whole server reads each call and writes its answer, without pipes. Names
that begin with `direct` are without a transport.
"""

import asyncio
import gc
import json
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from time import process_time
from typing import Annotated, Any

import mcp_revisions

from .timing import Action, interleave_calls
from .wire_ours import package as _package

# Enough calls in one go for the loop's start to vanish.
_AT_ONCE = 100

_Depends: Any = mcp_revisions.Depends
_models: Any = _package.models


async def echo(text: str) -> str:
    """Return the text."""
    return text


def plain(text: str) -> str:
    """Return the text."""
    return text


def generator() -> Iterator[str]:
    yield ""


async def async_generator() -> AsyncIterator[str]:
    yield ""


async def coroutine() -> str:
    return ""


async def echo_with(text: str, a: Annotated[str, _Depends(async_generator)]) -> str:
    """Return the text."""
    return text + a


def plain_with(text: str, a: Annotated[str, _Depends(generator)]) -> str:
    """Return the text."""
    return text + a


def plain_with_all(
    text: str, a: Annotated[str, _Depends(generator)], b: Annotated[str, _Depends(coroutine)]
) -> str:
    """Return the text."""
    return text + a + b


async def pass_on(call: Any, next: Any) -> Any:
    """A middleware without effect."""
    return await next(call)


def by_hand() -> Any:
    """Return a server with a handler."""

    class ByHand(_package.Server):  # type: ignore[misc]
        async def on_call_tool(self, session: Any, params: Any) -> Any:
            text = _models.TextContent(text=params.arguments["text"])
            return _models.CallToolResult(content=[text])

    return ByHand()


def toolkit(function: Callable[..., Any], middleware: Sequence[Any] = (), **options: Any) -> Any:
    """Return a server with a tool."""

    class WithToolkit(mcp_revisions.Toolkit, _package.Server):  # type: ignore[misc]
        pass

    server: Any = WithToolkit()
    server.middleware = middleware
    server.add_tool(function, name="echo", structured=False, **options)
    return server


def servers() -> dict[str, Any]:
    """Return the servers to call, by the name of their row."""
    three = (pass_on,) * 3
    return {
        "by hand": by_hand(),
        "toolkit": toolkit(echo),
        "three middleware": toolkit(echo, three),
        "async generator": toolkit(echo_with),
        "no thread": toolkit(plain, thread=False),
        "thread": toolkit(plain),
        "thread, three middleware": toolkit(plain, three),
        "thread, generator": toolkit(plain_with),
        "thread, all": toolkit(plain_with_all),
    }


class Wire:
    """A transport in memory: each message that the server writes answers the request given last."""

    def __init__(self) -> None:
        self._take: Callable[[bytes], bool] | None = None
        self._over = asyncio.Event()
        self._answer: asyncio.Future[bytes] | None = None

    def hand_over(self, take: Callable[[bytes], bool] | None) -> None:
        """Give messages to `take` from now on."""
        self._take = take

    async def receive(self) -> Sequence[bytes]:
        """Wait for the end."""
        await self._over.wait()
        return ()

    async def send(self, messages: Sequence[bytes]) -> None:
        """Take an answer."""
        assert self._answer is not None
        self._answer.set_result(messages[0])

    async def ask(self, message: bytes) -> bytes:
        """Give a request to the server, and wait for its answer."""
        assert self._take is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._take(message)
        return await self._answer

    def tell(self, message: bytes) -> None:
        """Give a notification to the server."""
        assert self._take is not None
        self._take(message)

    async def close(self) -> None:
        self._over.set()


_INITIALIZE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"load","version":"1"}}}'
)
_CALL = (
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call",'
    b'"params":{"name":"echo","arguments":{"text":"hello"}}}'
)


async def connect(server: Any) -> Wire:
    """Return a server after its handshake."""
    wire = Wire()
    asyncio.get_running_loop().create_task(mcp_revisions.serve(server, wire))
    await asyncio.sleep(0.01)
    await wire.ask(_INITIALIZE)
    wire.tell(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    return wire


@contextmanager
def calls() -> Generator[dict[str, Action], None, None]:
    """Return that many calls of each server at once."""
    with asyncio.Runner() as runner:
        wires = {name: runner.run(connect(server)) for name, server in servers().items()}
        answers = {name: runner.run(wire.ask(_CALL)) for name, wire in wires.items()}
        if len({json.dumps(json.loads(answer)) for answer in answers.values()}) > 1:
            raise SystemExit(f"the servers answer differently: {answers}")

        async def several(wire: Wire) -> None:
            for _ in range(_AT_ONCE):
                await wire.ask(_CALL)

        yield {name: partial(_run, runner, several, wire) for name, wire in wires.items()}
        for wire in wires.values():
            runner.run(wire.close())


def _run(runner: asyncio.Runner, several: Callable[[Wire], Any], wire: Wire) -> None:
    runner.run(several(wire))


def direct() -> dict[str, Action]:
    """Return a tool and a handler, each called directly."""
    params = _models.CallToolRequestParams(name="echo", arguments={"text": "hello"})
    made = {"toolkit": toolkit(plain, thread=False), "by hand": by_hand()}
    return {f"direct {name}": partial(_answer, entry, params) for name, entry in made.items()}


def _answer(server: Any, params: Any) -> Any:
    call = server.on_call_tool(None, params)
    try:
        call.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("an echo has nothing to wait for")


def main(rounds: int) -> None:
    """Check, measure and print."""
    alone = direct()
    if alone["direct toolkit"]() != alone["direct by hand"]():
        raise SystemExit("the tool and the handler return different results")
    with calls() as found:
        gc.collect()
        gc.freeze()
        taken = interleave_calls(found, rounds, process_time)
    taken = {name: seconds / _AT_ONCE for name, seconds in taken.items()}
    print(json.dumps(taken | interleave_calls(alone, rounds, process_time)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
