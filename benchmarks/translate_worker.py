"""Times calls in memory, within a revision and across two.

`python -m benchmarks.translate_worker ROUNDS` prints the median seconds of each as a JSON object.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import mcp_revisions as pkg

from .timing import interleave_calls

# By name: the revisions of the client and of the server class, and the call.
_CASES = {
    "older": ("2025-06-18", "2025-11-25", "call"),
    "newer": ("2025-11-25", "2025-06-18", "call"),
    "to the next era": ("2026-07-28", "2025-11-25", "call"),
    "to the last era": ("2025-11-25", "2026-07-28", "call"),
    "same": ("2025-06-18", "2025-11-25", "complete"),
}
# Enough calls in one go for the loop's start to vanish.
_AT_ONCE = 50


def server_of(revision: str) -> Any:
    """Return a server that echoes and completes."""
    mcp: Any = pkg.load(revision)
    m = mcp.models

    class Echo(mcp.Server):  # type: ignore[misc]
        async def on_call_tool(self, session: Any, params: Any) -> Any:
            return m.CallToolResult(content=[m.TextContent(text=params.arguments["text"])])

        async def on_complete(self, session: Any, params: Any) -> Any:
            return m.CompleteResult(completion=m.CompleteResultCompletion(values=["ada"]))

    return Echo()


def call_of(client: Any, kind: str) -> Callable[[], Awaitable[Any]]:
    """Return one call of a client."""
    m = pkg.load(client.TABLE.revision).models
    if kind == "call":
        return lambda: client.call_tool("x", {"text": "hi"})
    reference = m.PromptReference(name="p")
    argument = m.CompleteRequestParamsArgument(name="name", value="a")
    return lambda: client.complete(reference, argument)


async def connect(stack: AsyncExitStack, revision: str, own: str) -> Any:
    """Yield a client of one revision, connected to a server class of another."""
    client: Any = pkg.load(revision).Client()
    talk = pkg.connect_in_memory(server_of(own), client, revisions=pkg.REVISIONS)
    return await stack.enter_async_context(talk)


def main(rounds: int) -> None:
    """Measure and print."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        calls: dict[str, Callable[[], Any]] = {}
        for name, (revision, across, kind) in _CASES.items():
            for way, own in (("within", revision), ("across", across)):
                client = runner.run(connect(stack, revision, own))
                calls[f"{name} {way}"] = partial(_run, runner, call_of(client, kind))
        taken = interleave_calls(calls, rounds)
        runner.run(stack.aclose())
    print(json.dumps({name: seconds / _AT_ONCE for name, seconds in taken.items()}))


def _run(runner: asyncio.Runner, call: Callable[[], Awaitable[Any]]) -> None:
    runner.run(_several(call))


async def _several(call: Callable[[], Awaitable[Any]]) -> None:
    for _ in range(_AT_ONCE):
        await call()


if __name__ == "__main__":
    main(int(sys.argv[1]))
