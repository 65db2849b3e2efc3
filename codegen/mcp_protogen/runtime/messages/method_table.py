"""The method table of one revision: its messages as bytes and as typed values, in and out.

Reading looks a message up by its method and the role that sent it, or, for an answer, by the
request it answers. It has one of two outcomes, both of them values: the message is understood, or
it comes to the error that would answer it.
"""

from collections.abc import Callable, Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    final,
)

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from ..core.errors import (
    InvalidAnswer,
    InvalidParams,
    InvalidRequest,
    LocalError,
    MethodNotFound,
    Problem,
    RemoteError,
    RequestId,
    Untranslatable,
)
from ..core.json import JSONObject
from ..core.models.base import Validate, validator_of
from ..core.sendable import Unsendable
from ..core.spec import (
    ERAS,
    AnyRequest,
    CallSpec,
    ErrorSpec,
    NotificationSpec,
    RequestSpec,
    Role,
    Rules,
)
from .jsonrpc import (
    Call,
    Malformed,
    Response,
    message_of,
    named,
    parse,
    write_call,
    write_error,
    write_result,
)
from .results import UnknownResultType, result_reader
from .writing import body_text, params_text

if TYPE_CHECKING:
    from ..core.extensions import Extension

P = TypeVar("P")
R = TypeVar("R")

_NOTHING: Final[Mapping[str, Any]] = {}


@final
class Request(NamedTuple, Generic[P]):
    """An understood request; `raw` and `meta` are its params and their `_meta` on the wire."""

    id: RequestId
    spec: AnyRequest
    params: P
    raw: Mapping[str, Any] = _NOTHING
    meta: Mapping[str, Any] = _NOTHING


@final
class Notification(NamedTuple, Generic[P]):
    """A notification that was understood; `meta` is the `_meta` of its params as received."""

    spec: NotificationSpec[P]
    params: P
    meta: Mapping[str, Any] = _NOTHING


@final
class Result(NamedTuple, Generic[R]):
    """The result of the request `id`."""

    id: RequestId
    value: R


@final
class Error(NamedTuple):
    """The error that answers the request `id`; without an id, what the peer could not read."""

    id: RequestId | None
    code: int
    message: str
    data: Any = None


Understood: TypeAlias = Request[Any] | Notification[Any]
Message: TypeAlias = Understood | Result[Any] | Error

SpecT = TypeVar("SpecT", bound=CallSpec[Any])

Known: TypeAlias = tuple[SpecT, Validate]
"""The entry of a method, and what reads its params."""

CallT = TypeVar("CallT", Request[Any], Notification[Any])

Part: TypeAlias = Literal["params", "result"]
Pending: TypeAlias = Callable[[RequestId], AnyRequest | None]
Mender: TypeAlias = Callable[[Response, AnyRequest], Result[Any] | Error]

_ROLES: Final[tuple[Role, ...]] = ("client", "server")
_ABSENT: Final = object()

_NO_PARAMS: Final = Problem("/params", "Field required")
_NO_RESULT_TYPE: Final = Problem("/result/resultType", "Input is no type of result of this method")


class MethodSpecs(Generic[SpecT]):
    """The requests, or the notifications, that one side may send.

    `known` holds those that came before, so that the models of other methods are never built.
    """

    __slots__ = ("_reader", "_sender", "_specs", "known")

    def __init__(
        self,
        specs: Mapping[str, SpecT],
        sender: Role,
        reader: Callable[[SpecT], Validate],
    ) -> None:
        self._specs = specs
        self._sender: Role = sender
        self._reader = reader
        self.known: dict[str, Known[SpecT]] = {}

    def find(self, method: str) -> Known[SpecT] | None:
        """Return the entry of a method; None if it is not this sender's to use."""
        spec = _allowed(self._specs.get(method), self._sender)
        if spec is None:
            return None
        found = self.known[method] = (spec, self._reader(spec))
        return found


