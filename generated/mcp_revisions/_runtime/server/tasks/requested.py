"""A task of a client, for the server that asked for it (2025-11-25, basic/utilities/tasks)."""

from asyncio import sleep
from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, TypeVar, cast

from ...core.errors import InvalidAnswer
from ...core.models.base import WireModel, validator_of
from ...rpc.peer import Peer
from ...rpc.tasks import core_form
from ...rpc.tasks.task import Status

ResultT = TypeVar("ResultT", bound=WireModel)

# How long to wait for a task that does not say, in seconds.
_USUAL: Final = 1.0


class RequestedTask(Generic[ResultT]):
    """A request that the peer works on as a task, and the result of which is of type `result`.

    A server makes it of what it gets where it asks with `task=…`:
    `await RequestedTask(session, created, m.CreateMessageResult).result()`. `wait` is awaited with
    the seconds between two questions.
    """

    def __init__(
        self,
        peer: Peer,
        created: Any,
        result: type[ResultT],
        *,
        wait: Callable[[float], Awaitable[object]] = sleep,
    ) -> None:
        """Raise `TypeError` for a `created` that is no task: the peer may answer at once."""
        if not isinstance(created, WireModel) or "task" not in type(created).model_fields:
            raise TypeError(f"{type(created).__name__} is no task; it may be the result itself")
        self._peer = peer
        self._result = result
        self._wait = wait
        self._task: Any = cast(Any, created).task

    @property
    def id(self) -> str:
        return cast(str, self._task.task_id)

    async def status(self) -> Any:
        """Return how the task stands, as a `GetTaskResult`; raise what a request raises."""
        self._task = await self._ask(core_form.GET)
        return self._task

    async def result(self) -> ResultT:
        """Wait for the end, and return the result; raise `McpError` for one without.

        It asks as often as the peer says, and for the result at once when it needs something.
        """
        while self._task.status == Status.WORKING:
            interval = self._task.poll_interval
            await self._wait(_USUAL if interval is None else interval / 1000)
            await self.status()
        payload: WireModel = await self._ask(core_form.RESULT)
        wire = payload.to_wire()
        try:
            result: ResultT = validator_of(self._result)(wire)
        except ValueError as error:
            raise InvalidAnswer(f"the result of a task is no {self._result.__name__}") from error
        return result

    async def cancel(self) -> Any:
        """Cancel it, and return how it stands, as a `CancelTaskResult`.

        Raise `McpError` if it has ended, and what a request raises.
        """
        self._task = await self._ask(core_form.CANCEL)
        return self._task

    async def _ask(self, method: str) -> Any:
        spec = self._peer.TABLE.requests[method]
        return await self._peer.request(spec, spec.params(task_id=self.id))
