"""The tasks of all servers, as the clients of one revision see them."""

from asyncio import gather, sleep
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from mcp_protogen.runtime.core.errors import INTERNAL_ERROR, InvalidParams, McpError
from mcp_protogen.runtime.core.json import JSONObject, without
from mcp_protogen.runtime.features.tasks.core_wire import PAGE_SIZE
from mcp_protogen.runtime.features.tasks.registry import UnknownTask
from mcp_protogen.runtime.features.tasks.remote_tasks import state_of
from mcp_protogen.runtime.features.tasks.server.extension_wire import follow
from mcp_protogen.runtime.features.tasks.server.hosting import result_of
from mcp_protogen.runtime.features.tasks.server.requests import TaskRequests
from mcp_protogen.runtime.messages.codec import Request
from mcp_protogen.runtime.messages.method_table import MethodTable
from mcp_protogen.runtime.rpc.jobs import Job
from mcp_protogen.runtime.rules.handlers import merge_objects
from mcp_protogen.runtime.rules.task_kinds import needs_extension, task_kind, tasks_declared
from mcp_protogen.runtime.rules.task_methods import GET, LIST
from mcp_protogen.runtime.server.base import SessionBase
from mcp_protogen.runtime.server.connection import ServerConnection
from mcp_protogen.runtime.server.context import RequestContext
from mcp_protogen.runtime.server.layers import Follow, Following
from mcp_protogen.runtime.toolkit.toolkit_runtime import ToolkitRuntime
from mcp_protogen.servers.gateway.tasks.owned import OwnedTask
from mcp_protogen.servers.gateway.tasks.task_mounts import TaskMount

# Seconds between looks, if the server gives no interval.
_INTERVAL = 1.0


def declare_tasks(table: MethodTable) -> JSONObject:
    """Return the capabilities for tasks in a revision, before any server is known."""
    lists: JSONObject = {"tasks": {"list": {}}} if task_kind(table) == "core" else {}
    return merge_objects(tasks_declared(table, "server"), lists)


class TasksOfServers(TaskRequests):
    """Sends requests about tasks to their servers; a task is known to its owner alone."""

    def __init__(
        self,
        runtime: ToolkitRuntime,
        table: MethodTable,
        tells_apart: bool,
        mounts: Callable[[], Iterable[TaskMount]],
    ) -> None:
        super().__init__(runtime, table, tells_apart)
        self._mounts: Final = mounts
        self._id_member = table.rules.task_id
        self.handlers = {
            method: self._list if method == LIST else partial(self._ask, method)
            for method in self.handlers
        }

    async def serve(self, connection: ServerConnection, job: Job) -> Any:
        return await connection.answer_to(job)

    async def _ask(self, method: str, session: SessionBase, params: Any) -> Any:
        context = session.__mcp_runtime__
        mount, task = self._find(context, context.raw[self._id_member])
        return result_of(session, method, await mount.ask_about(method, task, context))

    def _find(self, context: RequestContext, id: Any) -> tuple[TaskMount, OwnedTask]:
        for mount in self._mounts():
            if (task := mount.find_task(context, id)) is not None:
                return mount, task
        raise UnknownTask(f"/params/{self._id_member}")

    async def _list(self, session: SessionBase, params: Any) -> Any:
        context = session.__mcp_runtime__
        after = _number(context.raw.get("cursor"))
        owned = [
            (task.number, mount, task)
            for mount in self._mounts()
            for task in mount.tasks_of(context)
        ]
        left = sorted(entry for entry in owned if entry[0] > after)
        cut = left[:PAGE_SIZE]
        found = await gather(*(mount.look(task, context) for _, mount, task in cut))
        more = {"nextCursor": str(cut[-1][0])} if len(left) > len(cut) else {}
        return result_of(session, LIST, {"tasks": [*filter(None, found)], **more})

    async def find_following(
        self, connection: ServerConnection, request: Request[Any], ids: Collection[str]
    ) -> Following:
        found = dict[str, Follow]()
        if self._kind != "extension":
            return found
        if self._kind_of(request) is None:
            raise needs_extension("Tasks need the extension")
        context = RequestContext(connection, request)
        for id in sorted(ids):
            with suppress(McpError, UnknownTask):
                ask = partial(_look, *self._find(context, id), context)
                wait = partial(_wait_for_change, ask)
                found[id] = partial(follow, connection, request, await ask(), dict[str, Any], wait)
        return found


def _number(cursor: str | None) -> int:
    """Return the number of the last task on the page before."""
    if cursor is None:
        return 0
    if not cursor.isdecimal():
        raise InvalidParams("Invalid cursor", [("/params/cursor", "Not a cursor of this list")])
    return int(cursor)


async def _look(mount: TaskMount, task: OwnedTask, context: RequestContext) -> JSONObject:
    return without(await mount.ask_about(GET, task, context), "resultType", "_meta")


async def _wait_for_change(
    ask: Callable[[], Awaitable[JSONObject]], task: JSONObject
) -> JSONObject:
    while True:
        await sleep(state_of(task).poll_interval or _INTERVAL)
        try:
            if (found := await ask()) != task:
                return found
        except McpError as error:
            # The server may come back.
            if error.code != INTERNAL_ERROR:
                raise
