"""Times calls inside the application, without a server or a socket.

`python -m benchmarks.http_alone ROUNDS` prints the median seconds of processor time of each call as
a JSON object: in a session, in 2026-07-28, and for each the time of the models and the handler.
"""

import asyncio
import gc
import json
import sys
from collections.abc import Awaitable, Callable
from time import process_time
from typing import Any, Final

from mcp_revisions import http_app, load

from .http_echo import server_of
from .http_requests import FIRST_ID, STATELESS, Requests
from .places import REVISION
from .timing import Action, interleave_calls

# Enough calls in one go for the loop's start to vanish.
_AT_ONCE: Final = 100


def post(app: Any, request: bytes) -> Callable[[], Awaitable[list[Any]]]:
    """Post a request to an application; return the messages of the response."""
    head, _, body = request.partition(b"\r\n\r\n")
    pairs = (line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
    headers = [(name.lower(), value) for name, value in pairs]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "root_path": "", "headers": headers}
    event = {"type": "http.request", "body": body, "more_body": False}

    async def receive() -> Any:
        return event

    async def post() -> list[Any]:
        messages: list[Any] = []

        async def send(message: Any) -> None:
            messages.append(message)

        await app({**scope}, receive, send)
        if messages[0]["status"] not in (200, 202):
            raise SystemExit(f"a call failed: {messages}")
        return messages

    return post


async def call_in_session() -> Callable[[], Awaitable[Any]]:
    """Return a call in a new session."""
    app, requests = http_app(server_of(REVISION)), Requests(80)
    begun, _ = await post(app, requests.initialize())()
    session = dict(begun["headers"])[b"mcp-session-id"].decode()
    await post(app, requests.initialized_notification(session))()
    return post(app, requests.call_in_session(session) % FIRST_ID)


async def call_alone() -> Callable[[], Awaitable[Any]]:
    """Return a call of 2026-07-28."""
    return post(http_app(server_of(STATELESS)), Requests(80).call_alone() % FIRST_ID)


def models_alone(revision: str, request: bytes) -> Callable[[], Awaitable[Any]]:
    """Read the same call, handle it, and write the result."""
    body = (request % FIRST_ID).partition(b"\r\n\r\n")[2]
    methods, server = load(revision).methods, server_of(revision)

    async def answer() -> Any:
        call = methods.parse_request(body, sender="client")
        result = await server.on_call_tool(None, call.params)
        return methods.serialise_result(call.spec, call.id, result)

    return answer


def main(rounds: int) -> None:
    """Measure and print."""
    with asyncio.Runner() as runner:
        requests = Requests(80)
        calls = {
            REVISION: runner.run(call_in_session()),
            STATELESS: runner.run(call_alone()),
            f"{REVISION} models": models_alone(REVISION, requests.call_in_session("")),
            f"{STATELESS} models": models_alone(STATELESS, requests.call_alone()),
        }

        def several(call: Callable[[], Awaitable[Any]]) -> Action:
            async def run() -> None:
                for _ in range(_AT_ONCE):
                    await call()

            return lambda: runner.run(run())

        actions = {name: several(call) for name, call in calls.items()}
        for action in actions.values():
            action()
        gc.collect()
        gc.freeze()
        taken = interleave_calls(actions, rounds, process_time)
    print(json.dumps({name: seconds / _AT_ONCE for name, seconds in taken.items()}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
