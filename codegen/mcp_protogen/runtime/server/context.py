"""The context of a request: the runtime's knowledge of it and of its client.

It belongs to one request, or to a connection as a whole. Handlers see it as a session. Progress and
log entries of a request stop when it is answered or cancelled.
"""

from asyncio import AbstractEventLoop, Task, get_running_loop
from collections.abc import Collection, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias, cast

from pydantic_core import PydanticSerializationError

from ..connection import PROGRESS
from ..core.connection_errors import Disconnected
from ..core.copies import put
from ..core.errors import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    InvalidParams,
    LocalError,
    McpError,
    MissingCapability,
    RequestId,
    Untranslatable,
)
from ..core.json import JSONObject, is_object
from ..core.middleware import (
    OVER_HTTP,
    MethodCall,
    Middleware,
    Network,
    send_through,
    undeclared_meta,
)
from ..core.models.base import WireModel, places_of
from ..core.options import CallOptions
from ..core.spec import ELICIT, AnyRequest, NotificationSpec, P, R, RequestSpec
from ..messages.codec import Request
from ..messages.envelope import CLIENT_INFO, LOG_LEVEL, PROGRESS_TOKEN, client_capabilities, members
from ..messages.jsonrpc import LONGEST, NOTHING
from ..messages.method_table import MethodTable
from ..rpc.endpoint import Endpoint
from ..rpc.jobs import Reply
from ..rpc.send_queue import MessageSink
from ..rules.lifecycle import check

if TYPE_CHECKING:
    from ..core.http_request import HttpRequest, Principal
    from ..core.subscriptions import Level, PublishedChange
    from .rounds import Asking, Inputs, Once, Rounds
    from .sealed_state import StateSeal
    from .thread_waits import ThreadWaits


_LOCK: Final = Lock()


class _Runtime(Protocol):
    @property
    def changes(self) -> Mapping[str, int]: ...
    @property
    def state(self) -> Any: ...
    def warn_undeclared(self, method: str) -> None: ...


class _Server(Protocol):
    SESSION: ClassVar[type[Any]]
    TABLE: ClassVar[MethodTable]

    @property
    def __mcp_runtime__(self) -> _Runtime: ...


SessionSwitches: TypeAlias = tuple[tuple[str, str, bool, bool], ...]
"""The switches (enabled, disabled) of one session, in order.

Each has the server's prefixes, a name or tag, whether it is a tag, and whether it is on.
"""


class Relay(Protocol):
    """A channel to all processes that serve the same servers, including this one."""

    @property
    def loop(self) -> AbstractEventLoop: ...

    @property
    def engine(self) -> object:
        """The shared engine: relays with the same one lead to the same processes."""
        ...

    async def publish(self, change: "PublishedChange", /) -> None: ...
    def announce(self, change: "PublishedChange", /) -> None: ...


class SharedState(Protocol):
    network: Network | None
    relay: Relay | None
    """Carries changes to connections of other processes, if there are any."""

    @property
    def seal(self) -> "StateSeal": ...


class OpenConnection(Protocol):
    """A connection, as seen by its server and by the contexts of its requests."""

    endpoint: Endpoint
    class_id: str
    """The server for which a state is sealed."""

    @property
    def server(self) -> _Server: ...
    @property
    def state(self) -> SharedState: ...

    @property
    def is_owner(self) -> bool:
        """Return whether this process sends published changes to the client."""
        ...

    @property
    def level(self) -> str:
        """The lowest level of log entries that the client asked for, in the handshake era."""
        ...

    @property
    def middleware(self) -> Sequence[Middleware]: ...
    def session(self) -> Any: ...
    async def publish(self, method: str, uri: str | None, /) -> None: ...


