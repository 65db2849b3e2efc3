"""The two halves of a bridge: one speaks to the server as its client would, one to the client.

Both are of the revision of the client, and of no class of their own: what a half handles and
declares is what the peer at the other end does.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from secrets import token_hex
from typing import Any, Final, NamedTuple

from ..client.base import ClientBase, ClientConnection, ClientRuntime
from ..client.listen_stream import ACKNOWLEDGED, LISTEN, SUBSCRIBE, UNSUBSCRIBE, ListenStream
from ..core.errors import INVALID_PARAMS, METHOD_NOT_FOUND, Disconnected, McpError
from ..core.json import JSONObject, is_object
from ..core.loss_report import LossReport
from ..core.losses import Loss
from ..core.models.base import declared
from ..core.models.validation_errors import Problem
from ..core.options import CallOptions
from ..core.spec import NotificationSpec, RequestSpec
from ..core.stored_json import SizeLimit
from ..core.subscriptions import RESOURCE_UPDATED
from ..messages.envelope import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    PROGRESS_TOKEN,
    client_capabilities,
)
from ..rules import capabilities as gate
from ..rules.handlers import runtime_of
from ..server.base import ServerBase, ServerRuntime
from ..server.context import RequestContext
from ..server.session import SessionBase
from .carrying import Handler, forwarding_handlers, off_stream
from .forwarded_request import ForwardedRequest

_LOG: Final = "notifications/message"
_EXTENSIONS: Final = "extensions"
_NOT_CARRIED: Final = "only within one revision a bridge carries what belongs to an extension"
_UNKNOWN: Final[Mapping[str, Any]] = {"name": "unknown", "version": "0"}


class Caller(NamedTuple):
    """What a client is called and declares, as it said in its own revision."""

    capabilities: JSONObject
    info: JSONObject

    @staticmethod
    def of(params: Mapping[str, Any], meta: Mapping[str, Any]) -> "Caller":
        """Return who sent these params, of `initialize` or of a request that stands by itself."""
        capabilities = params.get("capabilities")
        info = params.get("clientInfo", meta.get(CLIENT_INFO))
        return Caller(
            capabilities if is_object(capabilities) else dict(client_capabilities(meta)),
            info if is_object(info) else {**_UNKNOWN},
        )

    def problems(self, bound: SizeLimit, *, begins: bool) -> list[Problem]:
        """Return why it may not be kept, if so; `begins` says that it came with `initialize`."""
        at, names = ("/params", ("capabilities", "clientInfo"))
        if not begins:
            at, names = ("/params/_meta", (CLIENT_CAPABILITIES, CLIENT_INFO))
        return bound.problems(at, dict(zip(names, self, strict=True)))


def _without_extensions(declared: Mapping[str, Any]) -> JSONObject:
    """Return what is declared, without what needs more than the methods of a revision."""
    return {name: value for name, value in declared.items() if name != _EXTENSIONS}


class ProxyClientRuntime(ClientRuntime):
    """The runtime's part of a proxy, which shows the server the client at the other end."""

    def __init__(self, owner: "ProxyClient") -> None:
        super().__init__(owner)
        self.proxy: Final = owner

    def declaration(self) -> JSONObject:
        return self.proxy.caller.capabilities

    def declaration_in(self, revision: str) -> JSONObject:
        return _without_extensions(self.proxy.caller.capabilities)

    def identity(self) -> JSONObject:
        return self.proxy.caller.info

    def handled(self, revision: str | None = None) -> frozenset[str]:
        """Return nothing: there is nothing that it would have to declare by itself."""
        return frozenset()

    def bound(self, revision: str) -> Mapping[str, Handler]:
        return self.proxy.handlers(revision)

    def adopt(self, connection: ClientConnection) -> None:
        super().adopt(connection)
        self.proxy.begin(connection)


class ProxyClient(ClientBase):
    """A client that speaks to the server for another; `server` speaks to that one."""

    caller: Caller
    server: "ProxyServer"
    on_loss: Any = None
    losses: LossReport
    _stream: ListenStream | None = None

    @property
    def __mcp_runtime__(self) -> ProxyClientRuntime:
        return runtime_of(self, ProxyClientRuntime)

    def handlers(self, revision: str) -> Mapping[str, Handler]:
        """Return handlers that forward to the client what a server of `revision` sends."""
        own: dict[str, Handler] = {}
        if ACKNOWLEDGED in self.NOTIFICATIONS:
            own[ACKNOWLEDGED] = self._acknowledged
        return forwarding_handlers(
            self,
            self.server.ask_client,
            self.server.notify_client,
            own,
            carries=revision == self.TABLE.revision,
        )

    async def _acknowledged(self, params: Any) -> None:
        if self._stream is not None:
            self._stream.takes(ACKNOWLEDGED, params, params.to_wire().get("_meta", {}))

    def begin(self, connection: ClientConnection) -> None:
        """Hear from now on all that the server reports, and note what cannot be carried."""
        self.losses = LossReport(self.TABLE.revision, self.revision, self.on_loss)
        if not self.same_revision:
            self._note_extensions("ClientCapabilities", self.caller.capabilities)
            self._note_extensions("ServerCapabilities", self.server_declared)
        if connection.adapter is not None:
            connection.adapter.hears_all = True
        elif LISTEN in self.TABLE.requests:
            self._stream = ListenStream(connection.endpoint, self.TABLE.requests[LISTEN])

    def _note_extensions(self, name: str, declared: Mapping[str, Any]) -> None:
        if declared.get(_EXTENSIONS):
            self.losses.take(name, [Loss(f"/{name}/{_EXTENSIONS}", "dropped", _NOT_CARRIED)])

    @property
    def same_revision(self) -> bool:
        """Return whether the server speaks the same revision as the client behind it."""
        return self.revision == self.TABLE.revision

    @property
    def server_declared(self) -> Mapping[str, Any]:
        """The capabilities that the server has declared."""
        return self.__mcp_runtime__.peer_declared()

    async def open(self) -> None:
        """Hear of all changes of lists that the server reports."""
        if self._stream is not None:
            await self._stream.lists(self.NOTIFICATIONS)

    async def subscription(self, method: str, uri: str) -> None:
        """Begin or stop to hear of changes of a resource, for a client of the stateless era."""
        carrier = self._stream or self.__mcp_runtime__.connection.adapter
        assert carrier is not None
        await carrier.subscription(method, uri)

    async def call(self, spec: RequestSpec[Any, Any], params: Any, options: CallOptions) -> Any:
        """Return the plain result of a request, whatever the server asks before."""
        if "may_require_input" in spec.traits:
            return await self.__mcp_runtime__.complete(spec, params, options)
        return await self.request(spec, params, **options)


