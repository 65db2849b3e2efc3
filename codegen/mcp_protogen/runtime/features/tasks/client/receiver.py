"""A client that runs servers' requests as tasks of 2025-11-25."""

from asyncio import CancelledError, timeout
from asyncio import Task as Running
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, ClassVar, Final, TypeVar

from ....client.base import ClientBase, ClientConnection, ClientRuntime
from ....core.connection_errors import Disconnected
from ....core.errors import LocalError
from ....core.json import JSONObject, is_object
from ....core.models.base import WireModel, validator_of
from ....core.spec import NotificationSpec
from ....rpc.jobs import Job, Serve
from ....rules.handlers import made_once, merge_objects
from ....rules.task_methods import CANCEL, CORE_CHANGED, RESULT
from ....storage.memory_tasks import MemoryTaskStore
from .. import core_wire, lifecycle
from ..lifecycle import Outcome, error_object
from ..on_wire import wire_task
from ..registry import TaskOptions, TaskRegistry, UnknownTask, new_task_id
from ..task import Task

P = TypeVar("P")

_ASKED: Final = frozenset({"elicitation/create", "sampling/createMessage"})
"""The methods that can become tasks; `tasks.requests` has the parts of their names."""

_GONE: Final = "The connection was closed"

_current: Final[ContextVar[str | None]] = ContextVar("current task", default=None)
"""The task of the running handler."""


class TaskReceiver(ClientBase):
    """A client that can run requests as tasks: `class Host(TaskReceiver, mcp.Client)`.

    It declares tasks for sampling and elicitation, as far as it handles them, and answers
    `tasks/get`, `tasks/list`, `tasks/cancel` and `tasks/result` by itself. Handlers need no change.
    Tasks belong to their connection: other servers do not find them, and its end cancels those that
    still run.
    """

    TASKS: ClassVar[TaskOptions] = TaskOptions()
    """The store and limits of tasks; by default in the memory of the client."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Raise `TypeError` for a revision in which servers cannot request tasks."""
        super().__init_subclass__(**options)
        table = getattr(cls, "TABLE", None)
        if table is not None and table.request(RESULT, "server") is None:
            why = f"{table.revision} has no tasks of clients"
            raise TypeError(f"{cls.__name__}: {why}")

    @made_once
    def __mcp_runtime__(self) -> "TaskReceiverRuntime":
        return TaskReceiverRuntime(self)


class TaskReceiverRuntime(ClientRuntime):
    def __init__(self, owner: TaskReceiver) -> None:
        super().__init__(owner)
        options = owner.TASKS
        self._registry = TaskRegistry(options.store or MemoryTaskStore(), options)

    def handled_methods(self, revision: str | None = None) -> frozenset[str]:
        methods = super().handled_methods(revision)
        has_tasks = revision in (None, self.owner.TABLE.revision) and methods & _ASKED
        return methods | core_wire.ANSWERS.keys() if has_tasks else methods

    def declaration(self) -> JSONObject:
        declared = super().declaration()
        requests: JSONObject = {}
        for method in sorted(self.answered_methods() & _ASKED):
            feature, _, request = method.partition("/")
            requests[feature] = {request: {}}
        return merge_objects(declared, {"tasks": {"requests": requests}}) if requests else declared

    def handler_overrides(self, connection: ClientConnection) -> Mapping[str, Serve]:
        methods = self.answered_methods(connection.negotiated.revision)
        if not methods >= core_wire.ANSWERS.keys():
            return {}
        tasks = _ConnectionTasks(connection, self._registry)
        return {
            **dict.fromkeys(_ASKED & methods, tasks.accept),
            **dict.fromkeys(core_wire.ANSWERS, tasks.answer),
            CANCEL: tasks.cancel,
        }

    async def notify(self, spec: NotificationSpec[P], params: P | None) -> None:
        if (id := _current.get()) is not None:
            given: Any = params
            wire: JSONObject = {} if given is None else given.to_wire()
            params = validator_of(spec.params)(core_wire.with_related(wire, id))
        await super().notify(spec, params)


class _ConnectionTasks:
    def __init__(self, connection: ClientConnection, registry: TaskRegistry) -> None:
        self._connection = connection
        self._registry = registry
        # Servers do not identify themselves reliably, so tasks belong to one connection.
        self._owner = new_task_id()
        self._id_member = connection.endpoint.connection.table.rules.task_id
        self._running: dict[str, Running[None]] = {}

    async def accept(self, job: Job) -> Any:
        request = job.request
        metadata = request.raw.get("task")
        if not is_object(metadata):
            return await self._connection.handle(job)
        new = self._registry.new(
            "core",
            self._connection.negotiated.revision,
            request.spec.method,
            core_wire.ttl_asked(metadata, self._registry.options),
            params=dict(request.raw),
            principal_id=self._owner,
        )
        task = await self._registry.create(new)
        running = self._connection.endpoint.tasks.start(self._run(task, job))
        self._running[task.id] = running
        running.add_done_callback(lambda _: self._running.pop(task.id, None))
        accepted: type[WireModel] = request.spec.results[1]
        return accepted.from_wire(core_wire.creation_result(task, self._id_member))

    async def _run(self, task: Task, job: Job) -> None:
        _current.set(task.id)
        with suppress(UnknownTask, lifecycle.TaskEnded):  # it was cancelled, or has expired
            async with self._registry.hold(task.id, self._owner) as lease:
                try:
                    # The result cannot be fetched later.
                    async with timeout(task.ttl):
                        outcome = await self._outcome(job)
                except TimeoutError:
                    return
                except CancelledError:
                    now = self._registry.clock()
                    await lease.change(partial(lifecycle.cancel, now=now, message=_GONE))
                    raise
                task = await lease.change(partial(outcome.of, now=self._registry.clock()))
            await self._report(task)

    async def _outcome(self, job: Job) -> Outcome:
        spec = job.request.spec
        try:
            result: Any = await self._connection.handle(job)
            plain: type[WireModel] = spec.results[0]
            if not isinstance(result, plain):
                raise LocalError(f"{type(result).__name__} is not a result of {spec.method}")
            return Outcome(result=result.to_wire())
        except Exception as raised:
            error = self._connection.endpoint.jobs.error_of_handler(raised, spec.method)
            return Outcome(error=error_object(error))

    async def _report(self, task: Task) -> None:
        endpoint = self._connection.endpoint
        spec = endpoint.connection.table.notifications[CORE_CHANGED]
        # Servers must not rely on it.
        with suppress(Disconnected):
            await endpoint.notify(spec, spec.params.from_wire(wire_task(task, self._id_member)))

    async def answer(self, job: Job) -> Any:
        raw, spec = job.request.raw, job.request.spec
        asked = core_wire.TasksRequest(self._registry, raw, self._owner, self._id_member)
        result: type[WireModel] = spec.results[0]
        return result.from_wire(await core_wire.ANSWERS[spec.method](asked))

    async def cancel(self, job: Job) -> Any:
        result = await self.answer(job)
        if (running := self._running.get(job.request.raw[self._id_member])) is not None:
            running.cancel()
        return result
