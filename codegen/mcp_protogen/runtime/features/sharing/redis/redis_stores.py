"""The stores of messages and changes, sessions, and event streams."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ....storage.engine import Appended, Event, Events, Place, Saved, StoredSession
from . import scripts
from .connection import Argument, RedisCalls
from .scripts import BOX_LIFETIME, MOST_AT_ONCE, MOST_MESSAGES, milliseconds

# About the most bytes of events in one read, which delays other calls.
_MOST_BYTES: Final = 1024 * 1024
# After this many new copies, workers that are gone are removed.
_COPIES: Final = 8
# Sessions per refresh call.
_REFRESHED: Final = 500


@dataclass(eq=False)
class RedisWorkers:
    """Messages to workers, and changes for all workers."""

    _calls: RedisCalls
    _prefix: str

    async def send(self, messages: Sequence[tuple[str, bytes]]) -> frozenset[str]:
        if not messages:
            return frozenset()
        keys = [
            f"{self._prefix}:{what}:{worker}" for worker, _ in messages for what in ("lease", "box")
        ]
        contents = (content for _, content in messages)
        flags: list[int] = await self._run(scripts.SEND, keys, contents)
        return frozenset(messages[i][0] for i in flags)

    async def alive(self, workers: Collection[str]) -> frozenset[str]:
        # Copied: the caller's set may change meanwhile.
        names = tuple(workers)
        if not names:
            return frozenset()
        keys = (f"{self._prefix}:lease:{worker}" for worker in names)
        leases = await self._calls.run("MGET", *keys)
        return frozenset(worker for worker, held in zip(names, leases, strict=True) if held)

    async def publish(self, changes: Sequence[bytes]) -> None:
        if changes:
            await self._run(scripts.PUBLISH, [f"{self._prefix}:bus"], changes)

    async def _run(self, script: str, keys: Sequence[str], contents: Iterable[bytes]) -> Any:
        limits = MOST_MESSAGES, BOX_LIFETIME
        return await self._calls.run("EVALSHA", script, len(keys), *keys, *limits, *contents)


@dataclass(eq=False, slots=True)
class RedisSessions:
    """Sessions, one value each."""

    _calls: RedisCalls
    _workers: RedisWorkers
    _namespace: str

    async def open(self, key: str, worker: str) -> StoredSession | None:
        reply = await self._run(scripts.OPEN, key, worker, _COPIES)
        if reply is None:
            return None
        *fields, copies, opened = reply
        if copies:
            # Workers leave when they end in order; others may be gone.
            names = _names(copies)
            lost = names - await self._workers.alive(names)
            await self._run(scripts.GONE, key, opened, *lost - {worker})
        return _read_session(fields)

    async def save(
        self, key: str, worker: str, record: bytes, *, version: int, lifetime: float
    ) -> Saved | None:
        limit = milliseconds(lifetime)
        saved = await self._run(scripts.SAVE, key, worker, record, version, limit)
        return None if saved is None else Saved(saved[0], _names(saved[1]) - {worker})

    async def refresh(self, keys: Collection[str], lifetime: float) -> None:
        left, limit = list(keys), milliseconds(lifetime)
        while some := left[:_REFRESHED]:
            del left[:_REFRESHED]
            await asyncio.gather(*(self._run(scripts.REFRESH, key, limit) for key in some))

    async def leave(self, key: str, worker: str) -> None:
        await self._run(scripts.LEAVE, key, worker)

    async def end(self, key: str, lifetime: float, *, again: bool = False) -> frozenset[str] | None:
        copies = await self._run(scripts.END, key, milliseconds(lifetime), int(again))
        return None if copies is None else _names(copies)

    async def claim(self, key: str, worker: str) -> StoredSession | None:
        reply = await self._run(scripts.CLAIM, key, worker)
        return None if reply is None else _read_session(reply)

    async def deliver(self, key: str, worker: str, epoch: int, delivered: int) -> bool:
        return bool(await self._run(scripts.DELIVER, key, worker, epoch, delivered))

    async def _run(self, script: str, key: str, *arguments: Argument) -> Any:
        session = f"{self._namespace}:{{{key}}}"
        return await self._calls.run("EVALSHA", script, 1, session, *arguments)


def _read_session(reply: Sequence[Any]) -> StoredSession:
    record, version, owner, epoch, delivered = reply
    return StoredSession(record, version, owner.decode(errors="replace") or None, epoch, delivered)


def _names(workers: Iterable[Any]) -> frozenset[str]:
    return frozenset(name.decode(errors="replace") for name in workers if isinstance(name, bytes))


@dataclass(eq=False, slots=True)
class RedisEvents:
    """Event streams, one list each."""

    _calls: RedisCalls
    _namespace: str
    _most: int

    async def append(
        self,
        key: str,
        stream: str,
        number: int,
        messages: Sequence[bytes],
        *,
        lifetime: float,
        end: bool = False,
    ) -> Appended:
        limits = milliseconds(lifetime), int(end), self._most
        reply = await self._run(scripts.APPEND, key, stream, stream, number, *limits, *messages)
        accepted, last, ended, follower = reply.split(b"\0")
        follows = follower.decode(errors="replace") or None
        return Appended(accepted == b"1", int(last), ended == b"1", follows)

    async def read(self, key: str, stream: str, after: int) -> Events | None:
        events = list[Event]()
        while True:
            reply = await self._run(scripts.READ, key, stream, after, MOST_AT_ONCE, _MOST_BYTES)
            if reply is None:
                return None
            ended, first, messages, last = reply
            events += [Event(first + i, message) for i, message in enumerate(messages)]
            if not messages or events[-1].number >= last:
                return Events(events, bool(ended))
            after = events[-1].number

    async def follow(self, key: str, stream: str, worker: str) -> None:
        await self._run(scripts.FOLLOW, key, stream, stream, BOX_LIFETIME, worker)

    async def news(self, seen: Mapping[Place, int]) -> Collection[Place]:
        if not seen:
            return ()
        # A proxy can split this by key, unlike a script.
        names = (f"{self._namespace}:{{{key}}}:n:{stream}" for key, stream in seen)
        newest = await self._calls.run("MGET", *names)
        pairs = zip(seen, newest, strict=True)
        return [place for place, last in pairs if last not in (None, b"%d" % seen[place])]

    async def _run(self, script: str, key: str, stream: str, *arguments: Argument) -> Any:
        session = f"{self._namespace}:{{{key}}}"
        keys = session, f"{session}:e:{stream}"
        return await self._calls.run("EVALSHA", script, 2, *keys, *arguments)
