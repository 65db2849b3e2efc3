"""Programs that write back what they are sent, such as `cat` in place of a server.

Unnoticed, an echo of a request would be a request to the client, and errors would be about it.
"""

from asyncio import CancelledError
from collections.abc import Callable, Sequence
from typing import Any, Final

from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.runtime.core.json import read_json
from mcp_protogen.runtime.core.spec import Role
from mcp_protogen.runtime.transports.base import (
    EagerTransport,
    ExchangingTransport,
    Opener,
    Received,
    Transport,
)
from mcp_protogen.servers.connect.traffic import TappedEnd

ECHO: Final = "the program writes back the messages that it is sent"


def refuse_echoes(opener: Opener) -> Opener:
    """Return an opener of the same connections, whose `receive` raises `Disconnected` for echoes.

    An answer over HTTP belongs to its request, so an echo is refused there anyway.
    """
    unanswered: list[bytes] = []

    async def open() -> Transport:
        transport = await opener()
        if isinstance(transport, ExchangingTransport) and transport.over_http:
            return transport
        return _FirstMessages(transport, unanswered)

    return open


class _FirstMessages(TappedEnd):
    """A transport that compares messages until the program has sent one of its own.

    `unanswered` has a request that the program wrote inside other text, and never answered, on an
    earlier connection of the opener. Some servers write each request, and then answer it.
    """

    def __init__(self, transport: Transport, unanswered: list[bytes]) -> None:
        super().__init__(transport, self._compare)
        self._unanswered, self._logged = unanswered, b""
        self._sent: dict[bytes, Any] = {}
        self._proven = False
        if isinstance(transport, EagerTransport):
            self._hand_over = transport.hand_over
            self.hand_over = self._hand_over_later

    async def receive(self) -> Sequence[Received]:
        try:
            return await super().receive()
        except CancelledError:
            if self._logged and not self._proven:
                self._unanswered.append(self._logged)
            raise

    def _hand_over_later(self, take: Callable[[Received], bool] | None) -> None:
        if self._proven:
            self._hand_over(take)

    def _compare(self, sender: Role, message: bytes) -> None:
        if self._proven:
            return
        value = _value(message)
        if sender == "client":
            self._sent[message.strip()] = value
            return
        is_text = isinstance(value, bytes)
        if is_text:
            self._logged = next((sent for sent in self._sent if sent in message), self._logged)
        is_echo = value in self._sent.values() or bool(self._logged and self._unanswered)
        self._proven = not is_text
        if is_echo or self._proven:
            self._unanswered.clear()
        if is_echo:
            raise Disconnected(ECHO)


def _value(message: bytes) -> Any:
    """Return the JSON value of a message, or its bytes if it is not JSON."""
    try:
        return read_json(message)
    except ValueError:
        return message.strip()