class Reports:
    """Messages to the client before the answer of its request: progress and log entries."""

    __slots__ = ("_context", "_done", "_held", "_is_complete", "_sent_at")

    def __init__(self, context: "RequestContext") -> None:
        self._context = context
        self._sent_at = self._done = float("-inf")
        self._held: Any = None
        self._is_complete = False

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        context = self._context
        token = context.meta.get(PROGRESS_TOKEN)
        # A token that is too long would come back with each report.
        if token is None or not context.is_awaited() or len(str(token)) > LONGEST:
            return
        if done <= self._done:
            return
        values = {"progress_token": token, "progress": done, "total": total}
        params = context.table.notifications[PROGRESS].params
        # The first revision has no message here.
        if "message" in params.__pydantic_fields__:
            values["message"] = message
        due = self._sent_at + context.endpoint.options.progress_interval
        # Built here, so that errors are raised at once, even if the report has to wait.
        self._held, self._done = params(**values), done
        completes = not self._is_complete and total is not None and done >= total
        self._is_complete |= completes
        if completes or get_running_loop().time() >= due:
            await self._send()

    async def send_held(self) -> None:
        """Send the delayed report; never raises."""
        log = self._context.endpoint.log
        try:
            await self._send()
        except Disconnected:
            log.info("the client has gone: progress was not reported")
        except LocalError as error:
            log.warning("progress was not reported: %s", error)

    async def _send(self) -> None:
        context = self._context
        if self._held is None or not context.is_awaited():
            return
        params, self._held = self._held, None
        self._sent_at = get_running_loop().time()
        await context.notify(context.table.notifications[PROGRESS], params)

    async def log(self, level: "Level", data: Any, logger: str | None, **more: Any) -> None:
        from ..core.subscriptions import LOG, passes

        context = self._context
        threshold: object = context.connection.level
        if not context.spoken.era.remembers_client:
            threshold = context.meta.get(LOG_LEVEL) if context.is_awaited() else None
        if not isinstance(threshold, str) or not passes(level, threshold):
            return
        spec = context.table.spec_of(LOG)
        try:
            await context.notify(spec, spec.params(level=level, data=data, logger=logger, **more))
        except MissingCapability:
            context.connection.server.__mcp_runtime__.warn_undeclared(spec.method)
        except Disconnected:
            context.endpoint.log.info("the client has gone: a log entry was not sent")
        except (LocalError, PydanticSerializationError) as error:
            context.endpoint.log.warning("a log entry was not sent: %s", error)


class AskedQuestions:
    """State kept over all rounds of a request: its questions, and results of `once`."""

    __slots__ = ("_context", "_once", "begun")

    def __init__(self, context: "RequestContext") -> None:
        self._context = context
        self._once: Once | None = None
        self.begun: Rounds | None = None

    @property
    def rounds(self) -> "Rounds | None":
        task, endpoint = self._context.handled_by, self._context.endpoint
        if self.begun is None and task is not None:
            from .rounds import Rounds

            self.begun = Rounds(task, endpoint.options.max_rounds, endpoint.tasks)
        return self.begun

    @property
    def once(self) -> "Once":
        if self._once is None:
            rounds = self.rounds
            from .rounds import Once

            self._once = Once(self._context.endpoint.tasks) if rounds is None else rounds.once
        return self._once


