"""Typed messages, and the entries of the methods that read them.

A message has one of two outcomes, both of them values: it is understood, or it comes to the error
that would answer it. This module answers nothing, remembers nothing and knows no capability.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar, final

from ..core.errors import InvalidRequest, RemoteError, RequestId
from ..core.models.base import Validate
from ..core.spec import CallSpec, NotificationSpec, RequestSpec, Role
from .jsonrpc import Answer, Batch, Call, Malformed, read

P = TypeVar("P")
R = TypeVar("R")

_NOTHING: Final[Mapping[str, Any]] = {}


@final
class Request(NamedTuple, Generic[P]):
    """An understood request; `raw` and `meta` are its params and their `_meta` on the wire."""

    id: RequestId
    spec: RequestSpec[P, Any]
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


Message: TypeAlias = Request[Any] | Notification[Any] | Result[Any] | Error
Outcome: TypeAlias = Message | RemoteError

SpecT = TypeVar("SpecT", bound=CallSpec[Any])

Known: TypeAlias = tuple[SpecT, Validate]
"""The entry of a method, and what reads its params."""


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
        spec = self._specs.get(method)
        if spec is None or self._sender not in spec.senders:
            return None
        found = self.known[method] = (spec, self._reader(spec))
        return found


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
    if isinstance(outcome, RemoteError):
        raise outcome
    return outcome
