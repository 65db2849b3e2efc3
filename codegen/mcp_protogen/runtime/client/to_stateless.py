"""A client of the handshake era that speaks to a server of the stateless one.

What its era asks of a server once and for all, the runtime says with each request; what the server
asks back in a result is answered by the handlers that a request of the server would have reached.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from ..core.forms import ELICIT, as_asked
from ..core.json import JSONObject
from ..core.models.base import WireModel, validator_of
from ..core.options import CallOptions
from ..core.spec import RequestSpec
from ..core.subscriptions import Filter
from ..messages.envelope import LOG_LEVEL, members
from ..messages.parsed import Notification
from ..rpc.endpoint import Endpoint
from ..rules import capabilities
from ..translation.table import TranslatingTable
from . import input_rounds
from .base import ClientBase
from .listen_stream import LISTEN, ListenStream

_LOG: Final = "notifications/message"

# Until `logging/setLevel` is called a server of the handshake era may choose; this one cannot.
_USUAL_LEVEL: Final = "info"


class ToStateless:
    """What carries the messages of one connection; each request says `envelope` of its client."""

    def __init__(
        self,
        client: ClientBase,
        endpoint: Endpoint,
        table: TranslatingTable,
        envelope: Mapping[str, Any],
    ) -> None:
        self._client = client
        self._endpoint = endpoint
        self._table = table
        self._envelope = envelope
        self._handlers = client.__mcp_runtime__.bound(table.revision)
        self.listening = ListenStream(endpoint, table.wire.requests[LISTEN])
        """The stream of changes."""

    async def open(self) -> None:
        """Ask for log entries and changes of lists, as far as the client handles them."""
        if _LOG in self._handlers:
            self._set_level(_USUAL_LEVEL)
        wanted = Filter(frozenset(self._handlers)).honoured(self._declared())
        await self.listening.lists(wanted.lists)

    def _declared(self) -> Mapping[str, Any]:
        return self._endpoint.connection.declared["server"]

    # Requests.

    async def request(self, spec: RequestSpec[Any, Any], params: Any, options: CallOptions) -> Any:
        stand_in = _STAND_INS.get(spec.method)
        if stand_in is not None:
            if spec.method != "ping":
                capabilities.check(spec, "client", params, self._endpoint.connection.declared)
            await stand_in(self, params)
            return spec.results[0]()
        result = await self._endpoint.request(spec, params, options)
        if isinstance(result, spec.results[0]):
            return result
        return await self._completed(spec, params, result, options)

    async def _completed(
        self, spec: RequestSpec[Any, Any], params: Any, asked: Any, options: CallOptions
    ) -> Any:
        """Answer what the server asks and make the request again, until it is done."""
        method, table, endpoint = spec.method, self._table, self._endpoint
        native = table.wire.requests[method]
        given: JSONObject = {} if params is None else params.to_wire()
        said = table.carry_out(method, "params", given)

        async def again(answers: JSONObject | None, state: str | None) -> Any:
            more = {"inputResponses": answers, "requestState": state}
            known = {name: value for name, value in more.items() if value is not None}
            return await endpoint.request(
                native, native.params.from_wire({**said, **known}), options
            )

        limit = endpoint.options.max_rounds
        plain = await input_rounds.complete(native, asked, self._prepare, again, limit)
        result: type[WireModel] = spec.results[0]
        return result.from_wire(table.carry_in(method, "result", plain.to_wire()))

    def _prepare(self, key: str, question: Any) -> input_rounds.Work:
        method: str = question.method
        spec, handler = self._client.TABLE.requests.get(method), self._handlers.get(method)
        if spec is None or handler is None:
            raise input_rounds.unfit(key, f"there is no handler for {method}")
        given: JSONObject = {} if question.params is None else question.params.to_wire()
        params = validator_of(spec.params)(self._table.carry_in(method, "params", given))
        input_rounds.check(key, spec, params, self._endpoint.connection.declared)

        async def answer() -> JSONObject:
            result: WireModel = await handler(params)
            said = self._table.carry_out(method, "result", result.to_wire())
            return as_asked(said, given, params.to_wire()) if method == ELICIT else said

        return answer

    # What has no request of its own any more.

    async def alive(self, params: Any) -> None:
        """Answer a `ping`: there is nothing to keep alive (2026-07-28, changelog)."""

    async def level(self, params: Any) -> None:
        """Ask for log entries of this level with each request from now on."""
        self._set_level(params.level)

    def _set_level(self, level: str) -> None:
        self._endpoint.connection.envelope = members({**self._envelope, LOG_LEVEL: level})

    async def subscribe(self, params: Any) -> None:
        """Listen for changes of a resource, too, from now on."""
        await self.listening.watch(params.uri)

    async def unsubscribe(self, params: Any) -> None:
        """Stop listening for changes of a resource."""
        await self.listening.unwatch(params.uri)

    def on_notification(
        self, notification: Notification[Any], meta: Mapping[str, Any]
    ) -> Awaitable[None] | None:
        method = notification.spec.method
        if self.listening.takes(method, notification.params, meta):
            return None
        handler = self._handlers.get(method)
        return None if handler is None else handler(notification.params)


_STAND_INS: Final[Mapping[str, Callable[[ToStateless, Any], Awaitable[None]]]] = {
    "ping": ToStateless.alive,
    "logging/setLevel": ToStateless.level,
    "resources/subscribe": ToStateless.subscribe,
    "resources/unsubscribe": ToStateless.unsubscribe,
}
