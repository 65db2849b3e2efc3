"""What all parts of one application share while an event loop runs it."""

from asyncio import Task, get_running_loop, timeout
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count
from secrets import token_urlsafe
from typing import Any, Final

from ...era import ERAS
from ...errors import Disconnected
from ...faces import Faces
from ...options import Options
from ...repertoire import Repertoire, Repertoires
from ...revision import Revision
from ...serve import Server, by_revision
from ...server import ServerBase
from ...shared import Shared
from ...side import Side
from ...tasks import Bell, Tasks
from ..options import HttpOptions
from .asgi import Field, Refused
from .bodies import Bodies
from .channel import Channel, Pulse
from .events import EventStore, MemoryEventStore
from .outlet import Outlet
from .request import HttpRequest
from .sessions import Sessions
from .streams import Stream
from .tool_headers import ToolHeaders

_LATER: Final[Field] = (b"retry-after", b"1")


class Service:
    """Servers, sessions and streams. `servers` and `revisions` are those of `serve`."""

    def __init__(
        self,
        servers: tuple[Server, ...],
        revisions: tuple[Revision, ...] | None,
        options: Options,
        http: HttpOptions,
    ) -> None:
        self._servers = servers
        self._revisions = revisions
        self._of_each = any(isinstance(server, type) for server in servers)
        self.http = http
        self.options = options
        self.loop = get_running_loop()
        faces = self._new_faces()
        self._repertoires = Repertoires(faces)
        self.offer = faces.offer
        self.tasks = Tasks()
        self.shared = Shared(self.tasks, options, self.offer.all)
        self.shared.ids = own_ids()
        self.pulse = Pulse(http.keep_alive, self.tasks)
        self.bodies = Bodies(http)
        self.sessions = Sessions(
            self.shared,
            http.max_sessions,
            http.session_lifetime,
            known_elsewhere=http.session_store is not None,
        )
        self.tool_headers = ToolHeaders(http.header_lifetime)
        self.events: EventStore | None = None
        if http.resumable:
            self.events = http.events or MemoryEventStore()
        self.working = 0
        """How many requests are being worked on."""
        self.listening: dict[Side, None] = {}
        """Those that serve a listen stream."""
        self.stopping = False
        """Whether the end has begun."""
        self._idle = Bell()

    def _new_faces(self) -> Faces[ServerBase[Any]]:
        return Faces(by_revision(self._servers), self._revisions, self.options.on_loss)

    def repertoire(self, revision: str, *, own: bool = False) -> Repertoire:
        """What there is to say in a revision; `own` is for a session, if each has its server."""
        if own and self._of_each:
            return Repertoire(self._new_faces()[revision])
        return self._repertoires[revision]

    def handshake_faces(self) -> Faces[ServerBase[Any]]:
        """The servers as clients see them that know revisions with a handshake alone.

        Raises `Refused` if none is spoken.
        """
        spoken = [one for one in self._revisions or () if ERAS[one.lifecycle].has_handshake]
        servers = by_revision(self._servers)
        if self._revisions is None:
            servers = {
                revision: server
                for revision, server in servers.items()
                if server.TABLE.era.has_handshake
            }
        if not (spoken or (self._revisions is None and servers)):
            raise Refused(404, "No revision is spoken that this transport belongs to")
        return Faces(servers, spoken or None, self.options.on_loss)

    def channel(self, send: Outlet) -> Channel:
        """A new streamed response."""
        return Channel(send, self.pulse)

    def stream(self, send: Outlet) -> Stream:
        """A new stream of which nothing is kept."""
        return Stream(self.channel(send))

    def check_running(self) -> None:
        """Raise `Refused` once the end has begun."""
        if self.stopping:
            raise Refused(503, "The server is shutting down", fields=[_LATER])

    def check_room(self) -> None:
        """Raise `Refused` if too many requests are worked on."""
        if self.working >= self.http.max_requests:
            raise Refused(503, "Too many requests at once", fields=[_LATER])

    def begin(self) -> None:
        """A request begins to be worked on; raises `Refused` if there are too many."""
        self.check_room()
        self.working += 1

    def end(self) -> None:
        """A request that has begun is done with."""
        self.working -= 1
        self.note_end()

    def go_on(self, request: HttpRequest, handlers: Iterable[Task[None]]) -> None:
        """A request is worked on, and its body is kept, until the last of some handlers ends."""
        self.working += 1
        left, held = set(handlers), self.bodies.handed_over(request)

        def ended(task: Task[None]) -> None:
            left.discard(task)
            if not left:
                self.bodies.taken -= held
                self.end()

        for handler in handlers:
            handler.add_done_callback(ended)

    def note_end(self) -> None:
        """Something that was under way has ended."""
        if self.stopping:
            self._idle.ring()

    def check_streams(self) -> None:
        """Raise `Refused` if too many streams are open."""
        if len(self.pulse) >= self.http.max_streams:
            raise Refused(503, "Too many streams", fields=[_LATER])

    async def stop(self) -> None:
        """End what would not end by itself, and after `options.drain` seconds everything."""
        self.stopping = True
        gone = Disconnected("the server is shutting down")
        for side in [*self.listening, *(session.side for session in self.sessions)]:
            side.close(gone)
        with suppress(TimeoutError):
            async with timeout(self.options.drain):
                while self.working or self.listening:
                    await self._idle.heard()
        await self.sessions.stop()
        await self.pulse.stop(self.options.drain)
        await self.tasks.cancel()


def own_ids() -> Iterator[str]:
    """Ids of requests that no other process, or earlier one, has used in any session.

    Several processes may serve one session, whose ids are used once (2025-11-25, basic,
    "Requests"): an answer that comes to the wrong one must not be taken for that to another
    question. Before the dot stands who asked. Strings, because some clients read integers of 32
    bits only; beginning with a letter, because some make integers of what looks like one.
    """
    name = f"s{token_urlsafe(6)}"
    return (f"{name}.{number}" for number in count(1))
