"""The task options of a tool."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..core.models.base import declared_member
from .decorators import TaskChoice


class TaskMode(NamedTuple):
    """How a tool becomes a task; `again` allows it to run twice."""

    choice: TaskChoice
    again: bool = False
    immediate_response: str | None = None

    def support(self) -> str:
        return "required" if self.choice == "required" else "optional"


def task_mode(options: Mapping[str, Any], label: str) -> TaskMode | None:
    choice = options["task"]
    if not isinstance(choice, bool) and choice not in ("required", "deferred"):
        raise TypeError(f'{label}: task must be True, False, "required" or "deferred"')
    if not choice:
        return None
    again = options.get("idempotent")
    if again is None:
        annotations = options.get("annotations")
        again = annotations is not None and declared_member(annotations, "idempotent_hint") is True
    return TaskMode(choice, bool(again), options.get("immediate_response"))
