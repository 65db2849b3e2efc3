"""A server for tests: `stdio`, `stdio-v2`, or on the Unix socket of an address `unix:PATH`.

Its arguments are that, and the seconds for handlers to finish at the end.
"""

import asyncio
import os
import sys
from functools import partial

from mcp_revisions import REVISIONS, Options, run_stdio, serve_stdio
from mcp_revisions.v2026_07_28 import App, Session
from support.rehearsals.transports.stdio_v2 import serve_socket, serve_stdio_v2

app = App("rehearsed", version="1.0.0")


@app.tool
async def echo(text: str, session: Session) -> str:
    """Return a text, after a report of progress and a stray line."""
    await session.progress(1, total=2)
    print("stray")
    return text


@app.tool
async def slow(seconds: float) -> str:
    """Take some time."""
    print("begun", file=sys.stderr, flush=True)
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        print("cancelled", file=sys.stderr, flush=True)
        raise
    return "slept"


@app.tool
async def name(session: Session) -> str:
    """Ask the user for a name."""
    return str(await session.ask("Your name?", str))


@app.tool
async def fail() -> str:
    """End the program."""
    print("no more paper", file=sys.stderr, flush=True)
    os._exit(7)


def main(way: str, drain: str = "3") -> None:
    ways = {"stdio": serve_stdio, "stdio-v2": serve_stdio_v2}
    serve = ways.get(way, partial(serve_socket, path=way.removeprefix("unix:")))
    run_stdio(app, serve=serve, revisions=REVISIONS, options=Options(drain=float(drain)))


if __name__ == "__main__":
    main(*sys.argv[1:])
