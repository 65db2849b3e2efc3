"""The extension for tasks, written by hand, and servers and clients that have tasks."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final, Literal

from mcp_revisions._runtime.core.extensions import ClaimedResult, Extension
from mcp_revisions._runtime.core.models.base import WireModel
from mcp_revisions._runtime.core.spec import RequestSpec, Requirement
from mcp_revisions._runtime.rules.handlers import runtime_of
from mcp_revisions._runtime.rules.task_forms import TASKS_EXTENSION
from mcp_revisions._runtime.server.base import ServerRuntime
from pydantic import Field

from support.json_types import Json, JsonObject
from support.revisions import STATELESS
from support.sessions.talking import models

ID: Final = TASKS_EXTENSION
MODULE: Final = "mcp_revisions.v2026_07_28.ext.tasks"
TIMES: Final = {"createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"}
WORKING: Final[JsonObject] = {"taskId": "t1", "status": "working", **TIMES}


class AskedTask(WireModel):
    """Which task is meant."""

    task_id: str = Field(alias="taskId")


class CreatedTask(WireModel):
    """A task in place of a result."""

    result_type: Literal["task"] = Field(alias="resultType")
    task_id: str = Field(alias="taskId")


class FoundTask(WireModel):
    """Where a task stands."""

    result_type: Literal["complete"] = Field(alias="resultType")
    task_id: str = Field(alias="taskId")


_CLIENT: Final = Extension(identifier=ID, revision=STATELESS).declared_by("client")


def _request(method: str) -> RequestSpec[Any, Any]:
    return RequestSpec(
        method,
        senders=frozenset({"client"}),
        types=lambda: (AskedTask, FoundTask),
        requires=(Requirement(_CLIENT, "MUST", "client"),),
    )


EXTENSION: Final = Extension(
    identifier=ID,
    revision=STATELESS,
    requests={"tasks/get": _request("tasks/get"), "tasks/cancel": _request("tasks/cancel")},
    claims=(ClaimedResult(method="tools/call", result_type="task", load=lambda: CreatedTask),),
)


def extension_module() -> ModuleType:
    """The module that a package with the extension has under the name `MODULE`."""
    made = ModuleType(MODULE)
    made.__dict__["EXTENSION"] = EXTENSION
    return made


class TaskRuntime(ServerRuntime):
    """The runtime's part of a server all of whose tools may be tasks."""

    def has_tasks(self) -> bool:
        return True

    def task_support(self, tool: str) -> str | None:
        return {"plain": None}.get(tool, "optional")

    def bound(self, revision: str) -> Mapping[str, Any]:
        return {**super().bound(revision), "tasks/get": _found}


async def _found(session: Any, params: Any) -> Any:
    spec = session.__mcp_runtime__.spoken.wire.requests["tasks/get"]
    task = {**WORKING, "taskId": params.task_id, "ttl": None, "resultType": "complete"}
    return spec.results[0].from_wire(task)


async def create(session: Any, params: Any) -> Any:
    """Answer any call with a task, in the form of the wire."""
    wire = session.__mcp_runtime__.spoken.wire
    cls = wire.claimed("tools/call", "task")
    if cls is not None:
        return cls.from_wire({"resultType": "task", **WORKING, "ttlMs": None})
    if "task" not in session.__mcp_runtime__.raw:
        return "plain"
    by_name = {one.__name__: one for one in wire.requests["tools/call"].results}
    return by_name["CreateTaskResult"].from_wire({"task": {**WORKING, "ttl": None}})


def with_tasks(revision: str) -> Json:
    """The members of a server class that has tasks."""
    m = models(revision)

    async def on_list_tools(self: object, session: Json, params: Json) -> Json:
        schema = {"type": "object"}
        listed = [
            m.Tool.from_wire({"name": name, "inputSchema": schema}) for name in ("slow", "plain")
        ]
        return m.ListToolsResult(tools=listed)

    return {
        "__mcp_runtime__": property(lambda self: runtime_of(self, TaskRuntime)),
        "on_list_tools": on_list_tools,
    }
