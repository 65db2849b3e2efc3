"""What a worker knows of the others that serve the same endpoint: nothing, unless they share."""

from asyncio import Event
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal, Protocol

from pydantic import ValidationError

from ....core.base64url import base64url
from ....core.json import JSONObject
from ....storage.engine import DEFAULT_LEASE, Appended, Engine, EngineConnection
from ....storage.memory import MemoryConnection, MemoryEngine


def key_of(id: str) -> str:
    """Return the key under which engines and workers know the session of an id."""
    return base64url(sha256(id.encode()).digest())


def faults_in(error: ValueError) -> str:
    """Return what is wrong with a value from an engine, but not the value: logs tell it to all."""
    if not isinstance(error, ValidationError):
        return str(error)
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return ", ".join(f"{fault['type']} at {fault['loc']}" for fault in faults[:3])


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamClaimed:
    """Another worker owns the standalone stream now, with this epoch: let go of it.

    The acknowledgement says how far it has come: `delivered`.
    """

    session: str
    epoch: int
    kind: Literal["claimed"] = "claimed"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTaken:
    """A client goes on with a stream elsewhere: complete the response that it is in here."""

    session: str
    stream: str
    taker: str
    """The worker that the client is at now."""
    kind: Literal["taken"] = "taken"


class Peers:
    """No other workers: what streams say is kept in the memory of this process."""

    shared: bool = False
    lease: float = DEFAULT_LEASE
    gaps: int = 0
    """The number of times that letters may have been lost, or the lease has lapsed."""

    def __init__(self, name: str, lifetime: float) -> None:
        self.name: Final = name
        """The name of this worker."""
        self._lifetime = lifetime
        self._connection: EngineConnection | None = MemoryConnection(MemoryEngine())

    @property
    def engine(self) -> EngineConnection:
        assert self._connection is not None
        return self._connection

    @property
    def current(self) -> bool:
        """Return whether what this worker knows holds, because the others count on it."""
        return self._connection is not None and self._connection.current

    async def tell(
        self, workers: Collection[str], letter: StreamClaimed | StreamTaken
    ) -> Mapping[str, JSONObject]:
        """Return what workers say to a letter once all have acknowledged it, or are gone.

        Raise `EngineUnavailable`.
        """
        return {}

    async def is_gone(self, worker: str) -> bool:
        """Return whether the lease of a worker has lapsed; raise `EngineUnavailable`."""
        return worker != self.name

    async def append(
        self,
        key: str,
        stream: str,
        number: int,
        messages: Sequence[bytes],
        *,
        end: bool = False,
    ) -> Appended:
        """Append events to a stream, and wake who follows it; raise `EngineUnavailable`."""
        return await self.engine.events.append(
            key, stream, number, messages, lifetime=self._lifetime, end=end
        )

    def following(self, key: str, stream: str) -> AbstractAsyncContextManager[Event]:
        """Follow a stream; the event is set when something may have been appended, or been missed.

        It is to be cleared before one looks. It is set each half of a lease as well. Entering
        raises `EngineUnavailable`.
        """
        return _unset_event()


@asynccontextmanager
async def _unset_event() -> AsyncGenerator[Event, None]:
    yield Event()


class Sharing(Protocol):
    """What an application shares with others, and how it does that."""

    @property
    def engine(self) -> Engine: ...

    def sessions(self, servers: Any, /) -> Any:
        """Return the registry of the sessions of some `HttpServers`, and set their `peers`."""
        ...
