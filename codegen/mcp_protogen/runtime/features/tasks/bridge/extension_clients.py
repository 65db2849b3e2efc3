"""Clients of 2026-07-28 with the extension, whose server has tasks of 2025-11-25.

Tasks keep their server's ids. The request for the result stays open if a task asks something, since
questions come beside it.
"""

from asyncio import Future, get_running_loop
from asyncio import Task as Running
from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import partial
from secrets import token_hex
from typing import Any, Final, NamedTuple

from ....core.connection_errors import Disconnected
from ....core.errors import INVALID_PARAMS, McpError, ProtocolError, escape_step
from ....core.json import JSONObject, is_object
from ....core.models.base import declared_member
from ....core.options import NO_END, CallOptions
from ....core.spec import CALL_TOOL, AnyRequest, Capability
from ....core.tasks import Signal
from ....messages.codec import Request
from ....messages.envelope import client_capabilities
from ....rules import task_methods as methods
from ....rules.task_kinds import RELATED_TASK, has_tasks, needs_extension, tasks_declared
from ....server.base import SessionBase
from ....server.context import RequestContext
from ....server.layers import Follow, Following
from ....transports.base import wait_within
from .. import core_wire
from ..client.calls import CORE_CALLS, as_task
from ..lifecycle import error_object
from ..on_wire import to_extension
from ..remote_tasks import state_of
from ..server.extension_wire import follow, read_answers
from ..task import Status
from .plain_clients import ClientWithTasks, PlainClients, ServerWithTasks

# Seconds between looks, if the server gives no interval.
_INTERVAL: Final = 1.0

_CANCELS: Final = Capability("server", ("tasks", "cancel"))

# The seconds that a look waits for the questions of a task: the default, and at most.
_PATIENCE: Final = 1.0


class _Question(NamedTuple):
    asked: JSONObject
    spec: AnyRequest
    answer: Future[Any]


class _WaitingTask:
    def __init__(self) -> None:
        self.questions = dict[str, _Question]()
        self.changed = Signal()
        self.result: Running[None] | None = None


