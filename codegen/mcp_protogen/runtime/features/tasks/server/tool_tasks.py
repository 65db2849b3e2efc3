"""Tools of a server whose calls may be tasks: all that its toolkit has to know of them."""

from ....core.json import JSONObject
from ....messages.method_table import MethodTable
from ....rules.task_methods import RESULT, TASK_METHODS
from ....server.connection import ServerState
from ....toolkit.offers import ToolkitRuntime
from ..on_wire import ServersTasks
from .hosting import begin, check_form
from .requests import Requests


class ToolTasks(ServersTasks):
    methods = TASK_METHODS

    def __init__(self, runtime: ToolkitRuntime) -> None:
        super().__init__(self._support)
        self._runtime = runtime

    def begin(self, state: ServerState) -> None:
        """Begin to run tasks; raise `TypeError` for a server or options that cannot have any."""
        if self._runtime.catalogue.makes_tasks():
            check_form(self._runtime.owner)
        begin(state)

    def declaration(self) -> JSONObject:
        # What the tools say counts only then (2025-11-25, basic/utilities/tasks).
        said: JSONObject = {"tasks": {"requests": {"tools": {"call": {}}}}}
        return said if RESULT in self._runtime.owner.TABLE.requests else {}

    def layer(self, table: MethodTable, tells_apart: bool) -> Requests:
        return Requests(self._runtime, table, tells_apart)

    def _support(self, name: str) -> str | None:
        tool = self._runtime.catalogue.lists["tools"].get(name)
        return None if tool is None or tool.task is None else tool.task.support()


__mcp_tool_tasks__ = ToolTasks
