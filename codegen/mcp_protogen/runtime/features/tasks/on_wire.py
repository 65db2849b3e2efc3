"""Tasks on the wire: requests and results are translated, tasks are the runtime's at both ends."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from ...core.json import JSONObject
from ...core.spec import Role
from ...messages.method_table import MethodTable
from ...rules.task_forms import TASK_MEMBERS, task_form, tasks_declared, without_tasks
from ...rules.task_methods import CALL, TOOLS
from ...rules.wire_features import NOTHING, Untranslated

_TASK: Final = "task"

# Only the core form has these members: a request for a task, and what a tool says of tasks.
_OTHERWISE: Final = Untranslated(unlost=frozenset({(CALL, _TASK), (TOOLS, "execution")}))


class TasksOnWire:
    """`core` is what 2025-11-25 alone has."""

    extension = "tasks"
    members = TASK_MEMBERS

    def __init__(self, role: Role, core: Untranslated) -> None:
        self._role: Final[Role] = role
        self._core = core

    def without(self, declared: JSONObject, wire: MethodTable) -> JSONObject:
        return declared if task_form(wire) is None else without_tasks(declared, self._role)

    def declared(self, wire: MethodTable) -> JSONObject:
        form = task_form(wire)
        return {} if form is None else tasks_declared(form, self._role)

    def untranslated(self, wire: MethodTable) -> Untranslated:
        form = task_form(wire)
        if form is None:
            return NOTHING
        return self._core if form == "core" else _OTHERWISE


class ServersTasks(TasksOnWire):
    """`support` returns how a tool stands to tasks in 2025-11-25; None is for "forbidden"."""

    def __init__(self, support: Callable[[str], str | None]) -> None:
        def supporting(tool: JSONObject) -> JSONObject:
            said = support(tool["name"])
            if said is None:
                return tool
            return {**tool, "execution": {**tool.get("execution", {}), "taskSupport": said}}

        def listed(result: JSONObject) -> JSONObject:
            return {**result, "tools": [supporting(tool) for tool in result["tools"]]}

        super().__init__("server", _OTHERWISE._replace(written={TOOLS: listed}))


class ClientsTasks(TasksOnWire):
    """`note_tools` is shown the tools of servers as they came."""

    def __init__(self, note_tools: Callable[[Sequence[Any]], object]) -> None:
        def read(result: JSONObject) -> object:
            return note_tools(result["tools"])

        kept = {CALL: frozenset({_TASK}), "ServerCapabilities": frozenset({"tasks"})}
        super().__init__("client", _OTHERWISE._replace(kept=kept, read={TOOLS: read}))
