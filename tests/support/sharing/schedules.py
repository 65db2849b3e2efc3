"""Random schedules of clients and faults, by a seed, and the check of their outcome.

`python -m support.sharing.schedules 7` plays the schedule of seed 7 and prints the events.
"""

import asyncio
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final

from support.coroutines import SkippingLoop
from support.sharing.clients import Client, World
from support.sharing.listeners import Listener, ListenStream
from support.sharing.simulated import Simulated
from support.sharing.witness import Trouble, Witness

WORKERS: Final = 3
_LONGEST: Final = 300.0
NAMES: Final = ("ada", "bob", "eve")
"""The clients: two have a session each, and one has none."""


@dataclass(frozen=True)
class Action:
    """An action of a client after a pause, in leases like all times of a schedule."""

    pause: float
    name: str
    given: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Fault:
    """A fault at a time, for a while, perhaps of one worker."""

    at: float
    name: str
    lasts: float
    worker: int | str | None = None
    """Its number; or where a client listens, calls or was asked, or its listen stream."""


@dataclass(frozen=True)
class Schedule:
    """The actions of each client, in parallel lanes, and the faults."""

    seed: int
    lanes: Sequence[tuple[int, Sequence[Action]]]
    faults: Sequence[Fault]


def schedule_of(seed: int) -> Schedule:
    random = Random(seed)
    story = random.choice(_STORIES) if random.random() < 0.3 else None
    faults = [_fault(random) for _ in range(random.choice((0, 1, 1, 2)))]
    calm = not (faults or story)
    lanes = [
        (client, [_action(random, client, calm) for _ in range(random.randint(1, 4))])
        for client in (0, 1)
        for _ in range(2)
    ]
    if story is not None:
        told, faults = story(random)
        lanes.append((0, told))
    return Schedule(seed, lanes, faults)


# Rare coincidences.


def _late_owner(random: Random) -> tuple[list[Action], list[Fault]]:
    """A worker stops whose client resumes its standalone stream elsewhere."""
    later = ("later", 4, random.choice((0.1, 0.3, 0.6)))
    told = [
        Action(random.uniform(0.2, 1.0), "call", ([later], [])),
        Action(random.uniform(0.2, 1.0), "move", (random.random() < 0.5,)),
        Action(random.uniform(0.0, 0.5), "call", ([later], [])),
    ]
    return told, [Fault(random.uniform(0.2, 0.6), "stop", random.uniform(1.0, 2.0), "listens 0")]


def _late_writer(random: Random) -> tuple[list[Action], list[Fault]]:
    """A worker stops during a call that its client continues elsewhere."""
    pause = ("sleep", random.choice((0.2, 0.5)))
    steps = [("log",), pause, ("log",), pause, ("log",)]
    told = [Action(0.1, "call", (steps, [random.randint(1, 2)]))]
    lasts = random.uniform(0.8, 2.0)
    return told, [Fault(random.uniform(0.15, 0.5), "stop", lasts, "calls 0")]


def _missed_change(random: Random) -> tuple[list[Action], list[Fault]]:
    """A change and all other data of the engine are lost before a worker has seen it."""
    uri = f"file:///{random.randrange(3)}"
    told = [Action(random.uniform(0.2, 0.6), "publish", (uri,))]
    faults = [
        Fault(0.15, "stop", random.uniform(0.5, 1.5), "stream"),
        Fault(random.uniform(0.3, 1.0), "lose", 0.1),
    ]
    return told, faults


def _death_at_an_append(random: Random) -> tuple[list[Action], list[Fault]]:
    """A worker dies before or after something that it says is stored."""
    steps: list[tuple[Any, ...]] = [("log",)] * random.randint(0, 2)
    steps += [("die", random.choice(("before", "after"))), ("sleep", 0.05)]
    steps += [("log",), ("ask",), ("log",)]
    told = [Action(random.uniform(0, 0.5), "call", (steps, []))]
    return told, []


def _late_asker(random: Random) -> tuple[list[Action], list[Fault]]:
    """A worker stops after a question that is then answered elsewhere."""
    steps = [("ask", random.uniform(0.5, 2.5)), ("progress",), ("ask",)]
    told = [Action(random.uniform(0, 0.1), "call", (steps, []))]
    return told, [Fault(random.uniform(0.3, 0.5), "stop", random.uniform(1.0, 3.0), "asks 0")]


