"""What the parts of one connection over HTTP share."""

from typing import Final

from ...tasks import Tasks
from .conversation import Conversation
from .inbox import Inbox
from .streams import Reconnection
from .wire import Wire


class Link:
    """One connection: its way out, its way in, what was said, and what is being done."""

    __slots__ = ("_own_ids", "conversation", "inbox", "reconnection", "tasks", "wire")

    def __init__(self, wire: Wire, reconnection: Reconnection) -> None:
        self.wire: Final = wire
        self.reconnection: Final = reconnection
        self.inbox: Final = Inbox()
        self.tasks: Final = Tasks()
        self.conversation: Final = Conversation()
        self._own_ids = 0

    def own_id(self) -> str:
        """An id for a request of the transport's own; those of the connection are integers."""
        self._own_ids += 1
        return f"transport-{self._own_ids}"
