"""Adapters between a client of one era and a server of the other.

In the handshake era a client sends its settings once, in the stateless era with each request.
Changes are reported to single subscriptions, or on streams.
"""

from asyncio import Lock
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from typing import Any

from ..core.connection_errors import Disconnected
from ..core.errors import ProtocolError
from ..core.forms import fit_answer
from ..core.json import JSONObject
from ..core.models.base import WireModel, declared_member, validator_of
from ..core.options import CallOptions
from ..core.spec import ELICIT, SET_LEVEL, AnyRequest
from ..core.subscriptions import (
    ACKNOWLEDGED,
    LEVELS,
    LISTEN,
    LOG,
    RESOURCE_UPDATED,
    SUBSCRIBE,
    UNSUBSCRIBE,
    Filter,
    Selectors,
    is_change,
    keys_in,
    passes,
)
from ..messages.codec import Notification
from ..messages.envelope import LOG_LEVEL, SERVER_INFO, SUBSCRIPTION_ID, client_envelope, members
from ..rules.lifecycle import check
from ..translation.revision_view import RevisionView
from ..translation.table import TranslatingTable
from .base import ClientBase, ClientConnection, Work, unfit_question
from .listen_stream import ListenStream


def era_adapter(view: RevisionView[ClientBase], *others: Any) -> ClientConnection:
    return (ToHandshake if view.table.era.has_handshake else ToStateless)(view, *others)


class ToHandshake(ClientConnection):
    """The connection of a client of the stateless era to a server that began with a handshake."""

    def __init__(self, *agreed: Any) -> None:
        super().__init__(*agreed)
        self.request = self._send_adapted
        self._declared = self.endpoint.connection.declared["server"]
        self._selectors = Selectors(self.view.handlers.TABLE.notifications)
        self._levels: Counter[str] = Counter()
        self._level_set: str | None = None
        self._setting, self._subscribing = Lock(), Lock()
        self._streams: dict[int, Filter] = {}
        self._subscribed: set[str] = set()
        self._ids = count(1)

    async def _send_adapted(
        self, spec: AnyRequest, params: Any, options: CallOptions, meta: bytes | None = None
    ) -> Any:
        if spec.known_as == "server/discover":
            return self._answer_discover(spec)
        if spec.known_as == LISTEN:
            return await self._listen(params)
        level: str | None = declared_member(declared_member(params, "meta"), "log_level")
        if level is None or "logging" not in self._declared:
            return await self.endpoint.request(spec, params, options, meta)
        self._levels[level] += 1
        try:
            await self._set_level()
            return await self.endpoint.request(spec, params, options, meta)
        finally:
            self._levels[level] -= 1

    def renew(self) -> None:
        self._level_set = None
        self._subscribed.clear()
        self.endpoint.tasks.start(self._try_update())
        super().renew()

    def _lowest_level(self) -> str | None:
        return next((level for level in LEVELS if self._levels[level] > 0), None)

    async def _set_level(self) -> None:
        async with self._setting:
            if (level := self._lowest_level()) is not None and level != self._level_set:
                self._level_set = None
                await self.request_native(SET_LEVEL, level=level)
                self._level_set = level

    def _answer_discover(self, spec: AnyRequest) -> Any:
        info = self.endpoint.connection.identity.get("server")
        return spec.results[0](
            supported_versions=[self.negotiated.revision],
            capabilities=dict(self._declared),
            instructions=self.instructions or None,
            meta=None if info is None else {SERVER_INFO: dict(info)},
        )

    async def _listen(self, params: Any) -> Any:
        full = self._selectors.read(params.notifications.to_wire())
        filter = self._selectors.narrow(full, self._declared)
        id = next(self._ids)
        # Some servers report changed lists without declaring it.
        self._streams[id] = filter | {entry for entry in full if entry[0] != RESOURCE_UPDATED}
        try:
            await self._update_subscriptions()
            await self._acknowledge(id, filter)
            await self.endpoint.until_aborted()
        finally:
            del self._streams[id]
            # A client that closes a stream does not wait for the server's answers.
            self.endpoint.tasks.start(self._try_update())
        raise Disconnected("the server closed the connection")

    async def _update_subscriptions(self) -> None:
        async with self._subscribing:
            uris = keys_in(Filter().union(*self._streams.values()), RESOURCE_UPDATED)
            for uri in sorted(uris - self._subscribed):
                self._subscribed.add(uri)
                try:
                    await self.change_subscription(SUBSCRIBE, uri)
                except ProtocolError:
                    self._subscribed.discard(uri)
                    raise
            for uri in sorted(self._subscribed - uris):
                self._subscribed.discard(uri)
                await self.change_subscription(UNSUBSCRIBE, uri)

    async def _try_update(self) -> None:
        with suppress(Disconnected, ProtocolError):
            await self._update_subscriptions()

    async def _acknowledge(self, id: int, filter: Filter) -> None:
        if (handler := self.handlers.get(ACKNOWLEDGED)) is not None:
            wire = self._selectors.write(filter)
            params = {"notifications": wire, "_meta": {SUBSCRIPTION_ID: id}}
            spec = self.view.handlers.TABLE.notifications[ACKNOWLEDGED]
            await handler(spec.params.from_wire(params))

    def on_notification(self, notification: Notification[Any]) -> Awaitable[None] | None:
        spec, params = notification.spec, notification.params
        if not self.hears_all and spec.known_as == LOG:
            level = self._lowest_level()
            if level is None or not passes(params.level, level):
                return None
        handler = self.handlers.get(spec.method)
        if handler is None or self.hears_all or not is_change(spec.known_as):
            return super().on_notification(notification)
        self.runtime.note_notification(spec.method, params)
        change = (spec.known_as, declared_member(params, "uri"))
        streams = [id for id, wanted in self._streams.items() if change in wanted]
        return self._notify(handler, params, streams)

    @staticmethod
    async def _notify(
        handler: Callable[[Any], Awaitable[None]], params: WireModel, streams: list[int]
    ) -> None:
        wire = params.to_wire()
        for id in streams:
            meta = {**wire.get("_meta", {}), SUBSCRIPTION_ID: id}
            await handler(type(params).from_wire({**wire, "_meta": meta}))


