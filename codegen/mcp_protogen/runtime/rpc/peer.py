"""The base of both ends of a connection: calls, notifications, and lists page by page.

How things end, here and in the rest of the runtime: `close()` is orderly and awaited,
`abort(reason)` is at once, and `cancel(id)` ends one request. A connection ends in this order:

| what | who calls it | what it does |
|---|---|---|
| `Endpoint.abort` | the tasks that read and write, or the owner | fails our own requests |
| `Endpoint.close` | the owner | gives handlers time; answers the rest with errors, and ends them |
| `Tasks.cancel` | the owner | cancels whatever still runs |
| `SendQueue.close` | the owner | lets the last answers be written |
| `Transport.close` | who opened it | frees what is left |

The owner is `serve`, `connect`, or the state of an HTTP server. Over HTTP, handlers run in tasks of
the application, which `Tasks.cancel` does not reach. `Jobs.cancel` ends one request of the peer,
which waits for no answer any more, and `Endpoint.cancel_all` all of them, as when a session is
deleted; `Endpoint.fail` ends one of our own, where a transport knows that no answer will come.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Final, NamedTuple, Protocol, TypeVar, Unpack, cast, get_args

from pydantic import ValidationError

from ..core.errors import InvalidAnswer, LocalError
from ..core.models.base import WireModel, declared
from ..core.models.validation_errors import message_of, pointer_to
from ..core.options import CallOptions
from ..core.pagination import items
from ..core.spec import AnyRequest, CallSpec, NotificationSpec, RequestSpec, Role
from ..messages.method_table import MethodTable
from .endpoint import Endpoint

P = TypeVar("P")
R = TypeVar("R")
A = TypeVar("A")
T = TypeVar("T")


class WrongCall(LocalError, TypeError):
    """The arguments of a call are neither the params of its method nor members of them."""


class PeerRuntime(Protocol):
    """The sender of messages that is behind the object of the user."""

    @property
    def endpoint(self) -> Endpoint: ...

    async def complete(self, spec: AnyRequest, params: Any, options: CallOptions, /) -> Any: ...

    async def request(
        self, spec: RequestSpec[P, Any, A], params: P | None, options: CallOptions, /
    ) -> A: ...

    async def notify(self, spec: NotificationSpec[P], params: P | None, /) -> None: ...


class Peer:
    """One end of a connection. Generated subclasses add one method per message it may send.

    Subclasses may use any name but `__mcp_runtime__`, behind which is all that the runtime needs.
    """

    ROLE: ClassVar[Role]
    TABLE: ClassVar[MethodTable]

    @property
    def __mcp_runtime__(self) -> PeerRuntime:
        raise NotImplementedError

    async def request(
        self, spec: RequestSpec[P, R, Any], params: P | None, **options: Unpack[CallOptions]
    ) -> R:
        """Return the result of a request; None leaves out params that may be left out.

        What the peer asks back before is answered by the handlers. Raise what `request_once`
        raises, and `RemoteError` for an answer that is no result.
        """
        if "task_augmentable" in spec.traits and declared(params, "task") is not None:
            raise LocalError(f"{spec.method} with `task` has a task as answer: use request_once")
        answer: Any = await self.__mcp_runtime__.complete(spec, params, options)
        if not isinstance(answer, spec.results[0]):
            what = type(answer).__name__
            raise InvalidAnswer(f"{spec.method} was answered with {what}; see request_once")
        return cast(R, answer)

    async def request_once(
        self, spec: RequestSpec[P, Any, A], params: P | None, **options: Unpack[CallOptions]
    ) -> A:
        """Send a request and return what comes: its result, a task, or a question.

        Raise `LocalError` if it may not be sent, `McpError` if the peer answers with an error,
        `RemoteError` if the answer does not fit, `RequestTimeout` and `Disconnected`. When the call
        is cancelled, the peer is notified.
        """
        return await self.__mcp_runtime__.request(spec, params, options)

    async def notify(self, spec: NotificationSpec[P], params: P | None) -> None:
        """Send a notification; None leaves out params that may be left out.

        Raise `LocalError` if it may not be sent, and `Disconnected`.
        """
        await self.__mcp_runtime__.notify(spec, params)


def all_items(
    peer: Peer,
    spec: RequestSpec[P, R, Any],
    of: Callable[[R], Sequence[T]],
    params: P | None,
    options: Any,
) -> AsyncIterator[T]:
    """Return what a paginated method lists, one by one, over all pages."""

    async def page(cursor: str | None) -> R:
        if cursor is None:
            return await peer.request(spec, params, **options)
        first: Any = spec.params() if params is None else params
        next_page: P = first.model_copy(update={"cursor": cursor})
        return await peer.request(spec, next_page, **options)

    return items(page, of, lambda: peer.__mcp_runtime__.endpoint.options.max_pages)


class _Params(NamedTuple):
    """A class of params, with the Python names of its members, and of those to give."""

    cls: type[WireModel]
    members: Sequence[str]
    required: frozenset[str]


class _Spellings(NamedTuple):
    """The classes that the params of a message may have, and how errors describe a call."""

    classes: tuple[type[WireModel], ...]
    arms: tuple[_Params, ...]
    hint: str


_OPTIONS: Final = CallOptions.__optional_keys__


def params_of(
    spec: CallSpec[Any], given: tuple[Any, ...], options: dict[str, Any], names: tuple[str, ...]
) -> Any:
    """Return the params of a call that gives them as a whole or member by member.

    `names` are the members that may be given by position. Members are taken out of `options`. Raise
    `WrongCall` for a call that is neither.
    """
    spellings = _spellings(spec)
    allowed = _OPTIONS if isinstance(spec, RequestSpec) else frozenset[str]()
    members = {name: options.pop(name) for name in options.keys() - allowed}
    whole = "params" in members
    if whole:
        given = (members.pop("params"), *given)
    elif given == (None,) and not members:
        given = ()
    if whole or (given and isinstance(given[0], spellings.classes)):
        if members or given[1:]:
            what = f"params as a whole, and besides {', '.join(members) or repr(given[1])[:80]}"
            raise WrongCall(f"{spec.method} got {what}; {spellings.hint}")
        return given[0]
    if len(given) > len(names):
        known = f"only {', '.join(names)}" if names else "nothing"
        raise WrongCall(f"{spec.method} takes {known} by position; {spellings.hint}")
    for name in members.keys() & set(names[: len(given)]):
        raise WrongCall(f"{spec.method} got {name} twice; {spellings.hint}")
    members = dict(zip(names, given, strict=False)) | members
    if not members and not any(arm.required for arm in spellings.arms):
        return None
    return _made(spec.method, members, spellings)


def _made(method: str, members: Mapping[str, Any], spellings: _Spellings) -> WireModel:
    """Return the params that have `members`: of the class that knows and needs just these."""

    def misfit(arm: _Params) -> tuple[int, int]:
        return len(members.keys() - arm.members), len(arm.required - members.keys())

    arm = min(spellings.arms, key=misfit)
    for what, names in (
        ("has no member", members.keys() - arm.members),
        ("needs the member", arm.required - members.keys()),
    ):
        if names:
            raise WrongCall(f"{method} {what} {', '.join(sorted(names))}; {spellings.hint}")
    try:
        return arm.cls(**members)
    except ValidationError as error:
        line = error.errors(include_url=False)[0]
        at = pointer_to(line["loc"])
        what = f"{method} got a wrong member {at}: {message_of(line)}"
        raise WrongCall(f"{what}; {spellings.hint}") from error


@cache
def _spellings(spec: CallSpec[Any]) -> _Spellings:
    classes = tuple(dict.fromkeys(_classes(spec.params)))
    arms: list[_Params] = []
    for cls in classes:
        fields = cls.__pydantic_fields__
        required = frozenset(name for name, field in fields.items() if field.is_required())
        arms.append(_Params(cls, tuple(fields), required))
    whole = " or ".join(cls.__name__ for cls in classes)
    each = "; or ".join(", ".join(arm.members) for arm in arms)
    return _Spellings(classes, tuple(arms), f"give {whole}, or its members: {each}")


def _classes(expression: Any) -> Iterator[type[WireModel]]:
    if isinstance(expression, type):
        if issubclass(expression, WireModel):
            yield expression
        return
    for arm in get_args(getattr(expression, "__value__", expression)):
        yield from _classes(arm)