def _late_subscription(random: Random) -> tuple[list[Action], list[Fault]]:
    """A worker stops whose client then subscribes elsewhere, to resources that change meanwhile."""
    uri = f"file:///{random.randrange(4)}"
    told = [
        Action(random.uniform(0.3, 0.8), "subscribe", (uri,)),
        Action(random.uniform(0.0, 0.2), "publish", (uri,)),
    ]
    faults = [Fault(random.uniform(0.1, 0.3), "stop", random.uniform(1.5, 3.0), "listens 0")]
    if random.random() < 0.3:
        faults.append(Fault(random.uniform(0.3, 1.5), "restart", 0.2))
    return told, faults


_STORIES: Final = (
    *(_late_owner, _late_writer, _missed_change, _death_at_an_append),
    *(_late_asker, _late_subscription),
)

_FAULTS: Final = ("kill", "kill", "stop", "stop", "away", "restart", "lose", "slow", "forget")
_WHERE: Final = (0, 1, 2, "listens 0", "listens 1", "calls 0", "calls 1", "stream")


def _fault(random: Random) -> Fault:
    name = random.choice(_FAULTS)
    worker = random.choice(_WHERE) if name in ("kill", "stop") else None
    lasts = random.choice((0.3, 1.2, 2.0))
    return Fault(random.uniform(0, 1.5), name, lasts, worker)


_ACTIONS: Final = (
    *("call", "call", "call", "call", "move", "move", "break_off", "publish", "publish"),
    *("subscribe", "subscribe", "unsubscribe", "level", "cancel", "intrude"),
)


def _action(random: Random, client: int, calm: bool) -> Action:
    pause, name = random.uniform(0, 0.4), random.choice(_ACTIONS)
    given: tuple[Any, ...] = ()
    if name == "call":
        breaks = [random.randint(1, 4) for _ in range(random.choice((0, 0, 1, 2)))]
        given = (_steps(random, calm), breaks)
    elif name in ("subscribe", "unsubscribe", "publish"):
        given = (f"file:///{random.randrange(4)}",)
    elif name == "level":
        given = (random.choice(("debug", "info", "warning", "error")),)
    elif name == "move":
        given = (random.random() < 0.3,)
    return Action(pause, name, given)


def _steps(random: Random, calm: bool) -> list[tuple[Any, ...]]:
    steps = [_step(random) for _ in range(random.randint(0, 5))]
    if not calm and random.random() < 0.15:
        dying = ("die", random.choice(("now", "before", "after")))
        steps.insert(random.randint(0, len(steps)), dying)
    return steps


_STEPS: Final = ("log", "log", "log", "ask", "ask", "sleep", "progress", "later", "let_go")


def _step(random: Random) -> tuple[Any, ...]:
    name = random.choice(_STEPS)
    if name == "sleep":
        return (name, random.choice((0.0, 0.05, 0.5)))
    if name == "later":
        return (name, random.randint(1, 3), random.choice((0.0, 0.05, 0.3)))
    return (name,)


