"""Costs and gaps of libraries that our own code replaces: docs/contributing/libraries.md.

`PYTHONPATH=docs python -m benchmarks.kept` prints a line for each, in half a minute.
"""

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any
from unittest.mock import patch

import black
from httpx2 import URL
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.emit import formatting
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.runtime.core.schema_patterns import Patterns
from mcp_protogen.runtime.http.client.connect import new_client
from mcp_protogen.runtime.http.httpx2 import HttpClient
from mcp_protogen.runtime.toolkit.threads import Threads
from mcp_protogen.servers.connect.direct_client import new_http_client
from mcp_revisions import REVISIONS

_ENDING = """
import asyncio, time
from mcp_protogen.runtime.toolkit.threads import Threads

async def main():
    theirs, ours = asyncio.to_thread, lambda function: Threads("x", 4).run(function, {{}})
    await asyncio.wait({{asyncio.ensure_future({which}(lambda: time.sleep(5)))}}, timeout=0.1)

asyncio.new_event_loop().run_until_complete(main())
"""
_CALLS = 5_000


def seconds(act: Callable[[], object]) -> float:
    """Return the processor time of an action."""
    begun = time.process_time()
    act()
    return time.process_time() - begun


def layout() -> str:
    """Compare black with our breaking of lines, for the modules of all revisions."""
    printed: list[str] = []
    usual = formatting.format_module

    def noting(source: str, *, ours: bool) -> str:
        printed.append(source)
        return usual(source, ours=ours)

    revisions = tuple(revision.id for revision in REVISIONS)
    with patch.object(formatting, "format_module", noting):
        generate(GenerationOptions(revisions, runtime="runtime"))
    mode = black.Mode(line_length=100)
    theirs = seconds(lambda: [black.format_str(source, mode=mode) for source in printed])
    ours = seconds(lambda: [usual(source, ours=True) for source in printed])
    return f"layout of {len(printed)} modules: black {theirs:.1f} s, ours {ours:.2f} s"


def patterns() -> str:
    """Compare `re` with our matching, for a pattern with exponential backtracking."""
    pattern, text = "(a+)+$", "a" * 24 + "!"
    theirs = seconds(lambda: re.search(pattern, text))
    ours = seconds(lambda: Patterns(lambda _: None).search(pattern, text))
    return f"{pattern} in {len(text)} characters: re {theirs:.1f} s, ours {ours * 1000:.1f} ms"


def threads() -> str:
    """Compare the threads of asyncio with ours: one call, and the end of a program."""

    async def calls(call: Callable[[], Awaitable[object]]) -> float:
        begun = time.perf_counter()
        for _ in range(_CALLS):
            await call()
        return (time.perf_counter() - begun) / _CALLS * 1e6

    own = Threads("kept", 8)
    theirs = asyncio.run(calls(lambda: asyncio.to_thread(int)))
    ours = asyncio.run(calls(lambda: own.run(int, {})))
    ends = [time_to_end(which) for which in ("theirs", "ours")]
    return (
        f"a call: to_thread {theirs:.0f} µs, ours {ours:.0f} µs; "
        f"a program whose function sleeps 5 s ends after {ends[0]:.1f} s and {ends[1]:.1f} s"
    )


def time_to_end(which: str) -> float:
    """Return the duration of a program that waits 0.1 seconds for a function of 5."""
    program = _ENDING.format(which=which)
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return time.perf_counter() - begun


def requests() -> str:
    """Compare httpx2 with our client of bridges and gateways, at a server that answers at once."""
    ours, theirs = (asyncio.run(_requests(make)) for make in (new_http_client, new_client))
    return f"a request: httpx2 {theirs * 1e6:.0f} µs, ours {ours * 1e6:.0f} µs"


class _Answering(asyncio.Protocol):
    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if data.endswith(b"{}"):
            self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")


async def _requests(make: Callable[[], HttpClient]) -> float:
    client = make()
    async with await asyncio.get_running_loop().create_server(_Answering, "127.0.0.1") as server:
        url = URL(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp")
        begun = time.process_time()
        for _ in range(_CALLS):
            request = client.build_request("POST", url, content=b"{}", headers={})
            response = await client.send(request, stream=True, follow_redirects=False)
            assert [part async for part in response.aiter_bytes()] == [b"{}"]
            await response.aclose()
        spent = time.process_time() - begun
        await client.aclose()
    return spent / _CALLS


if __name__ == "__main__":
    for about in (layout, patterns, threads, requests):
        print(about())
