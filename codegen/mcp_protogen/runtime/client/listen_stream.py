"""The listen stream of a client in the stateless era; to change it, a new one replaces it."""

from asyncio import CancelledError, Future, Lock, Task, get_running_loop, timeout
from collections.abc import Callable, Iterable, Mapping
from logging import getLogger
from typing import Any, Final

from ..core.errors import INTERNAL_ERROR, INVALID_PARAMS, McpError, ProtocolError
from ..core.models.base import WireModel
from ..core.options import CallOptions
from ..core.spec import RequestSpec
from ..core.subscriptions import Filter
from ..messages.envelope import SUBSCRIPTION_ID
from ..rpc.endpoint import Endpoint

_log: Final = getLogger(__name__)

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
LISTEN: Final = "subscriptions/listen"
SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"


class ListenStream:
    """The one listen stream of a connection, for all changes that anybody wants to hear of."""

    def __init__(self, endpoint: Endpoint, spec: RequestSpec[Any, Any]) -> None:
        self._endpoint = endpoint
        self._spec = spec
        self._wanted = Filter()
        self._task: Task[None] | None = None
        self._acknowledged: Future[Filter] | None = None
        self._changing = Lock()
        self._id: Any = None

    async def lists(self, methods: Iterable[str]) -> None:
        wanted = Filter(frozenset(methods)).honoured(self._endpoint.connection.declared["server"])
        try:
            await self._listen(lambda filter: filter._replace(lists=wanted.lists))
        except (ProtocolError, TimeoutError) as error:
            _log.warning("the server does not tell of changes of its lists: %s", error)

    async def subscription(self, method: str, uri: str) -> None:
        """Begin or stop to listen for changes of a resource, as `method` says.

        Raise `McpError` and `RemoteError` if the server refuses, `Disconnected`, `TimeoutError`.
        """
        if method != SUBSCRIBE:
            await self._listen(lambda filter: filter._replace(uris=filter.uris - {uri}))
            return
        await self._listen(lambda filter: filter._replace(uris=filter.uris | {uri}))
        if uri not in self._wanted.uris:
            raise McpError(INVALID_PARAMS, "The server does not tell of changes of this resource")

    async def _listen(self, change: Callable[[Filter], Filter]) -> None:
        async with self._changing:
            before, wanted = self._task, change(self._wanted)
            if wanted == self._wanted:
                return
            task: Task[None] | None = None
            if wanted != Filter():
                task, wanted = await self._opened(wanted)
            self._wanted, self._task = wanted, task
            if before is not None:
                before.cancel()

    async def _opened(self, wanted: Filter) -> tuple[Task[None], Filter]:
        acknowledged = self._acknowledged = get_running_loop().create_future()
        task = self._endpoint.tasks.start(self._stream(wanted, acknowledged))
        try:
            async with timeout(self._endpoint.options.timeout):
                return task, await acknowledged
        except BaseException:
            task.cancel()
            raise
        finally:
            self._acknowledged = None

    async def _stream(self, wanted: Filter, acknowledged: Future[Filter]) -> None:
        params = self._spec.params(notifications=wanted.to_wire())
        over: Exception = McpError(INTERNAL_ERROR, "The server does not listen")
        try:
            await self._endpoint.request(self._spec, params, CallOptions())
        except (ProtocolError, ConnectionError) as error:
            over = error
        except CancelledError:
            acknowledged.cancel()
            raise
        if not acknowledged.done():
            acknowledged.set_exception(over)
            return
        _log.info("the server does not tell of changes any more: %s", over)
        if self._wanted == acknowledged.result():
            # Whoever wants to know of changes from now on opens a new one.
            self._wanted, self._task = Filter(), None

    def takes(self, method: str, params: WireModel, meta: Mapping[str, Any]) -> bool:
        """Return whether a notification is for the stream itself, or from one that is replaced."""
        stream = meta.get(SUBSCRIPTION_ID)
        new = stream != self._id
        if method != ACKNOWLEDGED:
            return stream is not None and new
        waiting = self._acknowledged
        # One that was given up may be acknowledged late.
        expected = new and self._endpoint.connection.awaits_answer_to(stream)
        if expected and waiting is not None and not waiting.done():
            # What follows at once belongs to the new stream already.
            self._id = stream
            waiting.set_result(Filter.of(params.to_wire().get("notifications", {})))
        return True
