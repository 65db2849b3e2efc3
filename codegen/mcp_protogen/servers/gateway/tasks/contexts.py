"""Requests about tasks: with the ids of servers towards servers, and those for clients back."""

from collections.abc import Callable
from typing import Any, TypeVar

from mcp_protogen.runtime.core.json import JSONObject
from mcp_protogen.runtime.core.json_pointers import value_at
from mcp_protogen.runtime.core.models.base import validator_of
from mcp_protogen.runtime.core.options import CallOptions
from mcp_protogen.runtime.core.spec import NotificationSpec, RequestSpec
from mcp_protogen.runtime.features.tasks.core_wire import with_related
from mcp_protogen.runtime.messages.envelope import meta_in
from mcp_protogen.runtime.rules.task_kinds import RELATED_TASK
from mcp_protogen.runtime.rules.task_methods import CORE_CHANGED
from mcp_protogen.runtime.server.context import Reports, RequestContext
from mcp_protogen.runtime.toolkit.links import MountedConnection, MountedContext
from mcp_protogen.runtime.toolkit.remotes import RemoteKey
from mcp_protogen.servers.gateway.tasks.owned import OwnedTask

P = TypeVar("P")
R = TypeVar("R")


def client_id(server: str, own: str) -> str:
    """Return the id of a server's task for clients."""
    return f"{server}:{own}"


class AboutTask(RequestContext):
    """A request about a task, for the connection that knows it."""

    __slots__ = ("key",)

    def __init__(self, outer: RequestContext, task: OwnedTask, id_member: str) -> None:
        assert outer.call is not None
        request = outer.call._replace(raw={**outer.call.raw, id_member: task.own})
        super().__init__(outer.connection, request, outer._reply)
        self.key: RemoteKey = task.remote.key


class ClientIdsConnection(MountedConnection):
    """A connection of a client to a server whose messages name tasks."""

    server_name: str
    find_task: Callable[[RequestContext, object], OwnedTask | None]

    def context(self, outer: RequestContext) -> MountedContext:
        return ClientIdsContext(self, outer)


class ClientIdsContext(MountedContext):
    """A request whose messages to the client have the client's ids of tasks."""

    __slots__ = ("_find_task", "_server_name")

    def __init__(self, connection: ClientIdsConnection, outer: RequestContext) -> None:
        super().__init__(connection, outer)
        self._find_task, self._server_name = connection.find_task, connection.server_name

    @property
    def reports(self) -> Reports:
        # Log entries name tasks, too.
        return Reports(self)

    def _with_client_ids(self, kind: Any, params: Any) -> Any:
        """Return params that name the task to which their message belongs, if any."""
        if params is None:
            return None
        wire: JSONObject = params.to_wire()
        own: object = value_at(meta_in(wire), (RELATED_TASK, "taskId"))
        if not isinstance(own, str):
            return params
        return validator_of(kind)(with_related(wire, client_id(self._server_name, own)))

    async def notify(self, spec: NotificationSpec[P], params: P | None) -> None:
        given: Any = params
        if spec.known_as == CORE_CHANGED:
            member = self.table.rules.task_id
            wire: JSONObject = given.to_wire()
            id = client_id(self._server_name, wire[member])
            if (task := self._find_task(self, id)) is None:
                return
            wire[member] = id
            task.note(wire)
            given = validator_of(spec.params)(wire)
        await super().notify(spec, self._with_client_ids(spec.params, given))

    async def _request_outer(
        self, spec: RequestSpec[P, Any, R], params: P | None, options: CallOptions
    ) -> R:
        changed = self._with_client_ids(spec.params, params)
        return await super()._request_outer(spec, changed, options)
