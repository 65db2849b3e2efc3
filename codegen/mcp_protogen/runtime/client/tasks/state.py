"""Where a task stands, as servers write it in both forms, and for how long a client waits."""

from asyncio import timeout
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic, time
from typing import Any, Final

from ...core.errors import ProtocolError
from ...core.json import JSONObject
from ...rpc.tasks.lifecycle import TRANSITIONS
from ...rpc.tasks.task import Status

CALL: Final = "tools/call"
GET: Final = "tasks/get"
UPDATE: Final = "tasks/update"
CANCEL: Final = "tasks/cancel"
RESULT: Final = "tasks/result"
NOTIFIED: Final = frozenset({"notifications/tasks", "notifications/tasks/status"})
"""The notifications of changed tasks, one in each form."""


class TaskCancelled(ProtocolError):
    """A task was cancelled, by whomever, so that there is no result; `message` may say why."""

    def __init__(self, id: str, message: str | None) -> None:
        super().__init__(f"the task was cancelled{'' if message is None else f': {message}'}")
        self.id: Final = id


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """Where a task stands, as its server says. Times are ISO 8601, durations in seconds."""

    status: Status
    message: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    ttl: float | None = None
    """For how long it is kept after its creation; None for no end."""
    poll_interval: float | None = None
    """How long to wait before asking again; None if the server does not mind."""

    @property
    def has_ended(self) -> bool:
        return not TRANSITIONS[self.status]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The clocks of who waits for a task; `wait` says whether something was heard in time."""

    now: Callable[[], float] = monotonic
    epoch: Callable[[], float] = time
    wait: Callable[[Awaitable[None], float], Awaitable[bool]]


async def heard_within(heard: Awaitable[None], seconds: float) -> bool:
    """Wait for something to be heard; return whether it was within `seconds`."""
    try:
        async with timeout(seconds):
            await heard
    except TimeoutError:
        return False
    return True


def state_of(task: JSONObject) -> TaskState:
    """Return where a task stands, from an object of either form."""
    core = "ttl" in task
    ttl, poll_interval = task.get("ttl" if core else "ttlMs"), _interval(task)
    return TaskState(
        status=Status(task["status"]),
        message=task.get("statusMessage"),
        created_at=task.get("createdAt"),
        updated_at=task.get("lastUpdatedAt"),
        ttl=None if ttl is None else ttl / 1000,
        poll_interval=poll_interval,
    )


def _interval(task: JSONObject) -> float | None:
    value: Any = task.get("pollInterval", task.get("pollIntervalMs"))
    return None if value is None else value / 1000
