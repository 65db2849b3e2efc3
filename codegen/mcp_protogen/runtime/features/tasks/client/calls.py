"""Clients whose tool calls may be tasks: they wait for the result by themselves."""

from asyncio import CancelledError
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from time import monotonic
from typing import Any, ClassVar, Final, Unpack

from ....client.base import Caller, ClientBase, ClientConnection, ClientRuntime
from ....core.errors import METHOD_NOT_FOUND, LocalError, McpError
from ....core.models.base import WireModel, declared_member, member_at
from ....core.options import CallOptions
from ....core.recent_names import RecentNames
from ....core.spec import CALL_TOOL, LIST_TOOLS, AnyRequest, Capability
from ....core.subscriptions import LISTEN
from ....rpc.peer import all_items
from ....rules.task_methods import CHANGED, CORE_CHANGED
from ..on_wire import ClientsTasks
from ..remote_tasks import TaskCancelled
from .handle import TaskHandle, TaskWire

CORE_CALLS: Final = Capability("server", ("tasks", "requests", "tools", "call"))
"""The capability of a server that runs tools as tasks."""


class TaskCaller:
    def __init__(self, runtime: ClientRuntime) -> None:
        self._runtime = runtime
        self._wire: TaskWire | None = None
        self._supports_tasks = False
        self._supports: RecentNames[str] = RecentNames()
        self._changes = 0

    @property
    def wire(self) -> TaskWire:
        if self._wire is None:
            raise LocalError("the client is not connected")
        return self._wire

    def adopt(self, connection: ClientConnection) -> None:
        self._wire = wire = TaskWire(self._runtime.client, connection)
        declared = self._runtime.peer_capabilities()
        self._supports_tasks = wire.kind == "core" and CORE_CALLS.declared_in(declared)
        self._supports = RecentNames()

    def note_notification(self, method: str, params: Any) -> None:
        wire = self._wire
        if wire is not None and method in map(wire.table.name_of, (CHANGED, CORE_CHANGED)):
            # Tasks stay as they are on the wire.
            wire.on_notification(wire.table.carry_out(method, "params", params.to_wire()))

    async def request(self, spec: AnyRequest, params: Any, options: CallOptions) -> Any:
        if spec.known_as == CALL_TOOL and self._wire is not None:
            return await self._call(spec, params, options)
        result: Any = await self._runtime.request(spec, params, options)
        if spec.known_as == LIST_TOOLS:
            self._learn(member_at(result, (spec.items,), ()))
        return result

    async def _call(self, spec: AnyRequest, params: Any, options: CallOptions) -> Any:
        wire = self.wire
        seconds = options.get("max_timeout", self._runtime.endpoint.options.max_timeout)
        due = monotonic() + seconds
        # Keep the task no longer than the caller waits.
        wants = declared_member(params, "task") is not None
        if not wants and self._supports_tasks and self.support(params.name) == "required":
            params = as_task(spec, params, seconds)
        try:
            result: Any = await self._runtime.request(spec, params, options)
        except McpError as error:
            # The server refuses a plain call of a tool that must be a task.
            if error.code != METHOD_NOT_FOUND or wants or not self._supports_tasks:
                raise
            name = params.name
            if self.support(name) is not None or await self._find_support(name) != "required":
                raise
            params = as_task(spec, params, seconds)
            result = await self._runtime.request(spec, params, options)
        if wants or (handle := self._handle_of(params.name, result)) is None:
            return result
        try:
            return await handle.outcome(due, seconds)
        except (McpError, TaskCancelled):
            raise
        except (CancelledError, Exception):
            wire.connection.endpoint.tasks.start(handle.cancel_quietly())
            raise

    async def start(
        self, spec: AnyRequest, params: Any, ttl: float | None, options: CallOptions
    ) -> TaskHandle:
        wire, name = self.wire, params.name
        if wire.kind == "core":
            if self._supports_tasks and not await self.may_be_task(name):
                raise LocalError(f"the tool {name} cannot be called as a task")
            params = as_task(spec, params, ttl)

        async def send(params: Any) -> Any:
            return await self._runtime.request(spec, params, options)

        result = await send(params)
        if "may_require_input" in spec.traits:
            # Questions before there is a task come in rounds.
            result = await wire.connection.complete(spec, params, result, send)
        handle = self._handle_of(name, result)
        return TaskHandle(wire, name, plain=result.to_wire()) if handle is None else handle

    def _handle_of(self, name: str, result: Any) -> TaskHandle | None:
        is_task = declared_member(result, "result_type") == "task"
        created: WireModel | None = result if is_task else declared_member(result, "task")
        if created is None:
            return None
        task = created.to_wire()
        return TaskHandle(self.wire, name, id=task[self.wire.id_member], task=task)

    def support(self, name: str) -> str | None:
        if self._changes != self._runtime.tool_list_changes:
            self._supports, self._changes = RecentNames(), self._runtime.tool_list_changes
        return self._supports.get(name)

    def wire_feature(self) -> ClientsTasks:
        return ClientsTasks(self._note_tools)

    def _note_tools(self, tools: Sequence[Any]) -> None:
        for tool in tools:
            support = tool.get("execution", {}).get("taskSupport", "forbidden")
            self._supports.learn(tool["name"], support, None)

    def _learn(self, tools: Iterable[Any]) -> None:
        if self._runtime.owner.TABLE.revision != self.wire.table.revision:
            return  # its entries came through `_note_tools`
        for tool in tools:
            support = declared_member(declared_member(tool, "execution"), "task_support")
            self._supports.learn(tool.name, support or "forbidden", None)

    async def may_be_task(self, name: str) -> bool:
        support = self.support(name) or await self._find_support(name)
        return support in ("optional", "required")

    async def _find_support(self, name: str) -> str | None:
        spec = self._runtime.owner.TABLE.spec_of(LIST_TOOLS)
        async for tool in all_items(self._runtime.client, spec, None, {}):
            if tool.name == name:
                break
        return self.support(name)


