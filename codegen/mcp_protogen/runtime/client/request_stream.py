"""The streams of a client's long requests, such as those for events."""

from asyncio import Queue, Task, TimerHandle, get_running_loop, wait
from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import Any, Generic, NamedTuple, Self, TypeVar, cast

from ..core.connection_errors import Disconnected, RequestTimeout
from ..core.errors import InvalidAnswer, LocalError, RequestId
from ..core.middleware import meta_of
from ..core.options import CallOptions
from ..core.spec import AnyRequest
from ..messages.envelope import SUBSCRIPTION_ID
from ..rules.handlers import made_once
from .base import ClientBase, ClientRuntime

N = TypeVar("N")


class StreamNotification(NamedTuple, Generic[N]):
    """A notification on the stream of a request."""

    method: str
    params: N


class StreamingRuntime(ClientRuntime):
    """The runtime of a client whose requests have streams."""

    def __init__(self, owner: ClientBase) -> None:
        super().__init__(owner)
        self.streams: dict[RequestId, RequestStream[Any]] = {}

    def note_notification(self, method: str, params: Any) -> None:
        super().note_notification(method, params)
        id = meta_of(params).get(SUBSCRIPTION_ID)
        stream = self.streams.get(id) if isinstance(id, (int, str)) else None
        if stream is not None:
            stream.take(method, params)

    def open(
        self, stream: "RequestStream[Any]", spec: AnyRequest, params: Any, options: CallOptions
    ) -> Awaitable[Any]:
        """Send the request of a stream, through the middleware, and return its result."""
        send = partial(self.endpoint.request, on_begin=lambda id: self.streams.update({id: stream}))
        middleware = self.middleware()
        if not middleware:
            return send(spec, params, options)
        return self._through(middleware, send, spec, params, options)

    def close(self, stream: "RequestStream[Any]") -> None:
        self.streams = {id: kept for id, kept in self.streams.items() if kept is not stream}


class StreamClient(ClientBase):
    """The base of a client whose requests have streams."""

    @made_once
    def __mcp_runtime__(self) -> ClientRuntime:
        usual: Any = type(super().__mcp_runtime__)
        made: ClientRuntime = _runtime_class(usual)(self)
        return made


@cache
def _runtime_class(other: type[ClientRuntime]) -> Any:
    """Return the class of runtimes that also do what that of other bases does."""
    return type("Runtime", (StreamingRuntime, other), {})


class RequestStream(Generic[N]):
    """The stream of a long request.

    `async with` opens it, and leaving cancels the request. Iterating over it yields its
    notifications, until the last one or the result; errors are raised there.
    """

    def __init__(
        self, client: StreamClient, spec: AnyRequest, params: Any, options: CallOptions
    ) -> None:
        self._runtime = cast(StreamingRuntime, client.__mcp_runtime__)
        self._open: Callable[[], Awaitable[Any]] = partial(
            self._runtime.open, self, spec, params, options
        )
        self._spec = spec
        places = {
            notification.method: notification.stream
            for notification in client.TABLE.notifications.values()
            if notification.stream is not None and notification.stream.request == spec.known_as
        }
        self._orders = {method: place.order for method, place in places.items()}
        self._longest_pause = 2 * max((place.every for place in places.values()), default=0.0)
        self._queue = Queue[StreamNotification[N] | Exception | None]()
        self._task: Task[None] | None = None
        self._timer: TimerHandle | None = None
        self._first: StreamNotification[N] | None = None
        self._ended = False
        self.result: Any = None
        """The result of the request, once it has come."""

    async def __aenter__(self) -> Self:
        """Send the request, and wait for the notification with which its stream begins.

        Raise the errors of the request, `RequestTimeout` if that does not come in time, and
        `InvalidAnswer` if the stream begins otherwise.
        """
        method, endpoint = self._spec.method, self._runtime.endpoint
        self._task = endpoint.tasks.start(self._run())
        first = [method for method, order in self._orders.items() if order == "first"]
        if first:
            options = endpoint.options
            seconds = options.timeouts.get(self._spec.known_as, options.timeout)
            self._watch(seconds, RequestTimeout(method, seconds))
            try:
                self._first = await anext(self, None)
                if self._first is None or self._first.method != first[0]:
                    came = "its end" if self._first is None else self._first.method
                    raise InvalidAnswer(f"the stream of {method} begins with {came}")
            except BaseException:
                await self.__aexit__()
                raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._close()
        if self._task is not None:
            # Otherwise a connection that closes next would not send the cancellation.
            await wait([self._task])

    def _close(self) -> None:
        self._end()
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        try:
            self.result = await self._open()
            self._end()
        except Exception as error:
            self._end(error)
        finally:
            self._runtime.close(self)

    def _end(self, error: Exception | None = None) -> None:
        if not self._ended:
            self._ended = True
            self._queue.put_nowait(error)
            if self._timer is not None:
                self._timer.cancel()

    def _watch(self, seconds: float, error: Exception) -> None:
        """Give up with an error if nothing is taken for some time; 0 stands for no limit."""
        if self._timer is not None:
            self._timer.cancel()
        if seconds and not self._ended:
            self._timer = get_running_loop().call_later(seconds, self._give_up, error)

    def _give_up(self, error: Exception) -> None:
        self._end(error)
        self._close()

    def take(self, method: str, params: N) -> None:
        if self._ended or method not in self._orders:
            return
        if self._queue.qsize() >= (most := self._runtime.endpoint.options.max_waiting):
            self._give_up(LocalError(f"more than {most} notifications of {self._spec.method} wait"))
            return
        # A stream with heartbeats is dead if it says nothing for twice their time.
        pause = self._longest_pause
        silence = f"the stream of {self._spec.method} has said nothing for {pause:g} s"
        self._watch(pause, Disconnected(silence))
        self._queue.put_nowait(StreamNotification(method, params))
        if self._orders[method] == "last":
            self._end()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamNotification[N]:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        one = await self._queue.get()
        if isinstance(one, StreamNotification):
            return one
        # A further call ends, too.
        self._queue.put_nowait(None)
        if one is None:
            raise StopAsyncIteration
        raise one
