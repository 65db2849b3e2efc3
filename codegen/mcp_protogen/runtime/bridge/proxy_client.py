"""The half of a bridge that speaks to the server, as the client at the other end would.

It is of the revision of that client, and of no class of its own: what it handles and declares is
what the client does.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol

from ..client.base import Agreement, ClientBase, ClientRuntime
from ..client.listen_stream import ACKNOWLEDGED, LISTEN, ListenStream
from ..client.to_handshake import ToHandshake
from ..core.json import JSONObject, is_object
from ..core.losses import Loss, LossReport
from ..core.models.validation_errors import Problem
from ..core.options import CallOptions, SizeLimit
from ..core.spec import NotificationSpec, RequestSpec
from ..core.subscriptions import Filter
from ..messages.envelope import CLIENT_CAPABILITIES, CLIENT_INFO, client_capabilities
from ..rules.handlers import runtime_of
from .carrying import CarriedNotification, CarryingHandlers, notification_of, off_stream, request_of

# What the runtime sees to at either end by itself.
OF_ONE_END: Final = frozenset(
    {
        "initialize",
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/progress",
        "notifications/subscriptions/acknowledged",
        "ping",
        "server/discover",
        "subscriptions/listen",
    }
)
_SUBSCRIBE: Final = "resources/subscribe"
SUBSCRIBING: Final = (_SUBSCRIBE, "resources/unsubscribe")


class Caller(NamedTuple):
    """What a client is called and declares, as it said in its own revision."""

    capabilities: JSONObject
    info: JSONObject

    @staticmethod
    def of(params: Mapping[str, Any], meta: Mapping[str, Any]) -> "Caller":
        """Return who sent these params, of `initialize` or of a request that stands by itself."""
        said = params.get("capabilities")
        info = params.get("clientInfo", meta.get(CLIENT_INFO))
        return Caller(
            said if is_object(said) else dict(client_capabilities(meta)),
            info if is_object(info) else {"name": "unknown", "version": "0"},
        )

    def problems(self, bound: SizeLimit, *, begins: bool) -> list[Problem]:
        """Return why it may not be kept, if so; `begins` says that it came with `initialize`."""
        at, names = ("/params", ("capabilities", "clientInfo"))
        if not begins:
            at, names = ("/params/_meta", (CLIENT_CAPABILITIES, CLIENT_INFO))
        return bound.problems(at, dict(zip(names, self, strict=True)))


_EXTENSIONS: Final = "extensions"
_NOT_CARRIED: Final = "only within one revision a bridge carries what belongs to an extension"


def plain(declared: Mapping[str, Any]) -> JSONObject:
    """Return what is declared, without what needs more than the methods of a revision."""
    return {name: value for name, value in declared.items() if name != _EXTENSIONS}


class ClientFacing(Protocol):
    """The half of a bridge that speaks to the client."""

    async def ask(self, spec: RequestSpec[Any, Any], params: Any, /) -> Any:
        """Put a question of the server to the client."""
        ...

    async def tell(self, spec: NotificationSpec[Any], params: Any, /) -> None:
        """Pass on what the server tells."""
        ...


class ProxyClientRuntime(ClientRuntime):
    """The runtime's part of a proxy, which shows the server the client at the other end."""

    def __init__(self, owner: "ProxyClient") -> None:
        super().__init__(owner)
        self.proxy: Final = owner

    def declaration(self) -> JSONObject:
        """Return what the client behind it declares."""
        return self.proxy.caller.capabilities

    def declaration_in(self, revision: str) -> JSONObject:
        """Return what of it can be said in another revision: no extensions."""
        return plain(self.proxy.caller.capabilities)

    def identity(self) -> JSONObject:
        """Return what the client behind it is called."""
        return self.proxy.caller.info

    def handled(self, revision: str | None = None) -> frozenset[str]:
        """Return nothing: there is nothing that it would have to declare by itself."""
        return frozenset()

    def bound(self, revision: str) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        """Return handlers that pass on whatever the server asks and tells."""
        return self.proxy.passed_on(revision)

    def adopt(self, agreement: Agreement) -> None:
        """Speak as agreed from now on, and hear all that the server tells."""
        super().adopt(agreement)
        self.proxy.hear(agreement)


