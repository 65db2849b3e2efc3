"""The two forms of tasks: which one a peer can have, and how each is declared.

2025-11-25 has its own, asked for by `params.task` (basic/utilities/tasks), 2026-07-28 that of an
extension. Which one counts follows from the revision on the wire alone: neither switches on the
other (SEP-2663, "Backward Compatibility").
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from ..core.connection_errors import MissingClientCapability
from ..core.json import JSONObject, is_object
from ..core.spec import Role
from ..messages.envelope import client_capabilities
from ..messages.method_table import EXTENSIONS, MethodTable

TaskForm: TypeAlias = Literal["core", "extension"]

TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"

RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
"""The member of `_meta` that names the task of a message (2025-11-25, basic/utilities/tasks)."""

TASK_IDS: Final = "taskIds"
"""The member of the filter of a listen stream (extension, "Task Status Notifications")."""

_CORE: Final = "tasks"

TASK_MEMBERS: Final = (_CORE, EXTENSIONS)
"""The members of capabilities that have either form."""

_DECLARED: Final[Mapping[tuple[TaskForm, Role], JSONObject]] = MappingProxyType(
    {
        # 2025-11-25, basic/utilities/tasks, "Capabilities"; `list` is the server's to decide.
        ("core", "server"): {_CORE: {"requests": {"tools": {"call": {}}}, "cancel": {}}},
        # To ask for a task, a client declares nothing (the same, "Client Capabilities").
        ("core", "client"): {},
        ("extension", "server"): {EXTENSIONS: {TASKS_EXTENSION: {}}},
        ("extension", "client"): {EXTENSIONS: {TASKS_EXTENSION: {}}},
    }
)


def task_form(wire: MethodTable) -> TaskForm | None:
    """Return the form of tasks that tool calls may have on the wire; None for none."""
    if "tasks/result" in wire.requests:
        return "core"
    has = any(extension.identifier == TASKS_EXTENSION for extension in wire.extensions)
    return "extension" if has else None


def tasks_declared(form: TaskForm, role: Role) -> JSONObject:
    """Return the capabilities by which a role says that tool calls may become tasks."""
    return _DECLARED[form, role]


def declares_tasks(meta: Mapping[str, Any]) -> bool:
    """Return whether the `_meta` of a request declares the extension."""
    declared = client_capabilities(meta).get(EXTENSIONS)
    return is_object(declared) and TASKS_EXTENSION in declared


def needs_extension(why: str) -> MissingClientCapability:
    """Return the error for a request that does not declare the extension, but has to."""
    return MissingClientCapability(why, {EXTENSIONS: {TASKS_EXTENSION: {}}})


def without_tasks(declared: Mapping[str, Any], role: Role) -> JSONObject:
    """Return capabilities without those that say, in either form, that tool calls may be tasks.

    Tasks of a client are something else: it works on them itself.
    """
    kept = {
        name: capability
        for name, capability in declared.items()
        if role == "client" or name != _CORE
    }
    extensions = kept.pop(EXTENSIONS, None)
    if is_object(extensions):
        others = {
            name: extension for name, extension in extensions.items() if name != TASKS_EXTENSION
        }
        kept |= {EXTENSIONS: others} if others else {}
    return kept