class ExtensionClients(PlainClients):
    def __init__(self, client: ClientWithTasks, server: ServerWithTasks) -> None:
        super().__init__(client, server)
        self._waiting = defaultdict[str, _WaitingTask](_WaitingTask)
        self._news = Signal()
        if self._serves(client.peer_capabilities()):
            self.handlers = {
                methods.GET: self._get,
                methods.CANCEL: self._cancel,
                methods.UPDATE: self._update,
            }

    def task_capabilities(self, server: Mapping[str, Any]) -> JSONObject:
        tasks = server.get("tasks")
        if is_object(tasks) and "list" in tasks:
            why = "the extension has no list of tasks"
            self.client.lose("ServerCapabilities", "/ServerCapabilities/tasks/list", why)
        return tasks_declared(self.table, "server") if self._serves(server) else {}

    def _serves(self, declared: Mapping[str, Any]) -> bool:
        return CORE_CALLS.declared_in(declared)

    def _wants(self, meta: Mapping[str, Any]) -> bool:
        return has_tasks(self.table, client_capabilities(meta))

    async def call(
        self, context: RequestContext, spec: AnyRequest, params: Any, options: CallOptions
    ) -> Any:
        wants = self.handlers and self._wants(context.meta)
        if not wants or not await self.caller.may_be_task(params.name):
            return await super().call(context, spec, params, options)
        result = await self.client.call(spec, as_task(spec, params, None), options)
        if (task := declared_member(result, "task")) is None:
            return result
        if core_wire.IMMEDIATE_RESPONSE in result.to_wire().get("_meta", {}):
            at = f"/result/_meta/{escape_step(core_wire.IMMEDIATE_RESPONSE)}"
            why = "the extension has no immediate response for the model"
            self.client.lose(CALL_TOOL, at, why)
        core = task.to_wire()
        created = {self.id_member: core[self.wire.id_member], **to_extension(core)}
        return self.answer(CALL_TOOL, {"resultType": "task", **created})

    async def state(self, id: str) -> JSONObject:
        core = await self.ask_server(methods.GET, id)
        task = {self.id_member: id, **to_extension(core)}
        status = Status(core["status"])
        if status in (Status.COMPLETED, Status.FAILED):
            return await self._read_outcome(id, status, task)
        if status is not Status.INPUT_REQUIRED:
            return task
        questions = await self._questions(id, state_of(core).poll_interval or _PATIENCE)
        if not questions:
            # They have not come yet, or are already answered.
            return {**task, "status": Status.WORKING.value}
        return {**task, "inputRequests": questions}

    async def _read_outcome(self, id: str, status: Status, task: JSONObject) -> JSONObject:
        try:
            result = await self.ask_server(methods.RESULT, id, NO_END)
        except McpError as error:
            if status is Status.COMPLETED:
                raise  # it has expired
            return {**task, "status": Status.FAILED.value, "error": error_object(error)}
        meta: JSONObject = result.pop("_meta", {})
        meta.pop(RELATED_TASK, None)
        if meta:
            result["_meta"] = meta
        plain = self.wire.read(result)
        # A tool result with `isError` is an ordinary result here ("Task Execution Errors").
        return {**task, "status": Status.COMPLETED.value, "result": plain.to_wire()}

    async def _questions(self, id: str, patience: float) -> JSONObject:
        waiting = self._waiting[id]
        if waiting.result is None:
            waiting.result = self.client.endpoint.tasks.start(self._await_result(id, waiting))
        if not waiting.questions:
            await wait_within(min(patience, _PATIENCE), waiting.changed.wait())
        return {key: question.asked for key, question in waiting.questions.items()}

    async def _await_result(self, id: str, waiting: _WaitingTask) -> None:
        """Let the server ask, which it does during a request for the result; discard the result."""
        try:
            with suppress(ProtocolError, Disconnected):
                await self.ask_server(methods.RESULT, id, NO_END)
        finally:
            self._waiting.pop(id, None)
            for question in waiting.questions.values():
                question.answer.cancel()
            waiting.changed.notify_all()

    async def ask(self, id: str, spec: AnyRequest, params: Any) -> Any:
        if id in self.wire.handles:
            # A plain call waits for the result.
            return await super().ask(id, spec, params)
        asked = self.table.write_question(spec, params)
        waiting, key = self._waiting[id], token_hex(8)
        question = _Question(asked, spec, get_running_loop().create_future())
        waiting.questions[key] = question
        waiting.changed.notify_all()
        try:
            return await question.answer
        finally:
            waiting.questions.pop(key, None)
            if waiting.result is None and not waiting.questions:
                # The client has not looked at the task meanwhile.
                self._waiting.pop(id, None)

    async def _get(self, session: SessionBase, params: Any) -> Any:
        return self.answer(methods.GET, await self.state(self.id_in(session)))

    async def _update(self, session: SessionBase, params: Any) -> Any:
        id = self.id_in(session)
        if (waiting := self._waiting.get(id)) is None:
            # Only its server knows whether the task exists.
            await self.ask_server(methods.GET, id)
            return self.answer(methods.UPDATE, {})
        given = session.__mcp_runtime__.raw.get("inputResponses", {})
        asked = {key: question[:2] for key, question in waiting.questions.items()}
        for key, answer in read_answers(asked, given).items():
            # Do not show answered questions again.
            question = waiting.questions.pop(key)
            if not question.answer.done():
                question.answer.set_result(answer)
        return self.answer(methods.UPDATE, {})

    async def _cancel(self, session: SessionBase, params: Any) -> Any:
        id, method = self.id_in(session), methods.CANCEL
        if not _CANCELS.declared_in(self.client.peer_capabilities()):
            # The work may end otherwise in any case.
            self.client.lose(methods.CANCEL, "", "the server cannot cancel tasks")
            method = methods.GET
        try:
            await self.ask_server(method, id)
        except McpError as error:
            if method == methods.GET or error.code != INVALID_PARAMS:
                raise
            # The extension accepts cancelling ended tasks, but not unknown ones.
            await self.ask_server(methods.GET, id)
        return self.answer(methods.CANCEL, {})

    def answer(self, method: str, members: Mapping[str, Any]) -> Any:
        return super().answer(method, {"resultType": "complete", **members})

    def on_task_change(self) -> None:
        self._news.notify_all()

    async def find_following(
        self, connection: Any, request: Request[Any], ids: Collection[str]
    ) -> Following:
        found = dict[str, Follow]()
        if not self._wants(request.meta):
            raise needs_extension("Tasks need the extension")
        for id in sorted(ids) if self.handlers else ():
            with suppress(McpError):
                task, wait = await self.state(id), partial(self._wait_for_change, id)
                found[id] = partial(follow, connection, request, task, dict[str, Any], wait)
        return found

    async def _wait_for_change(self, id: str, task: JSONObject) -> JSONObject:
        """Poll a task, also at news of any, because servers notify as they like."""
        while True:
            await wait_within(state_of(task).poll_interval or _INTERVAL, self._news.wait())
            if (found := await self.state(id)) != task:
                return found
