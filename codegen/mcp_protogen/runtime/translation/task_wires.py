"""Tasks of a server or client whose peers speak another revision than its own.

What is translated are requests and results. Tasks are the runtime's, at both ends in the words of
the wire: of its revision, or of the extension that the package has for that one.
"""

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from ..core.json import JSONObject
from ..core.revision import Revision
from ..messages.method_table import MethodTable
from ..rules.handlers import Handlers, extended_by
from ..rules.task_forms import task_form
from ..rules.task_methods import CALL, TOOLS
from .untranslated import NOTHING, Untranslated

if TYPE_CHECKING:
    from ..core.extensions import Extension

_TASKS: Final = "tasks"
_TASK: Final = "task"

# Whoever wants a task says so here; in the other form nobody does, and no tool says it either.
_SAID_OTHERWISE: Final = frozenset({(CALL, _TASK), (TOOLS, "execution")})


def optional_module(name: str) -> ModuleType | None:
    """Return a module of a generated package; None if the package does not have it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):
            raise
        return None


def wire_of(revision: Revision, handlers: Handlers) -> MethodTable:
    """Return the table of a revision, with those extensions of `handlers` that it has, too.

    If they have tasks, that for tasks is among them.
    """
    names = {one.__module__.rsplit(".", 2)[-2] for one in extended_by(type(handlers))}
    if handlers.__mcp_runtime__.has_tasks():
        names.add(_TASKS)
    return _table_with(revision, names)


def table_with_tasks(revision: Revision) -> MethodTable:
    """Return the table of a revision, with its extension for tasks if the package has that."""
    return _table_with(revision, {_TASKS})


def _table_with(revision: Revision, names: set[str]) -> MethodTable:
    core: MethodTable = revision.load().methods.TABLE
    found = (optional_module(f"{revision.module}.ext.{name}") for name in sorted(names))
    extensions: tuple[Extension, ...] = tuple(one.EXTENSION for one in found if one is not None)
    if not extensions:
        return core
    from ..messages.extended_table import ExtendedTable

    return ExtendedTable(core, extensions)


def untranslated_tasks(handlers: Handlers, wire: MethodTable) -> Untranslated:
    """Return what the runtime of `handlers` sees to, for tasks, on the wire."""
    runtime, form = handlers.__mcp_runtime__, task_form(wire)
    if form is None or not runtime.has_tasks():
        return NOTHING

    def with_support(result: JSONObject) -> JSONObject:
        return {**result, "tools": [_supporting(handlers, tool) for tool in result["tools"]]}

    def note(result: JSONObject) -> None:
        tools: Sequence[Any] = result["tools"]
        runtime.note_tools(tools)

    if form == "extension":
        return Untranslated(unlost=_SAID_OTHERWISE)
    if handlers.ROLE == "server":
        return Untranslated(unlost=_SAID_OTHERWISE, written={TOOLS: with_support})
    return Untranslated(
        unlost=_SAID_OTHERWISE,
        kept={CALL: frozenset({_TASK}), "ServerCapabilities": frozenset({"tasks"})},
        read={TOOLS: note},
    )


def _supporting(handlers: Handlers, tool: JSONObject) -> JSONObject:
    support = handlers.__mcp_runtime__.task_support(tool["name"])
    if support is None:
        return tool
    return {**tool, "execution": {**tool.get("execution", {}), "taskSupport": support}}
