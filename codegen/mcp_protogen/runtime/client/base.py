"""The client: one connection to a server, its calls and its handlers in one class."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias, TypeVar

from pydantic import TypeAdapter

from ..connection import Connection
from ..core.errors import InvalidAnswer, LocalError, MethodNotFound, escape_step
from ..core.json import JSONObject
from ..core.middleware import (
    MethodCall,
    Middleware,
    Network,
    meta_of,
    note_ids,
    report_session_end,
    send_through,
    session_hooks,
    through,
)
from ..core.models.base import WireModel, declared_member
from ..core.options import CallOptions, Options
from ..core.spec import ELICIT, AnyRequest, NotificationSpec, P, R, RequestSpec, Role
from ..core.tasks import Tasks, together
from ..messages.codec import Notification, Request
from ..messages.jsonrpc import Response
from ..messages.reading import is_stray, messages_in
from ..rpc.endpoint import Endpoint
from ..rpc.jobs import Job, Serve
from ..rpc.peer import Peer
from ..rpc.send_queue import MessageSink
from ..rules import capabilities
from ..rules.client_negotiation import NegotiatedRevision
from ..rules.handlers import Handler, Handlers, HandlerSet, made_once
from ..translation.revision_view import RevisionView
from ..transports.base import Paused, Received, Renewed, Unanswered

if TYPE_CHECKING:
    from ..rules.wire_features import WireFeature
    from .cache import Cache

T = TypeVar("T")

SendRequest: TypeAlias = Callable[..., Awaitable[Any]]
Work: TypeAlias = Callable[[], Awaitable[Any]]
"""Answers one question of the server."""

ReadAs: TypeAlias = type[T] | TypeAdapter[T]
"""A type that Pydantic can validate, or its adapter."""


def reader(spec: AnyRequest, as_: Any, check: bool | None) -> Callable[[Any], Any]:
    from . import tool_results

    return tool_results.reader(spec, as_, check)


class ClientConnection:
    """The connection of a client, seen as `view`, to a server of its own era."""

    hears_all = False
    """Whether log entries and changes arrive without being requested."""

    def __init__(
        self,
        view: RevisionView["ClientBase"],
        connection: Connection,
        sink: MessageSink,
        options: Options,
        negotiated: NegotiatedRevision,
        introduction: JSONObject,
    ) -> None:
        self.view = view
        self.runtime: Final = view.handlers.__mcp_runtime__
        self.handlers = self.runtime.handlers_for(negotiated.revision)
        self.endpoint = Endpoint(
            connection, sink, Tasks(), options, self._serve, self.on_notification
        )
        self.request: SendRequest = self.endpoint.request
        self.room = self.endpoint.room
        self.negotiated = negotiated
        self.introduction: Final = introduction
        """The result of `initialize` or `server/discover`."""
        self.instructions: str | None = introduction.get("instructions")
        self.messages_in = messages_in
        self.network: Network | None = None
        self.on_renewal: Callable[[], object] | None = None
        self.mark: Final = object()
        """Identifies the connection in a cache without keeping it alive."""
        self._middleware = self.runtime.middleware()
        self._overrides = self.runtime.handler_overrides(self)

    async def open(self) -> None: ...

    def renew(self) -> None:
        """Continue in a new session."""
        if self.on_renewal is not None:
            self.on_renewal()

    def take(self, received: Received) -> bool:
        endpoint, connection = self.endpoint, self.endpoint.connection
        if isinstance(received, Unanswered):
            endpoint.calls.fail(received.id, received.error)
        elif isinstance(received, Paused):
            endpoint.calls.set_paused(received.id, received.paused)
        elif isinstance(received, Renewed):
            self.renew()
        for message in self.messages_in(received, endpoint.log):
            if type(message) is not Response and is_stray(message) and isinstance(received, bytes):
                connection.strays = connection.strays.with_line(received)
            endpoint.receive(message)
        return not endpoint.crowded

    async def request_native(self, method: str, **params: Any) -> None:
        """Send a request of the server's revision whose result is empty."""
        spec = self.view.table.wire.spec_of(method)
        await self.endpoint.request(spec, spec.params(**params), CallOptions())

    async def change_subscription(self, method: str, uri: str) -> None:
        await self.request_native(method, uri=uri)

    async def complete(
        self, spec: AnyRequest, params: Any, result: Any, request: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """Answer the questions in `result`, and repeat the request.

        Raise `InvalidAnswer` after too many rounds, or for a question whose capability is not
        declared (2026-07-28, basic/patterns/mrtr).
        """
        asking_type: type[Any] = spec.results[-1]
        answers: dict[str, Any]

        async def answer(key: str, work: Work) -> None:
            answers[key] = await work()

        for _ in range(self.endpoint.options.max_rounds - 1):
            if not isinstance(result, asking_type):
                return result
            questions: Mapping[str, Any] = result.input_requests or {}
            # All questions of a round are checked before any is answered.
            prepared = {key: self.prepare(key, question) for key, question in questions.items()}
            answers = {}
            await together([answer(key, work) for key, work in prepared.items()])
            update = {"input_responses": answers or None, "request_state": result.request_state}
            result = await request(params.model_copy(update=update))
        if isinstance(result, asking_type):
            raise InvalidAnswer(
                f"{spec.method} asks for more input in every round; see Options.max_rounds"
            )
        return result

    def prepare(self, key: str, question: Any) -> Work:
        client = self.view.handlers
        self.check_question(key, client.INPUT_REQUESTS[question.method][0], question.params)
        return partial(self.runtime.answer, question.method, question.params)

    def check_question(self, key: str, spec: AnyRequest, params: object) -> None:
        declared = self.endpoint.connection.declared
        if (need := capabilities.unmet(spec.requires, "server", params, declared)) is not None:
            raise unfit_question(key, f"needs {need.capability.name}, which is not declared")

    async def _serve(self, job: Job) -> Any:
        override = self._overrides.get(job.request.spec.method)
        return await (self.handle(job) if override is None else override(job))

    async def handle(self, job: Job) -> Any:
        request = job.request
        method = request.spec.method
        if (handler := self.handlers.get(method)) is not None:
            for_middleware = (request,) if self._middleware else ()
            answer = await handler(request.params, *for_middleware)
            return self._fit_answer(answer, job) if request.spec.known_as == ELICIT else answer
        if method == "ping":
            (empty,) = request.spec.results
            return empty()
        raise MethodNotFound(method)

    def _fit_answer(self, answer: Any, job: Job) -> Any:
        if not isinstance(answer, job.request.spec.results[0]) or not isinstance(answer, WireModel):
            return answer  # a task; anything else is refused when it is sent
        from ..core.forms import fit_answer

        table, method = self.view.table, job.request.spec.method
        carried = table.carry_out(method, "result", answer.to_wire())
        native: type[WireModel] = table.wire.requests[table.wire_name(method)].results[0]
        return native.from_wire(fit_answer(carried, job.request.raw, job.request.params.to_wire()))

    def on_notification(self, notification: Notification[Any]) -> Awaitable[None] | None:
        method, params = notification.spec.method, notification.params
        self.runtime.note_notification(method, params)
        handler = self.handlers.get(method)
        return None if handler is None else handler(params)

    def report_end(self, seconds: float) -> None:
        if (hooks := session_hooks(self._middleware)) and self.view.table.era.has_handshake:
            details = {"revision": self.negotiated.revision, "seconds": seconds}
            details |= {"network": self.network, "error": self.endpoint.broken}
            report_session_end(hooks, role="client", **details)


def asks(spec: AnyRequest, answer: object) -> bool:
    return "may_require_input" in spec.traits and isinstance(answer, spec.results[-1])


def unfit_question(key: str, text: str) -> InvalidAnswer:
    return InvalidAnswer("Invalid question", [(f"/result/inputRequests/{escape_step(key)}", text)])


class Caller(Protocol):
    """A feature that sends the requests of a client, such as tasks."""

    def adopt(self, connection: ClientConnection) -> None: ...
    def note_notification(self, method: str, params: Any) -> None: ...
    def wire_feature(self) -> "WireFeature": ...
    async def request(self, spec: AnyRequest, params: Any, options: CallOptions) -> Any: ...


class ClientRuntime(HandlerSet):
    def __init__(self, owner: "ClientBase") -> None:
        super().__init__(owner)
        self.client: Final = owner
        self._connection: ClientConnection | None = None
        self.cache: Cache | None = None
        self.tool_list_changes = 0
        self._tools_changed = owner.TABLE.name_of("notifications/tools/list_changed")
        self._request: SendRequest = self._refuse_unconnected
        self._notify: Callable[..., Awaitable[None]] = self._refuse_unconnected
        make_caller = type(owner).__mcp_caller__
        self.caller: Final[Caller | None] = None if make_caller is None else make_caller(self)

    def adopt(self, connection: ClientConnection) -> None:
        self._connection = connection
        if self.caller is not None:
            self.caller.adopt(connection)
        request, self._notify = connection.request, connection.endpoint.notify
        if self.owner.TABLE.rules.varying:
            # Middleware may add what results depend on.
            request = partial(self._find, request)
        self._request = request
        if middleware := self.middleware():
            self._request = partial(self._through, middleware, request)
            self._notify = partial(self._through, middleware, connection.endpoint.notify)
            core = connection.endpoint.connection
            core.ids = note_ids(core.ids)

    async def _refuse_unconnected(self, *_: object) -> Any:
        raise LocalError("not connected")

    async def _through(
        self,
        middleware: Sequence[Middleware],
        send: SendRequest,
        spec: AnyRequest | NotificationSpec[Any],
        params: Any,
        *options: CallOptions,
    ) -> Any:
        async def send_changed(changed: Any) -> Any:
            return await send(spec, changed, *options)

        return await send_through(middleware, send_changed, spec, params, self._call)

    def _call(self, method: str, **members: Any) -> MethodCall:
        return MethodCall(
            method=method,
            revision=self.revision,
            session=self.client,
            is_request=not method.startswith("notifications/"),
            **members,
        )

    def handlers_for(self, revision: str) -> Mapping[str, Handler]:
        handlers, middleware = super().handlers_for(revision), self.middleware()
        if not middleware:
            return handlers

        def wrap_handler(method: str, handler: Callable[[Any], Awaitable[Any]]) -> Any:
            async def handle(params: Any, request: Request[Any] | None = None) -> Any:
                id, meta = None, meta_of(params)
                if request is not None:
                    id, meta = request.id, request.meta
                call = self._call(method, params=params, meta=meta, request_id=id)
                return await through(middleware, lambda call: handler(call.params), call)

            return handle

        return {method: wrap_handler(method, handler) for method, handler in handlers.items()}

    def handler_overrides(self, connection: ClientConnection) -> Mapping[str, Serve]:
        return {}

    @property
    def connection(self) -> ClientConnection:
        if self._connection is None:
            raise LocalError("not connected")
        return self._connection

    @property
    def revision(self) -> str:
        connection = self._connection
        return self.owner.TABLE.revision if connection is None else connection.negotiated.revision

    @property
    def endpoint(self) -> Endpoint:
        return self.connection.endpoint

    @property
    def network(self) -> Network | None:
        return self.connection.network

    def request(
        self, spec: RequestSpec[P, Any, R], params: P | None, options: CallOptions
    ) -> Awaitable[R]:
        if self.cache is None or self.owner.TABLE.rules.varying:
            return self._request(spec, params, options)
        # Cached results send nothing, so middleware does not see them.
        return self._find(self._request, spec, params, options)

    def _find(self, send: SendRequest, *call: Any) -> Awaitable[Any]:
        if self.cache is None:
            return send(*call)
        return self.cache.request(self.connection.mark, self.owner.TABLE.rules, send, *call)

    def note_notification(self, method: str, params: Any) -> None:
        self.tool_list_changes += method == self._tools_changed
        if self.cache is not None:
            self.cache.remove_stale(self.owner.TABLE, method, declared_member(params, "uri"))
        if self.caller is not None:
            self.caller.note_notification(method, params)

    def wire_feature(self) -> "WireFeature | None":
        return None if self.caller is None else self.caller.wire_feature()

    async def notify(self, spec: NotificationSpec[P], params: P | None) -> None:
        await self._notify(spec, params)

    def peer_capabilities(self) -> Mapping[str, Any]:
        return self.endpoint.connection.declared["server"]

    def peer_info(self) -> Mapping[str, Any] | None:
        return self.endpoint.connection.identity.get("server")

    async def complete(self, spec: AnyRequest, params: Any, options: CallOptions) -> Any:
        request = self.request if self.caller is None else self.caller.request
        result = await request(spec, params, options)
        if isinstance(result, spec.results[0]) or not asks(spec, result):
            return result
        params = spec.params.from_wire({}) if params is None else params

        async def repeat(answers: Any) -> Any:
            return await request(spec, answers, options)

        return await self.connection.complete(spec, params, result, repeat)

    async def answer(self, method: str, params: Any) -> Any:
        spec, name = self.owner.INPUT_REQUESTS[method]
        handler = self.handlers_for(self.revision).get(method) or getattr(self.owner, name)
        params = spec.params() if params is None else params
        answer = await handler(params)
        if spec.known_as != ELICIT or not isinstance(answer, WireModel):
            return answer
        from ..core.forms import fit_answer

        wire: JSONObject = params.to_wire()
        return type(answer).from_wire(fit_answer(answer.to_wire(), wire, wire))


class ClientBase(Peer, Handlers):
    """Base of the generated client."""

    ROLE: ClassVar[Role] = "client"
    __mcp_caller__: ClassVar[Callable[[ClientRuntime], Caller] | None] = None

    @made_once
    def __mcp_runtime__(self) -> ClientRuntime:
        return ClientRuntime(self)

    @property
    def revision(self) -> str:
        """The revision agreed on with the server; before that, the client's own."""
        return self.__mcp_runtime__.revision

    @property
    def cache(self) -> "Cache | None":
        """A cache for results that the server allows to be kept; None disables caching.

        Setting it raises `LocalError` in a revision without cache hints.
        """
        return self.__mcp_runtime__.cache

    @cache.setter
    def cache(self, cache: "Cache | None") -> None:
        if not any("cacheable" in spec.traits for spec in self.TABLE.requests.values()):
            raise LocalError(f"revision {self.TABLE.revision} has no cache hints in results")
        self.__mcp_runtime__.cache = cache

    @property
    def negotiated(self) -> NegotiatedRevision:
        """The agreed revision and its era; spares the next connection the probe.

        Raises `LocalError` before the client is connected.
        """
        return self.__mcp_runtime__.connection.negotiated

    @property
    def instructions(self) -> str | None:
        """The server's instructions for a model that uses it; see `negotiated` for errors."""
        return self.__mcp_runtime__.connection.instructions
