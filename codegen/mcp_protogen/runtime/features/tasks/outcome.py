"""What the work of a task came to.

In 2025-11-25 a failure is also the result of a tool that says so ("Task Execution Errors"), in the
extension only a JSON-RPC error.
"""

from typing import Any, Final, NamedTuple

from ...core.errors import INTERNAL_ERROR, McpError, ProtocolError
from ...core.json import JSONObject, is_array, is_object
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
        if self.error is not None:
            message = str(self.error.get("message", ""))[:_LONGEST]
            return lifecycle.failed(task, now, error=self.error, message=message)
        result: JSONObject = self.result or {}
        if task.form == "core" and result.get("isError") is True:
            return lifecycle.failed(task, now, result=result, message=text_of(result))
        return lifecycle.completed(task, result, now)


def text_of(result: JSONObject) -> str | None:
    """Return the beginning of what the result of a tool says in text."""
    content = result.get("content")
    blocks: list[Any] = content if is_array(content) else []
    texts = [one["text"] for one in blocks if is_object(one) and isinstance(one.get("text"), str)]
    return "\n".join(texts)[:_LONGEST] or None


def error_object(error: ProtocolError) -> JSONObject:
    said: JSONObject = {"code": error.code, "message": error.message}
    return said if error.data is None else {**said, "data": error.data}


def error_of(said: JSONObject) -> McpError:
    return McpError(said["code"], said["message"], said.get("data"))
