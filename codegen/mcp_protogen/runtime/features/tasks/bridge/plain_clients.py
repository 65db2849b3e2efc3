"""Clients that have no tasks, or ask for none: a task of the server is waited for by the bridge."""

from collections.abc import Mapping
from typing import Any, Final

from ....core.errors import INTERNAL_ERROR, McpError
from ....core.json import JSONObject, is_object
from ....core.options import NO_END, CallOptions
from ....core.spec import AnyRequest, Capability
from ....messages.method_table import EXTENSIONS
from ....rules.task_forms import TASK_IDS, TASKS_EXTENSION
from ....server.context import RequestContext
from ....server.layers import Layer
from ..at_peer import TaskCancelled
from ..client.calls import TaskCaller
from ..client.wire import TaskWire
from .halves import ClientWithTasks, ServerWithTasks

EXTENSION: Final = Capability("server", (EXTENSIONS, TASKS_EXTENSION))


class PlainClients(Layer):
    """Calls that are answered with a result, and never with a task.

    A server that refuses such a call is asked for a task, which the bridge waits for.
    """

    ids_member = TASK_IDS

    def __init__(self, client: ClientWithTasks, server: ServerWithTasks) -> None:
        self.client: Final = client
        self.server: Final = server
        assert isinstance(client.caller, TaskCaller)
        self.caller: Final[TaskCaller] = client.caller

    @property
    def wire(self) -> TaskWire:
        return self.caller.wire

    def offered(self, server: Mapping[str, Any]) -> JSONObject:
        return {}

    async def call(
        self, context: RequestContext, spec: AnyRequest, params: Any, options: CallOptions
    ) -> Any:
        try:
            if self.wire.form == "extension":
                try:
                    return await self.client.call(spec, params, options, self.client.declaring({}))
                except McpError as error:
                    if not _needs_tasks(error):
                        raise
            return await self.caller.request(spec, params, options)
        except TaskCancelled as error:
            raise McpError(INTERNAL_ERROR, error.message) from error

    def listed(self, result: Any) -> Any:
        return result

    async def ask(self, id: str, spec: AnyRequest, params: Any) -> Any:
        return await self.server.put(spec, params, NO_END)

    def told(self) -> None:
        pass

    # For those whose clients have tasks.

    async def asked(
        self, method: str, options: CallOptions | None = None, /, **members: Any
    ) -> Any:
        """Return the answer of the server to a request about a task, as a JSON object."""
        asking = self.wire.ask(method, options or {}, **members)
        return (await self.client.awaited(asking)).to_wire()

    def answer(self, method: str, members: Mapping[str, Any]) -> Any:
        """Return the answer to a request of the client about a task."""
        table = self.server.owner.TABLE
        return table.read_result(table.requests[method], members)


def _needs_tasks(error: McpError) -> bool:
    """Return whether a server refuses to answer without a task (extension, "Error Handling")."""
    data: Any = error.data if is_object(error.data) else {}
    required = data.get("requiredCapabilities")
    extensions: Any = required.get(EXTENSIONS) if is_object(required) else None
    return is_object(extensions) and TASKS_EXTENSION in extensions
