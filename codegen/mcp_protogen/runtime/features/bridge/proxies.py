"""The two halves of a bridge: a client of the server, and a server for the client.

Each half handles and declares what the peer at the other end does. If both ends speak one revision,
`Forwarding` carries everything unchanged; otherwise messages pass as models.
"""

from asyncio import wait
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import partial
from secrets import token_hex
from typing import Any, Final, Protocol, TypeAlias

from ...client.base import Caller, ClientConnection, ClientRuntime, asks
from ...client.listen_stream import ListenStream
from ...connection import CANCELLED, PROGRESS
from ...core.connection_errors import Disconnected
from ...core.errors import INVALID_PARAMS, METHOD_NOT_FOUND, McpError
from ...core.json import JSONObject, is_object, json_text, without
from ...core.json_pointers import value_at
from ...core.losses import Loss, LossReport
from ...core.models.base import declared_member
from ...core.options import NO_END, CallOptions, Progress, TaskLimits
from ...core.spec import CALL_TOOL, ELICIT, LIST_TOOLS, AnyRequest, NotificationSpec
from ...core.subscriptions import ACKNOWLEDGED, LISTEN, LOG, SUBSCRIBE, UNSUBSCRIBE, is_change
from ...messages.envelope import (
    CLIENT_CAPABILITIES,
    LOG_LEVEL,
    PROGRESS_TOKEN,
    client_capabilities,
    members,
)
from ...messages.method_table import EXTENSIONS, MethodTable
from ...rpc.jobs import Job, Serve
from ...rules.capabilities import Declared, unmet
from ...rules.handlers import Handlers, merge_objects
from ...rules.server_negotiation import DISCOVER
from ...rules.task_kinds import RELATED_TASK, TASKS_EXTENSION, tasks_declared, without_tasks
from ...rules.task_methods import CHANGED, CORE_CHANGED
from ...server.base import ServerBase, ServerRuntime, SessionBase
from ...server.context import RequestContext
from ...server.layers import Layer
from ...transports.related import RELATED_REQUEST, with_related
from .forwarded_request import ForwardedRequest, note_sent
from .forwarding import LOCAL_METHODS, EveryMethod, ForwardedCall, Forwarding, result_of

_related: Final[ContextVar[str | None]] = ContextVar("related task", default=None)

Handler: TypeAlias = Callable[..., Any]

# Handled by the runtime of each end, not forwarded, if messages are translated.
_LOCAL_METHODS: Final = LOCAL_METHODS | {ACKNOWLEDGED, CANCELLED, DISCOVER, LISTEN, PROGRESS}

UNKNOWN: Final[Mapping[str, Any]] = {"name": "unknown", "version": "0"}
"""The info of a peer that gives none."""


@contextmanager
def relating(id: str | None) -> Generator[None, None, None]:
    token = _related.set(id)
    try:
        yield
    finally:
        _related.reset(token)


def task_of(meta: Mapping[str, Any]) -> str | None:
    id: object = value_at(meta, (RELATED_TASK, "taskId"))
    return id if isinstance(id, str) else None


class TaskAdapter(Layer, Protocol):
    """The tasks of one client; `handlers` answer the methods that are not forwarded."""

    def task_capabilities(self, server: Mapping[str, Any], /) -> JSONObject:
        """Return the task capabilities for the client, in place of its server's."""
        ...

    async def call(
        self, context: RequestContext, spec: AnyRequest, params: Any, options: CallOptions, /
    ) -> Any:
        """Return the result of a tool, or the task that the call becomes."""
        ...

    def add_task_support(self, result: Any, /) -> Any: ...

    async def ask(self, id: str, spec: AnyRequest, params: Any, /) -> Any: ...

    def on_task_change(self) -> None:
        """Note that the server has sent a task notification."""


class AdaptsTasks(Protocol):
    """A bridge's support of tasks; packages without tasks do not have it."""

    @property
    def caller(self) -> Callable[[ClientRuntime], Caller]: ...

    def between(self, client: Any, server: Any, /) -> TaskAdapter | None:
        """Return the adapter between the halves; None if the server has no tasks."""
        ...