class Run:
    def __init__(self, schedule: Schedule, site: Simulated, witness: Witness) -> None:
        self.schedule = schedule
        self.site = site
        self.witness = witness
        self.world = World(site, WORKERS, witness, Random(schedule.seed))
        self.clients = [Client(self.world, name) for name in NAMES[:2]]
        self.world.clients = self.clients
        self.listeners = [Listener(client) for client in self.clients]
        self.stream = ListenStream(self.world, NAMES[2], [f"file:///{i}" for i in range(3)])
        self._engine = asyncio.Lock()
        self._replacing: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        for fault in self.schedule.faults:
            self.witness.say(str(fault))
        await asyncio.gather(*(client.begin() for client in self.clients))
        listening = [asyncio.create_task(stream.listen()) for stream in self._all_streams]
        doing = [self._do_all(*lane) for lane in self.schedule.lanes]
        going_wrong = [self._go_wrong(fault) for fault in self.schedule.faults]
        try:
            await asyncio.gather(*doing, *going_wrong)
            while self._replacing:
                await asyncio.wait(self._replacing)
            await self._check_streams()
            await asyncio.gather(*(client.end() for client in self.clients))
            for client in self.clients:
                if client.ended:
                    await client.see_it_ended()
        finally:
            self.stream.closing = True
            for listener in self.listeners:
                await listener.close()
            for task in listening:
                task.cancel()
            await asyncio.gather(*listening, return_exceptions=True)

    # Actions of clients.

    async def _do_all(self, place: int, actions: Sequence[Action]) -> None:
        for action in actions:
            await asyncio.sleep(action.pause * self.witness.lease)
            if not self.clients[place].over:
                await self._do(place, action)

    async def _do(self, place: int, action: Action) -> None:
        client, listener, given = self.clients[place], self.listeners[place], action.given
        if action.name == "call":
            steps, breaks = given
            await client.call([self._in_seconds(step) for step in steps], breaks=breaks)
        elif action.name == "move":
            await listener.open(plain=given[0])
        elif action.name == "break_off":
            listener.break_off()
        elif action.name == "publish":
            await client.publish(given[0])
        elif action.name == "level":
            await client.choose_level(given[0])
        else:
            await getattr(client, action.name)(*given)

    def _in_seconds(self, step: tuple[Any, ...]) -> tuple[Any, ...]:
        *kept, last = step
        return (*kept, last * self.witness.lease) if isinstance(last, float) else step

    # Faults.

    async def _go_wrong(self, fault: Fault) -> None:
        await asyncio.sleep(fault.at * self.witness.lease)
        worker = self._where(fault.worker)
        if worker is None:
            # The only engine is repaired before its next fault.
            async with self._engine:
                await self._trouble(fault, None)
        else:
            await self._trouble(fault, worker)

    def _where(self, worker: int | str | None) -> int | None:
        if not isinstance(worker, str):
            return worker
        what, _, number = worker.partition(" ")
        if what in ("asks", "calls"):
            client = self.clients[int(number)]
            return client.asking if what == "asks" else client.calling
        responses = (self.listeners[int(number)] if number else self.stream).responses
        return responses[-1].worker if responses else 0

    async def _trouble(self, fault: Fault, worker: int | None) -> None:
        lease, engine = self.witness.lease, self.site.engine
        trouble = self.witness.begin(fault.name, worker)
        if worker is not None:
            at = self.site.workers[worker]
            at.kill() if fault.name == "kill" else at.stop()
        elif fault.name == "slow":
            engine.delay = lease / 20
        elif fault.name == "forget":
            engine.forgetful = 0.2
        elif fault.name == "lose":
            self.witness.forgotten = True
            engine.lose()
        else:
            engine.away = True
            if fault.name == "restart":
                engine.miss()
        await asyncio.sleep(fault.lasts * lease)
        self._mend(trouble)

    def _mend(self, trouble: Trouble) -> None:
        if trouble.worker is None:
            self.site.engine.mend()
        elif trouble.what == "kill":
            self.site.replace(trouble.worker)
        else:
            self.site.workers[trouble.worker].go_on()
        self.witness.end(trouble)

    def dies(self, worker: int) -> None:
        """Replace a worker that is about to die."""
        task = asyncio.create_task(self._replace(self.witness.begin("kill", worker)))
        self._replacing.add(task)
        task.add_done_callback(self._replacing.discard)

    async def _replace(self, trouble: Trouble) -> None:
        await asyncio.sleep(0.7 * self.witness.lease)
        self._mend(trouble)

    # Expected outcomes.

    @property
    def _all_streams(self) -> list[Listener | ListenStream]:
        return [*self.listeners, self.stream]

    async def _check_streams(self) -> None:
        for stream in self._all_streams:
            if not await self.witness.until(partial(_hears_all, stream)):
                self.witness.wrong(f"nothing is heard of {stream.missing()}")
            stream.check()


def _hears_all(stream: Listener | ListenStream) -> bool:
    return not stream.missing()


def simulate(seed: int) -> Witness:
    """Play the schedule of a seed."""
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(_simulate(seed))


async def _simulate(seed: int) -> Witness:
    witness = Witness(lease=1.0, patience=20.0)
    site = Simulated(Random(seed), WORKERS, NAMES, witness)
    run = Run(schedule_of(seed), site, witness)
    witness.on_death = run.dies
    try:
        async with asyncio.timeout(_LONGEST):
            await run.run()
    except Exception as error:
        witness.wrong("".join(traceback.format_exception(error)))
    finally:
        await site.close()
    return witness


if __name__ == "__main__":
    played = simulate(int(sys.argv[1]))
    print(played)
    sys.exit(bool(played.faults))
