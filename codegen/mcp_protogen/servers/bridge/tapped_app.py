"""The recording of a bridge's clients over HTTP."""

from typing import Any

from mcp_protogen.runtime.features.bridge.bridge_app import BridgeApp
from mcp_protogen.runtime.http.headers import EVENTS, JSON, media_type
from mcp_protogen.runtime.http.server.asgi import Receive, Scope, Send
from mcp_protogen.runtime.http.sse import LARGEST, Parser
from mcp_protogen.runtime.transports.memory import Tap


class TappedApp(BridgeApp):
    """The application of a bridge, which shows each message from and to its clients to `tap`."""

    def __init__(self, app: BridgeApp, tap: Tap) -> None:
        super().__init__(app.way)
        self._tap = tap

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            receive, send = tap_exchange(scope, receive, send, self._tap)
        await super().__call__(scope, receive, send)


def tap_exchange(scope: Scope, receive: Receive, send: Send, tap: Tap) -> tuple[Receive, Send]:
    """Return the two sides of an exchange; its messages are shown to `tap`."""
    posted, answered, events, media = bytearray(), bytearray(), Parser(LARGEST), ""

    async def receiving() -> Any:
        event = await receive()
        if event["type"] == "http.request" and scope["method"] == "POST":
            posted.extend(event.get("body", b""))
            if posted and not event.get("more_body"):
                tap("client", bytes(posted))
                posted.clear()
        return event

    async def sending(event: Any) -> None:
        nonlocal media
        if event["type"] == "http.response.start":
            media = media_type(dict(event["headers"]).get(b"content-type", b"").decode("latin-1"))
        elif media == EVENTS:
            for told in events.feed(event.get("body", b"")):
                if told.data and told.event == "message":
                    tap("server", told.data.encode())
        elif media == JSON:
            answered.extend(event.get("body", b""))
            if answered and not event.get("more_body"):
                tap("server", bytes(answered))
                answered.clear()
        await send(event)

    return receiving, sending