class RequestContext:
    """A request with the client behind it, and the channels to that client.

    `raw` are its params as received, and `meta` is their `_meta`.
    """

    __slots__ = (
        *("_reply", "_waits", "call", "connection", "handled_by"),
        *("inputs", "meta", "questions_so_far", "raw", "reports_so_far"),
    )

    def __init__(
        self,
        connection: OpenConnection,
        request: Request[Any] | None = None,
        reply: Reply | None = None,
        meta: Mapping[str, Any] = NOTHING,
    ) -> None:
        self.connection = connection
        self.call = request
        self._reply = reply
        self.raw: Mapping[str, Any] = NOTHING if request is None else request.raw
        self.meta = meta if request is None else request.meta
        self.handled_by: Task[Any] | None = None
        """The task of the handler, if its questions are sent in the results of the request."""
        self.inputs: Inputs | None = None
        # Created on demand, because most requests need none of them.
        self.questions_so_far: AskedQuestions | None = None
        self.reports_so_far: Reports | None = None
        self._waits: ThreadWaits | None = None

    def session(self) -> Any:
        return self.connection.server.SESSION(self)

    @property
    def reports(self) -> Reports:
        if self.reports_so_far is None:
            self.reports_so_far = Reports(self)
        return self.reports_so_far

    @property
    def questions(self) -> AskedQuestions:
        if self.questions_so_far is None:
            self.questions_so_far = AskedQuestions(self)
        return self.questions_so_far

    @property
    def thread_waits(self) -> "ThreadWaits":
        from .thread_waits import ThreadWaits

        # Several threads may need it first, at once.
        with _LOCK:
            if self._waits is None:
                self._waits = ThreadWaits(self.endpoint.jobs.loop)
        return self._waits

    @property
    def endpoint(self) -> Endpoint:
        return self.connection.endpoint

    @property
    def table(self) -> MethodTable:
        return self.connection.server.TABLE

    @property
    def changes(self) -> int:
        return sum(self.connection.server.__mcp_runtime__.changes.values())

    @property
    def spoken(self) -> MethodTable:
        """The table of the client's revision; `table` is that of the server's."""
        return self.endpoint.connection.table

    @property
    def request_id(self) -> RequestId | None:
        return None if self.call is None else self.call.id

    @property
    def principal(self) -> "Principal | None":
        own = None if self._reply is None else self._reply.principal
        return self.endpoint.principal if own is None else own

    @property
    def principal_id(self) -> str | None:
        principal = self.principal
        return None if principal is None else principal.id

    @property
    def http_request(self) -> "HttpRequest | None":
        return None if self._reply is None else self._reply.http_request

    @property
    def network(self) -> Network | None:
        return self.connection.state.network

    def require_scopes(self, scopes: Collection[str]) -> None:
        principal, network = self.principal, self.network
        if principal is None and (network is None or network.protocol != OVER_HTTP.protocol):
            # Other transports have no tokens (2026-07-28, basic/authorization, "Protocol
            # Requirements").
            return
        if principal is None or not principal.scopes.issuperset(scopes):
            from ..core.oauth_scopes import InsufficientScope

            raise InsufficientScope(scopes)

    def peer_capabilities(self) -> Mapping[str, Any]:
        declared = self._wire_capabilities()
        if self.spoken.era.remembers_client:
            return declared  # stored in the server's revision
        return self.spoken.inward("ClientCapabilities", dict(declared))

    def _wire_capabilities(self) -> Mapping[str, Any]:
        if self.spoken.era.remembers_client:
            return self.endpoint.connection.declared["client"]
        return client_capabilities(self.meta)

    def peer_info(self) -> Mapping[str, Any] | None:
        spoken = self.spoken
        if spoken.era.remembers_client:
            return self.endpoint.connection.identity.get("client")
        info = self.meta.get(CLIENT_INFO)
        return spoken.inward("Implementation", info) if is_object(info) else None

    def is_awaited(self) -> bool:
        request, reply = self.call, self._reply
        return request is not None and reply is not None and reply.awaits(request.id)

    def method_call(self, method: str, **given: Any) -> MethodCall:
        return MethodCall(
            method=method,
            revision=self.spoken.revision,
            session=self.session(),
            principal=self.principal,
            **given,
        )

    @property
    def beside(self) -> MessageSink | None:
        """The sink for messages of the request (2025-11-25, basic/transports)."""
        return None if self._reply is None else self._reply.beside

    async def notify(self, spec: NotificationSpec[P], params: P | None) -> None:
        await self.endpoint.notify(spec, params, via=self.beside, about=self.call)

    async def close_stream(self) -> None:
        if self._reply is not None and self.spoken.rules.polling:
            await self._reply.release()

    async def become_task(self) -> None: ...

    async def request(
        self, spec: RequestSpec[P, Any, R], params: P | None, options: CallOptions
    ) -> R:
        """Ask the client, and check the answer to a form; see `Peer.request_once`."""
        answer: Any = await self.request_unchecked(spec, params, options)
        plain: type[WireModel] = spec.results[0]
        if spec.known_as != ELICIT or not isinstance(answer, plain):
            return cast(R, answer)  # or a task: its form is not filled in yet
        from ..core import forms

        wire: JSONObject = cast(Any, params).to_wire()
        sent = self.params_for_client(spec.method, wire)
        fitted = forms.fit_answer(answer.to_wire(), wire, sent)
        if faults := forms.faults_of(fitted, wire, "/result"):
            raise InvalidParams("Invalid answers", faults)
        return cast(R, plain.from_wire(fitted))

    complete = request

    def wire_name(self, method: str) -> str:
        return self.spoken.wire_name(method)

    def own_questions(self) -> Mapping[str, AnyRequest]:
        """Return the server's questions by their names on the wire."""
        return {self.wire_name(name): spec for name, spec in self.table.input_requests.items()}

    def params_for_client(self, method: str, params: JSONObject) -> JSONObject:
        return self.spoken.carry_out(method, "params", params)

    async def request_unchecked(
        self, spec: RequestSpec[P, Any, R], params: P | None, options: CallOptions
    ) -> R:
        spoken = self.spoken
        if spoken.rules.server_requests:
            middleware, via = self.connection.middleware, self.beside
            if not middleware:
                return await self.endpoint.request(spec, params, options, via=via)

            async def send(changed: Any) -> R:
                added, meta = undeclared_meta(changed), None
                if added:
                    # Passed separately, because translation would drop an undeclared member.
                    meta, changed = members(added), changed.model_copy()
                    del changed.model_extra["_meta"]
                return await self.endpoint.request(spec, changed, options, meta, via)

            return cast(R, await send_through(middleware, send, spec, params, self.method_call))
        if spec.method == "ping":
            return cast(R, spec.results[0]())
        check(spec, "server", params, {"client": self.peer_capabilities(), "server": {}})
        rounds = self.questions.rounds
        if rounds is None:
            reason = "no server requests, and no open request can carry this question"
            raise Untranslatable("", f"{spoken.revision} has {reason}", code=METHOD_NOT_FOUND)
        answer = await rounds.answer_to(spoken.write_question(spec, params))
        return spoken.read_response(spec, answer)

    def asking(self) -> "Asking":
        """Return the asking server and its request; raise `LocalError` without a request."""
        request, spoken, connection = self.call, self.spoken, self.connection
        if request is None:
            raise LocalError("only the answer to a request can ask for input")
        from .rounds import Asking
        from .sealed_state import binding

        bound = binding(request.spec.method, request.raw, self.principal_id, connection.class_id)
        # Servers with requests of their own ask in their own revision.
        specs = self.own_questions() if spoken.rules.server_requests else spoken.input_requests
        return Asking(connection.state.seal, bound, specs, self._wire_capabilities())

    def ask(self, requests: Mapping[str, Any], state: Any) -> dict[str, Any]:
        """Return the members of a result that asks the client; see `rounds.ask`."""
        from .rounds import ask

        questions = {key: asked.to_wire() for key, asked in requests.items()}
        for question in questions.values():
            question["method"] = self.wire_name(question["method"])
        rounds = self.questions.rounds
        memo = None if rounds is None else rounds.memo(own=False)
        sealed = ask(questions, state, self.asking(), memo)
        return {"input_requests": dict(requests) or None, "request_state": sealed}


def failed_result(model: type[Any], text: str) -> Any:
    """Return the result of a tool that has failed; raise `McpError` if there is no such result."""
    content, structured, error = places_of(model)
    if error is None:
        raise McpError(INTERNAL_ERROR, text)
    said: Any = text if content is None else [{"type": "text", "text": text}]
    return model(**put(put({}, content or structured or (), said), error, True))
