"""The two halves of a bridge: a server that passes on what it is asked, and a client that asks.

Both are of the revision of the client at one end, and of no class of their own: what they handle
and declare is what the party behind them does.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from . import gate
from .carrying import CarriedNotification, CarryingHandlers, notification_of, off_stream, request_of
from .client import Agreement, ClientBase
from .envelope import CLIENT_CAPABILITIES, CLIENT_INFO, PROGRESS_TOKEN, client_capabilities
from .errors import INVALID_PARAMS, METHOD_NOT_FOUND, Disconnected, McpError
from .jsonvalue import JSONObject, is_object
from .kept import Bound
from .listening import ACKNOWLEDGED, LISTEN, Listening
from .model import declared
from .options import CallOptions
from .over_handshake import OverHandshake
from .passage import Passage
from .pointers import Problem
from .server import ServerBase
from .spec import NotificationSpec, RequestSpec
from .subscriptions import RESOURCE_UPDATED, Filter
from .translation.losses import Loss
from .translation.notice import Lost, Notice

if TYPE_CHECKING:
    from .session import SessionBase

_LOG: Final = "notifications/message"

# What the runtime sees to at either end by itself.
_OF_ONE_END: Final = frozenset(
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
_SUBSCRIBING: Final = (_SUBSCRIBE, "resources/unsubscribe")


class Caller(NamedTuple):
    """Who a client is and what it can do, as it said in its own revision."""

    capabilities: JSONObject
    info: JSONObject

    @staticmethod
    def of(params: Mapping[str, Any], meta: Mapping[str, Any]) -> "Caller":
        """Who sent these params: of `initialize`, or of a request that stands by itself."""
        said = params.get("capabilities")
        info = params.get("clientInfo", meta.get(CLIENT_INFO))
        return Caller(
            said if is_object(said) else dict(client_capabilities(meta)),
            info if is_object(info) else {"name": "unknown", "version": "0"},
        )

    def problems(self, bound: Bound, *, begins: bool) -> list[Problem]:
        """What is wrong with it if it may not be kept; `begins` if `initialize` has said it."""
        at, names = ("/params", ("capabilities", "clientInfo"))
        if not begins:
            at, names = ("/params/_meta", (CLIENT_CAPABILITIES, CLIENT_INFO))
        return bound.problems(at, dict(zip(names, self, strict=True)))


_EXTENSIONS: Final = "extensions"
_NOT_CARRIED: Final = "only within one revision a bridge carries what belongs to an extension"


def _plain(declared: Mapping[str, Any]) -> JSONObject:
    """What is declared, without what needs more than the methods of a revision."""
    return {name: value for name, value in declared.items() if name != _EXTENSIONS}


def _new_key() -> str:
    return token_hex(8)


class ProxyClient(ClientBase):
    """Speaks to the server for one client; `server` speaks to that client."""

    caller: Caller
    server: "ProxyServer"
    on_loss: Callable[[Lost], object] | None = None
    notice: Notice
    _listening: Listening | None = None

    def declaration(self) -> JSONObject:
        """What the client behind it declares."""
        return self.caller.capabilities

    def declaration_in(self, revision: str) -> JSONObject:
        """See `Handlers.declaration_in`."""
        return _plain(self.caller.capabilities)

    def identity(self) -> JSONObject:
        """What the client behind it is called."""
        return self.caller.info

    @classmethod
    def handled(cls, revision: str | None = None) -> frozenset[str]:
        """Nothing that it would have to declare by itself."""
        return frozenset()

    def bound(self, revision: str) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        """See `Handlers.bound`."""
        asked = {**self.REQUESTS, **self.INPUT_REQUESTS}
        handlers: dict[str, Callable[..., Awaitable[Any]]] = {
            method: self._asker(spec)
            for method, (spec, _) in asked.items()
            if method not in _OF_ONE_END
        }
        for method, (notification, _) in self.NOTIFICATIONS.items():
            if method not in _OF_ONE_END:
                handlers[method] = self._teller(notification)
        if ACKNOWLEDGED in self.NOTIFICATIONS:
            handlers[ACKNOWLEDGED] = self._acknowledged
        if revision != self.TABLE.revision:
            return handlers
        return CarryingHandlers(handlers, self._other, self.TABLE, _OF_ONE_END)

    async def _other(self, method: str, params: Any) -> Any:
        if isinstance(params, CarriedNotification):
            return await self.server.tell(notification_of(method), off_stream(params))
        return await self.server.ask(request_of(method), params)

    async def _acknowledged(self, params: Any) -> None:
        if self._listening is not None:
            self._listening.takes(ACKNOWLEDGED, params, params.to_wire().get("_meta", {}))

    def adopt(self, agreement: Agreement) -> None:
        """See `ClientBase.adopt`."""
        super().adopt(agreement)
        self.notice = Notice(self.TABLE.revision, self.revision, self.on_loss)
        if not self.same_revision:
            self._note_extensions("Client", self.caller.capabilities)
            self._note_extensions("Server", self.server_declared)
        if isinstance(agreement.ways, OverHandshake):
            agreement.ways.hears_all = True
        elif agreement.ways is None and LISTEN in self.TABLE.requests:
            self._listening = Listening(agreement.endpoint, self.TABLE.requests[LISTEN])

    def _note_extensions(self, side: str, declared: Mapping[str, Any]) -> None:
        if declared.get(_EXTENSIONS):
            name = f"{side}Capabilities"
            self.notice.take(name, [Loss(f"/{name}/{_EXTENSIONS}", "dropped", _NOT_CARRIED)])

    @property
    def same_revision(self) -> bool:
        """Whether the server speaks the same revision as the client behind it."""
        return self.revision == self.TABLE.revision

    @property
    def server_declared(self) -> Mapping[str, Any]:
        """What the server has declared."""
        return self.endpoint.connection.declared["server"]

    async def open(self) -> None:
        """Hear of all changes of lists that the server tells of."""
        if self._listening is not None:
            wanted = Filter(frozenset(self.NOTIFICATIONS)).honoured(self.server_declared)
            await self._listening.lists(wanted.lists)

    async def watch(self, method: str, uri: str) -> None:
        """Hear of changes of a resource, or not any more; for a client of the stateless era."""
        if self._listening is not None:
            listening = self._listening
            await (listening.watch if method == _SUBSCRIBE else listening.unwatch)(uri)
        else:
            ways = self._agreed().ways
            assert isinstance(ways, OverHandshake)
            await ways.subscription(method, uri)

    async def call(self, spec: RequestSpec[Any, Any], params: Any, options: CallOptions) -> Any:
        """The plain result of a request, whatever the server asks before."""
        if "may_require_input" in spec.traits:
            return await self._rounds(spec, params, **options)
        return await self.request(spec, params, **options)

    def _asker(self, spec: RequestSpec[Any, Any]) -> Callable[[Any], Awaitable[Any]]:
        return lambda params: self.server.ask(spec, params)

    def _teller(self, spec: NotificationSpec[Any]) -> Callable[[Any], Awaitable[None]]:
        return lambda params: self.server.tell(spec, params)


class ProxyServer(ServerBase[Any]):
    """Answers one client with what `client`, which speaks to the server, is told."""

    client: ProxyClient

    def __init__(self) -> None:
        self._passages: dict[str, Passage] = {}

    @property
    def instructions(self) -> str | None:
        """What the server behind it wants a model to know."""
        return self.client.instructions

    def declaration(self) -> JSONObject:
        """What the server behind it declares."""
        declared = self.client.server_declared
        return dict(declared) if self.client.same_revision else _plain(declared)

    def identity(self) -> JSONObject:
        """What the server behind it is called."""
        said = self.client.endpoint.connection.identity.get("server")
        return {"name": "unknown", "version": "0"} if said is None else dict(said)

    @classmethod
    def handled(cls, revision: str | None = None) -> frozenset[str]:
        """Nothing that it would have to declare by itself."""
        return frozenset()

    def bound(self, revision: str) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        """See `Handlers.bound`."""
        handlers: dict[str, Callable[..., Awaitable[Any]]] = {
            method: self._asker(spec)
            for method, (spec, _) in self.REQUESTS.items()
            if method not in _OF_ONE_END
        }
        for method, (notification, _) in self.NOTIFICATIONS.items():
            if method not in _OF_ONE_END:
                handlers[method] = self._teller(notification)
        for method in _SUBSCRIBING:
            if method not in self.REQUESTS:
                handlers[method] = self._watcher(method)
        if not self.client.same_revision:
            return handlers
        return CarryingHandlers(handlers, self._other, self.TABLE, _OF_ONE_END)

    async def _other(self, method: str, session: "SessionBase", params: Any) -> Any:
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

    async def _pass(self, spec: RequestSpec[Any, Any], session: "SessionBase", params: Any) -> Any:
        passage, key = await self._passage(spec, session, params)
        try:
            return await passage.outcome(session)
        finally:
            if passage.over:
                self._passages.pop(key, None)
            elif passage.waits:
                # It waits for the client to come back, but not for ever.
                forget = partial(self._passages.pop, key, None)
                passage.expire(session.endpoint.options.max_timeout, forget)

    async def _passage(
        self, spec: RequestSpec[Any, Any], session: "SessionBase", params: Any
    ) -> tuple[Passage, str]:
        """The passage of a request: a new one, or the one that waits for the answers it brings."""
        key = await session.once("passage", _new_key)
        passage = self._passages.get(key)
        if passage is None:
            if "requestState" in session.raw:
                # To begin anew would do again what the server has done already.
                raise McpError(INVALID_PARAMS, "The request was given up meanwhile")
            self._make_room(session.endpoint.options.max_in_flight)
            passage = self._passages[key] = self._departed(spec, session, params)
        return passage, key

    def _make_room(self, most: int) -> None:
        """Give up the request that has waited longest for the client, if too many do."""
        waiting = [key for key, passage in self._passages.items() if passage.waits]
        if len(waiting) >= most:
            self._passages.pop(waiting[0]).cancel()

    def _departed(
        self, spec: RequestSpec[Any, Any], session: "SessionBase", params: Any
    ) -> Passage:
        options: CallOptions = {"timeout": session.endpoint.options.max_timeout}
        if PROGRESS_TOKEN in session.meta:
            # Progress is reported of what has been asked for, and so not before there is a passage.
            options["on_progress"] = lambda progress: passage.progressed(progress)
        passage = Passage(self.client.call(spec, params, options))
        return passage

    # From the server to the client.

    async def ask(self, spec: RequestSpec[Any, Any], params: Any) -> Any:
        """Put a question of the server to the client."""
        if self.client.TABLE.rules.server_requests:
            for session in self.sessions:
                return await session.put(spec, params)
        # Which of several requests it belongs to nobody says: most likely the last whose client
        # is there.
        asking = [passage for passage in reversed(self._passages.values()) if passage.may_ask]
        for passage in sorted(asking, key=lambda passage: passage.waits)[:1]:
            return await passage.ask(spec, params)
        raise McpError(METHOD_NOT_FOUND, f"{spec.method} belongs to no request of the client")

    async def tell(self, spec: NotificationSpec[Any], params: Any) -> None:
        """Pass on what the server tells, if it has declared what that needs."""
        capabilities: gate.Declared = {
            "server": self.declaration(),
            "client": self.client.caller.capabilities,
        }
        need = gate.unmet(spec.requires, "server", params, capabilities)
        if need is not None:
            why = f"it needs {need.capability.name}, which is not declared"
            self.client.notice.take(spec.method, [Loss("", "dropped", why)])
            return
        is_change = spec.method == RESOURCE_UPDATED or spec.method.endswith("/list_changed")
        if is_change and spec.method in self.TABLE.notifications:
            await self.publish(spec.method, declared(params, "uri"))
        elif spec.method == _LOG:
            for session in self._listeners():
                await session.log(params.level, params.data, params.logger)
        else:
            for session in self.sessions:
                # Who has gone need not be told.
                with suppress(Disconnected):
                    await session.notify(spec, params)

    def _listeners(self) -> list[Any]:
        if self.client.TABLE.rules.era == "handshake":
            return list(self.sessions)
        under_way = [one.session for one in self._passages.values() if not one.over]
        # Which request an entry belongs to nobody says: it goes where one was asked for.
        return [session for session in under_way if session is not None][-1:]

    def abort(self) -> None:
        """Give up what is under way."""
        for passage in self._passages.values():
            passage.cancel()
