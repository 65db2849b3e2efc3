"""One end of a connection in one revision: messages in, events out; calls in, bytes out.

A connection never awaits, opens nothing and has no clock: its driver passes the time, in seconds of
a monotonic clock. In the stateless era its requests carry an envelope, its state never changes, and
a client's capabilities are looked up for each request.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import count
from logging import getLogger
from math import inf
from typing import Any, Final, NamedTuple, TypeAlias

from pydantic_core import to_json

from .core.connection_errors import MissingClientCapability, Strays, in_answer
from .core.errors import (
    METHOD_NOT_FOUND,
    InvalidAnswer,
    InvalidParams,
    InvalidRequest,
    LocalError,
    MethodNotFound,
    ProtocolError,
    RemoteError,
    RequestId,
)
from .core.json import read_json
from .core.models.base import declared_member
from .core.options import FOREVER, CallOptions, Patience
from .core.spec import AnyRequest, NotificationSpec, P, RequestSpec, Requirement, Role
from .messages import jsonrpc
from .messages.codec import Error, Notification, Request, Result
from .messages.envelope import PROGRESS_TOKEN, client_capabilities, overlaid
from .messages.jsonrpc import Call, Malformed, Parsed
from .messages.method_table import EXTENSIONS, MethodTable
from .messages.reading import Batch
from .rules import capabilities, lifecycle
from .rules.capabilities import Declared
from .rules.lifecycle import MAY_PASS, State

CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"
INITIALIZED: Final = "notifications/initialized"

_log: Final = getLogger(__name__)

_ROLES: Final[tuple[Role, ...]] = ("client", "server")
_STRAYS: Final[Mapping[Role, Strays]] = {"client": Strays("server"), "server": Strays("client")}


# Events for messages that are invalid, or end or report something.


class Refusal(NamedTuple):
    """A message to answer with an error, without an id if none could be read."""

    id: RequestId | None
    error: RemoteError


class Failure(NamedTuple):
    """An invalid answer to the request `id` of this end."""

    id: RequestId
    error: RemoteError


class Ignored(NamedTuple):
    """An unexpected message that is not answered."""

    error: RemoteError


class Cancellation(NamedTuple):
    """The peer cancels its request `id`."""

    id: RequestId
    notification: Notification[Any]


class Ended(NamedTuple):
    """The peer ends the request `id` of this end; its answer may still follow."""

    id: RequestId
    notification: Notification[Any]


class Progressed(NamedTuple):
    """A progress report for the request `id` of this end."""

    id: RequestId
    notification: Notification[Any]


Event: TypeAlias = (
    Request[Any]
    | Notification[Any]
    | Result[Any]
    | Error
    | Refusal
    | Failure
    | Ignored
    | Cancellation
    | Ended
    | Progressed
)


class Pending:
    """A pending request; `progress` is whether the peer was asked to report it."""

    __slots__ = ("_limit", "_patience", "due", "params", "progress", "spec")

    def __init__(
        self, spec: AnyRequest, patience: Patience, progress: bool, now: float, params: Any = None
    ) -> None:
        self.spec = spec
        self.params = params
        self.progress = progress
        self._patience = patience
        self._limit = now + patience.max_timeout
        self.due = min(now + patience.timeout, self._limit)

    def set_paused(self, paused: bool, now: float) -> None:
        now = inf if paused else now
        self._limit = now + self._patience.max_timeout
        self.due = min(now + self._patience.timeout, self._limit)

    def renew(self, now: float) -> None:
        if self._patience.renewed_by_progress:
            self.due = min(now + self._patience.timeout, self._limit)

    def remaining_options(self, now: float) -> CallOptions:
        """Return the remaining time, for a call that replaces this one."""
        due = self._patience.timeout if self._patience.renewed_by_progress else self.due - now
        return {"timeout": due, "max_timeout": self._limit - now}

    @property
    def seconds(self) -> float:
        patience = self._patience
        return patience.max_timeout if self.due == self._limit else patience.timeout


class StoredJSON(Mapping[Role, Mapping[str, Any]]):
    """JSON objects by the role that declared them, decoded or as text.

    A decoded value may take twenty times as much memory as its text, and a server may have many
    clients: it keeps text, decoded at each access.
    """

    __slots__ = ("client", "open_needs", "server")

    def __init__(self, objects: Declared) -> None:
        self.client: Mapping[str, Any] | bytes | None = objects.get("client")
        self.server: Mapping[str, Any] | bytes | None = objects.get("server")
        self.open_needs: dict[AnyRequest, tuple[Requirement, ...]] = {}
        """The needs of requests that are checked each time, because they are not declared."""

    def __setitem__(self, role: Role, declared: Mapping[str, Any] | bytes) -> None:
        setattr(self, role, declared)
        self.open_needs.clear()

    def __getitem__(self, role: Role) -> Mapping[str, Any]:
        stored = self.client if role == "client" else self.server
        if stored is None:
            raise KeyError(role)
        return read_json(stored) if isinstance(stored, bytes) else stored

    def __iter__(self) -> Iterator[Role]:
        return (role for role in _ROLES if getattr(self, role) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class ResultText(bytes):
    """The members of a result as JSON text, without `_meta`, in the revision of the wire."""

    __slots__ = ()


class Connection:
    """One role's state of its connection in the revision of `table`.

    By role, `declared` has the JSON object of its capabilities, `identity` its name. As JSON text,
    `envelope` has members for `_meta` of each request, `signature` those of each result.
    """

    __slots__ = (
        *("_asked", "_declared_by_request", "_everything_passes", "_notified_peer", "_open"),
        *("declared", "envelope", "identity", "ids", "latest_due", "needs", "peer", "reported"),
        *("role", "shared", "signature", "state", "strays", "table"),
    )

    def __init__(
        self, table: MethodTable, role: Role, declared: Declared, *, state: State = State.OPEN
    ) -> None:
        self.table = table
        self.role: Role = role
        self.peer: Role = "server" if role == "client" else "client"
        self.declared = StoredJSON(declared)
        self.identity = StoredJSON({})
        self.envelope: bytes | None = None
        self.signature: bytes | None = None
        self.shared = False
        """Whether many clients send requests, so that ids do not identify them."""
        self.needs: lifecycle.OpenNeeds | None = None
        """Needs of the peer's requests beyond the permanent declaration of this role."""
        self.state = state if table.era.has_handshake else State.NEW
        self._everything_passes = self.state is State.OPEN or not table.era.has_handshake
        # A client may declare capabilities in each request.
        self._declared_by_request = role == "server" and not table.era.remembers_client
        self.ids: Iterator[RequestId] = count(1)
        self._asked: dict[RequestId, Pending] = {}
        self._open: dict[RequestId, Request[Any]] = {}
        self.reported: Container[RequestId] = ()
        """Answered requests of this end whose tasks still report progress."""
        self.strays = _STRAYS[role]
        # Some peers answer notifications by mistake; then the next error may be such an answer.
        self._notified_peer = False
        self.latest_due = inf

    def enter(self, state: State) -> None:
        self.state = state
        self._everything_passes = state is State.OPEN

    def request(
        self,
        spec: RequestSpec[P, Any, Any],
        params: P | None,
        patience: Patience = FOREVER,
        now: float = 0.0,
        *,
        progress: bool = False,
        meta: bytes | None = None,
    ) -> tuple[RequestId, bytes]:
        """Return a new request and its id; raise `LocalError` without changing anything.

        With `progress` the peer is asked to report progress, with the id as token. `meta` are
        members of its `_meta`, as JSON text, before those of the envelope.
        """
        needs = self.declared.open_needs.get(spec)
        if needs is None or not self._everything_passes:
            self._check(spec, params, self.declared)
            self.table.admit(spec, self.role)
            needs = lifecycle.open_needs(spec, self.role, self.declared)
            self.declared.open_needs[spec] = needs
        if needs:
            params = _admit_params(spec.method, needs, params)
        id, base = next(self.ids), self.envelope
        if progress:
            token = b'"%b":%b' % (PROGRESS_TOKEN.encode(), jsonrpc.write_id(id))
            base = token if base is None else b"%b,%b" % (base, token)
        if meta is not None:
            base = meta if base is None else overlaid(base, meta)
        pending = Pending(spec, patience, progress, now, params)
        data = self.table.serialise_request(spec, id, params, meta=base)
        self._asked[id] = pending
        self.latest_due = pending.due
        return id, data

    def notify(
        self,
        spec: NotificationSpec[P],
        params: P | None,
        *,
        meta: bytes | None = None,
        about: Request[Any] | None = None,
    ) -> bytes:
        """Return a notification, with the members `meta` in its `_meta`; raise `LocalError`.

        `about` is the request of the peer to which it belongs; that may declare more capabilities.
        """
        self.table.admit(spec, self.role)
        self._check(spec, params, self.declared if about is None else self._capabilities_for(about))
        self._notified_peer = True
        return self.table.serialise_notification(spec, params, meta=meta)

    def _check(
        self, spec: AnyRequest | NotificationSpec[Any], params: object, declared: Declared
    ) -> None:
        lifecycle.check(spec, self.role, params, declared)
        if not self._everything_passes and self.role not in MAY_PASS[self.state, spec.phase]:
            state = f"the connection is in state {self.state.name}"
            raise LocalError(f"{spec.method} cannot be sent yet: {state}")

    def cancel(self, id: RequestId, reason: str) -> bytes | None:
        """Forget the request `id`, and return the cancellation to send, if any."""
        call = self._asked.pop(id, None)
        if call is None or self.table.notification(CANCELLED, self.role) is None:
            return None
        # The first request is never cancelled (basic/utilities/cancellation).
        return None if call.spec.phase == "before_ready" else self._write_cancellation(id, reason)

    def end(self, id: RequestId, reason: str) -> bytes | None:
        """Return the cancellation of the peer's open request `id`; its answer follows.

        None if it is not open any more (2026-07-28, basic/patterns/cancellation).
        """
        return self._write_cancellation(id, reason) if id in self._open else None

    def _write_cancellation(self, id: RequestId, reason: str) -> bytes:
        params = to_json({"requestId": id, "reason": reason})
        return jsonrpc.write_call(None, to_json(CANCELLED), params)

    def forget(self, id: RequestId) -> None:
        self._asked.pop(id, None)

    def awaits_answer_to(self, id: object) -> bool:
        return id in self._asked

    @property
    def awaits(self) -> bool:
        return bool(self._asked)

    def deadline(self) -> float:
        """Return when the next answer is overdue; infinity if none is pending."""
        return min((pending.due for pending in self._asked.values()), default=inf)

    def time_left(self, id: RequestId, now: float) -> float:
        """Return the seconds until a request times out; 0 if it is no longer pending."""
        pending = self._asked.get(id)
        return 0.0 if pending is None else pending.due - now

    def set_paused(self, id: RequestId, paused: bool, now: float) -> None:
        if (pending := self._asked.get(id)) is not None:
            pending.set_paused(paused, now)

    def overdue(self, now: float) -> list[tuple[RequestId, Pending]]:
        """Return the overdue requests; the caller must cancel or forget them."""
        return [(id, pending) for id, pending in self._asked.items() if pending.due <= now]

    def is_open(self, id: RequestId) -> bool:
        return id in self._open

    def discard(self, id: RequestId) -> None:
        self._open.pop(id, None)

    def answer(self, request: Request[Any], result: Any) -> bytes | None:
        """Return a result; None if the request is not open. Raise `LocalError`, and stay open."""
        open, id = self._open, request.id
        if open.get(id) is not request and not self.shared:
            return None
        if self.table.extensions:
            self._check_claimed(request, result)
        signature = self.signature
        if type(result) is ResultText:
            body = result if signature is None else b'"_meta":{%b},%b' % (signature, result)
            data = jsonrpc.write_result(id, b"{%b}" % body)
        else:
            data = self.table.serialise_result(request.spec, id, result, meta=signature)
        open.pop(id, None)
        return data

    def _check_claimed(self, request: Request[Any], result: Any) -> None:
        kind, method = getattr(result, "result_type", None), request.spec.method
        for extension in self.table.extensions:
            claimed = tuple(claim.load() for claim in extension.claims if claim.result_type == kind)
            if isinstance(result, claimed) and not extension.is_declared(
                self._capabilities_for(request)["client"].get(EXTENSIONS)
            ):
                answer, lacking = type(result).__name__, f"does not declare {extension.identifier}"
                raise LocalError(f"{answer} cannot answer this {method}, which {lacking}")

    def _capabilities_for(self, request: Request[Any]) -> Declared:
        if not self._declared_by_request:
            return self.declared
        # Nothing is remembered between requests (2026-07-28, basic, "Statelessness").
        result = dict(client_capabilities(request.meta))
        return {**self.declared, "client": self.table.inward("ClientCapabilities", result)}

    def refuse(self, request: Request[Any], error: ProtocolError) -> bytes | None:
        """Return the error that answers a request; None if the request is not open."""
        if self._open.get(request.id) is not request and not self.shared:
            return None
        self._open.pop(request.id, None)
        return self.reject(request.id, error, request.spec.method, request.params)

    def reject(
        self, id: RequestId | None, error: ProtocolError, method: str = "", params: Any = None
    ) -> bytes | None:
        """Return an error outside an open request; None if it cannot be expressed."""
        code, data = self.table.error_to_send(method, (error.code, error.data), params)
        try:
            return self.table.serialise_error(id, code, error.message, data)
        except LocalError as unsent:
            if id is None:
                return None
            _log.warning("an error of %.100r was sent without its data: %s", method, unsent)
            # The data of a handler's error may not be JSON; the error itself is.
            return self.table.serialise_error(id, code, error.message)

    def check_batch(self, batch: Batch) -> None:
        """Raise `InvalidRequest` for an invalid batch, or if the revision has none.

        2025-03-26, basic, "Batching"; JSON-RPC 2.0, section 6.
        """
        if not self.table.rules.batching:
            raise InvalidRequest(f"{self.table.revision} has no batches")
        if not batch.values:
            raise InvalidRequest("a batch must not be empty")
        opening = self.table.era.opened_by
        if any(isinstance(member, Call) and member.method == opening for member in batch.members):
            raise InvalidRequest(f"{opening} must not be part of a batch")

    def take(self, message: Parsed, now: float = 0.0) -> Event:
        """Return the event for a message. Never raises."""
        if isinstance(message, Call):
            outcome = self.table.interpret(message, self.peer)
            if isinstance(outcome, InvalidParams):
                from .messages.lenient_params import reinterpret

                outcome = reinterpret(self.table, message, outcome, self.peer)
            if isinstance(outcome, Request):
                return self._take_request(outcome)
            if isinstance(outcome, Notification):
                return self._take_notification(outcome, now)
            # Notifications are never answered, even invalid ones.
            return Ignored(outcome) if outcome.id is None else self._take_invalid(outcome)
        if isinstance(message, Malformed):
            return self._take_invalid(message.error)
        pending = None if message.id is None else self._asked.get(message.id)
        try:
            answer = self.table.read_answer(message, None if pending is None else pending.spec)
        except InvalidAnswer as error:
            return self._take_invalid(error)
        return self._take_answer(answer)

    def _take_invalid(self, error: RemoteError) -> Event:
        # A message of unclear kind counts as an answer: servers send little else, and clients
        # answer open questions.
        is_guess = error.meant == "message" and (
            self.role == "client" or (isinstance(error, InvalidRequest) and error.id in self._asked)
        )
        if not error.is_answer and not is_guess:
            # The first request of that id is still open, and no id is answered twice.
            return Refusal(None if error.id in self._open else error.id, error)
        id = self._only_pending() if error.id is None else error.id
        pending = None if id is None else self._asked.pop(id, None)
        if id is None or pending is None:
            text = error.message if error.id is None else ""
            self.strays = self.strays.with_answer(error.id, text, self._asked)
            return Ignored(error)
        return Failure(id, in_answer(error, pending.spec.method))

    def _take_answer(self, answer: Result[Any] | Error) -> Event:
        id = answer.id
        if id is None and isinstance(answer, Error):
            id = self._request_of_error(answer)
        pending = None if id is None else self._asked.pop(id, None)
        if id is None or pending is None:
            text = f"{answer.message} (code {answer.code})" if isinstance(answer, Error) else ""
            self.strays = self.strays.with_answer(answer.id, text, self._asked)
            return Ignored(InvalidAnswer("an answer to no open request", id=answer.id))
        self._notified_peer = False
        if isinstance(answer, Result):
            return answer
        method, came = pending.spec.method, (answer.code, answer.data)
        code, data = self.table.error_that_came(method, came, pending.params)
        return answer._replace(id=id, code=code, data=data)

    def _request_of_error(self, error: Error) -> RequestId | None:
        """Return the request that an error without an id answers; None if unknown."""
        if error.code == METHOD_NOT_FOUND and self._notified_peer:
            # Servers send this if they lack the notification, although nothing answers one.
            self._notified_peer = False
            return None
        return self._only_pending()

    def _only_pending(self) -> RequestId | None:
        ids = [id for id, asked in self._asked.items() if "long_lived" not in asked.spec.traits]
        ids = ids or list(self._asked)
        return ids[0] if len(ids) == 1 else None

    def _take_request(self, request: Request[Any]) -> Event:
        id, spec = request.id, request.spec
        if id in self._open:
            return Refusal(None, InvalidRequest(f"the id {id!r} is already in use", id=id))
        if not self._everything_passes and self.peer not in MAY_PASS[self.state, spec.phase]:
            return Refusal(id, _too_early(spec.method, id))
        requires = spec.requires
        if requires and self.needs is not None:
            requires = self.needs[spec]
        if requires:
            declared = self._capabilities_for(request)
            need = capabilities.unmet(requires, self.peer, request.params, declared)
            if need is not None:
                return Refusal(id, self._unmet(need, request))
        if not self.shared:
            self._open[id] = request
        return request

    def _unmet(self, need: Requirement, request: Request[Any]) -> RemoteError:
        id, method = request.id, request.spec.method
        reason = f"{method} needs {need.capability.name} here, which is not declared"
        role, path = need.capability.role, need.capability.path
        if (
            path[0] == EXTENSIONS
            and role == self.peer == "client"
            and self.table.era.names_missing_capabilities
        ):
            required = capabilities.declare([need.capability])
            return MissingClientCapability(reason, required, id=id)
        # A missing feature hides the whole method; a missing mode of it makes the params invalid
        # (client/elicitation, "Error Handling"; client/roots, "Error Handling").
        return InvalidParams(reason, id=id) if need.when else MethodNotFound(method, id=id)

    def _take_notification(self, notification: Notification[Any], now: float) -> Event:
        spec, params, _ = notification
        if spec.method == CANCELLED:
            return self._take_cancellation(notification)
        if spec.method == PROGRESS:
            token, carries = params.progress_token, self.table.carries
            pending = self._asked.get(token)
            if pending is not None and (carries or pending.progress):
                pending.renew(now)
            elif not carries and token not in self.reported:
                return Ignored(InvalidRequest("progress of a request that is not open"))
            return notification if carries else Progressed(token, notification)
        if not self._everything_passes and self.peer not in MAY_PASS[self.state, spec.phase]:
            return Ignored(_too_early(spec.method))
        return notification

    def _take_cancellation(self, notification: Notification[Any]) -> Event:
        id = notification.params.request_id
        request, pending = self._open.get(id), self._asked.get(id)
        if request is not None and request.spec.phase != "before_ready":
            del self._open[id]
            return Cancellation(id, notification)
        if pending is not None and "long_lived" in pending.spec.traits:
            return Ended(id, notification)
        # Late or unknown: "fire and forget" (basic/utilities/cancellation, "Error Handling").
        return Ignored(InvalidRequest("cancels a request that is not open"))


def _too_early(method: str, id: RequestId | None = None) -> InvalidRequest:
    return InvalidRequest(f"{method} is not allowed before the handshake is complete", id=id)


def _admit_params(method: str, needs: Iterable[Requirement], params: Any) -> Any:
    """Return `params` without a `task` that the receiver would ignore.

    `needs` are those not declared (2025-11-25, basic/utilities/tasks, "Capability Negotiation").
    Raise `MissingCapability`.
    """
    for need in needs:
        if need.level != "MUST":
            if declared_member(params, lifecycle.TASK) is not None:
                params = params.model_copy(update={lifecycle.TASK: None})
        elif not need.when or capabilities.applies(need.when, params):
            raise capabilities.unmet_error(method, need)
    return params
