"""A mounted server with the tasks that clients have there.

A task stays with the connection on which it began, also after its client has gone: another
session of the same principal may ask for it.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, cast

from mcp_protogen.runtime.core.errors import INVALID_PARAMS, McpError
from mcp_protogen.runtime.core.json import JSONObject
from mcp_protogen.runtime.core.models.base import WireModel, declared_member, member_at, shape_of
from mcp_protogen.runtime.core.spec import CALL_TOOL
from mcp_protogen.runtime.features.tasks.core_wire import with_related
from mcp_protogen.runtime.messages.envelope import client_capabilities
from mcp_protogen.runtime.rules.handlers import Handler
from mcp_protogen.runtime.rules.task_kinds import RELATED_TASK, has_tasks, task_kind
from mcp_protogen.runtime.rules.task_methods import GET, RESULT
from mcp_protogen.runtime.server.base import ServerBase, SessionBase
from mcp_protogen.runtime.server.context import OpenConnection, RequestContext
from mcp_protogen.runtime.toolkit.links import Link
from mcp_protogen.runtime.toolkit.remotes import Remote, RemoteKey
from mcp_protogen.runtime.transports.base import wait_within
from mcp_protogen.servers.gateway.tasks.contexts import AboutTask, ClientIdsConnection, client_id
from mcp_protogen.servers.gateway.tasks.owned import OwnedTask, OwnedTasks
from mcp_protogen.servers.gateway.upstreams.leaving import LeavingMount, ServerLeft


class TaskMount(LeavingMount):
    """A remote server whose calls may become tasks."""

    def __init__(self, above: ServerBase[Any], *given: Any) -> None:
        super().__init__(above, *given)
        self.tasks = OwnedTasks(self._release)
        self._id_member = above.TABLE.rules.task_id
        self._kind = task_kind(above.TABLE)

    def keeps(self, remote: Remote) -> bool:
        return super().keeps(remote) or self._has_task(remote)

    def _has_task(self, remote: Remote) -> bool:
        return any(task.remote is remote for task in self.tasks)

    def _end_unused(self, remote: Remote) -> None:
        # Clients come back for the results of tasks.
        if not self._has_task(remote):
            super()._end_unused(remote)

    def _end_all(self) -> None:
        for task in [*self.tasks]:
            self.tasks.forget(task)
        super()._end_all()

    def awaits(self, outer: RequestContext) -> bool:
        if not isinstance(outer, AboutTask):
            return super().awaits(outer)
        remote = self._remotes.get(outer.key)
        return remote is not None and not remote.is_over

    def _release(self, remote: Remote) -> None:
        if self._remotes.get(remote.key) is remote and not self.keeps(remote):
            del self._remotes[remote.key]
            remote.end()

    def _key(self, outer: RequestContext) -> RemoteKey:
        return outer.key if isinstance(outer, AboutTask) else super()._key(outer)

    def new_link(
        self, server: ServerBase[Any], outer: OpenConnection, handlers: Mapping[str, Handler]
    ) -> Link:
        connection = ClientIdsConnection(server, outer, self.publish)
        connection.server_name, connection.find_task = self.server_name, self.find_task
        return Link(connection, handlers)

    async def answer(self, method: str, session: SessionBase, params: Any) -> Any:
        outer = session.__mcp_runtime__
        if method != CALL_TOOL or not self._may_be_task(outer):
            return await super().answer(method, session, params)
        self.tasks.make_room(self.owner_of(outer))
        # The connection must not end between the answer and the task in it.
        remote = self._begin_use(outer)
        try:
            answer = await super().answer(method, session, params)
            return self._note_task(outer, params.name, answer)
        finally:
            self._end_use(remote, outer)

    def tasks_of(self, outer: RequestContext) -> Iterable[OwnedTask]:
        """Return the tasks of a client, of tools that it may still have."""
        owned = self.tasks.of(self.owner_of(outer))
        return [task for task in owned if self.permits("tools", task.tool, outer)]

    def find_task(self, outer: RequestContext, id: object) -> OwnedTask | None:
        """Return a task of a client by the id for clients."""
        return next((task for task in self.tasks_of(outer) if task.id == id), None)

    def _may_be_task(self, outer: RequestContext) -> bool:
        if self._kind == "core":
            return "task" in outer.raw
        return self._kind is not None and has_tasks(outer.spoken, client_capabilities(outer.meta))

    def _note_task(self, outer: RequestContext, tool: str, result: Any) -> Any:
        """Return the result of a call; if it is a task, with the id for clients."""
        is_task = declared_member(result, "result_type") == "task"
        created = result if is_task else declared_member(result, "task")
        remote = self._remotes.get(self._key(outer))
        if created is None or remote is None:
            return result
        own = member_at(created, (self._id_member,))
        id = client_id(self.server_name, own)
        kind = cast(type[WireModel], type(created))
        name = shape_of(kind).names.get(self._id_member, self._id_member)
        renamed = created.model_copy(update={name: id})
        state = renamed.to_wire()
        state.pop("resultType", None)
        owner = self.owner_of(outer)
        self.tasks.add(OwnedTask(id, own, owner, tool, remote, outer.connection, state))
        if is_task:
            return renamed
        meta: JSONObject = declared_member(result, "meta") or {}
        return result.model_copy(
            update={"task": renamed, "meta": {**meta, RELATED_TASK: {"taskId": id}}}
        )

    async def ask_about(self, method: str, task: OwnedTask, outer: RequestContext) -> JSONObject:
        """Return the answer of a task's server, with the id for clients."""
        inner = AboutTask(outer, task, self._id_member)
        work = partial(self._send, method, task, inner)
        try:
            answer: JSONObject = await self.repeat(True, partial(self.use, inner, work))
            task.move(self._remotes.get(inner.key, task.remote))
            return answer
        except McpError as error:
            is_gone = self._remotes.get(inner.key) is not task.remote
            is_unknown = error.code == INVALID_PARAMS and (is_gone or method == GET)
            if not is_unknown and not isinstance(error, ServerLeft):
                raise
            self.tasks.forget(task)
            if is_unknown and not is_gone:
                raise
            text = f"The server of {self.server_name} has gone, and with it the task"
            raise McpError(INVALID_PARAMS, text) from error

    async def _send(
        self, method: str, task: OwnedTask, inner: RequestContext, link: Link
    ) -> JSONObject:
        server: Any = link.connection.server
        runtime = server.__mcp_runtime__
        handler = None if runtime.adapter is None else runtime.adapter.handlers.get(method)
        if handler is None:
            raise McpError(INVALID_PARAMS, "Unknown task")
        context = link.connection.context(inner)
        params: Any = None if inner.call is None else inner.call.params
        try:
            wire: JSONObject = (await link.run(handler, method, context, params)).to_wire()
        finally:
            if method == RESULT:
                task.note_end()
        if method == RESULT:
            return with_related(self._with_client_uris(runtime.client, wire), task.id)
        if "result" in wire:
            wire["result"] = self._with_client_uris(runtime.client, wire["result"])
        if self._id_member in wire:
            wire[self._id_member] = task.id
            task.note(wire)
        return wire

    def _with_client_uris(self, client: Any, wire: JSONObject) -> JSONObject:
        """Return the result of a tool, with the URIs that clients use."""
        # Unknown values of a server of the same revision pass.
        table = client.connection.view.table if client.same_revision else self.above.TABLE
        result: WireModel = table.read_result(table.spec_of(CALL_TOOL), wire)
        full: WireModel = self._with_full_uris(result, type(result))
        return wire if full is result else full.to_wire()

    async def look(self, task: OwnedTask, outer: RequestContext) -> JSONObject | None:
        """Return the state of a task, or the last known one; None if its server forgot it."""
        if not task.has_ended:
            with suppress(McpError):
                await wait_within(self._settings.list_timeout, self.ask_about(GET, task, outer))
        return task.state if self.tasks.find(task.owner, task.id) is task else None
