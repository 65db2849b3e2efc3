"""Replay of events for servers of the official SDK, in either generation."""

from collections.abc import Awaitable, Callable
from typing import Any

from mcp.server.streamable_http import EventMessage, EventStore


class Events(EventStore):
    """All events, in sending order."""

    def __init__(self) -> None:
        self._events: list[tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: Any) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(
        self, last_event_id: str, send_callback: Callable[[EventMessage], Awaitable[None]]
    ) -> str | None:
        last = int(last_event_id)
        wanted = self._events[last - 1][0]
        for number, (stream, message) in enumerate(self._events[last:], last + 1):
            # An event without a message only served for resumption.
            if stream == wanted and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return wanted
