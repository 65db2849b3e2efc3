"""Forwarding between a client and a server of one revision, unchanged in both directions.

Request ids, progress tokens and ids of listen streams are replaced. Messages keep their order. A
notification at the end of a stream or connection is not lost.
"""

from asyncio import Lock
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from logging import getLogger
from typing import Any, ClassVar, Final, Protocol, Self, TypeVar, cast

from ...client.base import ClientConnection
from ...connection import CANCELLED, INITIALIZED, PROGRESS
from ...core.connection_errors import Disconnected
from ...core.errors import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    InvalidAnswer,
    LocalError,
    McpError,
    MethodNotFound,
    ProtocolError,
    RemoteError,
    RequestId,
)
from ...core.json import JSONObject, is_object, json_text
from ...core.losses import LossReport
from ...core.models.base import Validate, WireModel
from ...core.options import NO_END, CallOptions
from ...core.spec import AnyRequest, CallSpec, NotificationSpec, R, RequestSpec, Role
from ...core.subscriptions import LOG, is_list_change
from ...messages.codec import Notification, Request, TypedCall
from ...messages.envelope import PROGRESS_TOKEN, SUBSCRIPTION_ID, meta_in
from ...messages.jsonrpc import Call, id_of, make_tuple, write_result
from ...messages.method_table import MethodTable
from ...messages.writing import wire_text
from ...rpc.endpoint import Endpoint
from ...rpc.jobs import Job
from ...rpc.send_queue import MessageSink
from ...rules.server_negotiation import DISCOVER, INITIALIZE
from ...rules.task_kinds import RELATED_TASK
from ...rules.task_methods import RESULT
from ...server.context import RequestContext
from ...transports.related import RELATED_REQUEST

T = TypeVar("T")

_ALWAYS: Final[Mapping[str, Any]] = {
    "senders": frozenset({"client", "server"}),
    "load_params": lambda: Any,
    "phase": "any",
    "params_required": False,
}

LOCAL_METHODS: Final = frozenset({INITIALIZE, INITIALIZED, "ping"})
"""The methods that the runtime handles at each end by itself."""

_log: Final = getLogger(__name__)

_LASTING: Final = frozenset({"long_lived"})

_MOST_ANSWERED: Final = 1000
"""The most answered requests whose late progress is still forwarded."""


class AboutRequest(dict[str, Any]):
    """Params that name a request by its id or its progress token."""

    @property
    def request_id(self) -> RequestId | None:
        return id_of({"id": self.get("requestId")})

    @property
    def progress_token(self) -> RequestId | None:
        return id_of({"id": self.get("progressToken")})


def request_of(method: str, traits: frozenset[str] = frozenset()) -> AnyRequest:
    return RequestSpec(method, load_results=lambda: (object,), traits=traits, **_ALWAYS)


def notification_of(method: str) -> NotificationSpec[Any]:
    return NotificationSpec(method, **_ALWAYS)


class PassThroughTable(MethodTable):
    carries: ClassVar[bool] = True

    def __init__(self, known: MethodTable) -> None:
        vars(self).update(vars(known))
        self._readers = {}
        self.core = known.core

    def interpret(self, call: Call, sender: Role) -> TypedCall | RemoteError:
        id, method, params, meta, message = call
        given = message.get("params")
        if id is None:
            if method in (CANCELLED, PROGRESS):
                given = AboutRequest(params)
            return Notification(notification_of(method), given, meta)
        if sender == "server" and not self.rules.server_requests:
            return MethodNotFound(method, id=id)
        spec = self.requests.get(method)
        if method not in LOCAL_METHODS or spec is None:
            spec = request_of(method, frozenset() if spec is None else spec.traits & _LASTING)
        if method == INITIALIZE:
            params = _with_objects(params, "capabilities", "clientInfo")
        request: Request[Any] = make_tuple(Request, (id, spec, given, params, meta))
        return request

    def lenient(self, report: LossReport) -> Self:
        return self

    def result_reader(self, spec: AnyRequest) -> Validate:
        return lambda value: value

    def read_result(self, spec: RequestSpec[Any, Any, R], result: Any) -> R:
        """Return a server's introduction; raise `InvalidAnswer` unless it is an object."""
        if not is_object(result):
            problem = ("/result", "Input should be an object")
            raise InvalidAnswer(f"Invalid result of {spec.method}", [problem])
        return cast(R, _with_objects(result, "capabilities"))

    def _name_text(self, specs: Mapping[str, Any], spec: CallSpec[Any]) -> bytes:
        return json_text(spec.method)

    def _params_text(self, spec: CallSpec[Any], params: Any, meta: bytes | None) -> bytes | None:
        if meta is not None or is_object(params):
            return wire_text(spec, params if is_object(params) else {}, meta, "params")
        return None if params is None else json_text(params)

    def serialise_result(
        self, spec: AnyRequest, id: RequestId, result: Any, *, meta: bytes | None = None
    ) -> bytes:
        if isinstance(result, WireModel):
            return super().serialise_result(spec, id, result, meta=meta)
        text = wire_text(spec, result, None, "result") if is_object(result) else json_text(result)
        return write_result(id, text)


