"""What the parts of one connection over HTTP share."""

from logging import getLogger
from typing import Final

from ...core.tasks import Tasks
from ...core.throttle import Throttle
from .http_client import HttpWire
from .inbox import Inbox
from .protocol_headers import ProtocolHeaders
from .resume import Reconnection

_log: Final = getLogger(__name__)


class ClientState:
    """One connection: its HTTP client, its inbox, its header fields and its tasks."""

    __slots__ = ("_own_ids", "conversation", "inbox", "log", "reconnection", "tasks", "wire")

    def __init__(self, wire: HttpWire, reconnection: Reconnection) -> None:
        self.wire: Final = wire
        self.reconnection: Final = reconnection
        self.inbox: Final = Inbox()
        self.tasks: Final = Tasks()
        self.conversation: Final = ProtocolHeaders()
        self.log: Final = Throttle(_log)
        self._own_ids = 0

    def own_id(self) -> str:
        """Return an id for one of the transport's own requests; other requests have integers."""
        self._own_ids += 1
        return f"transport-{self._own_ids}"