def as_task(spec: AnyRequest, params: Any, ttl: float | None) -> Any:
    """Return call params that request a task, kept for `ttl` seconds if finite."""
    metadata = {} if ttl in (None, inf) else {"ttl": round(ttl * 1000)}
    return spec.params.from_wire({**params.to_wire(), "task": metadata})


def _caller(client: ClientBase) -> TaskCaller:
    caller = client.__mcp_runtime__.caller
    assert isinstance(caller, TaskCaller)
    return caller


class TaskCalls(ClientBase):
    """A mixin for clients whose calls may be tasks: `class Mine(TaskCalls, mcp.Client)`.

    `call_tool` waits for a task's result and answers its questions. Of the call's options,
    `max_timeout` limits the whole, `timeout` only the first answer.
    """

    __mcp_caller__: ClassVar[Callable[[ClientRuntime], Caller] | None] = TaskCaller

    async def start_task(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        ttl: float | None = None,
        **options: Unpack[CallOptions],
    ) -> TaskHandle:
        """Call a tool as a task; return when the server has begun.

        In 2025-11-25 the client requests a task, kept for `ttl` seconds; raise `LocalError` for a
        tool that cannot be one. In the extension the server decides both; an immediate answer
        gives a handle with its result. Raise the errors of `request`.
        """
        spec = self.TABLE.spec_of(CALL_TOOL)
        given = {} if arguments is None else {"arguments": dict(arguments)}
        params = spec.params(name=name, **given)
        return await _caller(self).start(spec, params, ttl, options)

    async def listen_to_tasks(self, *handles: TaskHandle) -> None:
        """Let the server notify of task changes until the stream ends; cancel it to end it.

        The handles then poll less often. Raise `LocalError` if tasks have no listen streams:
        servers of 2025-11-25 notify without being asked.
        """
        caller, spec = _caller(self), self.TABLE.requests.get(LISTEN)
        if spec is None or caller.wire.kind != "extension":
            raise LocalError("tasks have no listen streams in this revision")
        ids = {handle.id for handle in handles if handle.id is not None}
        changed = self.TABLE.spec_of(CHANGED).stream
        await self.request(spec, spec.params(notifications={changed.member: sorted(ids)}))

    def task(self, stored: Mapping[str, Any]) -> TaskHandle:
        """Resume a task from `TaskHandle.to_json`; raise `LocalError` for other values.

        The server must still know it, as a task of this client.
        """
        return TaskHandle.restore(_caller(self).wire, stored)
