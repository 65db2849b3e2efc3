"""What the sides of one connection, or of all connections of a process, have in common."""

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

from .errors import RequestId
from .faces import Face
from .options import Options
from .repertoire import Repertoire
from .request_state import StateSeal
from .tasks import Tasks

if TYPE_CHECKING:
    from .server import ServerBase


class Shared:
    """What each of them is made with."""

    __slots__ = ("_repertoires", "ids", "options", "seal", "supported", "tasks")

    def __init__(self, tasks: Tasks, options: Options, supported: tuple[str, ...]) -> None:
        self.tasks = tasks
        self.options = options
        self.ids: Iterator[RequestId] = count(1)
        """Those of the requests that the sides are still to send."""
        self.seal = StateSeal(options.state_key, lifetime=options.state_lifetime)
        self.supported = supported
        """What `server/discover` names, and a refusal of any other revision: all, newest first."""
        self._repertoires: dict[str, Repertoire] = {}

    def repertoire(self, face: "Face[ServerBase[Any]]") -> Repertoire:
        """What the server of a face can do."""
        revision = face.table.revision
        known = self._repertoires.get(revision)
        if known is None or known.face is not face:
            known = self._repertoires[revision] = Repertoire(face)
        return known
