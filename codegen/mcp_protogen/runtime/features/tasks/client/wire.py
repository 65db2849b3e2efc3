"""The requests about tasks on one connection, in the words of the revision on the wire."""

from asyncio import timeout
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic, time
from typing import Any, Final
from weakref import WeakValueDictionary

from ....client.base import ClientBase, ClientConnection
from ....core.errors import InvalidAnswer, LocalError
from ....core.json import JSONObject
from ....core.options import CallOptions
from ....messages.method_table import MethodTable
from ....rules.task_forms import task_form
from ....rules.task_methods import CALL

_USUAL: Final = CallOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class PollTiming:
    """The clocks of who waits for a task; `wait` says whether something was heard in time."""

    now: Callable[[], float] = monotonic
    epoch: Callable[[], float] = time
    wait: Callable[[Awaitable[None], float], Awaitable[bool]]


async def heard_within(heard: Awaitable[None], seconds: float) -> bool:
    """Wait for something to be heard; return whether it was within `seconds`."""
    try:
        async with timeout(seconds):
            await heard
    except TimeoutError:
        return False
    return True


class TaskWire:
    def __init__(
        self, client: ClientBase, connection: ClientConnection, timing: PollTiming
    ) -> None:
        self.client: Final = client
        self.connection: Final = connection
        self.timing: Final = timing
        self.table: Final[MethodTable] = connection.view.table
        self.form: Final = task_form(self.table.wire)
        self.spec: Final = client.TABLE.requests[CALL]
        self.handles: Final = WeakValueDictionary[str, Any]()
        """Those in use, by id of the task."""

    async def ask(self, method: str, options: CallOptions = _USUAL, /, **members: Any) -> Any:
        spec = self.table.wire.requests.get(method)
        if spec is None:
            raise LocalError(f"{method} is not a request of {self.table.revision}")
        return await self.client.request_once(spec, spec.params(**members), **options)

    def read(self, result: Any) -> Any:
        """Return the result of a tool, checked as if it had come at once."""
        found = self.table.read_result(self.table.requests[CALL], result)
        if not isinstance(found, self.spec.results[0]):
            raise InvalidAnswer("the result of a task is none", [("/result/result", "no result")])
        return found

    def notified(self, task: JSONObject) -> None:
        handle = self.handles.get(task["taskId"])
        if handle is not None:
            handle.heard(task)
