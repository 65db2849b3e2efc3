"""Times clients, one call after another; runs on the interpreter of the SDKs.

`python -m benchmarks.http_client_worker ROUNDS PORTS` prints the median seconds of each call as a
JSON object. PORTS is a JSON object: the port of a server for each revision.
"""

import asyncio
import gc
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from importlib import import_module
from statistics import median
from time import perf_counter
from typing import Any, Final, TypeAlias

import httpx2
import mcp_revisions

from .http_load import Caller
from .http_requests import FIRST_ID, Requests
from .places import REVISION

# The SDK is in the environment of the SDKs only.
_sdk: Any = import_module("mcp")

_Call: TypeAlias = Callable[[], Awaitable[Any]]

_CALLS: Final = 200
_NAME: Final = "echo"
_ARGUMENTS: Final = {"text": "hello"}
_PROGRAM: Final = (sys.executable, "-m", "benchmarks.http_stdio")


async def measure(rounds: int, ports: Mapping[str, int]) -> dict[str, float]:
    """Connect all clients, then let them call alternately."""
    async with AsyncExitStack() as stack:
        calls: dict[str, _Call] = {
            "stdio ours": await _ours(stack, REVISION, _launch()),
            "stdio sdk": await _sdks(stack, REVISION, _stdio_parameters()),
        }
        for revision, port in ports.items():
            url = f"http://127.0.0.1:{port}/mcp"
            opened = mcp_revisions.connect_http(url, _client(revision))
            calls[f"{revision} ours"] = await _ours(stack, revision, opened)
            calls[f"{revision} sdk"] = await _sdks(stack, revision, url)
            calls[f"{revision} bare"] = await _posts(stack, revision, port)
        # All sides import many long-lived objects; no collection should have to walk them.
        gc.collect()
        gc.freeze()
        return await _interleave(calls, rounds)


async def _interleave(calls: Mapping[str, _Call], rounds: int) -> dict[str, float]:
    names = list(calls)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds + 1):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            call = calls[name]
            begun = perf_counter()
            for _ in range(_CALLS):
                await call()
            samples[name].append(perf_counter() - begun)
    # The first round warms up.
    return {name: median(taken[1:]) / _CALLS for name, taken in samples.items()}


def _client(revision: str) -> Any:
    return mcp_revisions.load(revision).Client()


def _launch() -> Any:
    opener = mcp_revisions.stdio_client(_PROGRAM, inherit=True)
    return mcp_revisions.connect(opener, _client(REVISION))


def _stdio_parameters() -> Any:
    command, *arguments = _PROGRAM
    return _sdk.StdioServerParameters(command=command, args=arguments, env={**os.environ})


async def _ours(stack: AsyncExitStack, revision: str, connecting: Any) -> _Call:
    client = await stack.enter_async_context(connecting)
    params = mcp_revisions.load(revision).models.CallToolRequestParams
    return lambda: client.request(
        client.TABLE.requests["tools/call"], params(name=_NAME, arguments=_ARGUMENTS)
    )


async def _sdks(stack: AsyncExitStack, revision: str, server: Any) -> _Call:
    mode = "legacy" if revision == REVISION else revision
    client = await stack.enter_async_context(_sdk.Client(server, mode=mode))
    if client.protocol_version != revision:
        raise SystemExit(f"the SDK agreed on {client.protocol_version}, not on {revision}")
    return lambda: client.call_tool(_NAME, _ARGUMENTS)


async def _posts(stack: AsyncExitStack, revision: str, port: int) -> _Call:
    """Return the same posts without a protocol: the answer is read as bytes."""
    http = await stack.enter_async_context(httpx2.AsyncClient())
    requests = Requests(port)
    if revision == REVISION:
        caller = Caller(port)
        stack.callback(caller.close)
        request = requests.call_in_session(caller.open_session())
    else:
        request = requests.call_alone()
    head, _, body = (request % FIRST_ID).partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    url = f"http://127.0.0.1:{port}/mcp"

    async def post() -> None:
        answer = await http.post(url, content=body, headers=headers)
        if answer.status_code != 200:
            raise SystemExit(f"a post was answered with {answer.status_code}: {answer.text}")

    return post


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(int(sys.argv[1]), json.loads(sys.argv[2])))))
