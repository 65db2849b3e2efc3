"""A mounted server of another revision than the server above."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from ..core.errors import METHOD_NOT_FOUND, McpError, Untranslatable
from ..core.json import JSONObject
from ..core.losses import LossReport
from ..core.models.base import validator_of
from ..core.options import CallOptions, Options
from ..core.spec import AnyRequest, NotificationSpec, P, R, RequestSpec
from ..messages.envelope import LOG_LEVEL, client_envelope
from ..messages.method_table import MethodTable
from ..rpc.jobs import Job
from ..rules.handlers import Handler
from ..server.base import ServerBase, package_of
from ..server.context import OpenConnection, RequestContext
from ..server.rounds import read_round
from ..server.strategies import Strategy
from ..server.waiting_strategies import in_tasks
from ..translation.table import TranslatingTable
from .links import Link, MountedConnection, MountedContext


def translating_table(own: MethodTable, above: ServerBase[Any], options: Options) -> MethodTable:
    """Return the messages of a mounted server, as the server above writes them."""
    there, package = above.TABLE, package_of(type(above))
    losses = LossReport(own.revision, there.revision, options.on_loss)
    return TranslatingTable(own, there, package, losses)


class TranslatedConnection(MountedConnection):
    """A connection that `table` translates; `strategies` run some handlers."""

    def __init__(
        self,
        server: ServerBase[Any],
        outer: OpenConnection,
        publish: Callable[..., Awaitable[None]],
        table: MethodTable,
    ) -> None:
        super().__init__(server, outer, publish)
        self.table = table
        self.strategies: Mapping[str, Strategy] = {}
        if table.rules.server_requests:
            self.strategies = in_tasks(server.TABLE, table)

    def context(self, outer: RequestContext) -> "TranslatedContext":
        return TranslatedContext(self, outer)


class TranslatedContext(MountedContext):
    """A request of a client of the server above, in the mounted server's revision."""

    __slots__ = ("_translating",)

    def __init__(self, connection: TranslatedConnection, outer: RequestContext) -> None:
        super().__init__(connection, outer)
        self._translating: Any = connection.table

    def peer_capabilities(self) -> Mapping[str, Any]:
        declared: JSONObject = dict(super().peer_capabilities())
        return cast(JSONObject, self._translating.inward("ClientCapabilities", declared))

    def peer_info(self) -> Mapping[str, Any] | None:
        info = super().peer_info()
        return info and self._translating.inward("Implementation", dict(info))

    def wire_name(self, method: str) -> str:
        return super().wire_name(self._translating.wire_name(method))

    def params_for_client(self, method: str, params: JSONObject) -> JSONObject:
        return super().params_for_client(
            method, self._translating.carry_out(method, "params", params)
        )

    def _across(self, spec: Any, params: Any) -> tuple[Any, Any]:
        """Return the spec and the params in the revision of the server above."""
        above = self.outer.table
        native = above.spec_of(spec.known_as)
        if native is None:
            why = f"{above.revision} has no {spec.method}"
            raise Untranslatable("", why, code=METHOD_NOT_FOUND)
        if params is None:
            return native, None
        wire = self._translating.carry_out(spec.method, "params", params.to_wire())
        return native, validator_of(native.params)(wire)

    async def notify(self, spec: NotificationSpec[P], params: P | None) -> None:
        await super().notify(*self._across(spec, params))

    async def _request_outer(
        self, spec: RequestSpec[P, Any, R], params: P | None, options: CallOptions
    ) -> R:
        native, given = self._across(spec, params)
        answer: Any = await self.outer.request_unchecked(native, given, options)
        if not isinstance(answer, native.results[0]):
            return cast(R, answer)
        return cast(R, self._translating.read_response(spec, answer.to_wire()))

    def job(self, spec: AnyRequest, params: Any) -> Job:
        assert self.call is not None and self._reply is not None
        return Job(self.call._replace(spec=spec, params=params), self._reply)

    def carried_in(self, spec: AnyRequest, params: Any) -> Any:
        """Return the params in the mounted server's revision."""
        wire: JSONObject = self._translating.carry_in(spec.method, "params", params.to_wire())
        own, above = self.table, self.outer.table
        if above.era.remembers_client and not own.era.remembers_client:
            info = self.peer_info() or {"name": "unknown", "version": "0"}
            envelope = client_envelope(own.revision, dict(self.peer_capabilities()), dict(info))
            level = {LOG_LEVEL: self.meta[LOG_LEVEL]} if LOG_LEVEL in self.meta else {}
            wire = {**wire, "_meta": {**wire.get("_meta", {}), **envelope, **level}}
        return validator_of(spec.params)(wire)

    def carried_out(self, method: str, result: Any) -> Any:
        above = self.outer.table
        wire = self._translating.carry_out(method, "result", result.to_wire())
        return above.read_result(above.requests[self._translating.wire_name(method)], wire)


class TranslatedLink(Link):

    connection: TranslatedConnection

    async def run(self, handler: Handler, method: str, context: MountedContext, params: Any) -> Any:
        assert isinstance(context, TranslatedContext)
        own, table = context.table, self.connection.table
        strategy, spec = self.connection.strategies.get(method), own.requests[method]
        given = context.carried_in(spec, params)
        if context.inputs is not None:
            # The server above has read them in its own revision.
            asking = context.asking()._replace(specs=context.own_questions())
            context.inputs, _ = read_round(given.to_wire(), asking)

        async def run(session: Any, params: Any) -> Any:
            if strategy is None:
                return await handler(session, params)
            return await strategy(handler, context, context.job(spec, params))

        try:
            result = await super().run(run, method, context, given)
        except McpError as error:
            there = table.error_to_send(method, (error.code, error.data), given)
            raise error.with_code(*there) from error
        return context.carried_out(method, result)
