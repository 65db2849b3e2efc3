"""A task of a client, for the server that asked for it (2025-11-25, basic/utilities/tasks)."""

from math import inf
from typing import Any, Final, Generic, TypeVar, cast

from ....core.errors import InvalidAnswer
from ....core.json import JSONObject
from ....core.models.base import WireModel, validator_of
from ....core.options import CallOptions
from ....rpc.peer import Peer
from ....rules.task_methods import CANCEL, GET, RESULT
from ..at_peer import TaskState, confirm_cancel, payload, state_of

ResultT = TypeVar("ResultT", bound=WireModel)

_USUAL: Final = CallOptions()


class RequestedTask(Generic[ResultT]):
    """A request that the client works on as a task, and the result of which is of type `result`.

    A server makes it of what it gets where it asks with `task=…`:
    `await RequestedTask(session, created, m.CreateMessageResult).result()`. It has the methods of a
    `TaskHandle`, which is that of a client.
    """

    def __init__(self, peer: Peer, created: Any, result: type[ResultT]) -> None:
        """Raise `TypeError` for a `created` that is no task: the peer may answer at once."""
        if not isinstance(created, WireModel) or "task" not in type(created).__pydantic_fields__:
            raise TypeError(f"{type(created).__name__} is no task; it may be the result itself")
        self.id: Final = cast(str, cast(Any, created).task.task_id)
        self._peer = peer
        self._result = result

    async def status(self) -> TaskState:
        """Ask where the task stands; raise `McpError` if the client knows it no more."""
        return state_of(await self._look())

    async def result(self, *, max_timeout: float | None = None) -> ResultT:
        """Wait for the result of the request.

        Raise `McpError` if the request failed, `TaskCancelled`, and `RequestTimeout` if it takes
        longer than `max_timeout` seconds. To give up waiting cancels nothing.
        """
        seconds = inf if max_timeout is None else max_timeout
        asking = self._ask(RESULT, CallOptions(timeout=seconds, max_timeout=seconds))
        return await payload(asking, self._read, self.id, self._look)

    async def cancel(self) -> None:
        """Cancel the task; what has ended already stays as it is.

        Raise `McpError` for a task that is unknown.
        """
        await confirm_cancel(self._ask(CANCEL), self._look)

    def _read(self, result: JSONObject) -> ResultT:
        try:
            found: ResultT = validator_of(self._result)(result)
        except ValueError as error:
            raise InvalidAnswer(f"the result of a task is no {self._result.__name__}") from error
        return found

    async def _look(self) -> JSONObject:
        task: WireModel = await self._ask(GET)
        return task.to_wire()

    async def _ask(self, method: str, options: CallOptions = _USUAL) -> Any:
        spec = self._peer.TABLE.requests[method]
        return await self._peer.request(spec, spec.params(task_id=self.id), **options)
