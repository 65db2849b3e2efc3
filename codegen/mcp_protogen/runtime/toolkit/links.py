"""A mounted server, as one connection and one request of the server above reach it.

The server above is its client, which speaks the revision of its own class.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from ..core.errors import METHOD_NOT_FOUND, McpError, MethodNotFound, Untranslatable
from ..core.json import JSONObject
from ..core.middleware import MethodCall, Middleware, send_through, through
from ..core.models.base import validator_of
from ..core.options import CallOptions
from ..core.spec import AnyRequest, NotificationSpec, RequestSpec
from ..messages.envelope import client_envelope
from ..messages.method_table import MethodTable
from ..rpc.jobs import Job
from ..server.base import ServerBase
from ..server.context import AskedQuestions, OpenConnection, Reports, RequestContext
from ..server.rounds import read_round
from ..server.strategies import Strategy

P = TypeVar("P")
R = TypeVar("R")


class MountedConnection:
    """A connection of the server above, as a mounted server sees it."""

    def __init__(
        self,
        server: ServerBase[Any],
        outer: OpenConnection,
        full_uri: Callable[[str], str],
        table: MethodTable,
    ) -> None:
        self.server = server
        self.outer = outer
        self.table = table
        """The messages of the mounted server, as the server above writes them."""
        self.endpoint = outer.endpoint
        self.audience, self.state = outer.audience, outer.state
        self.middleware: Sequence[Middleware] = server.__mcp_runtime__.middleware()
        self._full_uri = full_uri

    @property
    def is_owner(self) -> bool:
        return self.outer.is_owner

    @property
    def level(self) -> str:
        return self.outer.level

    def session(self) -> Any:
        return MountedContext(self, self.outer.session().__mcp_runtime__).session()

    async def publish(self, method: str, uri: str | None, /) -> None:
        await self.outer.publish(method, None if uri is None else self._full_uri(uri))


class MountedContext(RequestContext):
    """A request, as a mounted server sees it; `outer` is how the server above does."""

    __slots__ = ("_mounted", "_outer")

    def __init__(self, connection: MountedConnection, outer: RequestContext) -> None:
        super().__init__(connection, outer._request, outer._reply, outer.meta)
        self._mounted = connection
        self._outer = outer
        self.inputs = outer.inputs

    @property
    def reports(self) -> Reports:
        return self._outer.reports

    @property
    def questions(self) -> AskedQuestions:
        return self._outer.questions

    def peer_declared(self) -> Mapping[str, Any]:
        given = self._outer.peer_declared()
        return self._mounted.table.inward("ClientCapabilities", dict(given))

    def peer_info(self) -> Mapping[str, Any] | None:
        info = self._outer.peer_info()
        return info and self._mounted.table.inward("Implementation", dict(info))

    async def close_stream(self) -> None:
        await self._outer.close_stream()

    def shown(self, method: str, params: JSONObject) -> JSONObject:
        return self._outer.shown(method, self._mounted.table.carry_out(method, "params", params))

    def _across(self, spec: Any, params: Any) -> tuple[Any, Any]:
        """Return the spec and the params in the revision of the server above."""
        outer, method = self._outer.table, spec.method
        if outer.revision == self.table.revision:
            return spec, params
        tables = (outer.requests, outer.input_requests, outer.notifications)
        native = next((table[method] for table in tables if method in table), None)
        if native is None:
            why = f"{outer.revision} has no {method}"
            raise Untranslatable("", why, code=METHOD_NOT_FOUND)
        if params is None:
            return native, None
        wire = self._mounted.table.carry_out(method, "params", params.to_wire())
        return native, validator_of(native.params)(wire)

    def job(self, spec: AnyRequest, params: Any) -> Job:
        assert self._request is not None and self._reply is not None
        return Job(self._request._replace(spec=spec, params=params), self._reply)

    def carried_in(self, spec: AnyRequest, params: Any) -> Any:
        """Return the params in the mounted server's revision."""
        table: Any = self._mounted.table
        wire: JSONObject = table.carry_in(spec.method, "params", params.to_wire())
        own, above = self.table, self._outer.table
        if above.era.remembers_client and not own.era.remembers_client:
            info = self.peer_info() or {"name": "unknown", "version": "0"}
            envelope = client_envelope(own.revision, dict(self.peer_declared()), dict(info))
            wire = {**wire, "_meta": {**wire.get("_meta", {}), **envelope}}
        return validator_of(spec.params)(wire)

    def carried_out(self, method: str, result: Any) -> Any:
        wire = self._mounted.table.carry_out(method, "result", result.to_wire())
        return self._outer.table.read_result(self._outer.table.requests[method], wire)

    async def notify(self, spec: NotificationSpec[P], params: P | None) -> None:
        await self._outer.notify(*self._across(spec, params))

    async def put(self, spec: RequestSpec[P, Any, R], params: P | None, options: CallOptions) -> R:
        async def send(changed: Any) -> R:
            return await self._put(spec, changed, options)

        middleware = self._mounted.middleware
        answered: R = await send_through(middleware, send, spec, params, self.call)
        return answered

    async def _put(self, spec: RequestSpec[P, Any, R], params: P | None, options: CallOptions) -> R:
        native, given = self._across(spec, params)
        answer: Any = await self._outer.put(native, given, options)
        if native is spec or not isinstance(answer, native.results[0]):
            return cast(R, answer)
        return self._mounted.table.read_response(spec, answer.to_wire())


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A mounted server for one connection of the server above."""

    connection: MountedConnection
    handlers: Mapping[str, Callable[..., Awaitable[Any]]]
    strategies: Mapping[str, Strategy] | None = None
    """How some handlers are run, if the server is of another revision."""

    async def handle(self, method: str, outer: RequestContext, params: Any) -> Any:
        context, handler = MountedContext(self.connection, outer), self.handlers.get(method)
        if handler is None:
            raise MethodNotFound(method)
        if self.strategies is None:
            return await self._through(method, handler, context, params)
        table, spec = self.connection.table, context.table.requests[method]
        strategy, given = self.strategies.get(method), context.carried_in(spec, params)
        if context.inputs is not None:
            # The server above has read them in its own revision.
            asking = context.asking()._replace(specs=context.table.input_requests)
            context.inputs, _ = read_round(given.to_wire(), asking)

        async def run(session: Any, params: Any) -> Any:
            if strategy is None:
                return await handler(session, params)
            return await strategy(handler, context, context.job(spec, params))

        try:
            result = await self._through(method, run, context, given)
        except McpError as error:
            code = table.code_to_send(method, error.code)
            if code == error.code:
                # It may have more than its code, such as a status over HTTP.
                raise
            raise McpError(code, error.message, error.data) from error
        return context.carried_out(method, result)

    async def _through(
        self,
        method: str,
        handler: Callable[..., Awaitable[Any]],
        context: MountedContext,
        params: Any,
    ) -> Any:
        middleware = self.connection.middleware
        if not middleware:
            return await handler(context.session(), params)

        async def answer(call: MethodCall) -> Any:
            return await handler(call.session, call.params)

        given = {"params": params, "meta": context.meta, "request_id": context.request_id}
        return await through(middleware, answer, context.call(method, **given))
