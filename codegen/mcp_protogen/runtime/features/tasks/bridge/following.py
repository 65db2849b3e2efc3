"""Tasks that a listen stream of a client hears of (extension, "Task Status Notifications")."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from ....core.errors import McpError, RequestId
from ....core.json import JSONObject
from ....core.models.base import validator_of
from ....core.tasks import Signal
from ....messages.envelope import SUBSCRIPTION_ID, members
from ....rules.task_methods import CHANGED
from ..at_peer import state_of
from ..client.wire import heard_within

# Between two looks, where the server does not say how long to wait, in seconds.
_INTERVAL: Final = 1.0


async def follow(
    connection: Any,
    stream: RequestId,
    task: JSONObject,
    look: Callable[[str], Awaitable[JSONObject]],
    news: Signal,
) -> None:
    """Send where a task stands, and again whenever that changes, to its end.

    Its server notifies of it as it likes: it is looked at, and when `news` rings.
    """
    endpoint, meta = connection.endpoint, members({SUBSCRIPTION_ID: stream})
    table = endpoint.connection.table
    spec, told = table.notifications[CHANGED], None
    with suppress(McpError):  # it has lapsed
        while True:
            state = state_of(task)
            if task != told:
                # By its status, a task is of one class or another. That the client declares the
                # extension, its request has said, and no connection.
                params = validator_of(spec.params)(task)
                await endpoint.sink.send(table.serialise_notification(spec, params, meta=meta))
                told = task
            if state.has_ended:
                return
            await heard_within(news.heard(), state.poll_interval or _INTERVAL)
            task = await look(task["taskId"])
