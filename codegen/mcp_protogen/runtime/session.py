"""What the handler of a request knows of, and may say to, the client that sent it.

A session belongs to one request, or to a connection as a whole when there is no request to belong
to. What it says on the way, progress and log entries, is bound to its request: it stops when the
request is answered or cancelled.
"""

from asyncio import Task
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Final, Protocol, Self, TypeVar, Unpack, cast

from pydantic_core import PydanticSerializationError

from . import elicitation, gate
from .connection import PROGRESS
from .dispatch import Request
from .endpoint import Endpoint
from .envelope import CLIENT_INFO, LOG_LEVEL, PROGRESS_TOKEN, client_capabilities, meta_in
from .errors import METHOD_NOT_FOUND, Disconnected, InvalidParams, LocalError, RequestId
from .inputs import Asking, Inputs, ask
from .jobs import Reply
from .jsonrpc import LONGEST
from .jsonvalue import JSONObject, is_object
from .logs import Level, passes
from .model import WireModel
from .once import Once
from .options import CallOptions
from .outbox import Outgoing
from .peer import Peer
from .rounds import Rounds
from .spec import NotificationSpec, RequestSpec, Role, Rules
from .translation.losses import Untranslatable

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

_NOTHING: Final[Mapping[str, Any]] = {}


class RequestConnection(Protocol):
    """What a session has to know of the connection that its request came over."""

    @property
    def endpoint(self) -> Endpoint:
        """What carries its messages."""
        ...

    @property
    def level(self) -> str:
        """The least severe log entries that the client has asked for, in the handshake era."""
        ...

    def asking(self, method: str, raw: Mapping[str, Any], principal: str | None) -> Asking:
        """Return on whose behalf a request with these params asks questions."""
        ...


class _Reports:
    """How far a request has come, as its client was told, and what was held back since."""

    __slots__ = ("at", "complete", "done", "held")

    def __init__(self) -> None:
        self.at = self.done = float("-inf")
        self.held: Any = None
        self.complete = False