def _with_objects(given: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return an object whose named members are objects; others become empty ones."""
    empty: JSONObject = {name: {} for name in names if not is_object(given.get(name))}
    return {**given, **empty} if empty else given


class EveryMethod(Mapping[str, T]):
    """Handlers of all methods, known or not, except `LOCAL_METHODS`."""

    def __init__(self, handler_of: Callable[[str], T]) -> None:
        self._handler_of = handler_of

    def __getitem__(self, method: str) -> T:
        if method in LOCAL_METHODS:
            raise KeyError(method)
        return self._handler_of(method)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def error_for(asking: Role, method: str, error: ProtocolError | Disconnected) -> McpError:
    """Return the error for the side that is `asking`."""
    other = "client" if asking == "server" else "server"
    if isinstance(error, Disconnected):
        return McpError(INTERNAL_ERROR, f"The {other} is gone: {error}")
    if isinstance(error, InvalidAnswer):
        places = "; ".join(f"{at or '/'}: {text}" for at, text in error.problems)
        about = f" to {method}" if method else ""
        text = f"The {other}'s answer{about} cannot be read: {places or error.message}"
        return McpError(INTERNAL_ERROR, text, error.data)
    code = INTERNAL_ERROR if isinstance(error, RemoteError) else error.code
    return McpError(code, error.message, error.data)


async def result_of(answer: Awaitable[T], method: str = "", asking: Role = "client") -> T:
    """Return the other side's result; raise `McpError` for an error, or without an answer."""
    try:
        return await answer
    except (McpError, LocalError, RemoteError, Disconnected) as error:
        raise error_for(asking, method, error) from error


@dataclass(eq=False, slots=True)
class ForwardedCall:
    """A forwarded request: the sender's id and token, and its destination."""

    is_open: ClassVar[bool] = True
    id: RequestId
    token: object
    endpoint: Endpoint
    sink: MessageSink
    context: RequestContext | None = None
    """The context at the client's half, if a client has sent it."""
    sent_as: RequestId | None = None
    order: Lock | None = None
    """Held while progress is forwarded, if it was requested."""

    def cancel(self, params: Mapping[str, Any]) -> None:
        id, connection = self.sent_as, self.endpoint.connection
        if id is not None and connection.awaits_answer_to(id):
            connection.forget(id)
            params = {**params, "requestId": id}
            self.sink.put(connection.notify(notification_of(CANCELLED), params))


class _Requests:
    def __init__(self) -> None:
        self.open: dict[RequestId, ForwardedCall] = {}
        """By their ids at the destination."""
        self._answered = OrderedDict[RequestId, RequestId]()
        self._last = 0

    def begin(self, passed_on: ForwardedCall, id: RequestId) -> None:
        passed_on.sent_as = id
        self.open[id] = passed_on
        if isinstance(id, int):
            self._last = id

    def end(self, passed_on: ForwardedCall) -> None:
        id = passed_on.sent_as
        if id is None:
            return
        del self.open[id]
        # A token of limited length, because many are kept.
        token = id_of({"id": passed_on.token})
        if token is not None:
            self._answered[id] = token
            if len(self._answered) > _MOST_ANSWERED:
                self._answered.popitem(last=False)

    def find(self, id: object) -> ForwardedCall | None:
        return self.open.get(id) if isinstance(id, str | int) else None

    def is_own(self, id: object) -> bool:
        return id in self.open or (isinstance(id, int) and 0 < id <= self._last)

    def token(self, id: RequestId | None) -> object:
        if id is None:
            return None
        if (passed_on := self.open.get(id)) is not None:
            return passed_on.token
        return self._answered.get(id, None if self.is_own(id) else id)


class ServerHalf(Protocol):
    def contexts(self) -> list[RequestContext]: ...

    def log_readers(self, params: Any) -> list[RequestContext]: ...

    def count(self, method: str) -> None: ...


class Forwarding:
    def __init__(self, to_server: ClientConnection, to_client: ServerHalf) -> None:
        self._to_server, self._to_client = to_server, to_client
        self.asked_server, self._asked_client = _Requests(), _Requests()

    def take_from_client(self, method: str, session: Any, params: Any) -> Awaitable[Any] | None:
        context: RequestContext = session.__mcp_runtime__
        if isinstance(params, WireModel):
            # The runtime asks this, to check a request.
            return self._ask_for_runtime(method, context, params)
        if context.request_id is None:
            return self._notify(method, context, params)
        if method == DISCOVER:
            return self._answer_discover(context)
        return self.ask_server(method, context, params)

    async def _answer_discover(self, context: RequestContext) -> JSONObject:
        # Other revisions are translated, if clients may speak them.
        connection: Any = context.connection
        supported = list(connection.state.offer.all)
        return {**self._to_server.introduction, "supportedVersions": supported}

    async def _ask_for_runtime(
        self, method: str, context: RequestContext, params: WireModel
    ) -> WireModel:
        return WireModel.from_wire(await self.ask_server(method, context, params.to_wire()))

    async def ask_server(self, method: str, context: RequestContext, params: Any) -> Any:
        endpoint, id = self._to_server.endpoint, context.request_id
        token = context.meta.get(PROGRESS_TOKEN)
        request = ForwardedCall(0 if id is None else id, token, endpoint, endpoint.sink, context)
        request.order = None if token is None else Lock()
        traits = frozenset[str]() if context.call is None else context.call.spec.traits & _LASTING
        options = _options(context.endpoint, token, lasts=bool(traits) or method == RESULT)
        begin = partial(self.asked_server.begin, request)
        sent = endpoint.request(request_of(method, traits), params, options, on_begin=begin)
        try:
            result = await result_of(sent, method)
            if request.order is not None and request.order.locked():
                # A slow client must get all progress before the answer.
                async with request.order:
                    pass
        finally:
            self.asked_server.end(request)
        return _with_stream(result, request.id)

    def _notify(self, method: str, context: RequestContext, params: Any) -> Awaitable[None] | None:
        endpoint = self._to_server.endpoint
        if method == CANCELLED:
            for request in list(self.asked_server.open.values()):
                sender, id = request.context, params.request_id
                if sender and sender.connection is context.connection and request.id == id:
                    request.cancel(params)
            return None
        if method == PROGRESS:
            params = _with_token(params, self._asked_client)
        return None if params is _UNKNOWN else _tell(endpoint, endpoint.sink, method, params)

    async def ask_client(self, job: Job) -> Any:
        call, method = job.request, job.request.spec.method
        context = next(iter(self._to_client.contexts()), None)
        if context is None:
            raise McpError(METHOD_NOT_FOUND, f"{method} needs an open request of the client")
        endpoint, token = context.endpoint, call.meta.get(PROGRESS_TOKEN)
        sink = context.beside or endpoint.sink
        request = ForwardedCall(call.id, token, endpoint, sink)
        options = _options(endpoint, token, lasts=RELATED_TASK in call.meta)
        begin = partial(self._asked_client.begin, request)
        sent = endpoint.request(call.spec, call.params, options, via=sink, on_begin=begin)
        try:
            return await result_of(sent, method, "server")
        finally:
            self._asked_client.end(request)

    def take_from_server(self, method: str, params: Any) -> Awaitable[None] | None:
        if is_list_change(method):
            self._to_client.count(method)
        if method == CANCELLED:
            return self._cancelled_by_server(params)
        request: ForwardedCall | None = None
        if method == PROGRESS:
            request = self.asked_server.find(params.progress_token)
            params = _with_token(params, self.asked_server)
        elif (stream := _stream_in(params)) is not None:
            request = self.asked_server.find(stream)
            if request is not None:
                params = _with_stream(params, request.id)
            elif self.asked_server.is_own(stream):
                return None  # the client has ended it
        if params is _UNKNOWN:
            return None
        request = request or self.asked_server.find(RELATED_REQUEST.get())
        if request is None or request.context is None:
            client = self._to_client
            hearing = client.log_readers(params) if method == LOG else client.contexts()
            return _tell_clients(hearing, method, params)
        return _tell_clients([request.context], method, params, request.order)

    def _cancelled_by_server(self, params: AboutRequest) -> Awaitable[None] | None:
        id = params.request_id
        for request in list(self._asked_client.open.values()):
            if request.id == id:
                request.cancel(params)
                return None
        stream = self.asked_server.find(id)
        if stream is None or stream.context is None:
            return None
        # The server ends a listen stream; its answer still follows.
        return _tell_clients([stream.context], CANCELLED, {**params, "requestId": stream.id})


_UNKNOWN: Final = AboutRequest()
"""In place of params about an unknown request."""


def _with_token(params: AboutRequest, requests: _Requests) -> AboutRequest:
    token = requests.token(params.progress_token)
    return _UNKNOWN if token is None else AboutRequest({**params, "progressToken": token})


def _with_stream(params: Any, id: RequestId) -> Any:
    """Return params, or a result, with the id of the client's listen stream, if they have one."""
    if _stream_in(params) is None:
        return params
    return {**params, "_meta": {**params["_meta"], SUBSCRIPTION_ID: id}}


def _stream_in(params: object) -> object:
    return meta_in(params).get(SUBSCRIPTION_ID)


def _options(client: Endpoint, token: object, *, lasts: bool) -> CallOptions:
    options: CallOptions = {**NO_END} if lasts else {"timeout": client.options.max_timeout}
    if token is not None:
        # It is forwarded like any notification.
        options["on_progress"] = lambda progress: None
    return options


async def _tell_clients(
    contexts: Iterable[RequestContext], method: str, params: Any, order: Lock | None = None
) -> None:
    async with order or nullcontext():
        for context in contexts:
            sink = context.beside or context.endpoint.sink
            await _tell(context.endpoint, sink, method, params)


async def _tell(endpoint: Endpoint, sink: MessageSink, method: str, params: Any) -> None:
    try:
        await sink.send(endpoint.connection.notify(notification_of(method), params))
    except Disconnected as error:
        _log.info("a notification was not forwarded: %s", error)
