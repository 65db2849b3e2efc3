"""The settings of a server that is mounted by a connection. Times are in seconds."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSettings:
    name: str = ""
    """The server's name in messages; by default the prefix."""
    list_timeout: float = 5.0
    """The time for a server to list; later items are announced as a change."""
    keep_lists: float = 300.0
    """The time for which the items of a server that cannot be reached stay listed."""
    open_timeout: float = 30.0
    timeout: float = 60.0
    """The longest time without a sign of a call; progress extends it."""
    max_timeout: float = 600.0
    max_connections: int = 100
    """The most connections for clients without sessions; the longest idle one ends."""
    questions: frozenset[str] | None = None
    """The client's capabilities for questions that the server is told of; None for all."""
    revision: str | None = None
    """The only revision to speak; None for any."""
    concurrency: int | None = None
    """The most requests at a time on one connection; None for no limit."""


USUAL_REMOTE: Final = RemoteSettings()
