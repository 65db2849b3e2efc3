"""Clients and servers with the same form of tasks: what they say of them goes through as it is."""

from collections.abc import Collection, Sequence
from typing import Any
from weakref import WeakSet

from ...core.json import JSONObject
from ...core.options import CallOptions
from ...core.spec import RequestSpec
from ...messages.envelope import SUBSCRIPTION_ID, meta_in
from ...messages.method_table import Request
from ...server.context import RequestContext
from ...server.task_serving import FollowedTask
from ..proxies import ProxyClientRuntime, ProxyServerRuntime
from .following import ClientStream, NotifiedTask
from .plain_clients import PlainClients


class SameForm(PlainClients):
    """Tasks that the server itself answers for; the listen stream of the bridge hears of them."""

    def __init__(self, client: ProxyClientRuntime, server: ProxyServerRuntime) -> None:
        super().__init__(client, server)
        # A stream may end before anything of it is followed.
        self._followed: WeakSet[NotifiedTask] = WeakSet()

    async def call(
        self,
        context: RequestContext,
        spec: RequestSpec[Any, Any],
        params: Any,
        options: CallOptions,
    ) -> Any:
        return await self.client.call(spec, params, options, self.server.declared_by(context))

    def told(self, task: JSONObject) -> None:
        meta = {name: one for name, one in meta_in(task).items() if name != SUBSCRIPTION_ID}
        plain = {name: one for name, one in task.items() if name != "_meta"}
        for one in list(self._followed):
            if one.id == task["taskId"]:
                one.hear({**plain, "_meta": meta} if meta else plain)

    async def followed(
        self, connection: Any, request: Request[Any], ids: Collection[str]
    ) -> Sequence[FollowedTask]:
        stream = self.client.stream
        self.check_declared(request)
        if stream is None:
            return ()
        to_client = ClientStream(connection, request.id)
        tasks = [NotifiedTask(to_client, id, self._end) for id in sorted(ids)]
        # What the server says at once is heard already.
        self._followed.update(tasks)
        honoured = await stream.tasks(self._ids())
        for one in tasks:
            if one.id not in honoured:
                self._followed.discard(one)
        return [one for one in tasks if one.id in honoured]

    def _ids(self) -> frozenset[str]:
        return frozenset(one.id for one in self._followed)

    def _end(self, task: NotifiedTask) -> None:
        self._followed.discard(task)
        stream = self.client.stream
        if stream is not None and task.id not in self._ids():
            self.client.endpoint.tasks.start(stream.forget_tasks(self._ids()))
