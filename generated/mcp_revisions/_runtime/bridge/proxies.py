"""The two halves of a bridge: one speaks to the server as its client would, one to the client.

Both are of the revision of the client, and of no class of their own: what a half handles and
declares is what the peer at the other end does.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from secrets import token_hex
from typing import Any, Final

from ..client.base import ClientConnection, ClientRuntime
from ..client.listen_stream import ACKNOWLEDGED, LISTEN, SUBSCRIBE, UNSUBSCRIBE, ListenStream
from ..core.connection_errors import Disconnected
from ..core.errors import INVALID_PARAMS, METHOD_NOT_FOUND, McpError
from ..core.json import JSONObject
from ..core.losses import Loss, LossReport
from ..core.models.base import declared
from ..core.options import CallOptions
from ..core.spec import NotificationSpec, RequestSpec
from ..core.subscriptions import is_change
from ..messages.envelope import PROGRESS_TOKEN
from ..rules import capabilities as gate
from ..rules.handlers import Handlers
from ..server.base import ServerRuntime, SessionBase
from ..server.context import RequestContext
from .carrying import ForwardingHandlers, Handler, off_stream
from .forwarded_request import ForwardedRequest

_LOG: Final = "notifications/message"
_EXTENSIONS: Final = "extensions"
_NOT_CARRIED: Final = "only within one revision a bridge carries what belongs to an extension"

UNKNOWN: Final[Mapping[str, Any]] = {"name": "unknown", "version": "0"}
"""What a peer is called that does not say so."""


def _without_extensions(declared: Mapping[str, Any]) -> JSONObject:
    return {name: value for name, value in declared.items() if name != _EXTENSIONS}


class ProxyClientRuntime(ClientRuntime):
    """The half that speaks to the server: it shows what the client at the other end is."""

    server: "ProxyServerRuntime"
    capabilities: JSONObject
    info: JSONObject
    losses: LossReport
    on_loss: Callable[[Loss], object] | None
    _stream: ListenStream | None = None

    def declaration(self) -> JSONObject:
        return self.capabilities

    def declaration_in(self, revision: str) -> JSONObject:
        return _without_extensions(self.capabilities)

    def identity(self) -> JSONObject:
        return self.info

    def bound(self, revision: str) -> Mapping[str, Handler]:
        owner, server = self.owner, self.server
        own = {ACKNOWLEDGED: self._acknowledged} if ACKNOWLEDGED in owner.NOTIFICATIONS else {}
        carries = revision == owner.TABLE.revision
        return ForwardingHandlers(
            owner, server.ask_client, server.notify_client, own, carries=carries
        )

    async def _acknowledged(self, params: Any) -> None:
        if self._stream is not None:
            self._stream.takes(ACKNOWLEDGED, params, params.to_wire().get("_meta", {}))

    def adopt(self, connection: ClientConnection) -> None:
        """Hear from now on all that the server reports, and note what cannot be carried."""
        super().adopt(connection)
        table = self.owner.TABLE
        self.losses = LossReport(table.revision, self.revision, self.on_loss)
        if not self.same_revision:
            self._note_extensions("ClientCapabilities", self.capabilities)
            self._note_extensions("ServerCapabilities", self.peer_declared())
        connection.hears_all = True
        if LISTEN in table.requests and LISTEN in connection.view.table.requests:
            self._stream = ListenStream(connection.endpoint, table.requests[LISTEN])

    def _note_extensions(self, name: str, declared: Mapping[str, Any]) -> None:
        if declared.get(_EXTENSIONS):
            self.losses.take(name, [Loss(f"/{name}/{_EXTENSIONS}", "dropped", _NOT_CARRIED)])

    @property
    def same_revision(self) -> bool:
        return self.revision == self.owner.TABLE.revision

    async def open(self) -> None:
        """Hear of all changes of lists that the server reports."""
        if self._stream is not None:
            await self._stream.lists(self.owner.NOTIFICATIONS)

    async def subscription(self, method: str, uri: str) -> None:
        """Begin or stop to hear of changes of a resource, for a client of the stateless era."""
        await (self._stream or self.connection).subscription(method, uri)

    async def call(self, spec: RequestSpec[Any, Any], params: Any, options: CallOptions) -> Any:
        """Return the plain result of a request, whatever the server asks before."""
        asks = "may_require_input" in spec.traits
        return await (self.complete if asks else self.request)(spec, params, options)


class ProxyServerRuntime(ServerRuntime):
    """The half that speaks to the client: it shows what the server at the other end is."""

    client: ProxyClientRuntime

    def __init__(self, owner: Handlers) -> None:
        super().__init__(owner)
        self._forwarded: dict[str, ForwardedRequest] = {}

    def declaration(self) -> JSONObject:
        declared = self.client.peer_declared()
        return dict(declared) if self.client.same_revision else _without_extensions(declared)

    def identity(self) -> JSONObject:
        return dict(self.client.peer_info() or UNKNOWN)

    def bound(self, revision: str) -> Mapping[str, Handler]:
        own = {
            method: partial(self._subscription, method)
            for method in (SUBSCRIBE, UNSUBSCRIBE)
            if method not in self.owner.REQUESTS
        }
        carries = self.client.same_revision
        return ForwardingHandlers(self.owner, self._forward, self._notify, own, carries=carries)

    # From the client to the server.

    async def _notify(self, spec: NotificationSpec[Any], _: SessionBase, params: Any) -> None:
        await self.client.notify(spec, params)

    async def _subscription(self, method: str, _: SessionBase, params: Any) -> None:
        await self.client.subscription(method, params.uri)

    async def _forward(self, spec: RequestSpec[Any, Any], session: SessionBase, params: Any) -> Any:
        context = session.__mcp_runtime__
        key = await context.once("forwarded", partial(token_hex, 8))
        forwarded = self._forwarded.get(key)
        if forwarded is None:
            if "requestState" in context.raw:
                # To begin anew would do again what the server has done already.
                raise McpError(INVALID_PARAMS, "The request was given up meanwhile")
            self._make_room(context.endpoint.options.max_in_flight)
            forwarded = self._forwarded[key] = self._begin(spec, context, params)
        try:
            return await forwarded.outcome(context)
        finally:
            if forwarded.over:
                self._forwarded.pop(key, None)
            elif forwarded.waits:
                # It waits for the client to come back, but not for ever.
                forget = partial(self._forwarded.pop, key, None)
                forwarded.expire(context.endpoint.options.max_timeout, forget)

    def _make_room(self, most: int) -> None:
        """Give up the request that has waited longest for the client, if too many do."""
        waiting = [key for key, forwarded in self._forwarded.items() if forwarded.waits]
        if len(waiting) >= most:
            self._forwarded.pop(waiting[0]).cancel()

    def _begin(
        self, spec: RequestSpec[Any, Any], context: RequestContext, params: Any
    ) -> ForwardedRequest:
        options: CallOptions = {"timeout": context.endpoint.options.max_timeout}
        if PROGRESS_TOKEN in context.meta:
            # Progress is reported of what was sent, and so not before there is a request.
            options["on_progress"] = lambda progress: forwarded.progressed(progress)
        forwarded = ForwardedRequest(partial(self.client.call, spec, params, options))
        return forwarded

    # From the server to the client.

    async def ask_client(self, spec: RequestSpec[Any, Any], params: Any) -> Any:
        for session in self._sessions():
            if session.__mcp_runtime__.spoken.rules.server_requests:
                return await session.__mcp_runtime__.put(spec, params, {})
        # Which of several requests it belongs to nobody says: most likely the last whose client
        # is there.
        asking = [one for one in reversed(self._forwarded.values()) if one.may_ask]
        if self._is_shared and len(asking) > 1:
            # It could be put to the wrong one of several clients.
            raise McpError(METHOD_NOT_FOUND, f"{spec.method} could belong to several requests")
        for forwarded in sorted(asking, key=lambda one: one.waits)[:1]:
            return await forwarded.ask(spec, params)
        raise McpError(METHOD_NOT_FOUND, f"{spec.method} belongs to no request of the client")

    async def notify_client(self, spec: NotificationSpec[Any], params: Any) -> None:
        capabilities: gate.Declared = {
            "server": self.declaration(),
            "client": self.client.capabilities,
        }
        need = gate.unmet(spec.requires, "server", params, capabilities)
        if need is not None:
            why = f"it needs {need.capability.name}, which is not declared"
            self.client.losses.take(spec.method, [Loss("", "dropped", why)])
            return
        if is_change(spec.method) and spec.method in self.owner.TABLE.notifications:
            await self.publish(spec.method, declared(params, "uri"))
        elif spec.method == _LOG:
            for context in self._log_readers():
                await context.log(params.level, params.data, params.logger)
        else:
            for session in self._sessions():
                # A client that has gone needs no notification.
                with suppress(Disconnected):
                    await session.notify(spec, off_stream(params))

    def _sessions(self) -> list[SessionBase]:
        return [connection.session() for connection in self.connections]

    @property
    def _is_shared(self) -> bool:
        """Return whether its requests are those of several clients."""
        return any(one.endpoint.connection.shared for one in self.connections)

    def _log_readers(self) -> list[RequestContext]:
        readers = [session.__mcp_runtime__ for session in self._sessions()]
        if any(one.spoken.era.remembers_client for one in readers):
            return readers
        under_way = [one.context for one in self._forwarded.values() if not one.over]
        # Which request an entry belongs to nobody says: it goes where one was asked for.
        wanting = [context for context in under_way if context is not None]
        return [] if self._is_shared and len(wanting) > 1 else wanting[-1:]

    async def until_gone(self) -> None:
        """Wait until the server is gone."""
        await self.client.endpoint.until_aborted()

    def abort(self) -> None:
        for forwarded in self._forwarded.values():
            forwarded.cancel()
