"""The two kinds of tasks, and how each is declared.

2025-11-25 has its own, requested by `params.task` (basic/utilities/tasks), 2026-07-28 an extension.
The kind follows from the revision on the wire alone: neither switches on the other (SEP-2663,
"Backward Compatibility"). In a core with the extension, no message needs a declaration
(SEP-3392).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from ..core.connection_errors import MissingClientCapability
from ..core.json import JSONObject, is_object, without
from ..core.spec import Role
from ..messages.method_table import EXTENSIONS, MethodTable
from .capabilities import declare
from .task_methods import RESULT, UPDATE

TaskKind: TypeAlias = Literal["core", "extension"]

TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"

RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
"""The `_meta` member that names the task of a message (2025-11-25, basic/utilities/tasks)."""

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
    if wire.spec_of(RESULT):
        return "core"
    return "extension" if wire.spec_of(UPDATE) else None


def tasks_declared(wire: MethodTable, role: Role) -> JSONObject:
    kind = task_kind(wire)
    if kind is None:
        return {}
    if not is_in_core(wire):
        return _DECLARED[kind, role]
    needs = wire.spec_of(UPDATE).requires
    return declare(need.capability for need in needs if need.capability.role == role)


def is_in_core(wire: MethodTable) -> bool:
    """Return whether tasks of the extension are a part of the revision."""
    return wire.core.spec_of(UPDATE) is not None


def has_tasks(wire: MethodTable, capabilities: Mapping[str, Any]) -> bool:
    """Return whether a side with these capabilities has tasks of the extension."""
    return is_in_core(wire) or names_tasks(capabilities)


def names_tasks(capabilities: object) -> bool:
    extensions = capabilities.get(EXTENSIONS) if is_object(capabilities) else None
    return is_object(extensions) and TASKS_EXTENSION in extensions


def needs_extension(reason: str) -> MissingClientCapability:
    return MissingClientCapability(reason, {EXTENSIONS: {TASKS_EXTENSION: {}}})


def without_tasks(declared: Mapping[str, Any], role: Role) -> JSONObject:
    """Return capabilities without those for tasks of tool calls, of either kind.

    Tasks of a client stay: it works on them itself.
    """
    result = dict(declared)
    if role == "server":
        result.pop(_CORE, None)
    if is_object(extensions := result.pop(EXTENSIONS, None)):
        others = without(extensions, TASKS_EXTENSION)
        result |= {EXTENSIONS: others} if others else {}
    return result
