"""Tasks that the peer works on."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from ...core.connection_errors import Disconnected
from ...core.errors import INVALID_PARAMS, InvalidAnswer, McpError, ProtocolError
from ...core.json import JSONObject
from ...core.models.base import WireModel
from .lifecycle import TRANSITIONS
from .task import Status

T = TypeVar("T")

Look: TypeAlias = Callable[[], Awaitable[JSONObject]]


class TaskCancelled(ProtocolError):
    """A task was cancelled, by whomever, so that there is no result; `message` may say why."""

    def __init__(self, id: str, message: str | None) -> None:
        super().__init__(f"the task was cancelled{'' if message is None else f': {message}'}")
        self.id: Final = id


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """Where a task stands, as the peer says. Times are ISO 8601, durations in seconds."""

    status: Status
    message: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    ttl: float | None = None
    """For how long it is kept after its creation; None for no end."""
    poll_interval: float | None = None
    """How long to wait before asking again; None if the peer does not mind."""

    @property
    def has_ended(self) -> bool:
        return not TRANSITIONS[self.status]


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
    """Return what `read` makes of the answer to `tasks/result`; raise `TaskCancelled`."""
    try:
        return read((await asking).to_wire())
    except (McpError, InvalidAnswer) as error:
        # For a task that was cancelled, the official Python SDK answers with an empty result.
        try:
            task = await look()
        except (ProtocolError, Disconnected):
            # What cannot be had any more says nothing else.
            raise error from None
        if task["status"] == Status.CANCELLED:
            raise TaskCancelled(id, task.get("statusMessage")) from None
        raise


async def confirm_cancel(asking: Awaitable[object], look: Look) -> None:
    """Wait for the answer to `tasks/cancel`; what has ended already stays as it is."""
    try:
        await asking
    except McpError as error:
        # 2025-11-25 refuses to cancel what has ended.
        if error.code != INVALID_PARAMS or not state_of(await look()).has_ended:
            raise
