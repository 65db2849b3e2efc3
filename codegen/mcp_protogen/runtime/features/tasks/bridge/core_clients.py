"""Clients of 2025-11-25 whose server has tasks of the extension.

Tasks keep their server's ids. Kept here are tasks that the server answered at once, and those that
the client has cancelled: in its revision they stay cancelled.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import partial
from math import inf
from typing import Any, Final

from ....client.base import Work
from ....core.errors import INVALID_PARAMS, McpError
from ....core.json import JSONObject, without
from ....core.models.base import WireModel, declared_member, validator_of
from ....core.options import CallOptions
from ....core.spec import CALL_TOOL, ELICIT, LIST_TOOLS, AnyRequest
from ....rules import task_methods as methods
from ....rules.task_kinds import TASKS_EXTENSION, has_tasks, tasks_declared
from ....server.base import SessionBase
from ....server.context import RequestContext
from ....storage.memory_tasks import MemoryTaskStore
from .. import core_wire
from ..client.handle import TaskHandle
from ..lifecycle import Outcome
from ..on_wire import to_core, wire_task
from ..registry import TaskOptions, TaskRegistry, UnknownTask
from ..remote_tasks import TaskCancelled, state_of
from ..task import Task
from .plain_clients import ClientWithTasks, PlainClients, ServerWithTasks

# The most cancelled tasks to remember.
_MOST: Final = 1000


class CoreClients(PlainClients):
    def __init__(self, client: ClientWithTasks, server: ServerWithTasks) -> None:
        super().__init__(client, server)
        options = client.task_options
        options = options if isinstance(options, TaskOptions) else TaskOptions()
        self._answered_at_once = TaskRegistry(MemoryTaskStore(), options)
        self._cancelled: dict[str, None] = {}
        if has_tasks(client.spoken, client.peer_capabilities()):
            self.handlers = {
                methods.GET: self._get,
                methods.CANCEL: self._cancel,
                methods.RESULT: self._result,
            }

    def task_capabilities(self, server: Any) -> JSONObject:
        if not has_tasks(self.client.spoken, server):
            return {}
        return tasks_declared(self.table, "server")

    def add_task_support(self, result: Any) -> Any:
        if not self.handlers:
            return result
        # Any call may become a task, as the server decides ("Tool-Level Negotiation").
        wire = result.to_wire()
        tools = [{**tool, "execution": {"taskSupport": "optional"}} for tool in wire["tools"]]
        return self.answer(LIST_TOOLS, {**wire, "tools": tools})

    async def call(
        self, context: RequestContext, spec: AnyRequest, params: Any, options: CallOptions
    ) -> Any:
        if (metadata := declared_member(params, "task")) is None or not self.handlers:
            return await super().call(context, spec, params, options)
        if declared_member(metadata, "ttl") is not None:
            why = "in the extension, the server decides how long it keeps a task"
            self.client.lose(CALL_TOOL, "/params/task/ttl", why)
        # In the extension, a request only allows a task.
        plain = without(params.to_wire(), "task")
        extensions = self.client.extension_members({TASKS_EXTENSION: {}})
        result = await self.client.call(spec, spec.params.from_wire(plain), options, extensions)
        if isinstance(result, self.client.spoken.claims(CALL_TOOL)):
            found = result.to_wire()
            task = {self.id_member: found[self.wire.id_member], **to_core(found)}
        else:
            task = await self._keep_result(metadata, result)
        created: type[WireModel] = spec.results[1]
        meta = core_wire.related_meta(task[self.id_member])
        return created.from_wire({"task": task, "_meta": meta})

    async def _keep_result(self, metadata: WireModel, result: WireModel) -> JSONObject:
        """Return a new task that has ended with a result, for a call that asked for a task.

        It is first reported as working ("Task Status Lifecycle").
        """
        registry = self._answered_at_once
        ttl = core_wire.ttl_asked(metadata.to_wire(), registry.options)
        new = registry.new("core", self.table.revision, CALL_TOOL, ttl, params={})
        task = await registry.create(new)
        ended = partial(Outcome(result=result.to_wire()).of, now=task.created_at)
        await registry.change(task.id, ended)
        return wire_task(task, self.id_member)

    async def _find(self, id: str) -> Task | None:
        try:
            return await self._answered_at_once.get(id, "core", None)
        except UnknownTask:
            return None

    async def _state(self, id: str) -> JSONObject:
        task = {self.id_member: id, **to_core(await self.ask_server(methods.GET, id))}
        return {**task, "status": "cancelled"} if id in self._cancelled else task

    async def _get(self, session: SessionBase, params: Any) -> Any:
        id = self.id_in(session)
        kept = await self._find(id)
        task = await self._state(id) if kept is None else wire_task(kept, self.id_member)
        return self.answer(methods.GET, task)

    async def _cancel(self, session: SessionBase, params: Any) -> Any:
        id = self.id_in(session)
        if await self._find(id) is not None or state_of(await self._state(id)).has_ended:
            raise core_wire.already_ended(self.id_member)
        await self.ask_server(methods.CANCEL, id)
        # The work may still end otherwise, but the client does not see that.
        self._cancelled[id] = None
        if len(self._cancelled) > _MOST:
            del self._cancelled[next(iter(self._cancelled))]
        return self.answer(methods.CANCEL, await self._state(id))

    async def _result(self, session: SessionBase, params: Any) -> Any:
        id = self.id_in(session)
        if (kept := await self._find(id)) is not None:
            return self.answer(methods.RESULT, core_wire.outcome(kept))
        if (handle := self.wire.handles.get(id)) is None:
            handle = _BridgedTask(self.wire, "", id=id)
            handle.relating = self.server.relating
        result = None
        with suppress(TaskCancelled):
            result = await self.client.awaited(handle.outcome(inf, inf))
        if result is None or id in self._cancelled:
            raise McpError(INVALID_PARAMS, "The task has no result: it was cancelled")
        return self.answer(methods.RESULT, core_wire.with_related(result.to_wire(), id))

    async def ask(self, id: str, spec: AnyRequest, params: Any) -> Any:
        wire: JSONObject = {} if params is None else params.to_wire()
        related = validator_of(spec.params)(core_wire.with_related(wire, id))
        return await super().ask(id, spec, related)


class _BridgedTask(TaskHandle):
    relating: Callable[[str | None], AbstractContextManager[None]]

    def _prepare_question(self, key: str, asked: JSONObject) -> Work:
        work = super()._prepare_question(key, asked)

        async def ask() -> Any:
            try:
                with self.relating(self.id):
                    return await work()
            except McpError:
                # Only a form has an answer for "no".
                spec = self._wire.table.wire.input_requests[asked["method"]]
                if spec.known_as != ELICIT:
                    raise
                answer: type[WireModel] = spec.results[0]
                return answer.from_wire({"action": "cancel"})

        return ask
