"""Clients that take the parts of a result before the result."""

from asyncio import Lock
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from inspect import isawaitable
from itertools import count
from typing import Any, ClassVar, Final, TypeAlias, Unpack, cast

from ..core.middleware import MethodCall
from ..core.models.base import member_at
from ..core.options import CallOptions
from ..core.spec import P, R, RequestSpec
from ..rules.capabilities import declare
from ..rules.handlers import merge_objects
from ..rules.partial_results import Parts
from .base import ClientBase

OnPart: TypeAlias = Callable[[Any], object]

_taking: Final[ContextVar[OnPart | None]] = ContextVar("taking", default=None)
_tokens: Final = count(1)


@dataclass(slots=True)
class _Taker:
    """The taker of the parts of one result, one after another."""

    on_part: OnPart
    last: int = -1
    turn: Lock = field(default_factory=Lock)


class PartialResults:
    """A mixin that takes the parts of results: `class Mine(mcp.client.PartialResults, mcp.Client)`.

    It declares the capability for them. Only calls inside `taking_parts` ask for parts.
    """

    __mcp_parts__: ClassVar[Parts]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not issubclass(cls, ClientBase):
            return
        client = cast(type[ClientBase], cls)
        if cls.__mro__.index(ClientBase) < cls.__mro__.index(PartialResults):
            raise TypeError(f"{cls.__name__}: PartialResults must come before Client in its bases")
        spec, name = client.NOTIFICATIONS[cls.__mcp_parts__.method]
        if name in vars(cls):
            raise TypeError(f"{cls.__name__}.{name}: PartialResults handles it; use taking_parts")
        setattr(cls, name, _take_part)
        needed = [need.capability for need in spec.requires if need.capability.role == "client"]
        client.DECLARES = merge_objects(declare(needed), client.DECLARES)

    @contextmanager
    def taking_parts(self, on_part: OnPart) -> Generator[None]:
        """Call `on_part` with each part of the results of calls made inside, in their order.

        If it is a coroutine function, each call is awaited before the next one, and before the
        result is returned. The result is still whole. A server may send no parts.
        """
        before = _taking.set(on_part)
        try:
            yield
        finally:
            _taking.reset(before)

    async def request(
        self, spec: RequestSpec[P, R, Any], params: P | None, **options: Unpack[CallOptions]
    ) -> R:
        client, on_part = cast(ClientBase, super()), _taking.get()
        asks = on_part is not None and spec.method in self.__mcp_parts__.requests
        if on_part is None or not asks or params is None:
            return await client.request(spec, params, **options)
        token = f"part-{next(_tokens)}"
        call = MethodCall(spec.method, params, "", None, {})
        asking: P = call.with_meta({self.__mcp_parts__.token: token}).params
        takers, taker = _takers_of(self), _Taker(on_part)
        takers[token] = taker
        try:
            result = await client.request(spec, asking, **options)
            async with taker.turn:
                return result
        finally:
            del takers[token]


def _takers_of(client: object) -> dict[Any, _Taker]:
    # A user's __init__ need not call ours.
    takers: dict[Any, _Taker] = client.__dict__.setdefault("_takers", {})
    return takers


async def _take_part(client: Any, part: Any) -> None:
    """Take a part of a request that is open, unless a later one has come before it."""
    places = client.__mcp_parts__
    token, number = (member_at(part, (name,)) for name in (places.token, places.number))
    taker = _takers_of(client).get(token)
    if taker is not None and number > taker.last:
        taker.last = number
        async with taker.turn:
            work = taker.on_part(part)
            if isawaitable(work):
                await work
