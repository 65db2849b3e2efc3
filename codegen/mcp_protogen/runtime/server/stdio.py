"""A server on standard input and output, run by the main function of a program."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from signal import SIGINT, SIGTERM
from typing import Any, Final, Unpack

from ..core.tasks import is_running
from ..transports.stdio import open_stdio
from ..transports.streams import LONGEST
from .serve import ServeOptions, Server, serve

_ENDING: Final = (SIGTERM, SIGINT)

# Raised on Windows, and outside the main thread.
_NO_SIGNALS: Final = (NotImplementedError, RuntimeError, ValueError)


class StdioOptions(ServeOptions, total=False):
    limit: int


async def serve_stdio(
    servers: Server | Iterable[Server], *, limit: int = LONGEST, **options: Unpack[ServeOptions]
) -> None:
    """Do the same as `run_stdio` inside a running event loop."""
    await until_signal(serve(servers, await open_stdio(limit), **options))


def run_stdio(
    servers: Server | Iterable[Server],
    *,
    serve: Callable[..., Coroutine[Any, Any, None]] = serve_stdio,
    **options: Unpack[StdioOptions],
) -> None:
    """Serve standard input and output until the client closes them; for the main of a program.

    `servers`, `revisions` and `options` are those of `serve`. SIGTERM and Ctrl-C end it like the
    client does: handlers get `options.drain` seconds to finish. A line of more than `limit` bytes
    is answered with an error. `serve` is for another transport. Raise `LifespanError` if a
    lifespan fails, and `RuntimeError` inside a running event loop.
    """
    if is_running():
        raise RuntimeError("run_stdio cannot run in a running event loop: await serve_stdio(...)")
    # Where asyncio handles no signals, Ctrl-C arrives as an exception.
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(servers, **options))


async def until_signal(work: Coroutine[Any, Any, None]) -> None:
    """Work until the end, or until a signal."""
    serving = asyncio.create_task(work)
    loop, stopped = asyncio.get_running_loop(), False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        serving.cancel()

    with suppress(*_NO_SIGNALS):
        for number in _ENDING:
            loop.add_signal_handler(number, stop)
    try:
        await serving
    except asyncio.CancelledError:
        if not stopped:
            raise
    finally:
        with suppress(*_NO_SIGNALS):
            for number in _ENDING:
                loop.remove_signal_handler(number)
