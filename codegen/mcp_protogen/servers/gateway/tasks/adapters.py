"""Tasks on one connection to a server, by the forms that the client and the server have.

Tasks keep the ids of their server here. Within one revision they pass as they are; otherwise the
adapters of bridges translate them.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from mcp_protogen.runtime.connection import PROGRESS
from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.runtime.core.errors import METHOD_NOT_FOUND, McpError
from mcp_protogen.runtime.core.json import JSONObject
from mcp_protogen.runtime.core.models.base import declared_member, member_at, validator_of
from mcp_protogen.runtime.core.options import NO_END, CallOptions, Progress
from mcp_protogen.runtime.core.spec import AnyRequest
from mcp_protogen.runtime.features.bridge.forwarding import result_of
from mcp_protogen.runtime.features.tasks.bridge.core_clients import CoreClients
from mcp_protogen.runtime.features.tasks.bridge.extension_clients import ExtensionClients
from mcp_protogen.runtime.features.tasks.bridge.plain_clients import (
    ClientWithTasks,
    PlainClients,
    ServerWithTasks,
)
from mcp_protogen.runtime.features.tasks.bridge.same_clients import SameClients
from mcp_protogen.runtime.features.tasks.client.calls import CORE_CALLS, TaskCaller
from mcp_protogen.runtime.features.tasks.core_wire import with_related
from mcp_protogen.runtime.messages.envelope import PROGRESS_TOKEN, client_capabilities
from mcp_protogen.runtime.messages.method_table import EXTENSIONS
from mcp_protogen.runtime.rules import task_methods as methods
from mcp_protogen.runtime.rules.handlers import Handler
from mcp_protogen.runtime.rules.task_kinds import has_tasks, task_kind
from mcp_protogen.runtime.server.base import SessionBase
from mcp_protogen.runtime.server.context import RequestContext


class PassingClients(PlainClients):
    """Clients whose server speaks the same revision: requests about tasks pass as they are."""

    def pass_methods(self, *names: str) -> None:
        self.handlers = {name: partial(self._pass, name) for name in names}

    async def _pass(self, method: str, session: SessionBase, params: Any) -> Any:
        more, options = dict[str, Any](), NO_END if method == methods.RESULT else None
        if method == methods.UPDATE:
            answers: Any = session.__mcp_runtime__.raw
            more = {"inputResponses": answers.get("inputResponses", {})}
        return await self.client.awaited(
            self.wire.ask(method, self.id_in(session), options, **more)
        )


class AskingClients(PlainClients):
    """Clients of 2025-11-25, which get questions on the stream that waits for the result."""

    def __init__(self, client: ClientWithTasks, server: ServerWithTasks) -> None:
        super().__init__(client, server)
        self._waiting: dict[str, RequestContext] = {}
        """The requests for results, by the ids of tasks."""

    def check(self, params: Any) -> None:
        """Raise `McpError` for a call that asks for a task if the server has none."""
        if declared_member(params, "task") is not None and not self.handlers:
            # 2025-11-25, basic/utilities/tasks, "Tool-Level Negotiation".
            raise McpError(METHOD_NOT_FOUND, f"{params.name} cannot be run as a task")

    def note_waiting(self) -> None:
        """Note which requests for results wait, whose streams can carry questions."""
        self.handlers = {**self.handlers, methods.RESULT: partial(self._wait, self.handlers)}

    async def _wait(
        self, handlers: Mapping[str, Handler], session: SessionBase, params: Any
    ) -> Any:
        id, context = self.id_in(session), session.__mcp_runtime__
        self._waiting[id] = context
        try:
            return await handlers[methods.RESULT](session, params)
        finally:
            if self._waiting.get(id) is context:
                del self._waiting[id]

    async def ask(self, id: str, spec: AnyRequest, params: Any) -> Any:
        wire: JSONObject = {} if params is None else params.to_wire()
        related = validator_of(spec.params)(with_related(wire, id))
        if (context := self._waiting.get(id)) is None:
            return await self.server.ask_any_client(spec, related, NO_END)
        answer = context.request_unchecked(spec, related, NO_END)
        return await result_of(answer, spec.method, "server")


class CoreOfCore(AskingClients, PassingClients):
    """Clients of 2025-11-25 whose server speaks that, too, or has no tasks at all."""

    def __init__(self, client: ClientWithTasks, server: ServerWithTasks) -> None:
        super().__init__(client, server)
        if CORE_CALLS.declared_in(client.peer_capabilities()):
            self.pass_methods(methods.GET, methods.CANCEL, methods.RESULT)
            self.note_waiting()

    async def call(
        self, context: RequestContext, spec: AnyRequest, params: Any, options: CallOptions
    ) -> Any:
        self.check(params)
        if (report := options.get("on_progress")) is None:
            return await self.client.call(spec, params, options)
        late = _LateProgress(context, report)
        result = await self.client.call(spec, params, {**options, "on_progress": late.report})
        if (task := declared_member(result, "task")) is not None:
            late.id = member_at(task, (self.id_member,))
        return result

    def add_task_support(self, result: Any) -> Any:
        if self.handlers:
            return result
        # The gateway declares tasks, so that what a tool says about them would count.
        return result.model_copy(update={"tools": [*map(_without_support, result.tools)]})


class _LateProgress:
    """Progress of a call, also after a task is its answer."""

    def __init__(self, context: RequestContext, report: Callable[[Progress], object]) -> None:
        self._context, self._report = context, report
        self.id: str | None = None
        """The id of the task, once known."""

    def report(self, progress: Progress) -> object:
        return self._report(progress) if self.id is None else self._tell(self.id, progress)

    async def _tell(self, id: str, progress: Progress) -> None:
        context = self._context.connection.session().__mcp_runtime__
        spec = context.table.notifications[PROGRESS]
        wire = {name: value for name, value in progress._asdict().items() if value is not None}
        wire |= {"progress": wire.pop("done"), "progressToken": self._context.meta[PROGRESS_TOKEN]}
        with suppress(Disconnected):
            await context.notify(spec, validator_of(spec.params)(with_related(wire, id)))


def _without_support(tool: Any) -> Any:
    execution = declared_member(tool, "execution")
    if declared_member(execution, "task_support") is None:
        return tool
    rest = execution.model_copy(update={"task_support": None})
    return tool.model_copy(update={"execution": rest if rest.to_wire() else None})


class CoreOfExtension(AskingClients, CoreClients):
    """Clients of 2025-11-25 whose server has tasks of the extension."""

    def __init__(self, client: ClientWithTasks, server: ServerWithTasks) -> None:
        super().__init__(client, server)
        if self.handlers:
            self.note_waiting()

    async def call(
        self, context: RequestContext, spec: AnyRequest, params: Any, options: CallOptions
    ) -> Any:
        self.check(params)
        return await super().call(context, spec, params, options)


class ExtensionOfExtension(PassingClients):
    """Clients with the extension whose server has it in the same revision."""

    def __init__(self, client: ClientWithTasks, server: ServerWithTasks) -> None:
        super().__init__(client, server)
        if has_tasks(client.spoken, client.peer_capabilities()):
            self.pass_methods(methods.CANCEL, methods.UPDATE)
            self.handlers = {**self.handlers, methods.GET: self._get}

    async def call(
        self, context: RequestContext, spec: AnyRequest, params: Any, options: CallOptions
    ) -> Any:
        members = self.server.declared_by(context)
        if self.handlers:
            declared = client_capabilities(context.meta).get(EXTENSIONS)
            members = self.client.extension_members(declared)
        return await self.client.call(spec, params, options, members)

    async def _get(self, session: SessionBase, params: Any) -> Any:
        task = (await self._pass(methods.GET, session, params)).to_wire()
        client: Any = self.client
        for question in task.get("inputRequests", {}).values():
            spec = self.table.input_requests[question["method"]]
            if "params" in question:
                asked = validator_of(spec.params)(question["params"])
                question["params"] = client.name_server_in(spec, asked).to_wire()
        return self.answer(methods.GET, task)


class GatewayTasks:
    """The adapters of connections to servers behind a gateway."""

    caller: Final = TaskCaller

    def between(self, client: Any, server: Any) -> PlainClients | None:
        ours, theirs = task_kind(server.owner.TABLE), task_kind(client.spoken)
        if ours == "core":
            return (CoreOfExtension if theirs == "extension" else CoreOfCore)(client, server)
        if theirs is None:
            return None
        if ours is None:
            return PlainClients(client, server)
        if theirs == "core":
            return ExtensionClients(client, server)
        return (ExtensionOfExtension if client.same_revision else SameClients)(client, server)
