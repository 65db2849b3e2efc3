"""What the handler of a request knows of, and may say to, the client that sent it.

A session belongs to one request, or to a connection as a whole when there is no request to belong
to. What it says on the way, progress and log entries, is bound to its request: it stops when the
request is answered or cancelled.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar, Unpack, cast

from pydantic_core import PydanticSerializationError

from . import elicitation, gate
from .dispatch import Request
from .envelope import CLIENT_INFO, LOG_LEVEL, PROGRESS_TOKEN, client_capabilities, meta_in
from .errors import METHOD_NOT_FOUND, LocalError, RequestId
from .inputs import Asking, Inputs, ask
from .jsonvalue import is_object
from .logs import Level, passes
from .once import Once
from .options import CallOptions
from .peer import Peer
from .rounds import Rounds
from .spec import Era, RequestSpec, Role
from .translation.losses import Untranslatable

if TYPE_CHECKING:
    from .side import Side

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

_NOTHING: Final[Mapping[str, Any]] = {}


class SessionBase(Peer):
    """Base of the generated session."""

    ROLE: ClassVar[Role] = "server"

    def __init__(
        self,
        side: "Side",
        request: Request[Any] | None = None,
        raw: Mapping[str, Any] = _NOTHING,
    ) -> None:
        self._side = side
        self._endpoint = side.endpoint
        self._request = request
        self.raw = raw
        """The params as they came; for the runtime."""
        self._meta = meta_in(raw)
        self._done: float | None = None
        self._reported = float("-inf")
        self._once: Once | None = None
        self.rounds: Rounds | None = None
        """The questions of the request, where they travel in its results; for the runtime."""
        self.inputs: Inputs | None = None
        """What the client answered to the questions of the round before; None in the first one."""

    def again(self) -> Self:
        """The same session, for another run of the handler; for the runtime."""
        session = type(self)(self._side, self._request, self.raw)
        session._once = self._once = self._once or Once(self._side.endpoint.tasks)
        session._done, session._reported = self._done, self._reported
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
        return self._connected().principal

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the client how far its request has come, if it asked to be told.

        `done` has to grow: a report that says no more than the one before is not sent, nor is one
        that comes too soon after it, unless it completes `total`
        (basic/utilities/progress, "Behavior Requirements" and "Implementation Notes").
        """
        token = self._meta.get(PROGRESS_TOKEN)
        request, endpoint = self._request, self._connected()
        if token is None or request is None or not endpoint.connection.is_open(request.id):
            return
        if self._done is not None and done <= self._done:
            return
        now = endpoint.now()
        complete = total is not None and done >= total
        if not complete and now - self._reported < endpoint.options.progress_interval:
            return
        self._done, self._reported = done, now
        spec = self.TABLE.notifications["notifications/progress"]
        said: dict[str, Any] = {"progress_token": token, "progress": done, "total": total}
        # The first revision has progress without words.
        if "message" in spec.params.model_fields:
            said["message"] = message
        await endpoint.notify(spec, spec.params(**said))

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
        if self._era == "handshake":
            return self._side.level
        open = self._request is not None and self._connected().connection.is_open(self._request.id)
        level = self._meta.get(LOG_LEVEL)
        return level if open and isinstance(level, str) else None

    @property
    def _era(self) -> Era:
        return self._side.endpoint.connection.table.rules.era

    def _peer_declared(self) -> Mapping[str, Any]:
        connection = self._side.endpoint.connection
        if self._era == "handshake":
            return connection.declared["client"]
        return connection.table.declared_by("client", dict(client_capabilities(self._meta)))

    def _peer_info(self) -> Mapping[str, Any] | None:
        connection = self._side.endpoint.connection
        if self._era == "handshake":
            return connection.identity.get("client")
        info = self._meta.get(CLIENT_INFO)
        return connection.table.called(info) if is_object(info) else None

    # What the client is asked.

    async def request(
        self, spec: RequestSpec[P, R], params: P | None, **options: Unpack[CallOptions]
    ) -> R:
        """Ask the client something and wait for its answer; see `Peer.request`.

        Where servers have no requests of their own, the handler is stopped here, and run again from
        its beginning when the client comes back with the answer.
        """
        endpoint = self._side.endpoint
        if not endpoint.connection.table.rules.server_requests:
            return await self._question(spec, params)
        answer = await endpoint.request(spec, params, options)
        form = getattr(params, "requested_schema", None)
        if form is None or self.revision == self.TABLE.revision:
            return answer
        content = elicitation.restored(getattr(answer, "content", None), form.to_wire())
        if content is None:
            return answer
        restored: R = cast(Any, answer).model_copy(update={"content": content})
        return restored

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
        if self._request is None:
            raise LocalError("only the answer to a request can ask for input")
        return self._side.asking(self._request.spec.method, self.raw)

    def _ask(self, requests: Mapping[str, Any], state: Any) -> dict[str, Any]:
        """The members of a result that asks the client for more; see `inputs.ask`."""
        questions = {key: one.to_wire() for key, one in requests.items()}
        memo = None if self.rounds is None else self.rounds.memo(own=False)
        sealed = ask(questions, state, self.asking(), memo)
        return {"input_requests": dict(requests) or None, "request_state": sealed}
