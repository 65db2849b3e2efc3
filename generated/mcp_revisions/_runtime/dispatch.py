"""From a well-formed envelope to a typed message, or to the reason why there is none.

A call has one of three outcomes, all of them values: it is understood, its method is not one that
this sender may use in this revision (-32601), or its params do not fit the method (-32602). This
module reads; it answers nothing, remembers nothing and knows no capability.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar, final

from pydantic import ValidationError

from .answers import UnknownResultType
from .errors import InvalidAnswer, InvalidParams, MethodNotFound, RemoteError, RequestId
from .jsonvalue import JSONObject
from .model import Validate, validator_of
from .pointers import Problem, problems
from .spec import NotificationSpec, RequestSpec, Role

P = TypeVar("P")
R = TypeVar("R")


@final
class Request(NamedTuple, Generic[P]):
    """A request that was understood."""

    id: RequestId
    spec: RequestSpec[P, Any]
    params: P


@final
class Notification(NamedTuple, Generic[P]):
    """A notification that was understood."""

    spec: NotificationSpec[P]
    params: P


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
class NotInRevision(NamedTuple):
    """A call whose method this sender may not use; a notification if `id` is None."""

    id: RequestId | None
    method: str

    def error(self) -> RemoteError:
        """The same as an exception."""
        return MethodNotFound(self.method, id=self.id)


@final
class Unfit(NamedTuple):
    """A message whose params or result the schema refuses."""

    kind: Literal["request", "notification", "result"]
    id: RequestId | None
    method: str
    problems: list[Problem]

    def error(self) -> RemoteError:
        """The same as an exception."""
        if self.kind == "result":
            return InvalidAnswer(f"Invalid result of {self.method}", self.problems, id=self.id)
        return InvalidParams(f"Invalid params of {self.method}", self.problems, id=self.id)


_NO_PARAMS: Final = Problem("/params", "Field required")
_NO_RESULT_TYPE: Final = Problem("/result/resultType", "Input is no type of result of this method")

SpecT = TypeVar("SpecT", bound=RequestSpec[Any, Any] | NotificationSpec[Any])


class Calls(Generic[SpecT]):
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
        self.known: dict[str, tuple[SpecT, Validate]] = {}

    def find(self, method: str) -> tuple[SpecT, Validate] | None:
        """The entry of a wire name and what reads its params; None if it is not this side's."""
        spec = self._specs.get(method)
        if spec is None or self._sender not in spec.senders:
            return None
        read = validator_of(spec.params) if self._reader is None else self._reader(spec)
        found = self.known[method] = (spec, read)
        return found


def read_request(
    calls: Calls[RequestSpec[Any, Any]], message: JSONObject
) -> Request[Any] | NotInRevision | Unfit:
    """What a message comes to that is a request to JSON-RPC."""
    id: RequestId = message["id"]
    method: str = message["method"]
    found = calls.known.get(method) or calls.find(method)
    if found is None:
        return NotInRevision(id, method)
    spec, validate = found
    if "params" in message:
        params = message["params"]
    elif spec.params_required:
        return Unfit("request", id, method, [_NO_PARAMS])
    else:
        params = {}
    try:
        return Request(id, spec, validate(params))
    except ValidationError as error:
        return Unfit("request", id, method, problems(error, params, "/params"))


def read_notification(
    calls: Calls[NotificationSpec[Any]], message: JSONObject
) -> Notification[Any] | NotInRevision | Unfit:
    """What a message comes to that is a notification to JSON-RPC."""
    method: str = message["method"]
    found = calls.known.get(method) or calls.find(method)
    if found is None:
        return NotInRevision(None, method)
    spec, validate = found
    if "params" in message:
        params = message["params"]
    elif spec.params_required:
        return Unfit("notification", None, method, [_NO_PARAMS])
    else:
        params = {}
    try:
        return Notification(spec, validate(params))
    except ValidationError as error:
        return Unfit("notification", None, method, problems(error, params, "/params"))


def read_result(
    spec: RequestSpec[Any, Any], message: JSONObject, read: Validate
) -> Result[Any] | Unfit:
    """What the result of a request made with `spec` comes to, if `read` reads its results."""
    id: RequestId = message["id"]
    result = message["result"]
    try:
        return Result(id, read(result))
    except UnknownResultType:
        return Unfit("result", id, spec.method, [_NO_RESULT_TYPE])
    except ValidationError as error:
        return Unfit("result", id, spec.method, problems(error, result, "/result"))


def read_error(message: JSONObject) -> Error:
    """An error as it came; its data is what the peer chose."""
    error: JSONObject = message["error"]
    return Error(message.get("id"), error["code"], error["message"], error.get("data"))
