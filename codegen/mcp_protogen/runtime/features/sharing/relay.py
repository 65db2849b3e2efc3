"""The relay of an application's changes: over the bus to all workers, and from there to clients.

A change tells clients to look again, so duplicates are harmless, and after a gap all lists count as
changed.
"""

from asyncio import Task, get_running_loop, sleep, timeout, wait
from collections.abc import Collection, Iterator
from typing import Any, Final

from ...core.subscriptions import PublishedChange, is_change
from ...core.tasks import Signal, Tasks, call_in
from ...core.throttle import Throttle
from ...http.server.sessions.worker import read_value, stored_adapter
from ...server.base import ServerBase, ServerRuntime
from ...storage.engine import EngineUnavailable
from .shared_worker import SharedWorker

# The most waiting changes; more are replaced by one for everything.
_MOST: Final = 1000

# Seconds between attempts to reach the engine, at first and at most.
_SOON: Final = 0.1
_LATER: Final = 2.0

# The most seconds for waiting changes when a worker ends.
_LAST: Final = 1.0

_ANYTHING: Final = PublishedChange()


class ChangeRelay:
    def __init__(self, worker: SharedWorker, engine: object, tasks: Tasks) -> None:
        self.loop: Final = get_running_loop()
        self.engine: Final = engine
        """The engine; several applications of a process may share it."""
        self._worker = worker
        self._tasks = tasks
        self._log = Throttle(__name__)
        self._servers: dict[ServerRuntime, None] = {}
        self._by_session: dict[str, ServerRuntime] = {}
        """The servers of single sessions, by key."""
        self._waiting: dict[PublishedChange, None] = {}
        self._attempt = Signal()
        """Set after an attempt to publish the waiting changes."""
        self._sending: Task[None] | None = None
        self._away = False
        worker.on_change.append(self._take)
        worker.on_gap.append(self._notify_all)

    def add(self, server: ServerBase[Any], session: str | None = None) -> None:
        """Relay the changes of a server; with a key, for that session only."""
        runtime = server.__mcp_runtime__
        runtime.relays[self] = session
        if session is None:
            self._servers[runtime] = None
        else:
            self._by_session[session] = runtime

    def remove(self, session: str) -> None:
        if (runtime := self._by_session.pop(session, None)) is not None:
            runtime.relays.pop(self, None)

    async def close(self, patience: float) -> None:
        """Publish waiting changes, within some seconds, and relay nothing more."""
        for runtime in (*self._servers, *self._by_session.values()):
            runtime.relays.pop(self, None)
        if self._sending is None:
            return
        self._sending.cancel()
        await wait([self._sending])
        try:
            async with timeout(min(patience, _LAST)):
                await self._publish(self._waiting)
        except (EngineUnavailable, TimeoutError):
            self._log.warning("%d changes could not be published", len(self._waiting))
        finally:
            self._attempt.notify_all()

    async def publish(self, change: PublishedChange) -> None:
        """Publish a change; do not wait while the engine is away."""
        if get_running_loop() is not self.loop:
            self.announce(change)
            return
        self._put(change)
        if not self._away:
            await self._attempt.wait()

    def announce(self, change: PublishedChange) -> None:
        """Publish a change without waiting; callable from any thread."""
        call_in(self.loop, lambda: self._put(change))

    def _put(self, change: PublishedChange) -> None:
        self._waiting[change] = None
        self._limit_waiting()
        if self._sending is None:
            self._sending = self._tasks.start(self._send())

    def _limit_waiting(self) -> None:
        too_many = len(self._waiting) > _MOST
        if too_many:
            self._log.warning("more than %d changes wait: clients will reread everything", _MOST)
        if too_many or _ANYTHING in self._waiting:
            self._waiting = {_ANYTHING: None}

    async def _send(self) -> None:
        pause = _SOON
        try:
            while self._waiting:
                changes, self._waiting = self._waiting, {}
                attempt, self._attempt = self._attempt, Signal()
                try:
                    await self._publish(changes)
                    self._away, pause = False, _SOON
                except BaseException as error:
                    self._away, self._waiting = True, {**changes, **self._waiting}
                    self._limit_waiting()
                    if not isinstance(error, EngineUnavailable):
                        raise
                    self._log.warning("changes wait: the engine is unavailable")
                finally:
                    attempt.notify_all()
                if self._away:
                    await sleep(pause)
                    pause = min(2 * pause, _LATER)
        finally:
            self._sending = None
            self._attempt.notify_all()

    async def _publish(self, changes: Collection[PublishedChange]) -> None:
        write = stored_adapter(PublishedChange).dump_json
        await self._worker.engine.mail.publish([*map(write, changes)])

    def _take(self, content: bytes) -> None:
        change = read_value(PublishedChange, content, self._log, "an invalid change was ignored")
        if change is None:
            return
        if change.method is None:
            self._notify_all()
            return
        for runtime in self._affected_servers(change):
            runtime.count(change.method)
            to = self._owned_connections(runtime)
            if (uri := change.uri) is not None:
                # Mounted servers have other URIs, and no subscriptions.
                to = (client for client in to if uri in getattr(client, "subscriptions", (uri,)))
            runtime.send(change.method, uri, to)

    def _affected_servers(self, change: PublishedChange) -> Collection[ServerRuntime]:
        if change.session is not None:
            runtime = self._by_session.get(change.session)
            runtimes = [] if runtime is None else [runtime]
        else:
            matches = [part for part in self._parts() if part.identity()["name"] == change.server]
            exact = [part for part in matches if part.owner.TABLE.revision == change.revision]
            runtimes = exact or matches
        return [part for part in runtimes if change.method in part.owner.TABLE.notifications]

    def _parts(self) -> dict[ServerRuntime, None]:
        mounted = (
            part
            for root in self._by_session.values()
            for part in root.parts()
            if part is not root.owner
        )
        of_all = (part for root in self._servers for part in root.parts())
        return {part.__mcp_runtime__: None for parts in (of_all, mounted) for part in parts}

    def _owned_connections(self, runtime: ServerRuntime) -> Iterator[Any]:
        for connection in list(runtime.connections):
            if connection.state.relay is self and connection.is_owner:
                yield connection

    def _notify_all(self) -> None:
        for runtime in (*self._servers, *self._by_session.values()):
            for method in filter(is_change, runtime.owner.TABLE.first_names):
                runtime.count(method)
            for connection in self._owned_connections(runtime):
                self._tasks.start(connection.send_all_changes())
