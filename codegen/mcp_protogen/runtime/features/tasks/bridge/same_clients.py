"""Clients whose server has tasks of the same form, in another revision: they pass through."""

from collections.abc import Mapping
from typing import Any

from ....core.json import JSONObject
from ....core.options import CallOptions
from ....core.spec import CALL_TOOL, AnyRequest
from ....rules import task_methods as methods
from ....rules.task_kinds import TASKS_EXTENSION, has_tasks
from ....server.base import SessionBase
from ....server.context import RequestContext
from .extension_clients import ExtensionClients
from .plain_clients import PlainClients


class SameClients(ExtensionClients):
    def _serves(self, declared: Mapping[str, Any]) -> bool:
        return has_tasks(self.client.spoken, declared)

    async def call(
        self, context: RequestContext, spec: AnyRequest, params: Any, options: CallOptions
    ) -> Any:
        if not (self.handlers and self._wants(context.meta)):
            return await PlainClients.call(self, context, spec, params, options)
        extensions = self.client.extension_members({TASKS_EXTENSION: {}})
        result = await self.client.call(spec, params, options, extensions)
        claims = self.wire.table.claims(self.wire.spec.method)
        if not isinstance(result, claims):
            return result
        return self.answer(CALL_TOOL, self._own(result.to_wire()))

    def _own(self, task: JSONObject) -> JSONObject:
        return {self.id_member: task.pop(self.wire.id_member), **task}

    async def state(self, id: str) -> JSONObject:
        task = self._own(await self.ask_server(methods.GET, id))
        task.pop("_meta", None)
        table: Any = self.wire.table
        for question in task.get("inputRequests", {}).values():
            method = question["method"] = table.own_name(question["method"])
            if "params" in question:
                question["params"] = table.carry_in(method, "params", question["params"])
        if error := task.get("error"):
            came = (error["code"], error.pop("data", None))
            error["code"], data = table.error_that_came(self.wire.spec.method, came)
            task["error"] = error if data is None else {**error, "data": data}
        if "result" in task:
            task["result"] = self.wire.read(task["result"]).to_wire()
        return task

    async def _update(self, session: SessionBase, params: Any) -> Any:
        given: JSONObject = session.__mcp_runtime__.raw.get("inputResponses", {})
        id = self.id_in(session)
        task = await self.ask_server(methods.GET, id)
        table: Any = self.wire.table
        questions = task.get("inputRequests", {})
        answers = {
            key: table.carry_out(table.own_name(questions[key]["method"]), "result", answer)
            for key, answer in given.items()
            if key in questions
        }
        await self.ask_server(methods.UPDATE, id, inputResponses=answers)
        return self.answer(methods.UPDATE, {})

    async def _cancel(self, session: SessionBase, params: Any) -> Any:
        await self.ask_server(methods.CANCEL, self.id_in(session))
        return self.answer(methods.CANCEL, {})
