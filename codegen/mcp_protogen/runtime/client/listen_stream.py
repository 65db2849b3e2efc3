"""The one listen stream of a client in the stateless era; each change opens a new one."""

from asyncio import (
    CancelledError,
    Future,
    Lock,
    Task,
    current_task,
    get_running_loop,
    sleep,
    timeout,
)
from collections.abc import Callable, Container, Mapping
from logging import getLogger
from typing import Any, Final

from ..core.errors import INTERNAL_ERROR, INVALID_PARAMS, McpError, ProtocolError
from ..core.models.base import WireModel, validator_of
from ..core.options import CallOptions
from ..core.spec import AnyRequest
from ..core.subscriptions import (
    ACKNOWLEDGED,
    RESOURCE_UPDATED,
    SUBSCRIBE,
    Filter,
    Selectors,
    is_list_change,
)
from ..messages.codec import Notification
from ..messages.envelope import SUBSCRIPTION_ID
from ..rpc.endpoint import Endpoint

_log: Final = getLogger(__name__)

# Between the end of a stream and the next one, in seconds; doubled until a stream lasts.
_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_LASTING: Final = 10.0


class ListenStream:
    def __init__(self, endpoint: Endpoint, spec: AnyRequest) -> None:
        self._endpoint = endpoint
        self._spec = spec
        self._filter = Filter()
        self._task: Task[None] | None = None
        self._acknowledged: Future[Filter] | None = None
        self._selectors = Selectors(endpoint.connection.table.wire.notifications)
        self._changing = Lock()
        self._id: Any = None
        self._pause = _PAUSE

    async def follow_lists(self, methods: Container[str]) -> None:
        connection = self._endpoint.connection
        names = filter(is_list_change, connection.table.first_names)
        known = {(name, None) for name in names if connection.table.name_of(name) in methods}
        lists = self._selectors.narrow(frozenset(known), connection.declared["server"])
        try:
            await self._listen(lambda filter: filter | lists)
        except (ProtocolError, TimeoutError) as error:
            _log.warning("the server does not report changes of its lists: %s", error)

    def hears(self, method: str) -> bool:
        return (method, None) in self._filter

    async def change_subscription(self, method: str, uri: str) -> None:
        """Start or stop listening for changes of a resource, depending on `method`."""
        change = (RESOURCE_UPDATED, uri)
        if method != SUBSCRIBE:
            await self._listen(lambda filter: filter - {change})
            return
        await self._listen(lambda filter: filter | {change})
        if change not in self._filter:
            raise McpError(INVALID_PARAMS, "The server does not report changes of this resource")

    async def _listen(self, change: Callable[[Filter], Filter]) -> None:
        async with self._changing:
            old, filter = self._task, change(self._filter)
            if filter == self._filter:
                return
            task: Task[None] | None = None
            if filter != Filter():
                task, filter = await self._open_stream(filter)
            self._filter, self._task = filter, task
            if old is not None:
                old.cancel()

    async def _open_stream(self, filter: Filter) -> tuple[Task[None], Filter]:
        acknowledged = self._acknowledged = get_running_loop().create_future()
        task = self._endpoint.tasks.start(self._stream(filter, acknowledged))
        try:
            async with timeout(self._endpoint.options.timeout):
                return task, await acknowledged
        except BaseException:
            task.cancel()
            raise
        finally:
            self._acknowledged = None

    async def _stream(self, filter: Filter, acknowledged: Future[Filter]) -> None:
        params = self._spec.params(notifications=self._selectors.write(filter))
        reason: Exception = McpError(INTERNAL_ERROR, "the server closed the stream")
        began = get_running_loop().time()
        try:
            await self._endpoint.request(self._spec, params, CallOptions())
        except (ProtocolError, ConnectionError) as error:
            reason = error
        except CancelledError:
            acknowledged.cancel()
            raise
        if not acknowledged.done():
            acknowledged.set_exception(reason)
            return
        if get_running_loop().time() - began >= _LASTING:
            self._pause = _PAUSE
        async with self._changing:
            is_current = self._task is current_task()
        if is_current and self._endpoint.broken is None:
            await self._listen_again(reason)

    async def _listen_again(self, reason: Exception) -> None:
        task = self._task
        while self._task is task:
            _log.warning("the listen stream has ended and is opened again: %s", reason)
            await sleep(self._pause)
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            async with self._changing:
                try:
                    self._task, self._filter = await self._open_stream(self._filter)
                except McpError as error:
                    _log.warning("the server no longer reports changes: %s", error)
                    self._filter, self._task = Filter(), None
                    return
                except (ProtocolError, ConnectionError, TimeoutError) as error:
                    reason = error
        endpoint = self._endpoint
        for method, uri in sorted(self._filter, key=repr):
            spec = endpoint.connection.table.spec_of(method)
            params = validator_of(spec.params)({} if uri is None else {"uri": uri})
            endpoint.handle_notification(Notification(spec, params))

    def take_notification(self, method: str, params: WireModel, meta: Mapping[str, Any]) -> bool:
        """Take a notification, and return whether it needs no handler.

        It needs none if it is for the stream itself, or from a replaced one.
        """
        stream = meta.get(SUBSCRIPTION_ID)
        new = stream != self._id
        if method != ACKNOWLEDGED:
            return stream is not None and new
        waiting = self._acknowledged
        # A stream that was given up may be acknowledged late.
        expected = new and self._endpoint.connection.awaits_answer_to(stream)
        if expected and waiting is not None and not waiting.done():
            # Notifications that follow at once belong to the new stream.
            self._id = stream
            waiting.set_result(self._selectors.read(params.to_wire().get("notifications", {})))
        return True
