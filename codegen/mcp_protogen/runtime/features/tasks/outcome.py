"""What the work of a task came to, and the step of its lifecycle that follows.

The two forms differ in what a failure is: in that of 2025-11-25 also the result of a tool that says
so ("Task Execution Errors"), in the extension only a JSON-RPC error.
"""

from typing import Final, NamedTuple

from ...core.errors import INTERNAL_ERROR, McpError, ProtocolError
from ...core.json import JSONObject
from ...core.models.base import has_failed, text_of
from . import lifecycle
from .task import Task

# How much of a text goes into a status message, in characters.
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
        if task.form == "core" and has_failed(result):
            return lifecycle.failed(task, now, result=result, message=beginning_of(result))
        return lifecycle.completed(task, result, now)


def beginning_of(result: JSONObject) -> str | None:
    """Return the beginning of what the result of a tool says in text."""
    return text_of(result)[:_LONGEST] or None


def error_object(error: ProtocolError) -> JSONObject:
    """Return an error as it is in an answer."""
    said: JSONObject = {"code": error.code, "message": error.message}
    return said if error.data is None else {**said, "data": error.data}


def error_of(said: JSONObject) -> McpError:
    """Return the error that an answer has."""
    return McpError(said["code"], said["message"], said.get("data"))
