"""What a bridge has of tasks, whether or not its package has any.

Between two of one revision, what says something of tasks passes as it came. All else is the work of
`bridge.tasks`, which a package without tasks does not have.
"""

from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol

from ...core.json import JSONObject, is_object
from ...core.options import CallOptions
from ...core.spec import AnyRequest
from ...messages.method_table import Request
from ...rpc.jobs import Job
from ...rules.task_forms import RELATED_TASK
from ...server.base import ServerBase, package_of
from ...server.context import RequestContext
from ...server.task_serving import FollowedTask

_related: Final[ContextVar[str | None]] = ContextVar("related task", default=None)


def related_task() -> str | None:
    """Return the task that what the server asks belongs to, if it says so."""
    return _related.get()


@contextmanager
def relating(id: str | None) -> Generator[None, None, None]:
    """Let what is asked meanwhile belong to a task."""
    token = _related.set(id)
    try:
        yield
    finally:
        _related.reset(token)


def task_of(meta: Mapping[str, Any]) -> str | None:
    """Return the task that the `_meta` of a message names."""
    related = meta.get(RELATED_TASK)
    id: object = related.get("taskId") if is_object(related) else None
    return id if isinstance(id, str) else None


class TaskCarrier(Protocol):
    """What carries tasks for one client."""

    @property
    def handlers(self) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        """Return what answers the methods of tasks, where they are not passed on, by wire name."""
        ...

    def declared(self, server: Mapping[str, Any], /) -> JSONObject:
        """Return what the client is told of tasks, in place of what its server declares."""
        ...

    async def call(
        self,
        context: RequestContext,
        spec: AnyRequest,
        params: Any,
        options: CallOptions,
        /,
    ) -> Any:
        """Return the result of a tool, or the task that a call becomes."""
        ...

    def listed(self, result: Any, /) -> Any:
        """Return a list of tools with what their entries say of tasks."""
        ...

    async def ask(self, id: str, spec: AnyRequest, params: Any, /) -> Any:
        """Return the client's answer to a question of a task."""
        ...

    def told(self) -> None:
        """Take note that the server has notified of a task."""
        ...

    async def followed(
        self, connection: Any, request: Request[Any], ids: Collection[str], /
    ) -> Sequence[FollowedTask]:
        """Return those of some tasks that a listen stream of the client hears of."""
        ...


class CarriedRequests:
    """The part of a bridge that serves a client and has to do with its tasks (`TaskRequests`)."""

    def __init__(self, carrier: TaskCarrier) -> None:
        self._carrier = carrier
        self.handlers = carrier.handlers

    async def serve(self, connection: Any, job: Job) -> Any:
        return await connection.answer_to(job)

    async def followed(
        self, connection: Any, request: Request[Any], ids: Collection[str]
    ) -> Sequence[FollowedTask]:
        return await self._carrier.followed(connection, request, ids)


def task_caller(server: type[ServerBase[Any]]) -> JSONObject:
    """Return the members of a class of clients that has tasks, if the package of `server` has."""
    calls = package_of(server).__mcp_part__("client.tasks.calls")
    return {} if calls is None else {"__mcp_caller__": calls.TaskCaller}


def task_carrier(client: Any, server: Any) -> TaskCarrier | None:
    """Return what carries tasks between the two halves of a bridge; None where nothing does."""
    served: ServerBase[Any] = server.owner
    carriers = package_of(type(served)).__mcp_part__("features.bridge.tasks.carriers")
    if carriers is None:
        return None
    carrier: TaskCarrier | None = carriers.carrier_between(client, server)
    return carrier
