"""The settings of a server that is mounted by a connection. Times are in seconds."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSettings:
    name: str = ""
    """The server's name in messages; by default the prefix."""
    open_timeout: float = 30.0
    timeout: float = 60.0
    """The longest time without a sign of a call; progress extends it."""
    max_timeout: float = 600.0
    max_connections: int = 100
    """The most connections for clients without sessions; the longest idle one ends."""


USUAL_REMOTE: Final = RemoteSettings()