class ToStateless(ClientConnection):
    """The connection of a client of the handshake era to a server of the stateless one."""

    def __init__(self, view: RevisionView[ClientBase], *others: Any) -> None:
        super().__init__(view, *others)
        self.request = self._send_adapted
        assert isinstance(view.table, TranslatingTable)
        self._table = view.table
        self.stream = ListenStream(self.endpoint, self._table.wire.spec_of(LISTEN))

    async def open(self) -> None:
        if self._table.name_of(LOG) in self.handlers:
            # Before `logging/setLevel`, a server of the handshake era may choose.
            self._set_level("info")
        await self.stream.follow_lists(self.handlers)

    async def change_subscription(self, method: str, uri: str) -> None:
        await self.stream.change_subscription(method, uri)

    def _set_level(self, level: str) -> None:
        envelope = client_envelope(self._table.revision, self.view.declared, self.view.identity)
        self.endpoint.connection.envelope = members({**envelope, LOG_LEVEL: level})

    async def _send_adapted(
        self, spec: AnyRequest, params: Any, options: CallOptions, meta: bytes | None = None
    ) -> Any:
        method = spec.method
        if method in ("ping", SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE):
            check(spec, "client", params, self.endpoint.connection.declared)
            if method == SET_LEVEL:
                self._set_level(params.level)
            elif method != "ping":  # Nothing to keep alive (2026-07-28, changelog).
                await self.change_subscription(method, params.uri)
            return spec.results[0]()
        result = await self.endpoint.request(spec, params, options, meta)
        plain: type[WireModel] = spec.results[0]
        table, endpoint = self._table, self.endpoint
        claims = table.claims(method)
        native = table.wire.requests[table.wire_name(method)]
        if "may_require_input" not in native.traits or isinstance(result, (plain, *claims)):
            return result
        # The server asks back, in its own revision.
        wire = table.carry_out(method, "params", {} if params is None else params.to_wire())
        timeout = endpoint.options.patience(spec, options).timeout

        async def again(result: Any) -> Any:
            return await endpoint.request(native, result, {**options, "timeout": timeout}, meta)

        result = await self.complete(native, native.params.from_wire(wire), result, again)
        if isinstance(result, claims):
            return result
        return plain.from_wire(table.carry_in(method, "result", result.to_wire()))

    def prepare(self, key: str, question: Any) -> Work:
        return prepare_native(self, key, question)

    def on_notification(self, notification: Notification[Any]) -> Awaitable[None] | None:
        method, params = notification.spec.method, notification.params
        if self.stream.take_notification(method, params, notification.meta):
            return None
        return super().on_notification(notification)


def prepare_native(connection: ClientConnection, key: str, question: Any) -> Work:
    """Return the work that answers a question in the server's revision; raise `InvalidAnswer`."""
    table, own = connection.view.table, connection.view.handlers.TABLE
    assert isinstance(table, TranslatingTable)
    method = table.own_name(question.method)
    spec = own.input_requests.get(method) or own.requests.get(method)
    handler = connection.handlers.get(method)
    if spec is None or handler is None:
        raise unfit_question(key, f"the client has no handler for {question.method}")
    wire: JSONObject = {} if question.params is None else question.params.to_wire()
    params = validator_of(spec.params)(table.carry_in(method, "params", wire))
    connection.check_question(key, spec, params)

    async def answer() -> WireModel:
        result: WireModel = await handler(params)
        answer = table.carry_out(method, "result", result.to_wire())
        native: type[WireModel] = table.wire.input_requests[question.method].results[0]
        if spec.known_as == ELICIT:
            answer = fit_answer(answer, wire, params.to_wire())
        return native.from_wire(answer)

    return answer
