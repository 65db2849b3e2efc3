"""A worker's incoming messages and its lease, on one connection."""

import asyncio
from logging import getLogger
from typing import Any, Final

from ....storage.engine import GAP, Change, DirectMessage, EngineUnavailable, Receive
from ..lease import Lease, now
from . import scripts
from .connection import LONGEST_PAUSE, Command, CommandConnection, RedisCalls
from .scripts import BOX_LIFETIME, MOST_AT_ONCE, MOST_MESSAGES, milliseconds

_log: Final = getLogger(__name__)

# The largest second part of an entry id.
_LAST: Final = 2**64 - 1


class RedisListener:
    def __init__(
        self,
        connection: CommandConnection,
        workers: str,
        worker: str,
        lease: Lease,
        receive: Receive,
    ) -> None:
        self._bus = f"{workers}:bus".encode()
        self._box = f"{workers}:box:{worker}".encode()
        self._held = f"{workers}:lease:{worker}".encode()
        self.own_keys: Final = self._held, self._box
        self._lease = lease
        self._receive = receive
        self.connection: Final = connection
        self.tried: Final = asyncio.Event()
        """Set after the first attempt to reach the server."""
        self.entered = False
        """Whether messages can be missed from now on."""
        # The numbers of the last entries read, and the server process they are from.
        self._read: dict[bytes, int] = {}
        self._run_id: bytes | None = None
        self._at_once = MOST_AT_ONCE
        self._away = False

    async def listen(self, calls: RedisCalls) -> None:
        try:
            while True:
                await self._listen(calls)
        finally:
            self.tried.set()

    async def _listen(self, calls: RedisCalls) -> None:
        try:
            await self._renew(calls, connecting=True)
            while True:
                while wait := self._lease.wait:
                    await self._hear(wait)
                await self._renew(calls)
        except EngineUnavailable as error:
            self.tried.set()
            if not self._away:
                self._away = True
                _log.warning("%s", error)
        # Read smaller pieces after a failure.
        self._at_once = max(self._at_once // 8, 1)
        if calls.task is None:
            # It led to the same server; calls should not find that out.
            await calls.connection.close()
        await asyncio.sleep(self.connection.pause or LONGEST_PAUSE)

    async def compare(self, connection: CommandConnection) -> None:
        """Reconnect if calls go to another server process, unless that is under way."""
        ids = connection.run_id, self.connection.run_id
        if None not in ids and ids[0] != ids[1]:
            await self.connection.close()

    async def _renew(self, calls: RedisCalls, *, connecting: bool = False) -> None:
        asked, boxes = now(), (self._box, self._bus)
        limits = milliseconds(self._lease.seconds), BOX_LIFETIME, MOST_MESSAGES
        last = self._read.get(self._box, 0)
        renew: Command = ("EVALSHA", scripts.RENEW, 3, self._held, *boxes, *limits, last)
        reply = await self._run(renew, opening=connecting)
        had, *newest = map(int, reply)
        process, before = self.connection.run_id, self._run_id
        # Another process may lack data of this one.
        missed = connecting and (process is None or process != before)
        missed |= not had or not self._lease.current
        for box, number in zip(boxes, newest, strict=True):
            if number < self._read.setdefault(box, number):
                self._read[box], missed = number, True
        self._run_id = process
        if missed and self.entered:
            self._receive(GAP)
        self._lease.renew(asked)
        self.tried.set()
        if self._away:
            self._away = False
            _log.warning("Redis is available again")
        if connecting and calls.connection.run_id != process:
            await calls.connection.close()
        calls.connection.reopen()
        # Keeps an idle connection open and to the same server; the outcome does not matter.
        calls.run("PING").add_done_callback(lambda one: one.cancelled() or one.exception())

    async def _hear(self, wait: float) -> None:
        keys = self._bus, self._box
        # Entries of the same number are not from workers.
        places = (f"{self._read[key]}-{_LAST}" for key in keys)
        options = "COUNT", self._at_once, "BLOCK", milliseconds(wait), "STREAMS"
        read: Command = ("XREAD", *options, *keys, *places)
        found = await self._run(read, patience=wait, opening=False)
        self._at_once = min(2 * self._at_once, MOST_AT_ONCE)
        for key, entries in found or ():
            kind = Change if key == self._bus else DirectMessage
            for entry, (field, content, *_) in entries:
                number = int(entry.partition(b"-")[0])
                if number != self._read[key] + 1:
                    self._receive(GAP)
                self._read[key] = number
                if field == b"c":
                    self._receive(kind(content))

    async def _run(self, command: Command, *, patience: float = 0.0, opening: bool) -> Any:
        (reply,) = await self.connection.run([command], patience=patience, opening=opening)
        if isinstance(reply, EngineUnavailable):
            raise reply
        return reply
