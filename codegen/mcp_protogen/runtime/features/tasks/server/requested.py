"""Tasks that a server has requested of a client (2025-11-25, basic/utilities/tasks)."""

from math import inf
from typing import Any, Final, Generic, TypeVar

from ....core.errors import InvalidAnswer
from ....core.json import JSONObject
from ....core.models.base import WireModel, declared_member, member_at, validator_of
from ....core.options import CallOptions
from ....rpc.peer import Peer
from ....rules.task_methods import CANCEL, GET, RESULT
from ..remote_tasks import TaskState, confirm_cancel, payload, state_of

ResultT = TypeVar("ResultT", bound=WireModel)


class RequestedTask(Generic[ResultT]):
    """A request that the client runs as a task, with a result of type `result`.

    A server makes it from the answer to a request with `task=…`:
    `await RequestedTask(session, created, m.CreateMessageResult).result()`. It has the methods of a
    client's `TaskHandle`.
    """

    def __init__(self, peer: Peer, created: Any, result: type[ResultT]) -> None:
        """Raise `TypeError` if `created` is not a task: the peer may have answered at once."""
        if (task := declared_member(created, "task")) is None:
            raise TypeError(f"{type(created).__name__} is not a task; it may be the result itself")
        self.id: Final[str] = member_at(task, (peer.TABLE.rules.task_id,))
        self._peer = peer
        self._result = result

    async def status(self) -> TaskState:
        """Ask for the state of the task; raise `McpError` if the client does not know it."""
        return state_of(await self._look())

    async def result(self, *, max_timeout: float | None = None) -> ResultT:
        """Wait for the result of the request.

        Raise `McpError` if it failed, `TaskCancelled`, and `RequestTimeout` after `max_timeout`
        seconds. Giving up does not cancel the task.
        """
        seconds = inf if max_timeout is None else max_timeout
        asking = self._ask(RESULT, CallOptions(timeout=seconds, max_timeout=seconds))
        return await payload(asking, self._read, self.id, self._look)

    async def cancel(self) -> None:
        """Cancel the task; an ended one stays as it is. Raise `McpError` for an unknown one."""
        await confirm_cancel(self._ask(CANCEL), self._look)

    def _read(self, result: JSONObject) -> ResultT:
        try:
            found: ResultT = validator_of(self._result)(result)
        except ValueError as error:
            raise InvalidAnswer(f"the task's result is not a {self._result.__name__}") from error
        return found

    async def _look(self) -> JSONObject:
        task: WireModel = await self._ask(GET)
        return task.to_wire()

    async def _ask(self, method: str, options: CallOptions | None = None) -> Any:
        table = self._peer.TABLE
        spec, named = table.requests[method], {table.rules.task_id: self.id}
        return await self._peer.request(spec, spec.params(**named), **(options or {}))
