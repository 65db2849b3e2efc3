"""Middleware: functions around each message that a server or a client handles, or a client sends.

One gets a call and what comes `next`: it can look at both, change the params or the result, answer
by itself, or raise. The first one is outermost.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, cast

from .connection_errors import CHOSEN
from .errors import RequestId
from .models.base import WireModel, declared, validator_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodCall:
    """A request or a notification, as the handler gets it."""

    method: str
    params: Any
    """The typed params, of the revision of the server's or client's own class."""
    revision: str
    """The revision that the peer speaks."""
    session: Any
    """The `Session` of a handler; of a client, the client."""
    meta: Mapping[str, Any]
    """The `_meta` of the params as it came, before any translation."""
    principal: str | None = None
    """The id of the client as the transport has authenticated it, if it does."""
    request_id: RequestId | None = None
    """The id of a request to a server."""
    is_request: bool = True
    """Whether there is an answer; the result of a notification is None."""
    is_sent: bool = False
    """Whether this client sends the message, and does not handle it."""

    @property
    def target(self) -> str | None:
        """The name of the tool or prompt, or the URI of the resource, if it is about one."""
        name: str | None = declared(self.params, "name")
        uri: str | None = declared(self.params, "uri")
        return uri if name is None else name

    def replace(self, *, params: Any) -> "MethodCall":
        """Return the call with other params; raise `TypeError` if they are of another class."""
        if not isinstance(params, type(self.params)):
            wanted, given = type(self.params).__name__, type(params).__name__
            raise TypeError(f"the params of {self.method} are {wanted}, and no {given}")
        return replace(self, params=params)

    def with_meta(self, members: Mapping[str, Any]) -> "MethodCall":
        """Return the call with `members` beside the others in the `_meta` of its params."""
        model = cast(type[WireModel], type(self.params))
        annotation: Any = model.model_fields["meta"].annotation
        meta = validator_of(annotation)({**meta_of(self.params), **members})
        params = self.params.model_copy(update={"meta": meta})
        return replace(self, params=params, meta={**self.meta, **members})


def meta_of(params: Any) -> Mapping[str, Any]:
    """Return the `_meta` of typed params as a JSON object."""
    meta: Any = declared(params, "meta")
    return meta.to_wire() if isinstance(meta, WireModel) else meta or {}


CallNext: TypeAlias = Callable[[MethodCall], Awaitable[Any]]
"""Gives the result of a call; None for a notification."""
Middleware: TypeAlias = Callable[[MethodCall, CallNext], Awaitable[Any]]


def check(owner: str, middleware: object) -> None:
    """Raise `TypeError` for what is no tuple or list of middleware."""
    if not isinstance(middleware, Sequence):
        raise TypeError(f"{owner}.middleware is one {middleware!r}: write a tuple, (…,)")
    for one in cast(Sequence[object], middleware):
        if isinstance(one, type):
            raise TypeError(
                f"{owner}.middleware: {one.__name__} is a class: write {one.__name__}()"
            )
        if not callable(one):
            raise TypeError(f"{owner}.middleware: {one!r} is no async def …(call, next)")


async def through(middleware: Sequence[Middleware], last: CallNext, call: MethodCall) -> Any:
    """Return the result of a call that goes through middleware, outermost first, to `last`."""
    next = last
    for one in reversed(middleware):
        next = partial(_step, one, next)
    return await next(call)


def _step(one: Middleware, next: CallNext, call: MethodCall) -> Awaitable[Any]:
    return one(call, next)


def failure(outcome: object) -> str | None:
    """Return how a call failed that ended with a result or an exception; None if it did not.

    That is the code of the error that answers it, `tool_error`, or the name of the exception.
    """
    if isinstance(outcome, CHOSEN):
        return str(outcome.code)
    if isinstance(outcome, BaseException):
        return type(outcome).__qualname__
    return "tool_error" if declared(outcome, "is_error") is True else None
