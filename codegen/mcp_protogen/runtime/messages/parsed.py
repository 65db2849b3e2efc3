"""Typed messages, and what there is in place of one that is not understood.

A call has one of three outcomes, all of them values: it is understood, its method is not one that
this sender may use in this revision (-32601), or its params do not fit the method (-32602). This
module reads; it answers nothing, remembers nothing and knows no capability.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar, final

from pydantic import ValidationError

from ..core.errors import (
    InvalidAnswer,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    RemoteError,
    RequestId,
)
from ..core.json import JSONObject
from ..core.losses import Untranslatable
from ..core.models.base import Validate, validator_of
from ..core.models.validation_errors import Problem, problems
from ..core.spec import NotificationSpec, RequestSpec, Role
from .jsonrpc import Answer, Batch, Call, Malformed, read
from .results import UnknownResultType

P = TypeVar("P")
R = TypeVar("R")

_NOTHING: Final[Mapping[str, Any]] = {}


@final
class Request(NamedTuple, Generic[P]):
    """A request that was understood.

    `raw` and `meta` are its params and their `_meta` as they came, in the words of the wire.
    """

    id: RequestId
    spec: RequestSpec[P, Any]
    params: P
    raw: Mapping[str, Any] = _NOTHING
    meta: Mapping[str, Any] = _NOTHING


@final
class Notification(NamedTuple, Generic[P]):
    """A notification that was understood; `meta` is the `_meta` of its params, as it came."""

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
    """The error that answers the request `id`; without an id, something the peer could not read."""

    id: RequestId | None
    code: int
    message: str
    data: Any = None


@final
class UnknownMethod(NamedTuple):
    """A call whose method this sender may not use; a notification if `id` is None."""

    id: RequestId | None
    method: str

    def error(self) -> RemoteError:
        """Return the exception that says the same."""
        return MethodNotFound(self.method, id=self.id)


@final
class InvalidMessage(NamedTuple):
    """A message whose params or result the schema refuses."""

    kind: Literal["request", "notification", "result"]
    id: RequestId | None
    method: str
    problems: list[Problem]

    def error(self) -> RemoteError:
        """Return the exception that says the same."""
        if self.kind == "result":
            return InvalidAnswer(f"Invalid result of {self.method}", self.problems, id=self.id)
        return InvalidParams(f"Invalid params of {self.method}", self.problems, id=self.id)


Message: TypeAlias = Request[Any] | Notification[Any] | Result[Any] | Error
Outcome: TypeAlias = Message | UnknownMethod | InvalidMessage

_NO_PARAMS: Final = Problem("/params", "Field required")
_NO_RESULT_TYPE: Final = Problem("/result/resultType", "Input is no type of result of this method")

SpecT = TypeVar("SpecT", bound=RequestSpec[Any, Any] | NotificationSpec[Any])

Known: TypeAlias = tuple[SpecT, Validate]
"""The entry of a method, and what reads its params."""


class MethodSpecs(Generic[SpecT]):
    """The requests, or the notifications, that one side may send.

    `known` holds those that came before, with what reads their params, which `reader` makes: a
    process that never sees a method never builds its models.
    """

    __slots__ = ("_reader", "_sender", "_specs", "known")

    def __init__(
        self,
        specs: Mapping[str, SpecT],
        sender: Role,
        reader: Callable[[SpecT], Validate] | None = None,
    ) -> None:
        self._specs = specs
        self._sender: Role = sender
        self._reader = reader
        self.known: dict[str, Known[SpecT]] = {}

    def find(self, method: str) -> Known[SpecT] | None:
        """Return what is to be known of a method; None if it is not this side's to use."""
        spec = self._specs.get(method)
        if spec is None or self._sender not in spec.senders:
            return None
        read = validator_of(spec.params) if self._reader is None else self._reader(spec)
        found = self.known[method] = (spec, read)
        return found


def unfit_call(call: Call, error: ValidationError | Untranslatable | None) -> InvalidMessage:
    """Return what a call comes to whose params are refused, or are missing if there is no error."""
    if error is None:
        found = [_NO_PARAMS]
    elif isinstance(error, Untranslatable):
        found = [Problem(error.pointer, error.why)]
    else:
        found = problems(error, call.message.get("params", {}), "/params")
    return InvalidMessage(
        "notification" if call.id is None else "request", call.id, call.method, found
    )


def read_result(
    spec: RequestSpec[Any, Any], id: RequestId, result: Any, read: Validate
) -> Result[Any] | InvalidMessage:
    """Return what the result of a request made with `spec` comes to; `read` reads its results."""
    try:
        return Result(id, read(result))
    except UnknownResultType:
        found = [_NO_RESULT_TYPE]
    except Untranslatable as error:
        found = [Problem(error.pointer, error.why)]
    except ValidationError as error:
        found = problems(error, result, "/result")
    return InvalidMessage("result", id, spec.method, found)


def read_error(id: RequestId | None, error: JSONObject) -> Error:
    """Return an error as it came; its data is what the peer chose."""
    return Error(id, error["code"], error["message"], error.get("data"))


def single(data: bytes | str) -> Call | Answer:
    """Read what has to be one message; raise `RemoteError`."""
    message = read(data)
    if isinstance(message, Malformed):
        raise message.error
    if isinstance(message, Batch):
        raise InvalidRequest("a message has to be an object")
    return message


def understood(outcome: Outcome) -> Message:
    """Return a message that was understood; raise `RemoteError` for any other."""
    if isinstance(outcome, (UnknownMethod, InvalidMessage)):
        raise outcome.error()
    return outcome


def nothing_pending(_: RequestId) -> None:
    """Return no request."""
