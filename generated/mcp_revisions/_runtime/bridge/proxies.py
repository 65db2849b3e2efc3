"""The two halves of a bridge: one speaks to the server as its client would, one to the client.

Both are of the revision of the client, and of no class of their own: what a half handles and
declares is what the peer at the other end does.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from math import inf
from secrets import token_hex
from typing import Any, Final

from ..client.base import ClientConnection, ClientRuntime
from ..client.listen_stream import ACKNOWLEDGED, LISTEN, SUBSCRIBE, UNSUBSCRIBE, ListenStream
from ..connection import PROGRESS
from ..core.connection_errors import Disconnected
from ..core.errors import INVALID_PARAMS, METHOD_NOT_FOUND, McpError
from ..core.extensions import EXTENSIONS
from ..core.json import JSONObject, is_object
from ..core.losses import Loss, LossReport
from ..core.models.base import declared
from ..core.options import CallOptions, Progress, TaskLimits
from ..core.spec import NotificationSpec, RequestSpec
from ..core.subscriptions import is_change
from ..messages.envelope import (
    CLIENT_CAPABILITIES,
    PROGRESS_TOKEN,
    client_capabilities,
    members,
)
from ..messages.method_table import MethodTable
from ..rpc.jobs import Job, Serve
from ..rules import capabilities as gate
from ..rules.handlers import Handlers, merged
from ..rules.task_forms import TASKS_EXTENSION, task_form, tasks_declared, without_tasks
from ..rules.task_methods import CALL, CHANGED, CORE_CHANGED, RESULT, TOOLS
from ..server.base import ServerRuntime, SessionBase
from ..server.context import RequestContext
from ..server.task_serving import TaskRequests
from .carrying import ForwardingHandlers, Handler, as_it_came, off_stream
from .forwarded_request import ForwardedRequest
from .task_carrying import (
    CarriedRequests,
    TaskCarrier,
    related_task,
    relating,
    task_carrier,
    task_of,
)

_LOG: Final = "notifications/message"
_NOT_CARRIED: Final = "only within one revision a bridge carries what belongs to an extension"

UNKNOWN: Final[Mapping[str, Any]] = {"name": "unknown", "version": "0"}
"""What a peer is called that does not say so."""


# What belongs to a task waits for as long as its task does.
_NO_END: Final[CallOptions] = {"timeout": inf, "max_timeout": inf}


def _without_extensions(declared: Mapping[str, Any]) -> JSONObject:
    return {name: value for name, value in declared.items() if name != EXTENSIONS}


class ProxyClientRuntime(ClientRuntime):
    """The half that speaks to the server: it shows what the client at the other end is."""

    server: "ProxyServerRuntime"
    capabilities: JSONObject
    info: JSONObject
    losses: LossReport
    on_loss: Callable[[Loss], object] | None
    task_options: TaskLimits | None
    carries: bool
    """Whether the client gets what its own revision does not have, and tasks of the server."""
    stream: ListenStream | None = None
    """What all listen streams of clients share, where the bridge opens it by itself."""

    def declaration(self) -> JSONObject:
        # The bridge listens for tasks by itself. Other requests declare what the client does.
        form = task_form(self.owner.TABLE)
        return (
            merged(self.capabilities, tasks_declared(form, "client")) if form else self.capabilities
        )

    def declaration_in(self, revision: str) -> JSONObject:
        return _without_extensions(self.capabilities)

    def identity(self) -> JSONObject:
        return self.info

    def bound(self, revision: str) -> Mapping[str, Handler]:
        owner, server = self.owner, self.server
        own = {ACKNOWLEDGED: self._acknowledged} if ACKNOWLEDGED in owner.NOTIFICATIONS else {}
        own |= {} if CORE_CHANGED in owner.NOTIFICATIONS else {CORE_CHANGED: self._told}
        carries = revision == owner.TABLE.revision
        return ForwardingHandlers(
            owner, server.ask_client, server.notify_client, own, carries=carries
        )

    def served(self, connection: ClientConnection) -> Mapping[str, Serve]:
        """Let questions know which task they belong to."""

        async def serve(job: Job) -> Any:
            with relating(task_of(job.request.meta)):
                return await connection.handle(job)

        return dict.fromkeys(connection.view.table.requests, serve)

    async def _told(self, params: Any) -> None:
        if self.server.carrier is not None:
            self.server.carrier.told(params.to_wire())

    async def _acknowledged(self, params: Any) -> None:
        if self.stream is not None:
            self.stream.takes(ACKNOWLEDGED, params, params.to_wire().get("_meta", {}))

    def adopt(self, connection: ClientConnection) -> None:
        """Hear from now on all that the server reports, and note what cannot be carried."""
        super().adopt(connection)
        table = self.owner.TABLE
        self.losses = LossReport(table.revision, self.revision, self.on_loss)
        carrier = self.server.carrier = task_carrier(self, self.server)
        if not self.same_revision:
            carried = frozenset[str]() if carrier is None else frozenset({TASKS_EXTENSION})
            self._note_extensions("ClientCapabilities", self.capabilities, carried)
            self._note_extensions("ServerCapabilities", self.peer_declared(), carried)
        connection.hears_all = True
        if LISTEN in table.requests and LISTEN in connection.view.table.requests:
            self.stream = ListenStream(connection.endpoint, table.requests[LISTEN])

    def _note_extensions(
        self, name: str, declared: Mapping[str, Any], carried: frozenset[str]
    ) -> None:
        if set(declared.get(EXTENSIONS, ())) - carried:
            self.lose(name, f"/{name}/{EXTENSIONS}", _NOT_CARRIED)

    def lose(self, method: str, pointer: str, why: str) -> None:
        """Report what a message of `method`, or a type of that name, says and the other end not."""
        self.losses.take(method, [Loss(pointer, "dropped", why)])

    @property
    def same_revision(self) -> bool:
        return self.revision == self.owner.TABLE.revision

    @property
    def passes_questions(self) -> bool:
        """Return whether the client gets the questions in results as the server asks them."""
        return self.carries and self.same_revision and not self.owner.TABLE.rules.server_requests

    @property
    def passes_undeclared(self) -> bool:
        """Return whether the client hears what the server has not declared that it says."""
        return self.carries and self.same_revision and self.owner.TABLE.era.remembers_client

    async def open(self) -> None:
        """Hear of all changes of lists that the server reports."""
        if self.stream is not None:
            await self.stream.lists(self.owner.NOTIFICATIONS)

    async def subscription(self, method: str, uri: str) -> None:
        """Begin or stop to hear of changes of a resource, for a client of the stateless era."""
        await (self.stream or self.connection).subscription(method, uri)

    @property
    def spoken(self) -> MethodTable:
        """The messages of the revision that the server speaks."""
        return self.connection.view.table.wire

    def declaring(self, extensions: object) -> bytes | None:
        """Return the members of `_meta` by which a request declares extensions, and no others.

        None where requests declare nothing.
        """
        if self.spoken.era.remembers_client:
            return None
        capabilities = _without_extensions(self.connection.view.declared)
        if is_object(extensions) and extensions:
            capabilities[EXTENSIONS] = extensions
        return members({CLIENT_CAPABILITIES: capabilities})

    async def call(
        self,
        spec: RequestSpec[Any, Any],
        params: Any,
        options: CallOptions,
        meta: bytes | None = None,
    ) -> Any:
        """Return the plain result of a request, whatever the server asks before."""

        async def send(params: Any) -> Any:
            return await self.connection.request(spec, params, options, meta)

        result = await send(params)
        if not asks(spec, result) or self.passes_questions:
            return result
        given = spec.params.from_wire({}) if params is None else params
        return await self.connection.complete(spec, given, result, send)


class ProxyServerRuntime(ServerRuntime):
    """The half that speaks to the client: it shows what the server at the other end is."""

    client: ProxyClientRuntime
    carrier: TaskCarrier | None = None
    """What carries tasks, once it is known which form the server has."""

    def __init__(self, owner: Handlers) -> None:
        super().__init__(owner)
        self._forwarded: dict[str, ForwardedRequest] = {}

    def declaration(self) -> JSONObject:
        declared = self.client.peer_declared()
        if self.client.same_revision:
            return dict(declared)
        tasks = {} if self.carrier is None else self.carrier.declared(declared)
        return merged(tasks, without_tasks(_without_extensions(declared), "server"))

    def identity(self) -> JSONObject:
        return dict(self.client.peer_info() or UNKNOWN)

    def bound(self, revision: str) -> Mapping[str, Handler]:
        own: dict[str, Handler] = {
            method: partial(self._subscription, method)
            for method in (SUBSCRIBE, UNSUBSCRIBE)
            if method not in self.owner.REQUESTS
        }
        own |= {} if self.carrier is None else self.carrier.handlers
        carries = self.client.same_revision
        return ForwardingHandlers(self.owner, self._forward, self._notify, own, carries=carries)

    def task_requests(self, table: MethodTable) -> TaskRequests | None:
        return None if self.carrier is None else CarriedRequests(self.carrier)

    # From the client to the server.

    async def _notify(self, spec: NotificationSpec[Any], _: SessionBase, params: Any) -> None:
        await self.client.notify(spec, params)

    async def _subscription(self, method: str, _: SessionBase, params: Any) -> None:
        await self.client.subscription(method, params.uri)

    async def _forward(self, spec: RequestSpec[Any, Any], session: SessionBase, params: Any) -> Any:
        context = session.__mcp_runtime__
        if self.client.passes_questions:
            return await self._forward_round(spec, context, params)
        key = await context.once("forwarded", partial(token_hex, 8))
        forwarded = self._forwarded.get(key)
        if forwarded is None:
            if "requestState" in context.raw:
                # To begin anew would do again what the server has done already.
                raise McpError(INVALID_PARAMS, "The request was given up meanwhile")
            self._make_room(context.endpoint.options.max_in_flight)
            forwarded = self._forwarded[key] = self._begin(spec, context, params)
        try:
            return await forwarded.outcome(context)
        finally:
            if forwarded.over:
                self._forwarded.pop(key, None)
            elif forwarded.waits:
                # It waits for the client to come back, but not for ever.
                forget = partial(self._forwarded.pop, key, None)
                forwarded.expire(context.endpoint.options.max_timeout, forget)

    async def _forward_round(
        self, spec: RequestSpec[Any, Any], context: RequestContext, params: Any
    ) -> Any:
        """Return the server's result; the state that it gives its client is inside of ours."""
        if (inputs := context.inputs) is not None:
            update = {"input_responses": {**inputs.given} or None, "request_state": inputs.state}
            params = params.model_copy(update=update)
        key = token_hex(8)
        forwarded = self._forwarded[key] = self._begin(spec, context, params)
        try:
            result = await forwarded.outcome(context)
        finally:
            del self._forwarded[key]
        if not asks(spec, result):
            return result
        return result.model_copy(
            update=context.ask(result.input_requests or {}, result.request_state)
        )

    def _make_room(self, most: int) -> None:
        """Give up the request that has waited longest for the client, if too many do."""
        waiting = [key for key, forwarded in self._forwarded.items() if forwarded.waits]
        if len(waiting) >= most:
            self._forwarded.pop(waiting[0]).cancel()

    def _begin(
        self, spec: RequestSpec[Any, Any], context: RequestContext, params: Any
    ) -> ForwardedRequest:
        options: CallOptions = {"timeout": context.endpoint.options.max_timeout}
        if spec.method == RESULT:
            options = {**_NO_END}
        if PROGRESS_TOKEN in context.meta:
            # Progress is reported of what was sent, and so not before there is a request.
            options["on_progress"] = lambda progress: self._progressed(forwarded, context, progress)
        forwarded = ForwardedRequest(partial(self._result, context, spec, params, options))
        return forwarded

    async def _result(
        self,
        context: RequestContext,
        spec: RequestSpec[Any, Any],
        params: Any,
        options: CallOptions,
    ) -> Any:
        if self.carrier is not None and spec.method == CALL:
            return await self.carrier.call(context, spec, params, options)
        result = await self.client.call(spec, params, options, self.declared_by(context))
        if self.carrier is not None and spec.method == TOOLS:
            return self.carrier.listed(result)
        return result

    def declared_by(self, context: RequestContext) -> bytes | None:
        """Return the members of `_meta` that pass on which extensions a request declares.

        None where it declares nothing, or another revision is spoken with the server.
        """
        if not self.client.same_revision:
            return None
        return self.client.declaring(client_capabilities(context.meta).get(EXTENSIONS))

    def _progressed(
        self, forwarded: ForwardedRequest, context: RequestContext, progress: Progress
    ) -> None:
        if not forwarded.over:
            forwarded.progressed(progress)
        elif self.client.same_revision:
            # The token stays that of the task which the request became (2025-11-25,
            # basic/utilities/tasks, "Task Progress Notifications").
            context.endpoint.tasks.start(_report(context, progress))
        else:
            self.client.lose(CALL, "", "the extension has no progress of tasks")

    # From the server to the client.

    async def ask_client(self, spec: RequestSpec[Any, Any], params: Any) -> Any:
        id = related_task()
        if id is None or self.carrier is None:
            return await self.put(spec, params, {} if id is None else _NO_END)
        return await self.carrier.ask(id, spec, params)

    async def put(self, spec: RequestSpec[Any, Any], params: Any, options: CallOptions) -> Any:
        """Return the client's answer to a question, in whichever way it can be asked."""
        for context in self._contexts():
            if context.spoken.rules.server_requests:
                return await context.put(spec, params, options)
        # Which of several requests it belongs to nobody says: most likely the last whose client
        # is there.
        asking = [one for one in reversed(self._forwarded.values()) if one.may_ask]
        if self._is_shared and len(asking) > 1:
            # It could be put to the wrong one of several clients.
            raise McpError(METHOD_NOT_FOUND, f"{spec.method} could belong to several requests")
        for forwarded in sorted(asking, key=lambda one: one.waits)[:1]:
            return await forwarded.ask(spec, params)
        raise McpError(METHOD_NOT_FOUND, f"{spec.method} belongs to no request of the client")

    async def notify_client(self, spec: NotificationSpec[Any], params: Any) -> None:
        if self.carrier is not None and spec.method == CHANGED:
            self.carrier.told(params.to_wire())
            return
        capabilities: gate.Declared = {
            "server": self.declaration(),
            "client": self.client.capabilities,
        }
        need = gate.unmet(spec.requires, "server", params, capabilities)
        if need is not None and self.client.passes_undeclared:
            # Many servers say what they have not declared, and clients hear it all the same.
            await self._tell(*as_it_came(spec, params))
            return
        if need is not None:
            why = f"it needs {need.capability.name}, which is not declared"
            self.client.losses.take(spec.method, [Loss("", "dropped", why)])
            return
        if is_change(spec.method) and spec.method in self.owner.TABLE.notifications:
            await self.publish(spec.method, declared(params, "uri"))
        elif spec.method == _LOG:
            for context in self._log_readers():
                await context.log(params.level, params.data, params.logger)
        else:
            await self._tell(spec, off_stream(params))

    async def _tell(self, spec: NotificationSpec[Any], params: Any) -> None:
        for context in self._contexts():
            # A client that has gone needs no notification.
            with suppress(Disconnected):
                await context.session().notify(spec, params)

    def _contexts(self) -> list[RequestContext]:
        """Return one context for each connection: of its last request that is under way, if any.

        Over HTTP, what is said beside a request goes on its stream, and else only to clients that
        have opened one for that.
        """
        found: list[RequestContext] = []
        for connection in self.connections:
            context = connection.session().__mcp_runtime__
            if context.spoken.era.remembers_client:
                context = next(
                    (
                        one.context
                        for one in reversed(self._forwarded.values())
                        if one.context and not one.over and one.context.connection is connection
                    ),
                    context,
                )
            found.append(context)
        return found

    @property
    def _is_shared(self) -> bool:
        """Return whether its requests are those of several clients."""
        return any(one.endpoint.connection.shared for one in self.connections)

    def _log_readers(self) -> list[RequestContext]:
        readers = self._contexts()
        if any(one.spoken.era.remembers_client for one in readers):
            return readers
        under_way = [one.context for one in self._forwarded.values() if not one.over]
        # Which request an entry belongs to nobody says: it goes where one was asked for.
        wanting = [context for context in under_way if context is not None]
        return [] if self._is_shared and len(wanting) > 1 else wanting[-1:]

    async def until_gone(self) -> None:
        """Wait until the server is gone."""
        await self.client.endpoint.until_aborted()

    def abort(self) -> None:
        for forwarded in self._forwarded.values():
            forwarded.cancel()


def asks(spec: RequestSpec[Any, Any], result: Any) -> bool:
    """Return whether a result asks its client for something."""
    return "may_require_input" in spec.traits and isinstance(result, spec.results[-1])


async def _report(context: RequestContext, progress: Progress) -> None:
    """Report how far a task has come whose request was answered."""
    spec = context.table.notifications[PROGRESS]
    said = {name: one for name, one in progress._asdict().items() if one is not None}
    said["progress"] = said.pop("done", progress[0])
    params = spec.params.from_wire({"progressToken": context.meta[PROGRESS_TOKEN], **said})
    with suppress(Disconnected):
        await context.notify(spec, params)
