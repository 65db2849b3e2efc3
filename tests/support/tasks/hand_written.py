"""Servers whose tools may all be tasks, without the code that runs them."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from mcp_protogen.runtime.features.tasks.on_wire import ServersTasks
from mcp_protogen.runtime.rules.task_kinds import TASKS_EXTENSION
from mcp_protogen.runtime.server.base import ServerRuntime
from support.json_types import Json, JsonObject
from support.sessions.talking import models

ID: Final = TASKS_EXTENSION
TIMES: Final = {"createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"}
WORKING: Final[JsonObject] = {"taskId": "t1", "status": "working", **TIMES}


class TaskRuntime(ServerRuntime):
    """The runtime's part of a server whose tools may all be tasks."""

    def wire_feature(self) -> ServersTasks:
        return ServersTasks(lambda tool: {"plain": None}.get(tool, "optional"))

    def handlers_for(self, revision: str) -> Mapping[str, Any]:
        return {**super().handlers_for(revision), "tasks/get": _find_task}


async def _find_task(session: Any, params: Any) -> Any:
    spec = session.__mcp_runtime__.spoken.wire.requests["tasks/get"]
    by_name = {result.__name__: result for result in spec.results}
    task = {**WORKING, "taskId": params.task_id}
    if "GetTaskResult" in by_name:
        return by_name["GetTaskResult"].from_wire({**task, "ttl": None})
    working = {**task, "ttlMs": None, "resultType": "complete"}
    return by_name["GetTaskResultWorking"].from_wire(working)


async def create(session: Any, params: Any) -> Any:
    """Answer any call with a task, as it is on the wire."""
    wire = session.__mcp_runtime__.spoken.wire
    for cls in wire.claims("tools/call"):
        return cls.from_wire({"resultType": "task", **WORKING, "ttlMs": None})
    if "task" not in session.__mcp_runtime__.raw:
        return "plain"
    by_name = {result.__name__: result for result in wire.requests["tools/call"].results}
    return by_name["CreateTaskResult"].from_wire({"task": {**WORKING, "ttl": None}})


def with_tasks(revision: str) -> Json:
    m = models(revision)

    async def on_list_tools(self: object, session: Json, params: Json) -> Json:
        schema = {"type": "object"}
        listed = [
            m.Tool.from_wire({"name": name, "inputSchema": schema}) for name in ("slow", "plain")
        ]
        return m.ListToolsResult(tools=listed)

    return {
        "__mcp_runtime__": cached_property(TaskRuntime),
        "on_list_tools": on_list_tools,
    }