class ProxyClientRuntime(ClientRuntime):
    """The half that speaks to the server: it appears as the client."""

    server: "ProxyServerRuntime"
    capabilities: JSONObject
    info: JSONObject
    losses: LossReport
    on_loss: Callable[[Loss], object] | None
    task_options: TaskLimits | None
    tasks: AdaptsTasks | None = None
    carries: bool
    """Whether it serves a client; if not, the server is mounted in another one."""
    name = ""
    """The name of the server, if its questions and log entries are marked with it."""
    same_revision = True
    passes_rounds = False
    """Whether the client gets questions in results, and keeps the server's state."""
    forwarding: Forwarding | None = None
    """Carries everything, if both sides speak one revision."""
    stream: ListenStream | None = None
    """Shared by the clients' listen streams, if the bridge opens it by itself."""
    awaited = staticmethod(result_of)

    def declaration(self) -> JSONObject:
        # The bridge itself listens for tasks. Other requests declare the client's capabilities.
        return merge_objects(self.capabilities, tasks_declared(self.owner.TABLE, "client"))

    def declaration_in(self, revision: str) -> JSONObject:
        return without(self.capabilities, EXTENSIONS)

    def identity(self) -> JSONObject:
        return self.info

    def passes_unchanged(self, revision: str) -> bool:
        return self.carries and revision == self.owner.TABLE.revision

    def handlers_for(self, revision: str) -> Mapping[str, Handler]:
        if self.passes_unchanged(revision):
            return EveryMethod(lambda method: partial(self._take, method))
        owner, server = self.owner, self.server
        own = {ACKNOWLEDGED: self._on_acknowledged} if ACKNOWLEDGED in owner.NOTIFICATIONS else {}
        own |= {} if CORE_CHANGED in owner.NOTIFICATIONS else {CORE_CHANGED: self._on_task_change}
        return forwarding_handlers(owner, server.ask_client, server.notify_client) | own

    def handler_overrides(self, connection: ClientConnection) -> Mapping[str, Serve]:
        """Let questions know their task."""
        if self.passes_unchanged(connection.negotiated.revision):
            return EveryMethod(lambda _: self._ask)

        async def serve(job: Job) -> Any:
            with relating(task_of(job.request.meta)):
                return await connection.handle(job)

        return dict.fromkeys(connection.view.table.requests, serve)

    def _take(self, method: str, params: Any) -> Awaitable[None] | None:
        return None if self.forwarding is None else self.forwarding.take_from_server(method, params)

    async def _ask(self, job: Job) -> Any:
        assert self.forwarding is not None
        return await self.forwarding.ask_client(job)

    def note_notification(self, method: str, params: Any) -> None:
        if self.forwarding is None:
            super().note_notification(method, params)

    async def _on_task_change(self, params: Any) -> None:
        if self.server.adapter is not None:
            self.server.adapter.on_task_change()

    async def _on_acknowledged(self, params: Any) -> None:
        if self.stream is not None:
            self.stream.take_notification(ACKNOWLEDGED, params, params.to_wire().get("_meta", {}))

    def adopt(self, connection: ClientConnection) -> None:
        super().adopt(connection)
        table, core = self.owner.TABLE, connection.endpoint.connection
        core.ids = map(note_sent, core.ids)
        vars(connection)["take"] = with_related(connection.take)
        self.losses = LossReport(table.revision, self.revision, self.on_loss)
        self.same_revision = self.revision == table.revision
        self.passes_rounds = self.same_revision and not table.rules.server_requests
        if self.passes_unchanged(self.revision):
            self.forwarding = Forwarding(connection, self.server)
            # Each request carries its client's declaration.
            core.envelope = None
            attributes = vars(self.server.owner)
            attributes["TABLE"] = connection.view.table
            attributes["introduction"] = connection.introduction
            return
        adapter = None if self.tasks is None else self.tasks.between(self, self.server)
        self.server.adapter = adapter
        if not self.same_revision:
            carried = set[str]() if adapter is None else {TASKS_EXTENSION}
            why = "a bridge carries extensions only within one revision"
            sides = {"Client": self.capabilities, "Server": self.peer_capabilities()}
            for side, declared in sides.items():
                if set(declared.get(EXTENSIONS, ())) - carried:
                    name = f"{side}Capabilities"
                    self.lose(name, f"/{name}/{EXTENSIONS}", why)
        connection.hears_all = True
        if LISTEN in table.requests and LISTEN in connection.view.table.requests:
            self.stream = ListenStream(connection.endpoint, table.requests[LISTEN])

    def lose(self, method: str, pointer: str, why: str) -> None:
        self.losses.take(method, [Loss(pointer, "dropped", why)])

    def name_server_in(self, spec: AnyRequest, params: Any) -> Any:
        """Return the params of a question, which says what server asks the user."""
        if not self.name or spec.known_as != ELICIT:
            return params
        return params.model_copy(update={"message": f"{self.name}: {params.message}"})

    async def open(self) -> None:
        if self.stream is not None:
            await self.stream.follow_lists(self.owner.NOTIFICATIONS)

    @property
    def spoken(self) -> MethodTable:
        return self.connection.view.table.wire

    def extension_members(self, extensions: object) -> bytes | None:
        """Return the members of `_meta` that declare these extensions; None without any."""
        if self.spoken.era.remembers_client:
            return None
        capabilities = without(self.connection.view.declared, EXTENSIONS)
        if is_object(extensions) and extensions:
            capabilities[EXTENSIONS] = extensions
        return members({CLIENT_CAPABILITIES: capabilities})

    async def call(
        self, spec: AnyRequest, params: Any, options: CallOptions, meta: bytes | None = None
    ) -> Any:
        def send(params: Any) -> Awaitable[Any]:
            return self.connection.request(spec, params, options, meta)

        result = await send(params)
        if not asks(spec, result):
            return result
        if self.passes_rounds:
            questions: Mapping[str, Any] = result.input_requests or {}
            for key, question in questions.items():
                self.connection.prepare(key, question)
            return result
        params = spec.params.from_wire({}) if params is None else params
        return await self.connection.complete(spec, params, result, send)


