"""The options of sharing between workers."""

from dataclasses import dataclass

from ...http.server.sessions.servers import HttpServers
from ...storage.engine import DEFAULT_LEASE, Engine
from .relay import ChangeRelay
from .shared_sessions import SharedSessions
from .shared_worker import SharedWorker
from .stored_sessions import StoredSessions


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Sharing between all workers of an endpoint: sessions, streams and changes."""

    engine: Engine
    lease: float = DEFAULT_LEASE
    """The seconds of silence after which a worker counts as gone."""

    def __post_init__(self) -> None:
        if self.lease <= 0:
            raise ValueError("lease must be more than 0")

    def sessions(self, servers: HttpServers, /) -> SharedSessions:
        alone, lifetime, tasks = servers.worker, servers.http.session_lifetime, servers.tasks
        servers.worker = worker = SharedWorker(self.engine, self.lease, alone.name, lifetime, tasks)
        relay, stored = ChangeRelay(worker, self.engine, tasks), StoredSessions(servers, worker)
        return SharedSessions(servers, worker, relay, stored)
