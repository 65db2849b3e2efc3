"""Middleware: functions around each message that a server handles, or a client sends or handles.

A middleware gets a call and `next`. It can look at the params and the result, change them, answer
itself, or raise. The first one is outermost. An object may also be notified when sessions end.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from logging import getLogger
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from pydantic import ValidationError

from .connection_errors import CHOSEN
from .errors import RequestId
from .json import is_object
from .models.base import WireModel, declared_member, has_failed, validator_of
from .spec import AnyRequest, NotificationSpec, Role

if TYPE_CHECKING:
    from .http_request import Principal

_log: Final = getLogger(__name__)

_ids: Final[ContextVar[list[RequestId] | None]] = ContextVar("ids", default=None)


class Network(NamedTuple):
    """The network of a connection: `pipe`, `tcp` or `unix`, and the protocol above it.

    A client also knows the host and the port of the server.
    """

    transport: str
    protocol: str | None = None
    host: str | None = None
    port: int | None = None


OVER_HTTP: Final = Network("tcp", "http")


class MethodCall(NamedTuple):
    """A request or a notification, as its handler gets it."""

    method: str
    params: Any
    """The typed params, in the revision of the server's or client's class."""
    revision: str
    """The revision that the peer speaks."""
    session: Any
    """The `Session` of a handler; on a client, the client itself."""
    meta: Mapping[str, Any]
    """The `_meta` of the params as received, before translation."""
    principal: "Principal | None" = None
    """The sender, if the transport has authenticated it."""
    request_id: RequestId | None = None
    """The id of a request that is handled."""
    is_request: bool = True
    """Whether the message is a request; the result of a notification is None."""
    is_sent: bool = False
    """Whether this side sends the message rather than handling it."""
    sent_ids: Sequence[RequestId] = ()
    """The ids of the requests sent for it so far."""

    @property
    def principal_id(self) -> str | None:
        return None if self.principal is None else self.principal.id

    @property
    def network(self) -> Network | None:
        """The network of the connection, if its transport reports it."""
        runtime = getattr(self.session, "__mcp_runtime__", None)
        network: Network | None = getattr(runtime, "network", None)
        return network

    @property
    def target(self) -> str | None:
        """The name of the tool or prompt, or the URI of the resource, if the message has one."""
        name: str | None = declared_member(self.params, "name")
        uri: str | None = declared_member(self.params, "uri")
        return uri if name is None else name

    def replace(self, *, params: Any) -> "MethodCall":
        """Return the call with other params; raise `TypeError` if their class differs."""
        if not isinstance(params, type(self.params)):
            old, new = type(self.params).__name__, type(params).__name__
            raise TypeError(f"the params of {self.method} must be {old}, got {new}")
        return self._replace(params=params)

    def with_meta(self, members: Mapping[str, Any]) -> "MethodCall":
        """Return the call with `members` added to the `_meta` of its params."""
        model = cast(type[WireModel], type(self.params))
        field: Any = model.__pydantic_fields__.get("meta")
        meta = {**meta_of(self.params), **members}
        # Params without a `meta` field carry it as an undeclared member.
        added = {"_meta": meta} if field is None else {"meta": validator_of(field.annotation)(meta)}
        params = self.params.model_copy(update=added)
        return self._replace(params=params, meta={**self.meta, **members})


def meta_of(params: Any) -> Mapping[str, Any]:
    meta: Any = declared_member(params, "meta")
    if meta is None:
        meta = undeclared_meta(params)
    return meta.to_wire() if isinstance(meta, WireModel) else meta or {}


def undeclared_meta(params: Any) -> Mapping[str, Any] | None:
    """Return the `_meta` of params whose class declares none, such as questions of 2026-07-28."""
    extra = params.model_extra if isinstance(params, WireModel) else None
    meta = None if extra is None else extra.get("_meta")
    return meta if is_object(meta) else None


CallNext: TypeAlias = Callable[[MethodCall], Awaitable[Any]]
"""Returns the result of a call; None for a notification."""
Middleware: TypeAlias = Callable[[MethodCall, CallNext], Awaitable[Any]]


def check(owner: str, middleware: object) -> None:
    """Raise `TypeError` unless `middleware` is a sequence of callables."""
    if not isinstance(middleware, Sequence):
        raise TypeError(f"{owner}.middleware must be a tuple, got {middleware!r}: write (…,)")
    for function in cast(Sequence[object], middleware):
        if isinstance(function, type):
            raise TypeError(
                f"{owner}.middleware: {function.__name__} is a class: write {function.__name__}()"
            )
        if not callable(function):
            raise TypeError(
                f"{owner}.middleware: {function!r} must be a function: async def …(call, next)"
            )


async def through(middleware: Sequence[Middleware], last: CallNext, call: MethodCall) -> Any:
    next = last
    for function in reversed(middleware):
        next = partial(_step, function, next)
    return await next(call)


async def send_through(
    middleware: Sequence[Middleware],
    send: Callable[[Any], Awaitable[Any]],
    spec: AnyRequest | NotificationSpec[Any],
    params: Any,
    call: Callable[..., MethodCall],
) -> Any:
    """Send a message through middleware and return its result; `call` builds the `MethodCall`."""
    if not middleware:
        return await send(params)
    try:
        full = spec.params() if params is None else params
    except (TypeError, ValidationError):
        return await send(params)
    ids: list[RequestId] = []

    async def send_changed(changed: MethodCall) -> Any:
        token = _ids.set(ids)
        try:
            return await send(params if changed.params is full else changed.params)
        finally:
            _ids.reset(token)

    first = call(spec.method, params=full, meta=meta_of(full), is_sent=True, sent_ids=ids)
    return await through(middleware, send_changed, first)


def note_ids(ids: Iterator[RequestId]) -> Iterator[RequestId]:
    for id in ids:
        if (sent_ids := _ids.get()) is not None:
            sent_ids.append(id)
        yield id


def _step(one: Middleware, next: CallNext, call: MethodCall) -> Awaitable[Any]:
    return one(call, next)


def failure(outcome: object) -> str | None:
    """Return the error code, the exception's name or `tool_error`; None for a success."""
    if isinstance(outcome, CHOSEN):
        return str(outcome.code)
    if isinstance(outcome, BaseException):
        return type(outcome).__qualname__
    return "tool_error" if has_failed(outcome) else None


class SessionEnd(NamedTuple):
    """The end of a session that began with a handshake."""

    role: Role
    """The side that reports the end."""
    revision: str
    seconds: float
    """The duration of the session."""
    network: Network | None = None
    error: BaseException | None = None
    """The error that broke the connection, if any."""


SessionHooks: TypeAlias = tuple[Callable[[SessionEnd], object], ...]


def session_hooks(middleware: Sequence[Middleware]) -> SessionHooks:
    hooks = [getattr(function, "on_session_end", None) for function in middleware]
    return tuple(hook for hook in hooks if hook is not None)


def report_session_end(hooks: SessionHooks, **members: Any) -> None:
    end = SessionEnd(**members)
    for hook in hooks:
        try:
            hook(end)
        except Exception:
            _log.exception("on_session_end of a middleware failed")
