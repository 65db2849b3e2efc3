"""An echo server made of a function, with the toolkit.

`python -m benchmarks.toolkit_ours stdio|http async|plain REVISION`: a server of that revision.
"""

import sys
from typing import Any

from mcp_revisions import load


async def echo(text: str) -> str:
    """Return the text."""
    return text


def plain(text: str) -> str:
    """Return the text."""
    return text


def app(kind: str, revision: str) -> Any:
    """Return the server, whose tool is a coroutine function or a plain one."""
    made: Any = load(revision).App("echo", version="1")
    made.tool(name="echo")(echo if kind == "async" else plain)
    return made


if __name__ == "__main__":
    transport, kind, revision = sys.argv[1:]
    if transport == "stdio":
        app(kind, revision).run()
    else:
        from .http_uvicorn import serve

        serve(app(kind, revision).http())
