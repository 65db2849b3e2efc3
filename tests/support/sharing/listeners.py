"""Listeners: the standalone stream of a session, at any worker, and listen streams."""

import asyncio
import json
from collections import Counter
from contextlib import aclosing
from dataclasses import dataclass, field
from math import inf
from typing import Any

from support.http.serving import EVENTS, JSON
from support.json_types import JsonObject
from support.revisions import STATELESS
from support.sessions.talking import modern
from support.sharing.clients import UPDATED, Client, Event, Lost, World, events_of
from support.sharing.scripted import token
from support.sharing.simulated import Reply


@dataclass
class OpenedStream:
    """One response of a stream, with its start and end."""

    worker: int
    begun: float
    ended: float = inf
    first: dict[int, float] = field(default_factory=dict[int, float])
    """The events by number, with the time when each came."""


class Listener:
    """A reader of the standalone stream of a session, one response after the other."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.witness = client.witness
        self.responses: list[OpenedStream] = []
        self.events: dict[int, str] = {}
        """What was heard, by the numbers of events."""
        self.heard: list[tuple[float, str]] = []
        """The changes of resources that were heard of, and when."""
        self.closing = False
        self.unsure = False
        """Whether something may have been sent to a response that broke before it was read."""
        self._last = 0
        self._reading: set[asyncio.Task[None]] = set()
        self._newest: Reply | None = None

    async def listen(self) -> None:
        """Keep a response open until the end."""
        while not (self.closing or self.client.over):
            await self.open(plain=not self._last)
            while self._reading and not self.closing:
                await asyncio.wait(self._reading, timeout=self.witness.lease / 5)
                if self._newest is None:
                    break
            await asyncio.sleep(self.witness.lease / 50)

    async def open(self, *, plain: bool = False) -> None:
        """Open a new response, which ends the one before."""
        client, more = self.client, dict[str, Any]()
        last = 0 if plain else self._last
        if not plain:
            more["last_event_id"] = f"~.{last}"
        elif self._last:
            self.unsure |= self.witness.is_excused(self.witness.now)
        try:
            reply, worker = await client.ask("GET", accept=EVENTS, **more)
        except Lost:
            return
        where = f"{client.name} listens at {worker} {f'after {last}' if last else ''}"
        self.witness.say(f"{where}: {reply.status}")
        if reply.status != 200:
            await client.read(reply)
            if reply.status == 404:
                client.note_session_gone(404, "GET")
            else:
                excused = self.witness.forgotten or client.over
                self.witness.check(excused, f"{where}: {reply.status}")
                client.over = True
            return
        opened = OpenedStream(worker, self.witness.now)
        self.responses.append(opened)
        self._newest = reply
        task = asyncio.create_task(self._read(reply, opened, last))
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)

    def break_off(self) -> None:
        if self._newest is not None:
            self._newest.break_off()

    async def _read(self, reply: Reply, opened: OpenedStream, last: int) -> None:
        try:
            async with aclosing(events_of(reply)) as events:
                async for event in events:
                    if event.stream != "~" or event.number <= last:
                        self.witness.wrong(f"{self.client.name}: {event.id} after {last}")
                    last = event.number
                    self._take_in(event, opened)
        except ConnectionError:
            pass
        finally:
            opened.ended = self.witness.now
            self.witness.say(f"{self.client.name}: response {self.responses.index(opened)} ends")
            if self._newest is reply:
                self._newest = None

    def _take_in(self, event: Event, opened: OpenedStream) -> None:
        witness, text = self.witness, json.dumps(event.message)
        number = self.responses.index(opened)
        witness.say(f"{self.client.name} <- {event.id} in {number}: {text}")
        opened.first[event.number] = witness.now
        for later in self.responses[number + 1 :]:
            came = later.first.get(event.number, inf)
            again = came < witness.now - witness.lease / 5
            witness.check(not again, f"{event.id} comes in the response before as well")
        known = self.events.setdefault(event.number, text)
        witness.check(known == text, f"{event.id} is {known} and {text}")
        self._last = max(self._last, event.number)
        if event.message is not None:
            self._check(event.message)

    def _check(self, message: JsonObject) -> None:
        client, method, params = self.client, message.get("method"), message.get("params", {})
        if method == UPDATED:
            self.heard.append((self.witness.now, params["uri"]))
            right = params["uri"] in client.wanted
        elif method == "notifications/message":
            right = params["data"].startswith(f"{client.name}.") and "/" in params["data"]
        else:
            right = False
        self.witness.check(right, f"{client.name} hears {message}")

    # In the end.

    @property
    def said(self) -> list[str]:
        """Return the texts that ended calls have logged, each at most once, in order."""
        messages = [json.loads(self.events[number]) for number in sorted(self.events)]
        return [
            message["params"]["data"]
            for message in messages
            if message is not None and message["method"] == "notifications/message"
        ]

    def missing(self) -> list[str]:
        client, witness = self.client, self.witness
        if client.over:
            return []
        said = set(self.said)
        found = [
            f"the end of response {index}"
            for index, response in enumerate(self.responses[:-1])
            if response.ended == inf and not witness.is_excused(response.begun)
        ]
        found += [
            f"{text}/{index}"
            for text, (times, since, worker) in client.later.items()
            if not (self.unsure or witness.is_excused(since, worker, *self._at))
            for index in range(times)
            if worker >= 0 and f"{text}/{index}" not in said
        ]
        for publication in client.world.publications:
            since = client.subscribed.get(publication.uri, inf)
            came = any(
                when >= publication.begun and uri == publication.uri for when, uri in self.heard
            )
            if since < publication.begun and not came and self._must_arrive(publication.begun):
                found.append(publication.uri)
        return found

    @property
    def _at(self) -> set[int | None]:
        return {response.worker for response in self.responses}

    def _must_arrive(self, begun: float) -> bool:
        """Return whether a change published then must arrive."""
        witness = self.witness
        stays = any(
            response.begun < begun and response.ended == inf and not self._was_killed(response)
            for response in self.responses
        )
        has_begun = any(response.begun < begun for response in self.responses)
        return stays or (has_begun and not self.unsure and not witness.is_excused(begun))

    def _was_killed(self, opened: OpenedStream) -> bool:
        return any(
            trouble.what == "kill"
            and trouble.worker == opened.worker
            and trouble.ended >= opened.begun
            for trouble in self.witness.troubles
        )

    def check(self) -> None:
        """Check that all messages came in order, and once."""
        said, last = self.said, dict[str, int]()
        self.witness.check(len(set(said)) == len(said), f"{self.client.name} hears twice: {said}")
        for text in said:
            call, _, index = text.rpartition("/")
            gap = int(index) - last.get(call, -1)
            right = gap == 1 or ((self.unsure or self.witness.forgotten) and gap > 1)
            self.witness.check(right, f"{self.client.name}: {text} after {last.get(call)}")
            last[call] = int(index)
        if not self.witness.troubles:
            self._check_once()

    def _check_once(self) -> None:
        """Check that changes came once, except while the stream moved to another worker."""
        most, near = Counter[str](), self.witness.lease / 4
        for publication in self.client.world.publications:
            begun, ended = publication.begun - near, publication.ended + near
            moves = sum(begun <= response.begun <= ended for response in self.responses)
            most[publication.uri] += 1 + moves
        often = Counter(uri for _, uri in self.heard) - most
        self.witness.check(not often, f"{self.client.name} hears too often of {often}")

    async def close(self) -> None:
        self.closing = True
        self.break_off()
        for task in list(self._reading):
            task.cancel()
        await asyncio.gather(*self._reading, return_exceptions=True)


class ListenStream:
    """A client of the stateless era that listens for changes of some resources."""

    def __init__(self, world: World, name: str, uris: list[str]) -> None:
        self.world = world
        self.witness = world.witness
        self.name = name
        self.uris = uris
        self.responses: list[OpenedStream] = []
        self.heard: list[tuple[float, str]] = []
        self.closing = False

    async def listen(self) -> None:
        """Open a stream, and a new one at another worker whenever it ends."""
        while not self.closing:
            await self._open()
            await asyncio.sleep(self.witness.lease / 10)

    async def _open(self) -> None:
        witness, wanted = self.witness, {"resourceSubscriptions": self.uris}
        message = modern("subscriptions/listen", 1, notifications=wanted)
        fields = {"authorization": f"Bearer {token(self.name)}", "content-type": JSON}
        fields |= {"accept": f"{JSON}, {EVENTS}", "mcp-protocol-version": STATELESS}
        fields["mcp-method"] = "subscriptions/listen"
        worker, begun = self.world.random.randrange(self.world.workers), witness.now
        body = json.dumps(message).encode()
        try:
            reply = await self.world.site.ask(worker, "POST", fields, body)
            witness.say(f"{self.name} listens at {worker}: {reply.status}")
            excused = witness.is_excused(begun)
            witness.check(reply.status == 200 or excused, f"listen: {reply.status}")
            await self._read(reply, worker)
        except ConnectionError:
            witness.check(witness.is_excused(begun, worker), f"a listen stream at {worker} broke")

    async def _read(self, reply: Reply, worker: int) -> None:
        opened: OpenedStream | None = None
        try:
            async with aclosing(events_of(reply)) as events:
                async for event in events:
                    if opened is None:
                        opened = OpenedStream(worker, self.witness.now)
                        self.responses.append(opened)
                    elif event.message is not None:
                        self._take_in(event.message)
        finally:
            if opened is not None:
                opened.ended = self.witness.now

    def _take_in(self, message: JsonObject) -> None:
        self.witness.say(f"{self.name} <- {message.get('method')} {message.get('params')}")
        if message.get("method") != UPDATED:
            self.witness.check("result" in message, f"{self.name} hears {message}")
            return
        uri = message["params"]["uri"]
        self.witness.check(uri in self.uris, f"{self.name} hears of {uri}")
        self.heard.append((self.witness.now, uri))

    def missing(self) -> list[str]:
        return [
            publication.uri
            for publication in self.world.publications
            if publication.uri in self.uris
            and any(
                opened.begun < publication.begun and opened.ended == inf
                for opened in self.responses
            )
            and not any(
                when >= publication.begun and uri == publication.uri for when, uri in self.heard
            )
        ]

    def check(self) -> None:
        """Check that changes came once, if there was no trouble."""
        most = Counter(publication.uri for publication in self.world.publications)
        often = Counter(uri for _, uri in self.heard) - most
        excused = self.witness.troubles or not often
        self.witness.check(excused, f"{self.name} hears too often of {often}")
