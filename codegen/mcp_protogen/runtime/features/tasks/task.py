"""A task as a value, and as stored bytes. Times are seconds since the epoch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter

from ...core.json import JSONObject, json_text
from ...rules.task_kinds import TaskKind

LAPSED_FOR: Final = 60.0
"""The seconds that an expired task of the extension is kept."""


class Status(StrEnum):
    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A request that is worked on, with its questions and its outcome.

    `params` and `declared`, the client's capabilities, are as received. Only `principal_id` may see
    it. `questions` wait, `answers` have come, both by keys that are never reused. `done` has
    results computed once, by key. `result` is of `revision`. `due` is when its worker counts as
    gone.
    """

    id: str
    form: TaskKind
    """Only requests of this kind find it."""
    revision: str
    method: str
    params: JSONObject
    declared: JSONObject = field(default_factory=dict[str, Any])
    principal_id: str | None = None
    scopes: Sequence[str] = ()
    status: Status = Status.WORKING
    status_message: str | None = None
    created_at: float
    updated_at: float
    ttl: float | None
    """The seconds after its creation that it is kept; None for ever."""
    poll_interval: float
    questions: Mapping[str, JSONObject] = field(default_factory=dict[str, Any])
    answers: Mapping[str, JSONObject] = field(default_factory=dict[str, Any])
    done: Mapping[str, Any] = field(default_factory=dict[str, Any])
    result: JSONObject | None = None
    error: JSONObject | None = None
    cancel_asked: bool = False
    """Whether the client has asked to cancel it; the work may still end otherwise."""
    again: bool = False
    """Whether the request may run again if its worker is gone."""
    worker: str | None = None
    due: float | None = None
    version: int = 0
    """How often it was written, counted by the store."""

    @property
    def ends_at(self) -> float | None:
        """Return when it expires; None for never."""
        return None if self.ttl is None else self.created_at + self.ttl

    @property
    def kept_until(self) -> float | None:
        """Return when it is deleted; None for never.

        An expired task of the extension becomes failed, which clients can see for a while (the
        extension's tasks page, "Response" of tasks/get, on `ttlMs`).
        """
        end = self.ends_at
        return end if end is None or self.form == "core" else end + LAPSED_FOR


_MEMBERS: Final = [member.name for member in fields(Task) if member.name != "version"]


def to_record(task: Task) -> bytes:
    return json_text({name: getattr(task, name) for name in _MEMBERS})


def from_record(record: bytes, version: int) -> Task:
    """Return a stored task; raise `ValueError`."""
    return replace(_reader().validate_json(record, strict=True), version=version)


@cache
def _reader() -> TypeAdapter[Task]:
    return TypeAdapter(Task)
