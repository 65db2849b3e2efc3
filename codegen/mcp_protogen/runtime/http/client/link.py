"""What the parts of one connection over HTTP share."""

from logging import getLogger
from typing import Final

from ...tasks import Tasks
from ...throttle import Throttle
from .conversation import Conversation
from .inbox import Inbox
from .streams import Reconnection
from .wire import Wire

_log: Final = getLogger(__name__)


class Link:
    """One connection: its HTTP client, its inbox, its header fields and its tasks."""

    __slots__ = ("_own_ids", "conversation", "inbox", "log", "reconnection", "tasks", "wire")

    def __init__(self, wire: Wire, reconnection: Reconnection) -> None:
        self.wire: Final = wire
        self.reconnection: Final = reconnection
        self.inbox: Final = Inbox()
        self.tasks: Final = Tasks()
        self.conversation: Final = Conversation()
        self.log: Final = Throttle(_log)
        self._own_ids = 0

    def own_id(self) -> str:
        """Return an id for one of the transport's own requests; other requests have integers."""
        self._own_ids += 1
        return f"transport-{self._own_ids}"
