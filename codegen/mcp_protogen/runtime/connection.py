"""One side of one connection in one revision: messages in, events out; calls in, bytes out.

Never awaits, opens nothing and has no clock: whoever drives it passes the time, in seconds of any
clock that does not go back. It remembers

* the requests it sent: what they ask, until when an answer is awaited, who wants their progress;
* the requests it received and has not answered: an id is answered once, and not at all after it
  was cancelled (basic/utilities/cancellation, "Behavior Requirements");
* the state of the lifecycle, what each side has declared, and who it said it is.

Which side it plays is a value. In the stateless era the same class serves: its requests carry an
envelope, its state never changes, and what a client declares is looked up for each request.
"""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Final, TypeVar

from pydantic_core import to_json

from . import gate, jsonrpc
from .codec import MethodTable
from .dispatch import Error, Notification, NotInRevision, Request, Result, Unfit
from .envelope import PROGRESS_TOKEN, client_capabilities, meta_of
from .errors import (
    InvalidAnswer,
    InvalidRequest,
    LocalError,
    ProtocolError,
    RemoteError,
    RequestId,
)
from .events import Cancelled, Ended, Event, Failure, Ignored, Progressed, Refusal
from .jsonvalue import JSONObject
from .kept import Kept
from .lifecycle import HANDSHAKE, State, advance, may_pass
from .lifecycle import Event as Step
from .options import FOREVER, Patience
from .pending import Overdue, Pending
from .spec import NotificationSpec, RequestSpec, Role

P = TypeVar("P")
R = TypeVar("R")

CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"
INITIALIZED: Final = "notifications/initialized"


