"""Status transitions of tasks, and what each one writes.

Functions return the changed task, and raise `TaskEnded` for one that has ended, which is final
(2025-11-25, basic/utilities/tasks, "Task Status Lifecycle").
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ...core.errors import INTERNAL_ERROR, McpError, ProtocolError
from ...core.json import JSONObject
from ...core.models.base import has_failed, text_of
from .task import Status, Task

# The longest text in a status message, in characters.
_LONGEST: Final = 500

ENDS: Final = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED})
"""The last statuses; before them, a task may change to any status."""

LAPSED: Final = "The task was not done within its ttl"


class Outcome(NamedTuple):
    """The result of a request, as on the wire, or its error.

    In 2025-11-25 a tool result with `isError` is a failure, too ("Task Execution Errors").
    """

    result: JSONObject | None = None
    error: JSONObject | None = None

    @classmethod
    def failure(cls, message: str) -> "Outcome":
        return cls(error={"code": INTERNAL_ERROR, "message": message})

    def of(self, task: Task, now: float) -> Task:
        if self.error is not None:
            message = str(self.error.get("message", ""))[:_LONGEST]
            return fail(task, now, message, error=self.error)
        result: JSONObject = self.result or {}
        if task.form == "core" and has_failed(result):
            return fail(task, now, beginning_of(result), result=result)
        return complete(task, result, now)


def beginning_of(result: JSONObject) -> str | None:
    return text_of(result)[:_LONGEST] or None


def error_object(error: ProtocolError) -> JSONObject:
    said: JSONObject = {"code": error.code, "message": error.message}
    return said if error.data is None else {**said, "data": error.data}


def error_of(said: JSONObject) -> McpError:
    return McpError(said["code"], said["message"], said.get("data"))


class TaskEnded(Exception):
    """The task has ended, and cannot change."""


def has_ended(task: Task) -> bool:
    return task.status in ENDS


def add_questions(task: Task, questions: Mapping[str, JSONObject], now: float) -> Task:
    """Return a task that also waits for answers to `questions`; keys are never reused."""
    used = questions.keys() & (task.questions.keys() | task.answers.keys())
    if used:
        raise ValueError(f"the key {min(used)!r} was used before")
    both = {**task.questions, **questions}
    return _to(task, Status.INPUT_REQUIRED, now, questions=both)


def add_answers(task: Task, answers: Mapping[str, JSONObject], now: float) -> Task:
    """Return a task with answers; ignore answers to unknown or answered questions."""
    new = {key: answer for key, answer in answers.items() if key in task.questions}
    if not new:
        _check(task)
        return task
    left = {key: question for key, question in task.questions.items() if key not in new}
    status = Status.INPUT_REQUIRED if left else Status.WORKING
    return _to(task, status, now, questions=left, answers={**task.answers, **new})


def note_result(task: Task, key: str, result: Any) -> Task:
    """Return a task that records a result to be computed once; the first one stays."""
    _check(task)
    return task if key in task.done else replace(task, done={**task.done, key: result})


def complete(task: Task, result: JSONObject, now: float) -> Task:
    return _end(task, Status.COMPLETED, now, result=result)


def fail(
    task: Task,
    now: float,
    message: str | None = None,
    *,
    error: JSONObject | None = None,
    result: JSONObject | None = None,
) -> Task:
    """Return a task that failed, by a JSON-RPC error or, if it is a core task, by a result."""
    return _end(task, Status.FAILED, now, error=error, result=result, status_message=message)


def cancel(task: Task, now: float, message: str | None = None) -> Task:
    return _end(task, Status.CANCELLED, now, status_message=message)


def cancel_asked(task: Task, now: float) -> Task:
    if task.cancel_asked:
        _check(task)
        return task
    return _to(task, task.status, now, cancel_asked=True)


def fail_if_lapsed(task: Task, now: float) -> Task:
    """Return the task as failed if its time is over (tasks page, "Response", on `ttlMs`)."""
    if task.ends_at is None or now < task.ends_at or has_ended(task):
        return task
    return fail(task, now, LAPSED, error={"code": INTERNAL_ERROR, "message": LAPSED})


def assign(task: Task, worker: str | None, due: float | None) -> Task:
    _check(task)
    return replace(task, worker=worker, due=due)


def _end(task: Task, status: Status, now: float, **members: Any) -> Task:
    return _to(task, status, now, questions={}, worker=None, due=None, **members)


def _to(task: Task, status: Status, now: float, **members: Any) -> Task:
    _check(task)
    # Clocks may go back; clients must see time go forward.
    return replace(task, status=status, updated_at=max(now, task.updated_at), **members)


def _check(task: Task) -> None:
    if has_ended(task):
        raise TaskEnded(task.id)
