"""Sessions of an extension whose requests have streams, or need an authenticated sender."""

from asyncio import get_running_loop, sleep
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

from ..core.connection_errors import Disconnected
from ..core.errors import LocalError, McpError
from ..core.spec import NotificationSpec, P
from ..messages.codec import Request
from ..messages.envelope import SUBSCRIPTION_ID, members
from .base import SessionBase
from .context import RequestContext

# A stream that has ended is noticed within this time, in seconds.
_LOOK: Final = 1.0


class ExtensionSession(SessionBase):
    """The base of such a session: it keeps the order of a stream, and its heartbeat.

    The notifications of the stream of a request have its id. While the others pause, a heartbeat
    repeats the members that it shares with the latest one, such as a cursor.
    """

    PRINCIPALS: ClassVar[Mapping[str, int]] = MappingProxyType({})
    """Requests that need an authenticated sender, with the code of the error for others."""

    def __init__(self, context: RequestContext) -> None:
        """Raise `McpError` for a request without the sender that it needs."""
        super().__init__(context)
        self._latest: tuple[NotificationSpec[Any], Any] | None = None
        self._due = 0.0
        method = None if context.call is None else context.call.spec.method
        # A session may be of several extensions.
        principals = (vars(base).get("PRINCIPALS", {}) for base in type(self).__mro__)
        code = next((codes[method] for codes in principals if method in codes), None)
        if code is not None and context.principal is None:
            raise McpError(code, f"{method} needs an authenticated sender")

    async def notify(self, spec: NotificationSpec[P], params: P | None) -> None:
        """Send a notification; one of a stream only on the stream of its own request.

        Raise `LocalError` if it may not be sent, also out of order, and `Disconnected`.
        """
        place, call = spec.stream, self._context.call
        if place is None or place.member:
            await super().notify(spec, params)
            return
        if call is None or call.spec.known_as != place.request:
            raise LocalError(f"{spec.method} only comes on the stream of {place.request}")
        self._check_order(spec, call)
        begins = self._latest is None
        await self._send(spec, params, call)
        if begins and (beat := self._find(place.request, "every")) is not None:
            task = self._context.endpoint.tasks.start(self._beat(beat, call))
            # The sender may be a task that ends before the handler.
            job = self._context.endpoint.jobs.find(call.id)
            if job is not None and job.task is not None:
                job.task.add_done_callback(lambda _: task.cancel())

    def _check_order(self, spec: NotificationSpec[Any], call: Request[Any]) -> None:
        method = call.spec.method
        if not self._context.is_awaited():
            raise Disconnected(f"the client no longer awaits {method}")
        if self._latest is None:
            first = self._find(call.spec.known_as, "first")
            if first not in (None, spec):
                raise LocalError(f"the stream of {method} begins with {first.method}")
        elif (latest := self._latest[0]).stream is not None and latest.stream.order == "last":
            raise LocalError(f"the stream of {method} has ended with {latest.method}")

    def _find(self, request: str, kind: Literal["every", "first"]) -> Any:
        specs = ((spec.stream, spec) for spec in self.TABLE.notifications.values())
        own = ((place, spec) for place, spec in specs if place and place.request == request)
        found = (spec for place, spec in own if kind == (place.order or (place.every and "every")))
        return next(found, None)

    async def _send(self, spec: NotificationSpec[Any], params: Any, call: Request[Any]) -> None:
        context, before = self._context, self._latest
        meta = members({SUBSCRIPTION_ID: call.id})
        # What another task sends meanwhile comes after it.
        self._latest, self._due = (spec, params), get_running_loop().time()
        try:
            await context.endpoint.notify(spec, params, meta=meta, via=context.beside, about=call)
        except LocalError:
            self._latest = before
            raise

    async def _beat(self, spec: NotificationSpec[Any], call: Request[Any]) -> None:
        loop, every = get_running_loop(), 0.0 if spec.stream is None else spec.stream.every
        # Its channel may be gone.
        with suppress(Disconnected):
            while self._context.is_awaited() and self._latest is not None:
                latest, params = self._latest
                if latest.stream is not None and latest.stream.order == "last":
                    return
                if (left := self._due + every - loop.time()) > 0:
                    await sleep(min(left, _LOOK))
                    continue
                known = spec.params.__pydantic_fields__.keys() - {"meta"}
                shared = {name: getattr(params, name) for name in known & params.model_fields_set}
                await self._send(spec, spec.params(**shared), call)
