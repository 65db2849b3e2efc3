"""The session of a request: what its handler knows of the client, and may say to it."""

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, TypeVar, Unpack

from ..core.errors import RequestId
from ..core.options import CallOptions
from ..core.spec import RequestSpec, Role
from ..core.subscriptions import Level
from ..rpc.peer import Peer
from .context import RequestContext
from .input_required.inputs import Inputs

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")


class SessionBase(Peer):
    """Base of the generated session, which shows a handler the context of its request."""

    ROLE: ClassVar[Role] = "server"

    def __init__(self, context: RequestContext) -> None:
        self._context = context

    @property
    def __mcp_runtime__(self) -> RequestContext:
        return self._context

    @property
    def revision(self) -> str:
        """The revision that the client speaks."""
        return self._context.revision

    @property
    def request_id(self) -> RequestId | None:
        """The id of the request that is handled, if it is one."""
        return self._context.request_id

    @property
    def principal(self) -> str | None:
        """The id of the client as the transport has authenticated it, if it does."""
        return self._context.principal

    @property
    def inputs(self) -> Inputs | None:
        """The client's answers to the questions of the round before; None in the first one."""
        return self._context.inputs

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the client how far its request has come, if it asked to be told.

        `done` has to grow: a report that says no more than the one before is not sent. One that
        comes too soon after it waits, unless it is the first to reach `total`: it gives way to the
        next one, and the last one goes out before the answer
        (basic/utilities/progress, "Behavior Requirements" and "Implementation Notes").
        """
        await self._context.progress(done, total, message)

    async def log(self, level: Level, data: Any, logger: str | None = None) -> None:
        """Send a log entry, if the client wants entries of that level.

        Wanted is, in the handshake revisions, what `logging/setLevel` asked for, and everything
        before it did; in 2026-07-28, what the request itself asked for, and nothing if it did not.
        Raises `LocalError` if the server does not declare `logging`, as one does that names
        `notifications/message` in `SENDS`.
        """
        await self._context.log(level, data, logger)

    async def close_stream(self) -> None:
        """Let go of the connection that carries this request, and work on.

        Over HTTP, from 2025-11-25 to before 2026-07-28, the client comes back for the answer, and
        for what is said until then; so a long request holds no connection. Elsewhere this does
        nothing (2025-11-25, basic/transports, "Sending Messages to the Server").
        """
        await self._context.close_stream()

    async def request(
        self, spec: RequestSpec[P, R], params: P | None, **options: Unpack[CallOptions]
    ) -> R:
        """Ask the client something and wait for its answer; see `Peer.request`.

        Where servers have no requests of their own, the handler is stopped here, and run again from
        its beginning when the client comes back with the answer. Raises `InvalidParams` for the
        answer to a form that does not fit it.
        """
        return await self._context.request(spec, params, options)

    async def once(self, key: str, work: Callable[[], Awaitable[T] | T]) -> T:
        """Return the result of `work`, done once for this request, however often its handler runs.

        A handler runs again from its beginning after each question to a client of the stateless
        era; what must not happen twice belongs in here, under a key of its own. The result is a
        JSON value. It travels with the client, which can read but not change it.
        """
        return await self._context.once(key, work)