class ProxyServerRuntime(ServerRuntime):
    """The half that speaks to the client: it appears as the server."""

    client: ProxyClientRuntime
    adapter: TaskAdapter | None = None
    relating = staticmethod(relating)

    def __init__(self, owner: Handlers) -> None:
        super().__init__(owner)
        self._forwarded: dict[object, ForwardedRequest] = {}
        self.turn: AbstractAsyncContextManager[object] = nullcontext()
        """Entered while the server works on a request, if it gets few at a time."""

    def declaration(self) -> JSONObject:
        declared = self.client.peer_capabilities()
        if self.client.same_revision:
            return dict(declared)
        tasks = {} if self.adapter is None else self.adapter.task_capabilities(declared)
        return merge_objects(tasks, without_tasks(without(declared, EXTENSIONS), "server"))

    def identity(self) -> JSONObject:
        return dict(self.client.peer_info() or UNKNOWN)

    def handlers_for(self, revision: str) -> Mapping[str, Handler]:
        forwarding = self.client.forwarding
        if forwarding is not None:
            return EveryMethod(lambda method: partial(forwarding.take_from_client, method))
        own: dict[str, Handler] = {
            method: partial(self._change_subscription, method)
            for method in (SUBSCRIBE, UNSUBSCRIBE)
            if method not in self.owner.REQUESTS
        }
        return forwarding_handlers(self.owner, self._forward, self._notify) | own

    def layer(self, table: MethodTable, tells_apart: bool) -> Layer | None:
        return self.adapter

    async def _notify(self, spec: NotificationSpec[Any], _: SessionBase, params: Any) -> None:
        await self.client.notify(spec, params)

    async def _change_subscription(self, method: str, _: SessionBase, params: Any) -> None:
        client = self.client
        await (client.stream or client.connection).change_subscription(method, params.uri)

    async def _forward(self, spec: AnyRequest, session: SessionBase, params: Any) -> Any:
        context, once, key = session.__mcp_runtime__, None, object()
        if self.client.passes_rounds:
            params = self._with_own_state(context, params)
        elif "may_require_input" in spec.traits:
            once = context.questions.once
            waited = "forwarded" in once.done
            key = await once.do("forwarded", partial(token_hex, 8))
            if waited and key not in self._forwarded:
                # A new start would repeat the server's work.
                text = "requestState has expired: repeat the request without it"
                raise McpError(INVALID_PARAMS, text)
        forwarded = self._forwarded.get(key)
        if forwarded is None:
            most = context.endpoint.options.max_in_flight
            if len(self._forwarded) >= most:
                self._make_room(most)
            forwarded = self._forwarded[key] = self._begin(spec, context, params)
        try:
            is_plain = self.client.same_revision and context.spoken.rules.server_requests
            if is_plain and isinstance(self.turn, nullcontext):
                return await forwarded.run(context)
            result = await forwarded.outcome(context)
            return self._with_our_state(context, result) if asks(spec, result) else result
        finally:
            if forwarded.is_over:
                self._forwarded.pop(key, None)
                if once is not None:
                    # After an error that names URLs to visit first, it starts again.
                    once.done.pop("forwarded", None)
            elif forwarded.waits:
                # It waits for the client to come back, for a limited time.
                forget = partial(self._forwarded.pop, key, None)
                # If it keeps a turn from others, the limit is that of the server.
                keeper = context if isinstance(self.turn, nullcontext) else self.client
                forwarded.expire(keeper.endpoint.options.max_timeout, forget)

    def _with_own_state(self, context: RequestContext, params: Any) -> Any:
        if declared_member(params, "request_state") is None:
            return params
        update: JSONObject = {"request_state": None}
        if context.inputs is None:
            # The answers are for a middleware.
            update["input_responses"] = None
        elif context.inputs.state["server"] != self.client.name:
            raise McpError(INVALID_PARAMS, "requestState is of another server")
        else:
            update["request_state"] = context.inputs.state["state"]
        return params.model_copy(update=update)

    def _with_our_state(self, context: RequestContext, result: Any) -> Any:
        questions: Mapping[str, Any] = result.input_requests or {}
        requests: dict[str, Any] = {}
        for key, question in questions.items():
            spec = self.owner.TABLE.input_requests[question.method]
            params = self.client.name_server_in(spec, question.params)
            requests[key] = question.model_copy(update={"params": params} if params else {})
        state = {"server": self.client.name, "state": result.request_state}
        return result.model_copy(update=context.ask(requests, state))

    def _make_room(self, most: int) -> None:
        waiting = [key for key, forwarded in self._forwarded.items() if forwarded.waits]
        if len(waiting) >= most:
            self._forwarded.pop(waiting[0]).cancel()

    def _begin(self, spec: AnyRequest, context: RequestContext, params: Any) -> ForwardedRequest:
        options: CallOptions = {"reset_on_progress": True}
        if self.client.carries:
            options = {"timeout": context.endpoint.options.max_timeout}
        work = partial(self._result, context, spec, params, options)
        forwarded = ForwardedRequest(spec.method, work)
        if PROGRESS_TOKEN in context.meta:
            # Progress needs the request that was sent.
            options["on_progress"] = partial(self._report_progress, forwarded)
        return forwarded

    async def _result(
        self, context: RequestContext, spec: AnyRequest, params: Any, options: CallOptions
    ) -> Any:
        async with self.turn:
            if self.adapter is not None and spec.known_as == CALL_TOOL:
                return await self.adapter.call(context, spec, params, options)
            result = await self.client.call(spec, params, options, self.declared_by(context))
        if self.adapter is not None and spec.known_as == LIST_TOOLS:
            return self.adapter.add_task_support(result)
        return result

    def declared_by(self, context: RequestContext) -> bytes | None:
        """Return the members of `_meta` with a request's extensions, if any."""
        # Tasks are those of the mounting server.
        declared = without_tasks(client_capabilities(context.meta), "client")
        same = self.client.same_revision
        return self.client.extension_members(declared.get(EXTENSIONS) if same else None)

    def _report_progress(self, forwarded: ForwardedRequest, progress: Progress) -> None:
        if forwarded.is_over:
            self.client.lose(CALL_TOOL, "", "the extension has no progress for tasks")
        else:
            forwarded.report_progress(progress)

    async def ask_client(self, spec: AnyRequest, params: Any) -> Any:
        id, params = _related.get(), self.client.name_server_in(spec, params)
        if id is not None and self.adapter is not None:
            return await self.adapter.ask(id, spec, params)
        with self._pausing():
            return await self.ask_any_client(spec, params, {} if id is None else NO_END)

    @contextmanager
    def _pausing(self) -> Generator[None, None, None]:
        """Let no request to the server time out while a client is asked for it."""
        cause, requests = self.cause, self._forwarded.values()
        ids = [id for request in requests if cause in (None, request) for id in request.sent]
        set_paused = self.client.endpoint.calls.set_paused
        try:
            for id in ids:
                set_paused(id, True)
            yield
        finally:
            for id in ids:
                set_paused(id, False)

    async def ask_any_client(self, spec: AnyRequest, params: Any, options: CallOptions) -> Any:
        for context in self.contexts():
            if context.spoken.rules.server_requests:
                answer = context.request_unchecked(spec, params, options)
                return await result_of(answer, spec.method, "server")
        # Unless its request is known, take the latest whose client is there.
        asking = [
            request
            for request in reversed(self._forwarded.values())
            if self.cause in (None, request)
            and request.context is not None
            and request.context.questions.rounds is not None
            and request.is_open
        ]
        if self.is_shared and len(asking) > 1:
            # With several clients it could go to the wrong one.
            raise McpError(METHOD_NOT_FOUND, f"{spec.method} is ambiguous: several requests wait")
        for forwarded in sorted(asking, key=lambda request: request.waits)[:1]:
            return await forwarded.ask(spec, params)
        raise McpError(METHOD_NOT_FOUND, f"{spec.method} needs an open request of the client")

    async def notify_client(self, spec: NotificationSpec[Any], params: Any) -> None:
        if self.adapter is not None and spec.known_as == CHANGED:
            return  # The adapter looks at these tasks itself.
        declared: Declared = {"server": self.declaration(), "client": self.client.capabilities}
        need = unmet(spec.requires, "server", params, declared)
        # A server above declares changes itself.
        if need is not None and (self.client.carries or not is_change(spec.known_as)):
            why = f"it needs {need.capability.name}, which is not declared"
            self.client.lose(spec.method, "", why)
            return
        if is_change(spec.known_as) and spec.method in self.owner.TABLE.notifications:
            await self.publish(spec.known_as, declared_member(params, "uri"))
        elif spec.known_as == LOG:
            logger = "/".join(filter(None, (self.client.name, params.logger))) or None
            wire: JSONObject = {**params.to_wire(), "logger": logger}
            for context in self.log_readers(wire):
                await context.reports.log(**wire)
        else:
            for context in self.contexts():
                # Clients that have left need no notification.
                with suppress(Disconnected):
                    await context.session().notify(spec, params)

    def contexts(self) -> list[RequestContext]:
        """Return the context of the current message's request, if that is known.

        Otherwise, return one per connection: of its latest open request, if any.
        """
        if self.cause is not None and self.cause.context is not None:
            return [self.cause.context]
        latest = {request.connection: request for request in self._open_contexts()}
        contexts: list[RequestContext] = []
        for connection in self.connections:
            own: RequestContext = connection.session().__mcp_runtime__
            is_shared = own.endpoint.connection.shared
            contexts.append(own if is_shared else latest.get(connection, own))
        return contexts

    @property
    def cause(self) -> "ForwardedRequest | ForwardedCall | None":
        """The request in whose response the current message came, if the transport knows it."""
        id, forwarding = RELATED_REQUEST.get(), self.client.forwarding
        if forwarding is not None:
            return forwarding.asked_server.find(id)
        return next((request for request in self._forwarded.values() if id in request.sent), None)

    def _open_contexts(self) -> list[RequestContext]:
        forwarding = self.client.forwarding
        own = self._forwarded if forwarding is None else forwarding.asked_server.open
        return [request.context for request in own.values() if request.context and request.is_open]

    @property
    def is_shared(self) -> bool:
        return any(connection.endpoint.connection.shared for connection in self.connections)

    def log_readers(self, params: Any) -> list[RequestContext]:
        """Return the contexts for a log entry; if clients share a connection, only a sure one."""
        if self.cause is not None or not self.is_shared:
            return self.contexts()
        wanting = [context for context in self._open_contexts() if LOG_LEVEL in context.meta]
        if len(wanting) == 1:
            return wanting
        what = "a log entry of the server belongs to no one request: %.500s"
        self.client.endpoint.log.info(what, json_text(params))
        return []

    @property
    def is_gone(self) -> bool:
        return self.client.connection.endpoint.broken is not None

    async def until_gone(self) -> None:
        await self.client.endpoint.until_aborted()

    async def wait_for_notifications(self, within: float) -> None:
        tasks = self.client.endpoint.jobs.notification_tasks
        if tasks:
            await wait(tasks, timeout=within)

    def abort(self) -> None:
        for forwarded in self._forwarded.values():
            forwarded.cancel()


def runtime_of(server: ServerBase[Any]) -> ProxyServerRuntime:
    runtime = server.__mcp_runtime__
    assert isinstance(runtime, ProxyServerRuntime)
    return runtime


def forwarding_handlers(proxy: Handlers, ask: Handler, notify: Handler) -> dict[str, Handler]:
    """Return handlers by method; each gets the spec of its message first."""
    return {
        method: partial(forward, spec)
        for forward, entries in (
            (ask, {**proxy.REQUESTS, **proxy.INPUT_REQUESTS}),
            (notify, proxy.NOTIFICATIONS),
        )
        for method, (spec, _) in entries.items()
        if method not in _LOCAL_METHODS
    }
