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
from ..client.timing import heard_within

# Between two looks, where the server does not say how long to wait, in seconds.
_INTERVAL: Final = 1.0


class ClientStream:
    def __init__(self, connection: Any, stream: RequestId) -> None:
        self._endpoint = connection.endpoint
        self._meta = members({SUBSCRIPTION_ID: stream})

    async def tell(self, task: JSONObject) -> None:
        table = self._endpoint.connection.table
        spec = table.notifications[CHANGED]
        # By its status, a task is of one class or another. That the client declares the extension,
        # its request has said, and no connection.
        params = validator_of(spec.params)(task)
        await self._endpoint.sink.send(table.serialise_notification(spec, params, meta=self._meta))


class PolledTask:
    """A task whose server notifies of it as it likes: it is looked at, and when `news` rings."""

    def __init__(
        self,
        stream: ClientStream,
        task: JSONObject,
        look: Callable[[str], Awaitable[JSONObject]],
        news: Signal,
    ) -> None:
        self._stream = stream
        self._task = task
        self._look = look
        self._news = news

    async def follow(self) -> None:
        told: JSONObject | None = None
        with suppress(McpError):  # it has lapsed
            while True:
                state = state_of(self._task)
                if self._task != told:
                    await self._stream.tell(self._task)
                    told = self._task
                if state.has_ended:
                    return
                await heard_within(self._news.heard(), state.poll_interval or _INTERVAL)
                self._task = await self._look(self._task["taskId"])
