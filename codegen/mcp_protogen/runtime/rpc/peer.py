"""The base of both ends of a connection: calls, notifications, and paged lists."""

from collections.abc import AsyncIterator, Awaitable
from enum import Enum
from typing import Any, ClassVar, Final, Protocol, Unpack, cast

from ..core.errors import InvalidAnswer, LocalError
from ..core.models.base import member_at
from ..core.options import CallOptions
from ..core.spec import A, AnyRequest, NotificationSpec, P, R, RequestSpec, Role
from ..messages.method_table import MethodTable
from .endpoint import Endpoint

_ASKING: Final = frozenset({"may_require_input", "task_augmentable"})


class Omitted(Enum):
    """The type of `OMITTED`."""

    OMITTED = "omitted"

    def __repr__(self) -> str:
        return self.name


OMITTED: Final = Omitted.OMITTED
"""The value of an argument that is left out, if null means something else."""


def present(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not OMITTED}


class PeerRuntime(Protocol):
    """The sender of messages behind the object of the user."""

    @property
    def endpoint(self) -> Endpoint: ...
    async def complete(self, spec: AnyRequest, params: Any, options: CallOptions, /) -> Any: ...
    def request(
        self, spec: RequestSpec[P, Any, A], params: P | None, options: CallOptions, /
    ) -> Awaitable[A]: ...
    async def notify(self, spec: NotificationSpec[P], params: P | None, /) -> None: ...


class Peer:
    """One end of a connection. Generated subclasses have a method per message.

    Subclasses may use any name except `__mcp_runtime__`, which is the runtime's.
    """

    ROLE: ClassVar[Role]
    TABLE: ClassVar[MethodTable]

    @property
    def __mcp_runtime__(self) -> PeerRuntime:
        raise NotImplementedError

    async def request(
        self, spec: RequestSpec[P, R, Any], params: P | None, **options: Unpack[CallOptions]
    ) -> R:
        """Return the result of a request; None leaves out optional params.

        Questions that the peer asks first are answered by the handlers. Raise the errors of
        `request_once`, and `RemoteError` for an answer that is not a result.
        """
        if "task_augmentable" in spec.traits and getattr(params, "task", None) is not None:
            raise LocalError(f"{spec.method} with `task` returns a task: use request_once")
        answer: Any = await self.__mcp_runtime__.complete(spec, params, options)
        plain = 1 if "paginated" in spec.traits else len(spec.results) - bool(spec.traits & _ASKING)
        if not isinstance(answer, spec.results[: plain or 1]):
            raise InvalidAnswer(f"{spec.method} returned {type(answer).__name__}; use request_once")
        return cast(R, answer)

    async def request_once(
        self, spec: RequestSpec[P, Any, A], params: P | None, **options: Unpack[CallOptions]
    ) -> A:
        """Send a request and return its first answer: the result, a task, or a question.

        Raise `LocalError` if it may not be sent, `McpError` if the peer answers with an error,
        `RemoteError` if the answer is invalid, `RequestTimeout` and `Disconnected`. Cancelling the
        call notifies the peer.
        """
        return await self.__mcp_runtime__.request(spec, params, options)

    async def notify(self, spec: NotificationSpec[P], params: P | None) -> None:
        """Send a notification; None leaves out optional params.

        Raise `LocalError` if it may not be sent, and `Disconnected`.
        """
        await self.__mcp_runtime__.notify(spec, params)


def all_items(peer: Peer, spec: AnyRequest, params: Any, options: Any) -> AsyncIterator[Any]:
    """Return the items of a paginated method, over all pages."""
    from ..core.pagination import Page, items

    rules = peer.TABLE.rules

    async def page(cursor: str | None) -> Page[Any]:
        asked = params
        if cursor is not None:
            asked = (asked or spec.params()).model_copy(update={rules.cursor: cursor})
        result = await peer.request(spec, asked, **options)
        return Page(member_at(result, (spec.items,)), member_at(result, (rules.next_cursor,)))

    return items(page, lambda: peer.__mcp_runtime__.endpoint.options.max_pages)
