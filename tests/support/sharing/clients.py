"""Clients of an endpoint with several workers, each of whose requests goes to a different worker.

They resume broken streams, repeat requests that were refused for now, and drop events they have
seen. They report to their witness whatever the known troubles do not explain.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from itertools import count
from math import inf
from random import Random
from typing import Any, Final

from support.http.serving import EVENTS, JSON
from support.json_types import JsonObject
from support.revisions import OLD
from support.sessions.talking import INITIALIZED, hello, notification, request
from support.sharing.scripted import token
from support.sharing.simulated import Reply, Simulated
from support.sharing.witness import Witness

UPDATED: Final = "notifications/resources/updated"

Step = Sequence[Any]


class Lost(Exception):
    """The outcome of a request will stay unknown."""


@dataclass
class Event:
    """One event of a stream: its number, and its message, if any."""

    stream: str
    number: int
    message: JsonObject | None

    @property
    def id(self) -> str:
        return f"{self.stream}.{self.number}"


async def events_of(reply: Reply) -> AsyncGenerator[Event, None]:
    """Yield the events of a response; raise `ConnectionError` if it breaks."""
    rest = b""
    async with aclosing(reply.pieces()) as pieces:
        async for piece in pieces:
            *whole, rest = (rest + piece).split(b"\n\n")
            for event in whole:
                lines = [line.partition(b":") for line in event.split(b"\n")]
                found = {name.decode(): value.strip() for name, _, value in lines if name}
                if not found:
                    continue
                stream, _, number = found.get("id", b"?.0").decode().rpartition(".")
                data = found.get("data")
                yield Event(stream, int(number), json.loads(data) if data else None)


async def whole(reply: Reply) -> JsonObject:
    async with aclosing(reply.pieces()) as pieces:
        body = b"".join([piece async for piece in pieces])
    return json.loads(body) if body else {}


@dataclass
class Publication:
    """A unique change of a resource."""

    uri: str
    begun: float
    ended: float
    worker: int


@dataclass
class Answer:
    """An answer to a question, with its position among all posted or acknowledged ones."""

    posted: int
    acknowledged: float = inf


@dataclass
class World:
    """The shared state of all clients of a run."""

    site: Simulated
    workers: int
    witness: Witness
    random: Random
    publications: list[Publication] = field(default_factory=list[Publication])
    clients: "list[Client]" = field(default_factory=list["Client"])


class Client:
    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.witness = world.witness
        self.name = name
        self.session = ""
        self.over = False
        """Whether it has ended its session, or its session is lost."""
        self.ended = False
        self.calls = 0
        self.calling = 0
        """The worker of the last call."""
        self.asking = 0
        """The worker that has asked something last."""
        self.subscribed: dict[str, float] = {}
        self.wanted: set[str] = set()
        """What it has ever subscribed to."""
        self.levels = asyncio.Lock()
        self.later: dict[str, tuple[int, float, int]] = {}
        """What is to be said when calls are over: how often, since when, and by which worker."""
        self.answers: dict[str, Answer] = {}
        self._moments = count()
        self._last = 0

    # Requests.

    def another(self) -> int:
        """Return a different worker from that of the last request."""
        step = 1 + self.world.random.randrange(self.world.workers - 1)
        self._last = (self._last + step) % self.world.workers
        return self._last

    def fields(self, accept: str = f"{JSON}, {EVENTS}", **more: str) -> Mapping[str, str]:
        found = {"authorization": f"Bearer {token(self.name)}", "accept": accept}
        found["content-type"] = JSON
        if self.session:
            found |= {"mcp-session-id": self.session, "mcp-protocol-version": OLD}
        return {**found, **{name.replace("_", "-"): value for name, value in more.items()}}

    async def ask(
        self,
        method: str,
        message: object = None,
        *,
        again: bool = True,
        first: int | None = None,
        **more: Any,
    ) -> tuple[Reply, int]:
        """Send a request until a worker takes it; return the response and the worker.

        Start with the worker `first`, if given. Unless it may be sent `again`, raise `Lost` when a
        worker may have taken it.
        """
        body, fields = b"" if message is None else json.dumps(message).encode(), self.fields(**more)
        witness, begun = self.witness, self.witness.now
        while witness.now < begun + witness.patience:
            worker, first = self.another() if first is None else first, None
            try:
                async with asyncio.timeout(witness.patience):
                    reply = await self.world.site.ask(worker, method, fields, body)
            except ConnectionRefusedError:
                witness.check(
                    witness.is_excused(begun, worker), f"{self.name}: {worker} is not there"
                )
            except ConnectionError:
                witness.check(witness.is_excused(begun, worker), f"{self.name}: {worker} broke off")
                if not again:
                    raise Lost from None
            except TimeoutError:
                witness.wrong(f"{self.name}: worker {worker} does not answer {method} {message}")
                raise Lost from None
            else:
                if reply.status != 503:
                    return reply, worker
                said = await self.read(reply)
                witness.say(f"{self.name}: {worker} refuses for now: {said}")
                witness.check(witness.is_excused(begun), f"{self.name}: 503 of {worker}: {said}")
            await asyncio.sleep(witness.lease / 10)
        witness.wrong(f"{self.name}: no worker takes {method} {message}")
        raise Lost

    async def read(self, reply: Reply) -> JsonObject:
        """Read a body until it ends or breaks."""
        try:
            return await whole(reply)
        except ConnectionError:
            return {}

    def note_session_gone(self, status: int, what: str) -> None:
        excused = self.over or self.witness.forgotten
        self.witness.check(excused, f"{self.name}: {what} is answered with {status}")
        self.over = True

    async def begin(self) -> None:
        while not self.session:
            reply, _ = await self.ask("POST", hello(OLD, sampling={}))
            with suppress(ConnectionError):
                await whole(reply)
                self.session = reply.fields["mcp-session-id"]
        await self.tell(INITIALIZED)

    async def tell(self, message: JsonObject, first: int | None = None) -> bool:
        """Post a response or notification, to the worker `first` if given, until it is taken."""
        reply, worker = await self.ask("POST", message, first=first)
        await self.read(reply)
        if reply.status == 404:
            self.note_session_gone(404, str(message))
        else:
            self.witness.check(reply.status == 202, f"{self.name}: {reply.status} of {worker}")
        return reply.status == 202

    async def simple(self, method: str, **params: object) -> bool:
        """Send a request with an empty answer; return whether the answer is valid."""
        begun = self.witness.now
        while not self.over:
            self.calls += 1
            reply, worker = await self.ask("POST", request(method, self.calls, **params))
            said = await self.read(reply)
            if reply.status == 404:
                self.note_session_gone(404, method)
                return False
            if "result" in said:
                return True
            excused = self.witness.is_excused(begun, worker)
            self.witness.check(excused, f"{self.name}: {method} gets {reply.status} {said}")
        return False

    # Calls.

    async def call(
        self,
        steps: Sequence[Step],
        *,
        breaks: Sequence[int] = (),
        cancel: bool = False,
        silent: Sequence[int] = (),
    ) -> "Outcome":
        """Call the tool, and break the response after each number of events."""
        self.calls += 1
        number = f"{self.name}.{self.calls}"
        call = _Call(self, number, steps, list(breaks), cancel)
        call.expected = [expected for i, expected in enumerate(call.expected) if i not in silent]
        for index, (name, *given) in enumerate(steps):
            if name == "later":
                self.later[f"{call.number}/{index}"] = (given[0], self.witness.now, -1)
        return await call.run()

    async def answer(self, question: JsonObject, asker: int, pause: float) -> None:
        """Answer a question of the worker `asker`: once, twice, or with two answers at once.

        With a pause, the client waits, and answers twice: elsewhere, and then where it was asked.
        Sometimes another client tries to answer first.
        """
        text, random = question["params"]["messages"][0]["content"]["text"], self.world.random
        self.asking = asker
        others = [client for client in self.world.clients if client is not self and not client.over]
        if others and random.random() < 0.3:
            await others[0].tell(sampling_answer(question, "stolen"))
        await asyncio.sleep(pause)
        elsewhere = (asker + 1 + random.randrange(self.world.workers - 1)) % self.world.workers
        first = self._give(question, f"answer to {text}", elsewhere if pause else None)
        chance = 0.0 if pause else random.random()
        if chance < 0.3:
            await first
            again = asker if pause or random.random() < 0.5 else None
            await self._give(question, f"second answer to {text}", again)
        elif chance < 0.4:
            await asyncio.gather(first, self._give(question, f"other answer to {text}"))
        else:
            await first

    async def _give(self, question: JsonObject, said: str, worker: int | None = None) -> None:
        given = self.answers[said] = Answer(next(self._moments))
        if await self.tell(sampling_answer(question, said), worker):
            given.acknowledged = next(self._moments)
            self.witness.say(f"{self.name}: {said} is acknowledged")

    def is_first_answer(self, said: str, text: str) -> bool:
        """Return whether this answer was posted before any other was acknowledged."""
        given = self.answers.get(said)
        return given is not None and all(
            answer.acknowledged > given.posted
            for name, answer in self.answers.items()
            if name != said and name.endswith(f"answer to {text}")
        )

    async def subscribe(self, uri: str) -> None:
        self.wanted.add(uri)
        if await self.simple("resources/subscribe", uri=uri):
            self.subscribed[uri] = self.witness.now

    async def unsubscribe(self, uri: str) -> None:
        self.subscribed.pop(uri, None)
        await self.simple("resources/unsubscribe", uri=uri)
        # A concurrent subscription may be older.
        self.subscribed.pop(uri, None)

    async def publish(self, uri: str) -> None:
        begun = self.witness.now
        outcome = await self.call([("publish", uri)])
        if outcome.answered:
            ended = self.witness.now
            self.world.publications.append(Publication(uri, begun, ended, outcome.worker))

    async def choose_level(self, level: str) -> None:
        """Set a log level, and check it at another worker."""
        async with self.levels:
            if await self.simple("logging/setLevel", level=level):
                silent = () if level in ("debug", "info") else (0,)
                # All other entries are errors, which any level lets through.
                await self.call([("log", "info"), ("log", "error")], silent=silent)

    async def cancel(self) -> None:
        """Cancel an endless call."""
        await self.call([("log",), ("sleep", 1000.0)], cancel=True)

    async def intrude(self) -> None:
        """Try to use another client's session."""
        for client in self.world.clients:
            if client is not self and client.session:
                message = request("tools/call", 1, name="script", arguments={})
                fields = {**self.fields(), "mcp-session-id": client.session}
                worker = self.another()
                with suppress(ConnectionError):
                    reply = await self.world.site.ask(
                        worker, "POST", fields, json.dumps(message).encode()
                    )
                    await self.read(reply)
                    self.witness.check(reply.status in (404, 503), "somebody else got in")

    async def end(self) -> None:
        """End the session, and check that every worker has forgotten it."""
        if self.over:
            return
        call = asyncio.create_task(self.call([("log",), ("sleep", 1000.0)]))
        await asyncio.sleep(self.witness.lease / 10)
        self.over = self.ended = True
        reply, worker = await self.ask("DELETE")
        await self.read(reply)
        self.witness.check(reply.status in (204, 404), f"DELETE: {reply.status} of {worker}")
        await self.see_it_ended()
        await call

    async def see_it_ended(self) -> None:
        if self.witness.forgotten:
            # Workers that could not be notified find out within a lease.
            await asyncio.sleep(self.witness.lease)
        begun = self.witness.now
        for worker in range(self.world.workers):
            body = json.dumps(request("ping", 1)).encode()
            with suppress(ConnectionError):
                reply = await self.world.site.ask(worker, "POST", self.fields(), body)
                await self.read(reply)
                excused = reply.status == 503 and self.witness.is_excused(begun)
                self.witness.check(
                    reply.status == 404 or excused, f"{worker} still serves: {reply.status}"
                )


