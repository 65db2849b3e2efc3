"""Clients without tasks: the bridge waits for the tasks of the server."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

from ....client.base import Caller
from ....core.errors import INTERNAL_ERROR, McpError
from ....core.json import JSONObject, is_object
from ....core.options import NO_END, CallOptions, TaskLimits
from ....core.spec import AnyRequest
from ....messages.method_table import MethodTable
from ....rpc.endpoint import Endpoint
from ....rules.handlers import Handlers
from ....rules.task_kinds import is_in_core, names_tasks
from ....server.base import SessionBase
from ....server.context import RequestContext
from ....server.layers import Layer
from ..client.calls import TaskCaller
from ..remote_tasks import TaskCancelled


class ClientWithTasks(Protocol):
    awaited: Callable[[Awaitable[Any]], Awaitable[Any]]
    call: Callable[..., Awaitable[Any]]
    caller: Caller | None
    carries: bool
    extension_members: Callable[[object], bytes | None]
    endpoint: Endpoint
    lose: Callable[[str, str, str], None]
    peer_capabilities: Callable[[], Mapping[str, Any]]
    spoken: MethodTable
    task_options: TaskLimits | None


class ServerWithTasks(Protocol):
    owner: Handlers
    ask_any_client: Callable[..., Awaitable[Any]]
    declared_by: Callable[..., bytes | None]
    relating: Callable[[str | None], AbstractContextManager[None]]


class PlainClients(Layer):
    def __init__(self, client: ClientWithTasks, server: ServerWithTasks) -> None:
        self.client: Final = client
        self.server: Final = server
        assert isinstance(client.caller, TaskCaller)
        self.caller: Final[TaskCaller] = client.caller
        self.wire: Final = client.caller.wire
        self.table: Final = server.owner.TABLE
        """The table of the server in front."""
        self.id_member: Final = self.table.rules.task_id

    def task_capabilities(self, server: Mapping[str, Any]) -> JSONObject:
        return {}

    async def call(
        self, context: RequestContext, spec: AnyRequest, params: Any, options: CallOptions
    ) -> Any:
        try:
            if self.wire.kind == "extension" and not is_in_core(self.client.spoken):
                members = self.server.declared_by(context)
                try:
                    return await self.client.call(spec, params, options, members)
                except McpError as error:
                    data = error.data
                    if not is_object(data) or not names_tasks(data.get("requiredCapabilities")):
                        raise
            return await self.caller.request(spec, params, options)
        except TaskCancelled as error:
            raise McpError(INTERNAL_ERROR, error.message) from error

    def add_task_support(self, result: Any) -> Any:
        return result

    async def ask(self, id: str, spec: AnyRequest, params: Any) -> Any:
        return await self.server.ask_any_client(spec, params, NO_END)

    def on_task_change(self) -> None:
        pass

    async def ask_server(
        self, method: str, id: str, options: CallOptions | None = None, /, **members: Any
    ) -> Any:
        asking = self.wire.ask(method, id, options, **members)
        return (await self.client.awaited(asking)).to_wire()

    def id_in(self, session: SessionBase) -> Any:
        return session.__mcp_runtime__.raw[self.id_member]

    def answer(self, method: str, members: Mapping[str, Any]) -> Any:
        return self.table.read_result(self.table.spec_of(method), members)
