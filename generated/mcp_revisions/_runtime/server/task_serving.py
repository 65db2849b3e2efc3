"""What a server has of tasks, whether or not it has any: which tools may become one, and who runs
them.

A package without tasks has this module, and none that runs them.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from ..messages.method_table import Request
from ..rpc.jobs import Job

TaskChoice: TypeAlias = bool | Literal["required", "deferred"]
"""Whether a call of a tool may be worked on as a task.

With true, it is one whenever the client can have one. `required` refuses all other calls, and
`deferred` begins without one, until the handler awaits `session.become_task()`.
"""


class TaskMode(NamedTuple):
    """How a known tool becomes a task; `again` says that it may run again if its worker is gone.

    `immediate_response` is what a model may be told while it works.
    """

    choice: TaskChoice = False
    again: bool = False
    immediate_response: str | None = None


NO_TASK: Final = TaskMode()


class FollowedTask(Protocol):
    """A task that a listen stream hears of."""

    @property
    def id(self) -> str: ...

    async def follow(self) -> None:
        """Send where the task stands, and again whenever that changes, to its end."""
        ...


class TaskRequests(Protocol):
    """The part of a server in one revision that has to do with tasks."""

    @property
    def handlers(self) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        """Return what answers the methods of tasks, by wire name."""
        ...

    async def serve(self, connection: Any, job: Job, /) -> Any:
        """Return the result of any request, which may be a task in its place."""
        ...

    async def followed(
        self, connection: Any, request: Request[Any], ids: Collection[str], /
    ) -> Sequence[FollowedTask]:
        """Return those of some tasks that a listen stream may hear of.

        Raise `MissingClientCapability`.
        """
        ...


class Runner(Protocol):
    """What runs the tasks of one application."""

    def sweep(self) -> None:
        """Look from time to time for tasks whose workers are gone."""
        ...

    async def close(self, within: float, /) -> None: ...


class TaskHost:
    """The place for what runs the tasks of one application, once there is need of it."""

    def __init__(self) -> None:
        self.runner: Runner | None = None
        self.shared_store: Callable[[], object] | None = None
        """Returns what workers share to keep tasks, if they share anything."""

    async def close(self, within: float) -> None:
        """End all tasks that run: by themselves for `within` seconds, then at once."""
        if self.runner is not None:
            await self.runner.close(within)