class Connection:
    """What one side, `role`, knows about its connection in the revision of `table`.

    `declared` maps each side to the JSON object of the capabilities in force and `identity` to what
    it calls itself; whoever negotiates may replace their values at any time. `state` is that of the
    lifecycle. `envelope` holds the members, as JSON text, that belong into `_meta` of each request.
    """

    __slots__ = (
        "_asked",
        "_everything_passes",
        "_open",
        "declared",
        "envelope",
        "identity",
        "ids",
        "latest_due",
        "peer",
        "role",
        "signature",
        "state",
        "table",
    )

    def __init__(
        self,
        table: MethodTable,
        role: Role,
        declared: Mapping[Role, Mapping[str, Any]],
        *,
        state: State = State.OPEN,
    ) -> None:
        self.table = table
        self.role: Role = role
        self.peer: Role = "server" if role == "client" else "client"
        self.declared = Kept(declared)
        self.identity = Kept()
        self.envelope: bytes | None = None
        self.signature: bytes | None = None
        """Members, as JSON text, that belong into `_meta` of each result."""
        self.state = state if table.era.has_handshake else State.NEW
        self._everything_passes = self.state is State.OPEN or not table.era.has_handshake
        self.ids: Iterator[RequestId] = count(1)
        """Those of the requests that are still to be sent."""
        self._asked: dict[RequestId, Pending] = {}
        self._open: dict[RequestId, Request[Any]] = {}
        self.latest_due = float("inf")
        """When the answer to the request made last is overdue."""

    def step(self, event: Step) -> None:
        """Go on in the lifecycle of the handshake; raises `IllegalTransition`."""
        self.state = advance(HANDSHAKE, self.state, event)
        self._everything_passes = self.state is State.OPEN

    # What this side sends.

    def request(
        self,
        spec: RequestSpec[P, Any],
        params: P | None,
        patience: Patience = FOREVER,
        now: float = 0.0,
        *,
        progress: bool = False,
    ) -> tuple[RequestId, bytes]:
        """A new request and its id; raises `LocalError`, and then nothing has changed.

        With `progress` the peer is asked to report how far it has come, under the id as token.
        """
        self._check(spec, params)
        self.table.admit(spec.method, self.role)
        id = next(self.ids)
        data = self.table.serialise_request(spec, id, params, meta=self._meta(id, progress))
        pending = self._asked[id] = Pending(spec, patience, progress, now)
        self.latest_due = pending.due
        return id, data

    def _meta(self, id: RequestId, progress: bool) -> bytes | None:
        if not progress:
            return self.envelope
        token = b'"%b":%b' % (PROGRESS_TOKEN.encode(), jsonrpc.write_id(id))
        return token if self.envelope is None else b"%b,%b" % (self.envelope, token)

    def notify(
        self, spec: NotificationSpec[P], params: P | None, *, meta: bytes | None = None
    ) -> bytes:
        """A notification, with the members `meta` in its `_meta`; raises `LocalError`."""
        self.table.admit(spec.method, self.role)
        self._check(spec, params)
        return self.table.serialise_notification(spec, params, meta=meta)

    def _check(self, spec: RequestSpec[P, Any] | NotificationSpec[P], params: P | None) -> None:
        gate.check(spec, self.role, params, self.declared)
        if not self._everything_passes and not may_pass(self.state, spec.phase, self.role):
            raise LocalError(f"{spec.method} cannot be sent yet: the state is {self.state.name}")

    def cancel(self, id: RequestId, reason: str) -> bytes | None:
        """Give up the request `id`: forget it, and the notification that tells the peer.

        None if it was answered meanwhile, or if the revision does not let this side cancel.
        """
        pending = self._asked.pop(id, None)
        if pending is None or self.table.notification(CANCELLED, self.role) is None:
            return None
        # The one request that is never cancelled is the first (basic/utilities/cancellation).
        return None if pending.spec.phase == "before_ready" else self._cancelled(id, reason)

    def end(self, id: RequestId, reason: str) -> bytes | None:
        """Tell the peer that what its open request `id` started is over; its answer follows.

        None if it is not open any more (2026-07-28, basic/patterns/cancellation).
        """
        return self._cancelled(id, reason) if id in self._open else None

    def _cancelled(self, id: RequestId, reason: str) -> bytes:
        return jsonrpc.write_call(
            None, to_json(CANCELLED), to_json({"requestId": id, "reason": reason})
        )

    def forget(self, id: RequestId) -> None:
        """Stop waiting for the answer to the request `id`."""
        self._asked.pop(id, None)

    def awaits_answer_to(self, id: object) -> bool:
        """Whether an answer to the request `id` is awaited."""
        return id in self._asked

    @property
    def awaits(self) -> bool:
        """Whether an answer of the peer is awaited."""
        return bool(self._asked)

    def deadline(self) -> float:
        """When the next answer is overdue; infinity if none is awaited."""
        return min((pending.due for pending in self._asked.values()), default=float("inf"))

    def overdue(self, now: float) -> list[Overdue]:
        """The requests whose answer is overdue; they still have to be cancelled or forgotten."""
        return [
            Overdue(id, pending.spec, pending.seconds)
            for id, pending in self._asked.items()
            if pending.due <= now
        ]

    # What this side answers.

    def is_open(self, id: RequestId) -> bool:
        """Whether the peer still waits for the answer to its request `id`."""
        return id in self._open

    def close(self, id: RequestId) -> None:
        """The peer does not wait for the answer to its request `id` any more."""
        self._open.pop(id, None)

    def answer(self, request: Request[Any], result: Any) -> bytes | None:
        """The result of a request that came; None if nobody waits for it any more.

        Raises `LocalError`, and then the request is still open.
        """
        if self._open.get(request.id) is not request:
            return None
        data = self.table.serialise_result(request.spec, request.id, result, meta=self.signature)
        del self._open[request.id]
        return data

    def refuse(self, id: RequestId | None, error: ProtocolError) -> bytes | None:
        """The error that answers the request `id`; None if the revision has no words for it."""
        request = None if id is None else self._open.pop(id, None)
        method = "" if request is None else request.spec.method
        return self.table.refusal(method, id, error)

    # What comes.

    def receive(self, data: bytes | str, now: float = 0.0) -> Event | list[Event]:
        """What came: one event, or a list of them for a batch. Never raises."""
        try:
            value = jsonrpc.parse(data)
            members = self.table.members(value)
        except RemoteError as error:
            return Refusal(error.id, error)
        if members is None:
            return self.take(value, now)
        return [self.take(member, now) for member in members]

    def take(self, message: object, now: float = 0.0) -> Event:
        """The event that one decoded message, which is no batch, comes to. Never raises."""
        try:
            outcome = self.table.interpret(message, self.peer, self._asked_with)
        except RemoteError as error:
            return self._fault(error)
        if isinstance(outcome, Request):
            return self._requested(outcome, message)
        if isinstance(outcome, (Result, Error)):
            return self._answered(outcome)
        if isinstance(outcome, Notification):
            return self._notified(outcome, now)
        # A notification is never answered, whatever is wrong with it.
        refused = outcome.error()
        return Ignored(refused) if outcome.id is None else self._fault(refused)

    def _asked_with(self, id: RequestId) -> RequestSpec[Any, Any] | None:
        pending = self._asked.get(id)
        return None if pending is None else pending.spec

    def _fault(self, error: RemoteError) -> Event:
        if not isinstance(error, InvalidAnswer):
            return Refusal(error.id if self._may_answer(error.id) else None, error)
        if error.id is None or self._asked.pop(error.id, None) is None:
            return Ignored(error)
        return Failure(error.id, error)

    def _may_answer(self, id: RequestId | None) -> bool:
        # The first request of that id is still to be answered, and no id is answered twice.
        return id not in self._open

    def _answered(self, answer: Result[Any] | Error) -> Event:
        pending = None if answer.id is None else self._asked.pop(answer.id, None)
        if pending is None:
            return Ignored(InvalidAnswer("an answer to no open request", id=answer.id))
        if isinstance(answer, Result):
            return answer
        return answer._replace(code=self.table.code_that_came(pending.spec.method, answer.code))

    def read(self, message: JSONObject) -> Request[Any]:
        """The request that a decoded message is, which is answered elsewhere.

        Raises the `RemoteError` to answer with.
        """
        request = self.table.interpret(message, self.peer, self._asked_with)
        if type(request) is not Request:
            assert isinstance(request, (NotInRevision, Unfit))
            raise request.error()
        barred = self._barred(request, message)
        if barred is not None:
            raise barred.error
        return request

    def _requested(self, request: Request[Any], message: Any) -> Event:
        id = request.id
        if id in self._open:
            return Refusal(None, InvalidRequest(f"the id {id!r} is in use", id=id))
        barred = self._barred(request, message)
        if barred is not None:
            return barred
        self._open[id] = request
        return request

    def _barred(self, request: Request[Any], message: Any) -> Refusal | None:
        """Why a request may not be made, if it may not."""
        id, spec, params = request
        if not self._everything_passes and not may_pass(self.state, spec.phase, self.peer):
            return Refusal(id, InvalidRequest(f"{spec.method} came before its time", id=id))
        if spec.requires:
            need = gate.unmet(spec.requires, self.peer, params, self._in_force(message, spec))
            if need is not None:
                return Refusal(id, gate.undeclared(spec.method, need, id))
        return None

    def _in_force(
        self, message: Any, spec: RequestSpec[Any, Any]
    ) -> Mapping[Role, Mapping[str, Any]]:
        if self.role == "client" or self.table.era.remembers_client:
            return self.declared
        if not gate.asks_of("client", spec):
            return self.declared
        # Nothing is remembered from one request to the next (2026-07-28, basic, "Statelessness").
        declared = dict(client_capabilities(meta_of(message)))
        return {**self.declared, "client": self.table.declared_by("client", declared)}

    def _notified(self, notification: Notification[Any], now: float) -> Event:
        spec, params = notification
        if spec.method == CANCELLED:
            return self._given_up(notification)
        if spec.method == PROGRESS:
            pending = self._asked.get(params.progress_token)
            if pending is None or not pending.progress:
                return Ignored(InvalidRequest("progress of a request that is not open"))
            pending.renew(now)
            return Progressed(params.progress_token, notification)
        if not self._everything_passes and not may_pass(self.state, spec.phase, self.peer):
            return Ignored(InvalidRequest(f"{spec.method} came before its time"))
        return notification

    def _given_up(self, notification: Notification[Any]) -> Event:
        id: RequestId | None = notification.params.request_id
        request = None if id is None else self._open.get(id)
        if id is not None and request is not None and request.spec.phase != "before_ready":
            del self._open[id]
            return Cancelled(id, notification)
        pending = None if id is None else self._asked.get(id)
        if id is not None and pending is not None and "long_lived" in pending.spec.traits:
            return Ended(id, notification)
        # Late, or never asked: "fire and forget" (basic/utilities/cancellation, "Error Handling").
        return Ignored(InvalidRequest("cancels a request that is not open"))
