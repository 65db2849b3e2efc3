"""What the work of a task came to, and the step of its lifecycle that follows.

The two forms differ in what a failure is: in that of 2025-11-25 also the result of a tool that says
so ("Task Execution Errors"), in the extension only a JSON-RPC error.
"""

from typing import Any, Final, NamedTuple

from ...core.errors import INTERNAL_ERROR
from ...core.json import JSONObject, is_array, is_object
from ...rpc.tasks import lifecycle
from ...rpc.tasks.task import Task

_LONGEST: Final = 500


class Outcome(NamedTuple):
    """The result of a request, as on the wire, or else the error that answers it."""

    result: JSONObject | None = None
    error: JSONObject | None = None

    @classmethod
    def failure(cls, message: str) -> "Outcome":
        return cls(error={"code": INTERNAL_ERROR, "message": message})

    def of(self, task: Task, now: float) -> Task:
        """Return a task that has ended in this way; raise `TaskEnded`."""
        if self.error is not None:
            message = str(self.error.get("message", ""))[:_LONGEST]
            return lifecycle.failed(task, now, error=self.error, message=message)
        result: JSONObject = self.result or {}
        if task.form == "core" and result.get("isError") is True:
            return lifecycle.failed(task, now, result=result, message=_first_text(result))
        return lifecycle.completed(task, result, now)


def _first_text(result: JSONObject) -> str | None:
    content: Any = result.get("content")
    blocks: list[Any] = content if is_array(content) else []
    texts = (one.get("text") for one in blocks if is_object(one))
    return next((text[:_LONGEST] for text in texts if isinstance(text, str)), None)
