"""The two kinds of tasks, and how each is declared.

2025-11-25 has its own, requested by `params.task` (basic/utilities/tasks), 2026-07-28 an extension.
The kind follows from the revision on the wire alone: neither switches on the other (SEP-2663,
"Backward Compatibility").
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from ..core.connection_errors import MissingClientCapability
from ..core.json import JSONObject, is_object
from ..core.spec import Role
from ..messages.envelope import client_capabilities
from ..messages.method_table import EXTENSIONS, MethodTable

TaskKind: TypeAlias = Literal["core", "extension"]

TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"

RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
"""The `_meta` member that names the task of a message (2025-11-25, basic/utilities/tasks)."""

TASK_IDS: Final = "taskIds"
"""The filter member of a listen stream (extension, "Task Status Notifications")."""

_CORE: Final = "tasks"

TASK_MEMBERS: Final = (_CORE, EXTENSIONS)

_DECLARED: Final[Mapping[tuple[TaskKind, Role], JSONObject]] = MappingProxyType(
    {
        # 2025-11-25, basic/utilities/tasks, "Capabilities"; the server decides about `list`.
        ("core", "server"): {_CORE: {"requests": {"tools": {"call": {}}}, "cancel": {}}},
        # A client that asks for a task declares nothing (the same, "Client Capabilities").
        ("core", "client"): {},
        ("extension", "server"): {EXTENSIONS: {TASKS_EXTENSION: {}}},
        ("extension", "client"): {EXTENSIONS: {TASKS_EXTENSION: {}}},
    }
)


def task_kind(wire: MethodTable) -> TaskKind | None:
    if "tasks/result" in wire.requests:
        return "core"
    has = any(extension.identifier == TASKS_EXTENSION for extension in wire.extensions)
    return "extension" if has else None


def tasks_declared(kind: TaskKind, role: Role) -> JSONObject:
    return _DECLARED[kind, role]


def declares_tasks(meta: Mapping[str, Any]) -> bool:
    """Return whether the `_meta` of a request declares the extension."""
    declared = client_capabilities(meta).get(EXTENSIONS)
    return is_object(declared) and TASKS_EXTENSION in declared


def needs_extension(reason: str) -> MissingClientCapability:
    return MissingClientCapability(reason, {EXTENSIONS: {TASKS_EXTENSION: {}}})


def without_tasks(declared: Mapping[str, Any], role: Role) -> JSONObject:
    """Return capabilities without those for tasks of tool calls, of either kind.

    Tasks of a client stay: it works on them itself.
    """
    result = {
        name: capability
        for name, capability in declared.items()
        if role == "client" or name != _CORE
    }
    extensions = result.pop(EXTENSIONS, None)
    if is_object(extensions):
        others = {
            name: extension for name, extension in extensions.items() if name != TASKS_EXTENSION
        }
        result |= {EXTENSIONS: others} if others else {}
    return result