class ProxyServerRuntime(ServerRuntime):
    """The runtime's part of a proxy, which shows the client the server at the other end."""

    def __init__(self, owner: "ProxyServer") -> None:
        super().__init__(owner)
        self.proxy: Final = owner

    def declaration(self) -> JSONObject:
        client = self.proxy.client
        declared = client.server_declared
        return dict(declared) if client.same_revision else _without_extensions(declared)

    def identity(self) -> JSONObject:
        return dict(self.proxy.client.__mcp_runtime__.peer_info() or _UNKNOWN)

    def handled(self, revision: str | None = None) -> frozenset[str]:
        """Return nothing: there is nothing that it would have to declare by itself."""
        return frozenset()

    def bound(self, revision: str) -> Mapping[str, Handler]:
        return self.proxy.handlers()


class ProxyServer(ServerBase[SessionBase]):
    """A server that answers one client with what the server says to `client`."""

    client: ProxyClient

    def __init__(self) -> None:
        self._forwarded: dict[str, ForwardedRequest] = {}

    @property
    def instructions(self) -> str | None:
        """The instructions of the server behind it, for a model."""
        return self.client.instructions

    @property
    def __mcp_runtime__(self) -> ProxyServerRuntime:
        return runtime_of(self, ProxyServerRuntime)

    def handlers(self) -> Mapping[str, Handler]:
        """Return handlers that forward to the server what the client sends."""
        own = {
            method: partial(self._subscription, method)
            for method in (SUBSCRIBE, UNSUBSCRIBE)
            if method not in self.REQUESTS
        }
        return forwarding_handlers(
            self, self._forward, self._notify_server, own, carries=self.client.same_revision
        )

    # From the client to the server.

    async def _notify_server(
        self, spec: NotificationSpec[Any], _: SessionBase, params: Any
    ) -> None:
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
            # Progress is reported of what has been sent, and so not before it is assigned here.
            options["on_progress"] = lambda progress: forwarded.progressed(progress)
        forwarded = ForwardedRequest(self.client.call(spec, params, options))
        return forwarded

    # From the server to the client.

    async def ask_client(self, spec: RequestSpec[Any, Any], params: Any) -> Any:
        """Put a question of the server to the client."""
        if self.client.TABLE.rules.server_requests:
            for session in self.sessions:
                return await session.__mcp_runtime__.put(spec, params, {})
        # Which of several requests it belongs to nobody says: most likely the last whose client
        # is there.
        asking = [
            forwarded for forwarded in reversed(self._forwarded.values()) if forwarded.may_ask
        ]
        for forwarded in sorted(asking, key=lambda forwarded: forwarded.waits)[:1]:
            return await forwarded.ask(spec, params)
        raise McpError(METHOD_NOT_FOUND, f"{spec.method} belongs to no request of the client")

    async def notify_client(self, spec: NotificationSpec[Any], params: Any) -> None:
        """Forward a notification of the server, if it has declared what that needs."""
        capabilities: gate.Declared = {
            "server": self.__mcp_runtime__.declaration(),
            "client": self.client.caller.capabilities,
        }
        need = gate.unmet(spec.requires, "server", params, capabilities)
        if need is not None:
            why = f"it needs {need.capability.name}, which is not declared"
            self.client.losses.take(spec.method, [Loss("", "dropped", why)])
            return
        is_change = spec.method == RESOURCE_UPDATED or spec.method.endswith("/list_changed")
        if is_change and spec.method in self.TABLE.notifications:
            await self.__mcp_runtime__.publish(spec.method, declared(params, "uri"))
        elif spec.method == _LOG:
            for context in self._log_readers():
                await context.log(params.level, params.data, params.logger)
        else:
            for session in self.sessions:
                # A client that has gone needs no notification.
                with suppress(Disconnected):
                    await session.notify(spec, off_stream(params))

    def _log_readers(self) -> list[RequestContext]:
        if self.client.TABLE.era.remembers_client:
            return [session.__mcp_runtime__ for session in self.sessions]
        under_way = [one.context for one in self._forwarded.values() if not one.over]
        # Which request an entry belongs to nobody says: it goes where one was asked for.
        return [context for context in under_way if context is not None][-1:]

    def abort(self) -> None:
        """Give up what is under way."""
        for forwarded in self._forwarded.values():
            forwarded.cancel()
