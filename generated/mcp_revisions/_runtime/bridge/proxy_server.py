"""The half of a bridge that speaks to the client, as the server at the other end would.

It is of the revision of that client, and of no class of its own: what it handles and declares is
what the server does.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from secrets import token_hex
from typing import Any, Final

from ..core.errors import INVALID_PARAMS, METHOD_NOT_FOUND, Disconnected, McpError
from ..core.json import JSONObject
from ..core.losses import Loss
from ..core.models.base import declared
from ..core.options import CallOptions
from ..core.spec import NotificationSpec, RequestSpec
from ..core.subscriptions import RESOURCE_UPDATED
from ..messages.envelope import PROGRESS_TOKEN
from ..rules import capabilities as gate
from ..rules.handlers import runtime_of
from ..server.base import ServerBase, ServerRuntime
from ..server.context import RequestContext, SessionBase
from .carrying import CarriedNotification, CarryingHandlers, notification_of, request_of
from .forwarded_request import ForwardedRequest
from .proxy_client import OF_ONE_END, SUBSCRIBING, ProxyClient, plain

_LOG: Final = "notifications/message"


def _new_key() -> str:
    return token_hex(8)


class ProxyServerRuntime(ServerRuntime):
    """The runtime's part of a proxy, which shows the client the server at the other end."""

    def __init__(self, owner: "ProxyServer") -> None:
        super().__init__(owner)
        self.proxy: Final = owner

    def declaration(self) -> JSONObject:
        """Return what the server behind it declares."""
        client = self.proxy.client
        return (
            dict(client.server_declared) if client.same_revision else plain(client.server_declared)
        )

    def identity(self) -> JSONObject:
        """Return what the server behind it is called."""
        said = self.proxy.client.__mcp_runtime__.peer_info()
        return {"name": "unknown", "version": "0"} if said is None else dict(said)

    def handled(self, revision: str | None = None) -> frozenset[str]:
        """Return nothing: there is nothing that it would have to declare by itself."""
        return frozenset()

    def bound(self, revision: str) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        """Return handlers that pass on whatever the client asks and tells."""
        return self.proxy.passed_on()


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

    def passed_on(self) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        """Return handlers that pass on to the server what its client sends."""
        handlers: dict[str, Callable[..., Awaitable[Any]]] = {
            method: self._asker(spec)
            for method, (spec, _) in self.REQUESTS.items()
            if method not in OF_ONE_END
        }
        for method, (notification, _) in self.NOTIFICATIONS.items():
            if method not in OF_ONE_END:
                handlers[method] = self._teller(notification)
        for method in SUBSCRIBING:
            if method not in self.REQUESTS:
                handlers[method] = self._watcher(method)
        if not self.client.same_revision:
            return handlers
        return CarryingHandlers(handlers, self._other, self.TABLE, OF_ONE_END)

    async def _other(self, method: str, session: SessionBase, params: Any) -> Any:
        if isinstance(params, CarriedNotification):
            return await self.client.notify(notification_of(method), params)
        return await self._pass(request_of(method), session, params)

    def _asker(self, spec: RequestSpec[Any, Any]) -> Callable[[Any, Any], Awaitable[Any]]:
        return lambda session, params: self._pass(spec, session, params)

    def _teller(self, spec: NotificationSpec[Any]) -> Callable[[Any, Any], Awaitable[None]]:
        return lambda _, params: self.client.notify(spec, params)

    def _watcher(self, method: str) -> Callable[[Any, Any], Awaitable[None]]:
        return lambda _, params: self.client.watch(method, params.uri)

    # From the client to the server.

    async def _pass(self, spec: RequestSpec[Any, Any], session: SessionBase, params: Any) -> Any:
        context = session.__mcp_runtime__
        forwarded, key = await self._forward(spec, context, params)
        try:
            return await forwarded.outcome(context)
        finally:
            if forwarded.over:
                self._forwarded.pop(key, None)
            elif forwarded.waits:
                # It waits for the client to come back, but not for ever.
                forget = partial(self._forwarded.pop, key, None)
                forwarded.expire(context.endpoint.options.max_timeout, forget)

    async def _forward(
        self, spec: RequestSpec[Any, Any], context: RequestContext, params: Any
    ) -> tuple[ForwardedRequest, str]:
        """Return the passage of a request: a new one, or the one whose answers it brings."""
        key = await context.once("forwarded", _new_key)
        forwarded = self._forwarded.get(key)
        if forwarded is None:
            if "requestState" in context.raw:
                # To begin anew would do again what the server has done already.
                raise McpError(INVALID_PARAMS, "The request was given up meanwhile")
            self._make_room(context.endpoint.options.max_in_flight)
            forwarded = self._forwarded[key] = self._departed(spec, context, params)
        return forwarded, key

    def _make_room(self, most: int) -> None:
        """Give up the request that has waited longest for the client, if too many do."""
        waiting = [key for key, forwarded in self._forwarded.items() if forwarded.waits]
        if len(waiting) >= most:
            self._forwarded.pop(waiting[0]).cancel()

    def _departed(
        self, spec: RequestSpec[Any, Any], context: RequestContext, params: Any
    ) -> ForwardedRequest:
        options: CallOptions = {"timeout": context.endpoint.options.max_timeout}
        if PROGRESS_TOKEN in context.meta:
            # Progress is reported of what has been asked for, and so not before there is a passage.
            options["on_progress"] = lambda progress: forwarded.progressed(progress)
        forwarded = ForwardedRequest(self.client.call(spec, params, options))
        return forwarded

    # From the server to the client.

    async def ask(self, spec: RequestSpec[Any, Any], params: Any) -> Any:
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

    async def tell(self, spec: NotificationSpec[Any], params: Any) -> None:
        """Pass on what the server tells, if it has declared what that needs."""
        capabilities: gate.Declared = {
            "server": self.__mcp_runtime__.declaration(),
            "client": self.client.caller.capabilities,
        }
        need = gate.unmet(spec.requires, "server", params, capabilities)
        if need is not None:
            why = f"it needs {need.capability.name}, which is not declared"
            self.client.notice.take(spec.method, [Loss("", "dropped", why)])
            return
        is_change = spec.method == RESOURCE_UPDATED or spec.method.endswith("/list_changed")
        if is_change and spec.method in self.TABLE.notifications:
            await self.__mcp_runtime__.publish(spec.method, declared(params, "uri"))
        elif spec.method == _LOG:
            for context in self._listeners():
                await context.log(params.level, params.data, params.logger)
        else:
            for session in self.sessions:
                # Who has gone need not be told.
                with suppress(Disconnected):
                    await session.notify(spec, params)

    def _listeners(self) -> list[RequestContext]:
        if self.client.TABLE.era.remembers_client:
            return [session.__mcp_runtime__ for session in self.sessions]
        under_way = [one.context for one in self._forwarded.values() if not one.over]
        # Which request an entry belongs to nobody says: it goes where one was asked for.
        return [context for context in under_way if context is not None][-1:]

    def abort(self) -> None:
        """Give up what is under way."""
        for forwarded in self._forwarded.values():
            forwarded.cancel()
