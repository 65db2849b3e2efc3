"""Messages that pass over HTTP, shown to whoever wants to see them, without any header field."""

from typing import Any, Final, NamedTuple

from ...http.headers import EVENTS, JSON, media_type
from ...http.server.asgi import Receive, Scope, Send
from ...http.sse import LARGEST, Parser
from ...transports.memory import Tap

_CONTENT_TYPE: Final = b"content-type"


class Tapped(NamedTuple):
    receive: Receive
    send: Send


def tapping(scope: Scope, receive: Receive, send: Send, tap: Tap) -> Tapped:
    """Return the ways of an exchange, of whose messages `tap` is shown each."""
    posted, answer = bytearray(), _Answer(tap)

    async def receiving() -> Any:
        event = await receive()
        if event["type"] == "http.request" and scope["method"] == "POST":
            posted.extend(event.get("body", b""))
            if posted and not event.get("more_body"):
                tap("client", bytes(posted))
                posted.clear()
        return event

    async def sending(event: Any) -> None:
        if event["type"] == "http.response.start":
            answer.begin(dict(event["headers"]))
        elif event["type"] == "http.response.body":
            answer.take(event.get("body", b""), more=bool(event.get("more_body")))
        await send(event)

    return Tapped(receiving, sending)


class _Answer:
    def __init__(self, tap: Tap) -> None:
        self._tap = tap
        self._body: bytearray | None = None
        self._events: Parser | None = None

    def begin(self, fields: dict[bytes, bytes]) -> None:
        media = media_type(fields.get(_CONTENT_TYPE, b"").decode("latin-1"))
        if media == JSON:
            self._body = bytearray()
        elif media == EVENTS:
            self._events = Parser(LARGEST)

    def take(self, chunk: bytes, *, more: bool) -> None:
        if self._events is not None:
            for event in self._events.feed(chunk):
                if event.data and event.event == "message":
                    self._tap("server", event.data.encode())
        elif self._body is not None:
            self._body += chunk
            if self._body and not more:
                self._tap("server", bytes(self._body))
                self._body.clear()
