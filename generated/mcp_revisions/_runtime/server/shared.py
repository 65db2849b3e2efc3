"""What the connections of one process, or one connection in all its revisions, have in common."""

from collections.abc import Iterator
from itertools import count

from ..core.errors import RequestId
from ..core.options import Options
from ..core.tasks import Tasks
from .input_required.sealed_state import StateSeal


class ServerState:
    """The state of a server that is not of one connection in one revision."""

    __slots__ = ("ids", "options", "seal", "supported", "tasks")

    def __init__(self, tasks: Tasks, options: Options, supported: tuple[str, ...]) -> None:
        self.tasks = tasks
        self.options = options
        self.ids: Iterator[RequestId] = count(1)
        """Ids of the requests that are still to be sent."""
        self.seal = StateSeal(options.state_key, lifetime=options.state_lifetime)
        self.supported = supported
        """All revisions that `server/discover` and refusals name, newest first."""