class SessionBase(Peer):
    """Base of the generated session."""

    ROLE: ClassVar[Role] = "server"

    def __init__(
        self,
        side: RequestConnection,
        request: Request[Any] | None = None,
        raw: Mapping[str, Any] = _NOTHING,
        reply: Reply | None = None,
    ) -> None:
        self._side = side
        self._endpoint = side.endpoint
        self._request = request
        self._reply = reply
        self.raw = raw
        """The params as they came; for the runtime."""
        self._meta = meta_in(raw)

    # What most requests never need is not made for each of them.
    _reports: _Reports | None = None
    _once: Once | None = None
    _handled_by: Task[Any] | None = None

    inputs: Inputs | None = None
    """What the client answered to the questions of the round before; None in the first one."""
    begun: Rounds | None = None
    """The questions of the request, if there have been any; for the runtime."""

    def in_rounds(self, task: Task[Any]) -> None:
        """From now on, questions travel in the results of the request, which `task` handles."""
        self._handled_by = task

    @property
    def rounds(self) -> Rounds | None:
        """The questions of the request, where they travel in its results; for the runtime."""
        task = self._handled_by
        if self.begun is None and task is not None:
            tasks, limit = self._side.endpoint.tasks, self._side.endpoint.options.max_rounds
            self.begun = Rounds(self.asker(), task, limit, Once(tasks))
        return self.begun

    def again(self) -> Self:
        """The same session, for another run of the handler; for the runtime."""
        session = type(self)(self._side, self._request, self.raw, self._reply)
        session._once = self._once = self._once or Once(self._side.endpoint.tasks)
        session._reports = self._reports = self._reports or _Reports()
        return session

    @property
    def revision(self) -> str:
        """The revision that the client speaks."""
        return self._side.endpoint.connection.table.revision

    @property
    def request_id(self) -> RequestId | None:
        """The id of the request that is handled, if it is one."""
        return None if self._request is None else self._request.id

    @property
    def principal(self) -> str | None:
        """Whom the transport has authenticated, if it does."""
        own = None if self._reply is None else self._reply.principal
        return self._connected().principal if own is None else own

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the client how far its request has come, if it asked to be told.

        `done` has to grow: a report that says no more than the one before is not sent. One that
        comes too soon after it waits, unless it is the first to reach `total`: it gives way to the
        next one, and the last one goes out before the answer
        (basic/utilities/progress, "Behavior Requirements" and "Implementation Notes").
        """
        token = self._meta.get(PROGRESS_TOKEN)
        # Who asks under a name too long is not told: it would come back with each report.
        if token is None or not self._is_awaited() or len(str(token)) > LONGEST:
            return
        reports = self._reports = self._reports or _Reports()
        if done <= reports.done:
            return
        said = {"progress_token": token, "progress": done, "total": total}
        params = self.TABLE.notifications[PROGRESS].params
        # The first revision has progress without words.
        if "message" in params.model_fields:
            said["message"] = message
        endpoint = self._connected()
        # Made here, so that what is wrong with it is told at once, even if it has to wait.
        reports.held, reports.done = params(**said), done
        completes = not reports.complete and total is not None and done >= total
        reports.complete |= completes
        if completes or endpoint.now() - reports.at >= endpoint.options.progress_interval:
            await self._report()

    async def report(self) -> None:
        """Send what was held back of the progress, whatever comes of that; for the runtime."""
        try:
            await self._report()
        except Disconnected:
            self._connected().log.info("nobody is left to be told of progress")
        except LocalError as error:
            self._connected().log.warning("progress was not reported: %s", error)

    async def _report(self) -> None:
        reports = self._reports
        if reports is None or reports.held is None or not self._is_awaited():
            return
        params, reports.held = reports.held, None
        reports.at = self._connected().now()
        await self.notify(self.TABLE.notifications[PROGRESS], params)

    async def log(self, level: Level, data: Any, logger: str | None = None) -> None:
        """Send a log entry, if the client wants entries of that level.

        Wanted is, in the handshake revisions, what `logging/setLevel` asked for, and everything
        before it did; in 2026-07-28, what the request itself asked for, and nothing if it did not.
        Raises `LocalError` if the server does not declare `logging`, as one does that names
        `notifications/message` in `SENDS`.
        """
        threshold = self._threshold()
        if threshold is None or not passes(level, threshold):
            return
        spec = self.TABLE.notifications["notifications/message"]
        try:
            params = spec.params(level=level, data=data, logger=logger)
            await self.notify(spec, params)
        except PydanticSerializationError as error:
            raise LocalError(f"a log entry cannot be written: {error}") from error

    def _threshold(self) -> str | None:
        if self.rules.era == "handshake":
            return self._side.level
        level = self._meta.get(LOG_LEVEL)
        return level if isinstance(level, str) and self._is_awaited() else None

    def _is_awaited(self) -> bool:
        """Whether the client still waits for the answer to the request, if there is one."""
        request, reply = self._request, self._reply
        return request is not None and reply is not None and reply.awaits(request.id)

    @property
    def rules(self) -> Rules:
        """What the revision that the client speaks does differently from others."""
        return self._side.endpoint.connection.table.rules

    def _peer_declared(self) -> Mapping[str, Any]:
        connection = self._side.endpoint.connection
        if self.rules.era == "handshake":
            return connection.declared["client"]
        return connection.table.declared_by("client", dict(client_capabilities(self._meta)))

    def _peer_info(self) -> Mapping[str, Any] | None:
        connection = self._side.endpoint.connection
        if self.rules.era == "handshake":
            return connection.identity.get("client")
        info = self._meta.get(CLIENT_INFO)
        return connection.table.called(info) if is_object(info) else None

    def _way(self) -> Outgoing | None:
        """What belongs to a request travels with it (2025-11-25, basic/transports)."""
        return None if self._reply is None else self._reply.beside

    async def notify(self, spec: NotificationSpec[P], params: P | None) -> None:
        """See `Peer.notify`."""
        await self._connected().notify(spec, params, via=self._way())

    async def close_stream(self) -> None:
        """Let go of the connection that carries this request, and work on.

        Over HTTP, from 2025-11-25 to before 2026-07-28, the client comes back for the answer, and
        for what is said until then; so a long request holds no connection. Elsewhere this does
        nothing (2025-11-25, basic/transports, "Sending Messages to the Server").
        """
        if self._reply is not None and self.rules.polling:
            await self._reply.release()

    # What the client is asked.

    async def request(
        self, spec: RequestSpec[P, R], params: P | None, **options: Unpack[CallOptions]
    ) -> R:
        """Ask the client something and wait for its answer; see `Peer.request`.

        Where servers have no requests of their own, the handler is stopped here, and run again from
        its beginning when the client comes back with the answer. Raises `InvalidParams` for the
        answer to a form that does not fit it.
        """
        answer: Any = await self.put(spec, params, **options)
        plain: type[WireModel] = spec.results[0]
        if spec.method != elicitation.ELICIT or not isinstance(answer, plain):
            return cast(R, answer)  # a task, too, in which the form is still to be filled in
        asked: JSONObject = cast(Any, params).to_wire()
        table = self._side.endpoint.connection.table
        shown = table.carry_out(spec.method, "params", asked)
        kept = elicitation.as_asked(answer.to_wire(), asked, shown)
        faults = elicitation.faults_of(kept, asked, "/result")
        if faults:
            raise InvalidParams("Invalid answers", faults)
        return cast(R, plain.from_wire(kept))

    async def put(
        self, spec: RequestSpec[P, R], params: P | None, **options: Unpack[CallOptions]
    ) -> R:
        """Ask in the same way, and take the answer as it comes; for the runtime."""
        endpoint = self._side.endpoint
        if endpoint.connection.table.rules.server_requests:
            return await endpoint.request(spec, params, options, self._way())
        return await self._question(spec, params)

    async def _question(self, spec: RequestSpec[P, R], params: P | None) -> R:
        if spec.method == "ping":
            # A client that has just made a request is there.
            alive: R = spec.results[0]()
            return alive
        declared: dict[Role, Mapping[str, Any]] = {
            "client": self._peer_declared(),
            "server": _NOTHING,
        }
        gate.check(spec, "server", params, declared)
        if self.rounds is None:
            why = f"{self.revision} has no requests of a server, and nothing to answer with one"
            raise Untranslatable("", why, code=METHOD_NOT_FOUND)
        table = self._side.endpoint.connection.table
        answer = await self.rounds.answer_to(table.write_question(spec, params))
        return table.read_response(spec, answer)

    async def once(self, key: str, work: Callable[[], Awaitable[T] | T]) -> T:
        """The result of `work`, which is done once for this request, however often it runs.

        A handler runs again from its beginning after each question to a client of the stateless
        era; what must not happen twice belongs in here, under a key of its own. The result is a
        JSON value. It travels with the client, which can read but not change it.
        """
        if self.rounds is not None:
            return await self.rounds.once.do(key, work)
        if self._once is None:
            self._once = Once(self._side.endpoint.tasks)
        return await self._once.do(key, work)

    def asking(self) -> Asking:
        """On whose behalf questions are asked; raises `LocalError` without a request."""
        return self.asker()()

    def asker(self) -> Callable[[], Asking]:
        """What says so later, and does not hold on to the session."""
        if self._request is None:
            raise LocalError("only the answer to a request can ask for input")
        return partial(self._side.asking, self._request.spec.method, self.raw, self.principal)

    def _ask(self, requests: Mapping[str, Any], state: Any) -> dict[str, Any]:
        """The members of a result that asks the client for more; see `inputs.ask`."""
        questions = {key: one.to_wire() for key, one in requests.items()}
        memo = None if self.rounds is None else self.rounds.memo(own=False)
        sealed = ask(questions, state, self.asking(), memo)
        return {"input_requests": dict(requests) or None, "request_state": sealed}
