"""A server on standard input and output, run by the main function of a program."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from signal import SIGINT, SIGTERM
from typing import Final

from ..core.options import USUAL, Options
from ..core.revision import Revision
from ..core.tasks import is_running
from ..transports.stdio import open_stdio
from ..transports.streams import LONGEST
from .serve import ServeOptions, Server, serve

_ENDING: Final = (SIGTERM, SIGINT)

# Raised on Windows, and outside the main thread.
_NO_SIGNALS: Final = (NotImplementedError, RuntimeError, ValueError)


class StdioOptions(ServeOptions, total=False):
    limit: int


def run_stdio(
    servers: Server | Iterable[Server],
    *,
    revisions: Iterable[Revision] | None = None,
    options: Options = USUAL,
    limit: int = LONGEST,
) -> None:
    """Serve standard input and output until the client closes them; for the main of a program.

    `servers` and `revisions` are those of `serve`. SIGTERM and Ctrl-C end it like the client does:
    handlers get `options.drain` seconds to finish. A line of more than `limit` bytes is answered
    with an error. Raise `LifespanError` if a lifespan fails, and `RuntimeError` inside a running
    event loop.
    """
    if is_running():
        raise RuntimeError("run_stdio cannot run in a running event loop: await serve_stdio(...)")
    # Where asyncio handles no signals, Ctrl-C arrives as an exception.
    with suppress(KeyboardInterrupt):
        asyncio.run(serve_stdio(servers, revisions=revisions, options=options, limit=limit))


async def serve_stdio(
    servers: Server | Iterable[Server],
    *,
    revisions: Iterable[Revision] | None = None,
    options: Options = USUAL,
    limit: int = LONGEST,
) -> None:
    """Do the same as `run_stdio` inside a running event loop."""
    transport = await open_stdio(limit)
    serving = asyncio.create_task(serve(servers, transport, revisions=revisions, options=options))
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
