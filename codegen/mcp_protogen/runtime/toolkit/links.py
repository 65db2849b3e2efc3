"""A mounted server in one connection and one request of the server above.

The server above is its client, which speaks the revision of its own class.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..core.errors import MethodNotFound
from ..core.json import JSONObject
from ..core.middleware import MethodCall, Middleware, send_through, through
from ..core.options import CallOptions
from ..core.spec import NotificationSpec, P, R, RequestSpec
from ..rules.handlers import Handler
from ..server.base import ServerBase
from ..server.context import AskedQuestions, OpenConnection, Reports, RequestContext


class MountedConnection:
    """A connection of the server above, as a mounted server sees it."""

    def __init__(
        self,
        server: ServerBase[Any],
        outer: OpenConnection,
        publish: Callable[..., Awaitable[None]],
    ) -> None:
        self.server = server
        self.outer = outer
        self.endpoint = outer.endpoint
        self.class_id, self.state = outer.class_id, outer.state
        self.middleware: Sequence[Middleware] = server.__mcp_runtime__.middleware()
        self._publish = publish

    @property
    def is_owner(self) -> bool:
        return self.outer.is_owner

    @property
    def level(self) -> str:
        return self.outer.level

    def context(self, outer: RequestContext) -> "MountedContext":
        return MountedContext(self, outer)

    def session(self) -> Any:
        return self.context(self.outer.session().__mcp_runtime__).session()

    async def publish(self, method: str, uri: str | None, /) -> None:
        await self._publish(self.outer, method, uri)


class MountedContext(RequestContext):
    """A request as a mounted server sees it; `outer` is that of the server above."""

    __slots__ = ("outer",)

    def __init__(self, connection: MountedConnection, outer: RequestContext) -> None:
        super().__init__(connection, outer.call, outer._reply, outer.meta)
        self.outer = outer
        self.inputs = outer.inputs

    @property
    def reports(self) -> Reports:
        return self.outer.reports

    @property
    def questions(self) -> AskedQuestions:
        return self.outer.questions

    def peer_capabilities(self) -> Mapping[str, Any]:
        return self.outer.peer_capabilities()

    def peer_info(self) -> Mapping[str, Any] | None:
        return self.outer.peer_info()

    async def close_stream(self) -> None:
        await self.outer.close_stream()

    def params_for_client(self, method: str, params: JSONObject) -> JSONObject:
        return self.outer.params_for_client(method, params)

    async def notify(self, spec: NotificationSpec[P], params: P | None) -> None:
        await self.outer.notify(spec, params)

    async def request_unchecked(
        self, spec: RequestSpec[P, Any, R], params: P | None, options: CallOptions
    ) -> R:
        async def send(changed: Any) -> R:
            return await self._request_outer(spec, changed, options)

        middleware = self.connection.middleware
        answered: R = await send_through(middleware, send, spec, params, self.method_call)
        return answered

    async def _request_outer(
        self, spec: RequestSpec[P, Any, R], params: P | None, options: CallOptions
    ) -> R:
        return await self.outer.request_unchecked(spec, params, options)


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A mounted server in one connection of the server above."""

    connection: MountedConnection
    handlers: Mapping[str, Handler]

    def handle(self, known_as: str, outer: RequestContext, params: Any) -> Awaitable[Any]:
        context = self.connection.context(outer)
        method = context.table.name_of(known_as)
        handler = self.handlers.get(method)
        if handler is None:
            raise MethodNotFound(method)
        return self.run(handler, method, context, params)

    async def run(self, handler: Handler, method: str, context: MountedContext, params: Any) -> Any:
        if not self.connection.middleware:
            return await handler(context.session(), params)

        async def answer(call: MethodCall) -> Any:
            return await handler(call.session, call.params)

        given = {"params": params, "meta": context.meta, "request_id": context.request_id}
        call = context.method_call(method, **given)
        return await through(self.connection.middleware, answer, call)


Work: TypeAlias = Callable[[Link], Awaitable[Any]]