def sampling_answer(question: JsonObject, text: str) -> JsonObject:
    message = {"role": "assistant", "content": {"type": "text", "text": text}, "model": "m"}
    return {"jsonrpc": "2.0", "id": question["id"], "result": message}


@dataclass
class Outcome:
    """The outcome of a call: an answer, an error, or unknown for ever."""

    worker: int
    result: JsonObject | None = None
    error: JsonObject | None = None

    @property
    def answered(self) -> bool:
        return self.result is not None


# The certain messages of a step.
_HEARD: Final = ("log", "ask")


class _Call:
    """One call, from its request to its answer, over as many responses as needed."""

    def __init__(
        self, client: Client, number: str, steps: Sequence[Step], breaks: list[int], cancel: bool
    ) -> None:
        self.number = number
        self.expected = [
            f"{number}/{index}" for index, (name, *_) in enumerate(steps) if name in _HEARD
        ]
        self._client = client
        self._witness = client.witness
        self._steps = steps
        self._breaks = breaks
        self._cancel = cancel
        self._heard: list[str] = []
        self._answers: list[str] = []
        self._progress = -1
        self._last: Event | None = None
        self._outcome: Outcome | None = None
        self._cancelling: asyncio.Task[None] | None = None

    @property
    def _message(self) -> JsonObject:
        arguments = {"number": self.number, "steps": self._steps}
        meta = {"progressToken": self.number}
        return request("tools/call", self.number, name="script", arguments=arguments, _meta=meta)

    async def run(self) -> Outcome:
        begun, client, witness = self._witness.now, self._client, self._witness
        worker = -1
        witness.say(f"{client.name} calls {self.number} {self._steps}")
        try:
            reply, worker = await client.ask("POST", self._message, again=False)
            self._outcome, client.calling = Outcome(worker), worker
            witness.say(f"{self.number} is at {worker}: {reply.status}")
            for index in range(len(self._steps)):
                if (text := f"{self.number}/{index}") in client.later:
                    times, since, _ = client.later[text]
                    client.later[text] = (times, since, worker)
            await self._read(reply)
            while self._unfinished and not client.over:
                await self._come_back()
        except Lost:
            witness.say(f"{self.number} is lost")
        if self._cancelling is not None:
            await self._cancelling
        outcome = self._outcome or Outcome(worker)
        self._judge(outcome, begun)
        return outcome

    @property
    def _unfinished(self) -> bool:
        outcome = self._outcome
        return outcome is not None and outcome.result is None and outcome.error is None

    async def _read(self, reply: Reply) -> None:
        if reply.status == 404:
            self._client.note_session_gone(404, self.number)
            raise Lost
        if reply.fields.get("content-type") != EVENTS:
            self._take_in(await self._client.read(reply))
            if self._unfinished:
                raise Lost
            return
        most = self._breaks.pop(0) if self._breaks else 1000
        try:
            async with asyncio.timeout(self._witness.patience):
                await self._listen(reply, most)
        except ConnectionError:
            self._witness.say(f"{self.number} broke")
        except TimeoutError:
            self._witness.wrong(f"{self.number} hangs after {self._heard}")
            reply.break_off()
            raise Lost from None

    async def _listen(self, reply: Reply, most: int) -> None:
        before = self._last
        async with aclosing(events_of(reply)) as events:
            async for event in events:
                if before is not None and event.id != "?.0":
                    new = event.stream == before.stream and event.number > before.number
                    self._witness.check(new, f"{self.number}: {event.id} after {before.id}")
                self._witness.say(f"{self.number} <- {event.id} {_short(event.message)}")
                self._last = before = event
                if event.message is not None:
                    self._take_in(event.message)
                    if "method" in event.message and "id" in event.message:
                        await self._answer(event.message)
                    if self._cancel and self._cancelling is None:
                        self._cancelling = asyncio.create_task(self._give_up())
                most -= 1
                if not most:
                    self._witness.say(f"{self.number} breaks off")
                    reply.break_off()
                    return

    async def _answer(self, question: JsonObject) -> None:
        assert self._outcome is not None
        _, _, index = question["params"]["messages"][0]["content"]["text"].rpartition("/")
        _, *pause = self._steps[int(index)]
        await self._client.answer(question, self._outcome.worker, *(pause or [0.0]))

    async def _come_back(self) -> None:
        if self._last is None or self._last.id == "?.0" or self._cancelling:
            raise Lost
        await asyncio.sleep(self._witness.lease / 50)
        reply, worker = await self._client.ask("GET", accept=EVENTS, last_event_id=self._last.id)
        self._witness.say(f"{self.number} comes back at {worker} after {self._last.id}")
        if reply.status == 400:
            excused = self._witness.forgotten or self._client.over
            self._witness.check(excused, f"{self.number}: {self._last.id} is not known")
            await self._client.read(reply)
            raise Lost
        await self._read(reply)

    async def _give_up(self) -> None:
        client, witness, begun = self._client, self._witness, self._witness.now
        gone = notification("notifications/cancelled", requestId=self.number)
        assert self._outcome is not None
        if await client.tell(gone):
            noted = await witness.wait_for(f"cancelled {self.number}", witness.patience)
            excused = client.over or witness.is_excused(begun, self._outcome.worker)
            witness.check(noted or excused, f"{self.number} was cancelled, and goes on")

    def _take_in(self, message: JsonObject) -> None:
        assert self._outcome is not None
        method, params = message.get("method"), message.get("params", {})
        if method == "notifications/message":
            self._hear(params["data"])
        elif method == "notifications/progress":
            self._witness.check(params["progress"] > self._progress, f"{self.number}: progress")
            self._progress = params["progress"]
            self._check_own(params["message"])
        elif method is not None:
            self._hear(params["messages"][0]["content"]["text"])
        elif "result" in message:
            self._outcome.result = json.loads(message["result"]["content"][0]["text"])
        else:
            self._outcome.error = message.get("error", message)

    def _hear(self, text: str) -> None:
        self._check_own(text)
        self._heard.append(text)

    def _check_own(self, text: str) -> None:
        own = text.rpartition("/")[0] == self.number
        self._witness.check(own, f"{self.number} hears {text}")

    def _judge(self, outcome: Outcome, begun: float) -> None:
        witness, number = self._witness, self.number
        witness.say(f"{number}: {outcome.result or outcome.error or 'lost'}")
        prefix = self.expected[: len(self._heard)]
        witness.check(self._heard == prefix, f"{number} hears {self._heard} of {self.expected}")
        if outcome.result is not None:
            asked = [f"{number}/{i}" for i, (name, *_) in enumerate(self._steps) if name == "ask"]
            answers = outcome.result["answers"]
            right = outcome.result["number"] == number and len(asked) == len(answers)
            first = all(map(self._client.is_first_answer, answers, asked))
            right = right and (first or witness.forgotten)
            witness.check(right, f"{number} gets {outcome.result}")
            witness.check(self._heard == self.expected, f"{number} hears only {self._heard}")
        elif self._outcome is not None and not (self._cancel or self._client.over):
            excused = witness.is_excused(begun, outcome.worker)
            witness.check(excused, f"{number} fails: {outcome.error}")


def _short(message: JsonObject | None) -> str:
    text = json.dumps(message)
    return text if len(text) < 120 else f"{text[:120]}…"
