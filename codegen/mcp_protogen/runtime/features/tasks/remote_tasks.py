"""Tasks that the peer runs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from ...core.connection_errors import Disconnected
from ...core.errors import INVALID_PARAMS, InvalidAnswer, McpError, ProtocolError
from ...core.json import JSONObject
from ...core.models.base import WireModel
from .lifecycle import ENDS
from .task import Status

T = TypeVar("T")

Look: TypeAlias = Callable[[], Awaitable[JSONObject]]


class TaskCancelled(ProtocolError):
    """The task was cancelled, so it has no result; `message` may say why."""

    def __init__(self, id: str, message: str | None) -> None:
        super().__init__(f"the task was cancelled{'' if message is None else f': {message}'}")
        self.id: Final = id


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """The state of a task at the peer. Times are ISO 8601, durations in seconds."""

    status: Status
    message: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    ttl: float | None = None
    """How long it is kept after its creation; None for ever."""
    poll_interval: float | None = None
    """The wait before asking again; None if the peer does not say."""

    @property
    def has_ended(self) -> bool:
        return self.status in ENDS


def state_of(task: JSONObject) -> TaskState:
    return TaskState(
        status=Status(task["status"]),
        message=task.get("statusMessage"),
        created_at=task.get("createdAt"),
        updated_at=task.get("lastUpdatedAt"),
        ttl=_seconds(task.get("ttl", task.get("ttlMs"))),
        poll_interval=_seconds(task.get("pollInterval", task.get("pollIntervalMs"))),
    )


def _seconds(milliseconds: Any) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


async def payload(
    asking: Awaitable[WireModel], read: Callable[[JSONObject], T], id: str, look: Look
) -> T:
    """Return the answer to `tasks/result` through `read`; raise `TaskCancelled`."""
    try:
        return read((await asking).to_wire())
    except (McpError, InvalidAnswer) as error:
        # The official Python SDK answers with an empty result for a cancelled task.
        try:
            task = await look()
        except (ProtocolError, Disconnected):
            # The task is gone: keep the first error.
            raise error from None
        if task["status"] == Status.CANCELLED:
            raise TaskCancelled(id, task.get("statusMessage")) from None
        raise


async def confirm_cancel(asking: Awaitable[object], look: Look) -> None:
    """Await the answer to `tasks/cancel`; accept a task that has ended."""
    try:
        await asking
    except McpError as error:
        # 2025-11-25 refuses to cancel a task that has ended.
        if error.code != INVALID_PARAMS or not state_of(await look()).has_ended:
            raise
