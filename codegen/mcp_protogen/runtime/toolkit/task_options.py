"""What tools say of tasks, and the way to what makes tasks of their calls.

That is a part of its own, which a package may be without: it is imported when a tool needs it.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

from ..core.json import JSONObject
from ..core.models.base import WireModel, declared
from ..server.base import package_of
from ..server.task_serving import NO_TASK, TaskMode

_FURTHER_CHOICES: Final = ("required", "deferred")


def task_mode(options: Mapping[str, Any], where: str) -> TaskMode:
    """Return how a tool becomes a task; raise `TypeError` for what is no choice."""
    choice = options.get("task", False)
    if not isinstance(choice, bool) and choice not in _FURTHER_CHOICES:
        raise TypeError(f'{where}: task is True, False, "required" or "deferred"')
    again = options.get("idempotent")
    if again is None:
        annotations: WireModel | None = options.get("annotations")
        again = annotations is not None and declared(annotations, "idempotent_hint") is True
    if not choice:
        return NO_TASK
    return TaskMode(choice, bool(again), options.get("immediate_response"))


def task_support(mode: TaskMode) -> JSONObject | None:
    """Return what the entry of a tool says of tasks (2025-11-25, "Tool-Level Negotiation")."""
    if not mode.choice:
        return None
    return {"taskSupport": "required" if mode.choice == "required" else "optional"}


def tasks_module(owner: object, name: str) -> ModuleType:
    """Return a module of what runs tasks; raise `ImportError` in a package without them."""
    package = package_of(type(owner))
    # Where the package was made without the part, this says so.
    _ = package.TaskOptions
    module: ModuleType = package.__mcp_part__(f"server.tasks.{name}")
    return module