class MethodTable:
    """The messages of one revision.

    `requests` and `notifications` are by wire name, `errors` by code. `input_requests` are those
    that are sent inside a result only. `rules` says what else differs between revisions.
    """

    carries: ClassVar[bool] = False
    """Whether params and results stay JSON values."""

    def __init__(
        self,
        revision: str,
        *,
        requests: Mapping[str, AnyRequest],
        notifications: Mapping[str, NotificationSpec[Any]],
        errors: Mapping[int, ErrorSpec],
        input_requests: Mapping[str, AnyRequest] | None = None,
        rules: Rules = Rules(),  # noqa: B008 (frozen)
    ) -> None:
        self.revision = revision
        self.requests = requests
        self.notifications = notifications
        self.errors = errors
        self.input_requests = input_requests or {}
        self.rules = rules
        self.era = ERAS[rules.era]
        self.core: MethodTable = self
        """The table without extensions."""
        self.extensions: tuple[Extension, ...] = ()
        self.mender: Mender | None = None
        """What reads an answer that breaks the schema, for a lenient client."""
        self._find_readers()

    def _find_readers(self) -> None:
        read = self._params_reader
        self._requests = {role: MethodSpecs(self.requests, role, read) for role in _ROLES}
        self._notifications = {role: MethodSpecs(self.notifications, role, read) for role in _ROLES}

    def _params_reader(self, spec: CallSpec[Any]) -> Validate:
        return validator_of(spec.params)

    @property
    def wire(self) -> "MethodTable":
        """The table of the revision on the wire: this one, unless it translates."""
        return self

    @property
    def names(self) -> Mapping[str, str]:
        """The members of params that `Mcp-Name` repeats, by the methods of extensions."""
        return {method: name for one in self.extensions for method, name in one.names.items()}

    def undeclared(self, result: Any, declared: Callable[[], Mapping[str, Any]]) -> str | None:
        """Return the extension of a result whose request has not `declared` it, if there is one.

        `declared` returns the capabilities of who sent the request, which most results do not need.
        """
        return None

    def claimed(self, method: str, result_type: str) -> type[Any] | None:
        """Return the class that an extension has for a `resultType` of a method; None without."""
        return None

    def claims(self, method: str) -> tuple[type[Any], ...]:
        """Return the classes that extensions have for results of a method."""
        return ()

    def request(self, method: str, sender: Role) -> AnyRequest | None:
        return _allowed(self.requests.get(method), sender)

    def notification(self, method: str, sender: Role) -> NotificationSpec[Any] | None:
        return _allowed(self.notifications.get(method), sender)

    def interpret(self, call: Call, sender: Role) -> Understood | RemoteError:
        """Return what a call of `sender` comes to. Never raises."""
        id, method, params, meta, whole = call
        calls: MethodSpecs[Any] = (self._notifications if id is None else self._requests)[sender]
        known = calls.known.get(method) or calls.find(method)
        if known is None:
            return MethodNotFound(method, id=id)
        spec, validate = known
        # There may be none, or something that is no object.
        given = params or whole.get("params", _ABSENT)
        if given is _ABSENT:
            if spec.params_required:
                return InvalidParams(f"Invalid params of {method}", [_NO_PARAMS], id=id)
            given = {}
        try:
            value = validate(given)
        except (ValidationError, Untranslatable) as error:
            found = _problems(error, given, "/params")
            return InvalidParams(f"Invalid params of {method}", found, id=id)
        if id is None:
            return Notification(spec, value, meta)
        request: Request[Any] = named(Request, (id, spec, value, params, meta))
        return request

    def read_answer(self, answer: Response, spec: AnyRequest | None) -> Result[Any] | Error:
        """Return what an answer to a request comes to; raise `InvalidAnswer`."""
        id, result, failure = answer
        if failure is not None:
            return Error(id, failure["code"], failure["message"], failure.get("data"))
        if spec is None:
            raise InvalidAnswer("a result for a request that is not pending", id=id)
        try:
            read: Result[Any] = named(Result, (id, self.result_reader(spec)(result)))
            return read
        except UnknownResultType:
            found = [_NO_RESULT_TYPE]
        except (ValidationError, Untranslatable) as error:
            if self.mender is not None:
                return self.mender(answer, spec)
            found = _problems(error, result, "/result")
        raise InvalidAnswer(f"Invalid result of {spec.method}", found, id=id)

    def parse(self, data: bytes | str, *, sender: Role, pending: Pending) -> Message:
        """Read one message; `pending` finds what is answered. Raise `RemoteError`."""
        message = single(data)
        if isinstance(message, Call):
            return understood(self.interpret(message, sender))
        return self.read_answer(message, None if message.id is None else pending(message.id))

    def parse_request(self, data: bytes | str, *, sender: Role) -> Request[Any]:
        """Read a request sent by `sender`; raise `RemoteError`."""
        return self._parse_call(data, sender, Request)

    def parse_notification(self, data: bytes | str, *, sender: Role) -> Notification[Any]:
        """Read a notification sent by `sender`; raise `RemoteError`."""
        return self._parse_call(data, sender, Notification)

    def _parse_call(self, data: bytes | str, sender: Role, kind: type[CallT]) -> CallT:
        message = single(data)
        if not isinstance(message, Call) or (message.id is None) is (kind is Request):
            raise InvalidRequest(f"not a {kind.__name__.lower()}")
        outcome = understood(self.interpret(message, sender))
        assert isinstance(outcome, kind)
        return outcome

    def parse_answer(
        self, data: bytes | str, *, spec: RequestSpec[Any, Any, R]
    ) -> Result[R] | Error:
        """Read what answers a request made with `spec`; raise `RemoteError`."""
        message = single(data)
        if not isinstance(message, Response):
            raise InvalidAnswer("not an answer")
        return self.read_answer(message, spec)

    def read_result(self, spec: RequestSpec[Any, Any, R], result: Any) -> R:
        """Read the decoded result of a request made with `spec`; raise `InvalidAnswer`."""
        answer = self.read_answer(Response(0, result), spec)
        assert isinstance(answer, Result)
        value: R = answer.value
        return value

    def result_reader(self, spec: AnyRequest) -> Validate:
        return result_reader(spec, self.rules)

    def serialise_request(
        self,
        spec: RequestSpec[P, Any, Any],
        id: RequestId,
        params: P | None,
        *,
        meta: bytes | None = None,
    ) -> bytes:
        """Return a request as JSON text; raise `LocalError`.

        `params` of None are left out where the method can do without. `meta` holds further members
        of their `_meta`, as JSON text.
        """
        text = self._params_text(self.requests, spec, params, meta)
        return write_call(id, to_json(spec.method), text)

    def serialise_notification(
        self, spec: NotificationSpec[P], params: P | None, *, meta: bytes | None = None
    ) -> bytes:
        """Return a notification as JSON text, `meta` as for a request; raise `LocalError`."""
        text = self._params_text(self.notifications, spec, params, meta)
        return write_call(None, to_json(spec.method), text)

    def _params_text(
        self, known: Mapping[str, SpecT], spec: SpecT, params: Any, meta: bytes | None
    ) -> bytes | None:
        if known.get(spec.method) is not spec:
            kind = "request" if known is self.requests else "notification"
            raise LocalError(f"{spec.method} is not a {kind} of {self.revision}")
        return params_text(spec, params, meta)

    def serialise_result(
        self, spec: RequestSpec[Any, Any, R], id: RequestId, result: R, *, meta: bytes | None = None
    ) -> bytes:
        """Return a result as JSON text, `meta` as for a request; raise `LocalError`."""
        if type(result) not in spec.results and not isinstance(result, spec.results):
            raise LocalError(f"{type(result).__name__} is not a result of {spec.method}")
        return write_result(id, body_text(spec.method, result, meta))

    def write_question(self, spec: AnyRequest, params: Any) -> JSONObject:
        """Return a request that is sent inside a result, as JSON; raise `LocalError`."""
        model: Any = params
        given = {} if model is None else {"params": model.to_wire()}
        return {"method": spec.method, **given}

    def read_response(self, spec: RequestSpec[Any, Any, R], value: Any) -> R:
        """Read what answers such a request, which was found to be valid on the wire."""
        response: R = validator_of(spec.results[0])(value)
        return response

    def carry_out(self, method: str, part: Part, value: JSONObject) -> JSONObject:
        """Return params or a result as on the wire; raise `Untranslatable`."""
        return value

    def outward(self, name: str, value: JSONObject) -> JSONObject:
        """Return a value of the type `name` as on the wire."""
        return value

    def inward(self, name: str, value: JSONObject) -> JSONObject:
        """Return a value of the type `name` from the wire, in this side's own revision."""
        return value

    def presuming(self, members: Callable[[], Mapping[str, Any]]) -> "MethodTable":
        """Return the table for a connection whose requests all have these members in `_meta`."""
        return self

    def admit(self, method: str, sender: Role) -> None:
        """Raise `LocalError` for a method that is not this side's to send on the wire."""

    def lost(self, method: str, error: LocalError) -> None:
        """Take note of a message that was not sent, because the wire cannot express it."""
        raise error

    def code_to_send(self, method: str, code: int) -> int:
        return code

    def code_that_came(self, method: str, code: int) -> int:
        return code

    def serialise_error(
        self, id: RequestId | None, code: int, message: str, data: Any = None
    ) -> bytes:
        """Return an error as JSON text; raise `LocalError`."""
        if id is None and not self.rules.error_id_optional:
            raise LocalError(f"{self.revision} has no errors without an id")
        try:
            return write_error(id, code, message, data)
        except (PydanticSerializationError, Unsendable) as error:
            raise LocalError(f"the data of an error cannot be written: {error}") from error


def _allowed(spec: SpecT | None, sender: Role) -> SpecT | None:
    return spec if spec is not None and sender in spec.senders else None


def _problems(error: ValidationError | Untranslatable, value: Any, at: str) -> list[Problem]:
    if isinstance(error, Untranslatable):
        return [Problem(error.pointer, error.why)]
    from ..core.models.validation_errors import problems

    return problems(error, value, at)


def single(data: bytes | str) -> Call | Response:
    """Read what has to be one message; raise `RemoteError`."""
    message = message_of(parse(data))
    if type(message) is Malformed:
        raise message.error
    return message


def understood(outcome: Message | RemoteError) -> Message:
    """Return a message that was understood; raise `RemoteError` for any other."""
    if isinstance(outcome, RemoteError):
        raise outcome
    return outcome