class ProxyClient(ClientBase):
    """A client that speaks to the server for another; `server` speaks to that one."""

    caller: Caller
    server: ClientFacing
    on_loss: Callable[[Loss], object] | None = None
    notice: LossReport
    _listening: ListenStream | None = None

    @property
    def __mcp_runtime__(self) -> ProxyClientRuntime:
        return runtime_of(self, ProxyClientRuntime)

    def passed_on(self, revision: str) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        """Return handlers that pass on to the client what a server of `revision` sends."""
        asked = {**self.REQUESTS, **self.INPUT_REQUESTS}
        handlers: dict[str, Callable[..., Awaitable[Any]]] = {
            method: self._asker(spec)
            for method, (spec, _) in asked.items()
            if method not in OF_ONE_END
        }
        for method, (notification, _) in self.NOTIFICATIONS.items():
            if method not in OF_ONE_END:
                handlers[method] = self._teller(notification)
        if ACKNOWLEDGED in self.NOTIFICATIONS:
            handlers[ACKNOWLEDGED] = self._acknowledged
        if revision != self.TABLE.revision:
            return handlers
        return CarryingHandlers(handlers, self._other, self.TABLE, OF_ONE_END)

    async def _other(self, method: str, params: Any) -> Any:
        if isinstance(params, CarriedNotification):
            return await self.server.tell(notification_of(method), off_stream(params))
        return await self.server.ask(request_of(method), params)

    async def _acknowledged(self, params: Any) -> None:
        if self._listening is not None:
            self._listening.takes(ACKNOWLEDGED, params, params.to_wire().get("_meta", {}))

    def hear(self, agreement: Agreement) -> None:
        """Hear from now on whatever a server tells, and note what cannot be carried."""
        self.notice = LossReport(self.TABLE.revision, self.revision, self.on_loss)
        if not self.same_revision:
            self._note_extensions("Client", self.caller.capabilities)
            self._note_extensions("Server", self.server_declared)
        if isinstance(agreement.ways, ToHandshake):
            agreement.ways.hears_all = True
        elif agreement.ways is None and LISTEN in self.TABLE.requests:
            self._listening = ListenStream(agreement.endpoint, self.TABLE.requests[LISTEN])

    def _note_extensions(self, side: str, declared: Mapping[str, Any]) -> None:
        if declared.get(_EXTENSIONS):
            name = f"{side}Capabilities"
            self.notice.take(name, [Loss(f"/{name}/{_EXTENSIONS}", "dropped", _NOT_CARRIED)])

    @property
    def same_revision(self) -> bool:
        """Return whether the server speaks the same revision as the client behind it."""
        return self.revision == self.TABLE.revision

    @property
    def server_declared(self) -> Mapping[str, Any]:
        """The capabilities that the server has declared."""
        return self.__mcp_runtime__.peer_declared()

    async def open(self) -> None:
        """Hear of all changes of lists that the server tells of."""
        if self._listening is not None:
            wanted = Filter(frozenset(self.NOTIFICATIONS)).honoured(self.server_declared)
            await self._listening.lists(wanted.lists)

    async def watch(self, method: str, uri: str) -> None:
        """Begin or stop to hear of changes of a resource, for a client of the stateless era."""
        if self._listening is not None:
            listening = self._listening
            await (listening.watch if method == _SUBSCRIBE else listening.unwatch)(uri)
        else:
            ways = self.__mcp_runtime__.agreement.ways
            assert isinstance(ways, ToHandshake)
            await ways.subscription(method, uri)

    async def call(self, spec: RequestSpec[Any, Any], params: Any, options: CallOptions) -> Any:
        """Return the plain result of a request, whatever the server asks before."""
        if "may_require_input" in spec.traits:
            return await self.__mcp_runtime__.complete(spec, params, options)
        return await self.request(spec, params, **options)

    def _asker(self, spec: RequestSpec[Any, Any]) -> Callable[[Any], Awaitable[Any]]:
        return lambda params: self.server.ask(spec, params)

    def _teller(self, spec: NotificationSpec[Any]) -> Callable[[Any], Awaitable[None]]:
        return lambda params: self.server.tell(spec, params)
