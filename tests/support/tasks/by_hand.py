"""Clients with tasks, of each kind, and servers that follow a script."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from mcp_protogen.runtime.features.tasks.client import calls, handle
from mcp_protogen.runtime.rules.task_kinds import TASKS_EXTENSION
from mcp_revisions import TaskCalls, v2025_11_25, v2026_07_28
from mcp_revisions.v2026_07_28.ext.tasks import TasksClient
from support.json_types import Json, JsonObject
from support.revisions import OLD, STATELESS
from support.sessions.talking import Accepting, Hand, discover_result, error, pkg, request, welcome

DECLARED: JsonObject = {"extensions": {TASKS_EXTENSION: {}}}


class Since(TasksClient, v2026_07_28.Client):
    """A client with the extension."""


class Before(TaskCalls, v2025_11_25.Client):
    """A client with the tasks of 2025-11-25."""


class Clock:
    """A clock that only advances while a task waits; `waits` are the requested seconds."""

    def __init__(self) -> None:
        self.at = 1000.0
        self.waits: list[float] = []
        self.notified: Callable[[], Awaitable[None]] | None = None
        """Called instead of the next wait; something is heard meanwhile."""

    def __call__(self) -> float:
        return self.at

    async def wait(self, seconds: float, heard: Any) -> bool:
        self.waits.append(round(seconds, 3))
        notify, self.notified = self.notified, None
        if notify is not None:
            await notify()
            await heard
            return True
        heard.close()
        self.at += seconds
        return False


SET_CLOCKS = pytest.MonkeyPatch()
"""Undone after each test of tasks."""


def set_clock(client: Any, clock: Clock, day: Callable[[], float] | None = None) -> Any:
    """Make the tasks of clients use a clock until the end of the test; return the client.

    `day` is the clock of the day, if it is another one.
    """
    SET_CLOCKS.setattr(calls, "monotonic", clock)
    SET_CLOCKS.setattr(handle, "monotonic", clock)
    SET_CLOCKS.setattr(handle, "time", day or clock)
    SET_CLOCKS.setattr(handle, "wait_within", clock.wait)
    return client


def task_details(id: str, status: str = "working", **members: Any) -> JsonObject:
    """Return a task as the extension writes it."""
    times = {"createdAt": "2026-11-01T00:00:00Z", "lastUpdatedAt": "2026-11-01T00:00:00Z"}
    return {"taskId": id, "status": status, "ttlMs": None, "pollIntervalMs": 5000} | times | members


def task_created(id: str, **members: Any) -> JsonObject:
    """Return the result by which a call becomes a task of the extension."""
    return {"resultType": "task", **task_details(id, **members)}


def text(said: str, **members: Any) -> JsonObject:
    return {"resultType": "complete", "content": [{"type": "text", "text": said}], **members}


def core_task(id: str, status: str = "working", **members: Any) -> JsonObject:
    """Return a task as 2025-11-25 writes it."""
    times = {"createdAt": "2026-11-01T00:00:00Z", "lastUpdatedAt": "2026-11-01T00:00:00Z"}
    return {"taskId": id, "status": status, "ttl": None} | times | members


class ScriptedServer:
    """A server that answers each method with its next answer, and repeats the last.

    An answer is a result; a JSON-RPC error as `{"error": …}`; a coroutine function of the hand and
    the message that returns either; or None for silence.
    """

    def __init__(self, revision: str, **answers: Any) -> None:
        self.revision = revision
        self.answers: dict[str, list[Any]] = {
            name.replace("_", "/"): [*given] for name, given in answers.items()
        }
        self.came: list[JsonObject] = []
        self.hand: Hand | None = None
        self.capabilities: JsonObject = {"tools": {}}
        if revision == OLD:
            self.capabilities["tasks"] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
        else:
            self.capabilities["extensions"] = {TASKS_EXTENSION: {}}

    def methods(self) -> list[str]:
        """Return the received methods after the opening of the connection."""
        opening = {"server/discover", "initialize", "notifications/initialized"}
        return [
            message["method"]
            for message in self.came
            if message.get("method") not in opening | {None}
        ]

    def params(self, method: str) -> list[Json]:
        return [message["params"] for message in self.came if message.get("method") == method]

    async def play(self, hand: Hand) -> None:
        self.hand = hand
        while (message := await hand.take()) is not None:
            self.came.append(message)
            if "method" in message and "id" in message:
                await self._answer(hand, message)

    async def _answer(self, hand: Hand, message: JsonObject) -> None:
        method, id = message["method"], message["id"]
        if method == "server/discover":
            await hand.send(discover_result(id, **self.capabilities))
            return
        if method == "initialize":
            supported = {"supported": [STATELESS], "requested": OLD}
            old = self.revision == OLD
            welcomed = welcome(id, **self.capabilities)
            await hand.send(welcomed if old else error(id, -32022, data=supported))
            return
        left: list[Any] = self.answers[method]
        answer: Any = left.pop(0) if len(left) > 1 else left[0]
        if not isinstance(answer, dict | None):
            answer = await answer(hand, message)
        if answer is None:
            return
        said = cast(JsonObject, answer)
        member = said if "error" in said else {"result": said}
        await hand.send({"jsonrpc": "2.0", "id": id, **member})

    async def notify(self, method: str, **params: Any) -> None:
        assert self.hand is not None
        await self.hand.send({"jsonrpc": "2.0", "method": method, "params": params})


@asynccontextmanager
async def calling(client: Any, played: ScriptedServer) -> AsyncGenerator[Any, None]:
    async with pkg.connect(Accepting(played.play), client) as ours:
        yield ours


def form_question(message: str) -> JsonObject:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}}
    params = {"message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def elicit(id: int, message: str) -> JsonObject:
    """Return a question for input as a request of the handshake era."""
    return request("elicitation/create", id, **form_question(message)["params"])
