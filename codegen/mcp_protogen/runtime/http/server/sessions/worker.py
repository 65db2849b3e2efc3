"""The other workers at the same endpoint: none, unless they share."""

from asyncio import Event
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from ....core.base64url import text_digest
from ....core.json import JSONObject
from ....core.throttle import Throttle
from ....storage.engine import DEFAULT_LEASE, Appended, Engine, EngineConnection
from ....storage.memory import MemoryEngine

T = TypeVar("T")


def key_of(id: str) -> str:
    """Return the key of a session id for engines and workers."""
    return text_digest(id)


def writer_of(stream: str) -> str:
    """Return the only writer of a stream, if there is one."""
    return stream.rpartition("-")[0]


stored_adapter: Final[Callable[[Any], TypeAdapter[Any]]] = cache(TypeAdapter)
"""Return the adapter of a stored type, built at its first use."""


def read_value(kind: type[T], content: bytes, log: Throttle, warning: str) -> T | None:
    """Return a value from an engine; for an invalid one log `warning`, and return None."""
    try:
        value: T = stored_adapter(kind).validate_json(content, strict=True)
        return value
    except ValidationError as error:
        log.warning(f"{warning}: %s", faults_in(error))
        return None


def faults_in(error: Exception) -> str:
    """Return the faults of a value from an engine, without the value, for logs."""
    if not isinstance(error, ValidationError):
        return str(error)
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return ", ".join(f"{fault['type']} at {fault['loc']}" for fault in faults[:3])


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamClaimed:
    """Another worker owns the standalone stream from this epoch on: release it.

    Its acknowledgement has `delivered`: how much was sent.
    """

    session: str
    epoch: int
    kind: Literal["claimed"] = "claimed"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTaken:
    """A client resumes a stream elsewhere: complete its response here."""

    session: str
    stream: str
    taker: str
    """The client's worker now."""
    kind: Literal["taken"] = "taken"


class Worker:
    """A worker without others: its streams are in this process."""

    shared: bool = False
    lease: float = DEFAULT_LEASE
    gaps: int = 0
    """How often messages may have been lost, or the lease has expired."""

    def __init__(self, name: str, lifetime: float) -> None:
        self.name: Final = name
        self._lifetime = lifetime
        self._connection: EngineConnection | None = MemoryEngine()

    @property
    def engine(self) -> EngineConnection:
        assert self._connection is not None
        return self._connection

    @property
    def current(self) -> bool:
        """Return whether this worker's copies are valid, because others notify it."""
        return self._connection is not None and self._connection.current

    async def tell(
        self, workers: Collection[str], message: StreamClaimed | StreamTaken
    ) -> Mapping[str, JSONObject]:
        """Send a message; return the answers once all workers acknowledge it or are gone.

        Raise `EngineUnavailable`.
        """
        return {}

    async def is_gone(self, worker: str) -> bool:
        """Return whether a worker's lease has expired; raise `EngineUnavailable`."""
        return worker != self.name

    async def append(
        self, key: str, stream: str, number: int, messages: Sequence[bytes], *, end: bool = False
    ) -> Appended:
        """Append events to a stream and wake its followers; raise `EngineUnavailable`."""
        return await self.engine.events.append(
            key, stream, number, messages, lifetime=self._lifetime, end=end
        )

    def following(
        self, key: str, stream: str, seen: Callable[[], int]
    ) -> AbstractAsyncContextManager[Event]:
        """Follow a stream; its events up to the number `seen` are known.

        The event is set after a change of the stream, or when its writer is gone. Entering raises
        `EngineUnavailable`.
        """
        return nullcontext(Event())


class Sharing(Protocol):
    """How an application shares its state with others."""

    @property
    def engine(self) -> Engine: ...

    def sessions(self, servers: Any, /) -> Any:
        """Return the session registry of an `HttpServers`, and set its `worker`."""
        ...
