"""The observations of clients and workers in one run, and the violations among them."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf


@dataclass
class Trouble:
    """A fault of one worker, or of the engine, with its start and end."""

    what: str
    worker: int | None
    begun: float
    ended: float = inf


@dataclass
class Witness:
    """The history of a run, and its faults."""

    lease: float
    patience: float
    """Seconds within which everything comes to an end once nothing is in the way."""
    faults: list[str] = field(default_factory=list[str])
    troubles: list[Trouble] = field(default_factory=list[Trouble])
    on_death: Callable[[int], None] = lambda _: None
    """Called with the number of a worker that is about to die by itself."""
    forgotten: bool = False
    """Whether the engine has lost what it kept."""
    _said: list[str] = field(default_factory=list[str])
    _noted: dict[str, asyncio.Event] = field(
        default_factory=lambda: defaultdict[str, asyncio.Event](asyncio.Event)
    )
    _begun: float = field(default_factory=lambda: asyncio.get_running_loop().time())

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def say(self, text: str) -> None:
        self._said.append(f"{self.now - self._begun:7.3f} {text}")

    def wrong(self, text: str) -> None:
        self.say(f"WRONG {text}")
        self.faults.append(text)

    def check(self, true: object, text: str) -> None:
        if not true:
            self.wrong(text)

    # The notes of handlers.

    def note(self, what: str) -> None:
        self.say(what)
        self._noted[what].set()
        kind, _, where = what.partition(" ")
        if kind == "dies":
            self.on_death(int(where))

    def event_for(self, what: str) -> asyncio.Event:
        return self._noted[what]

    async def wait_for(self, what: str, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._noted[what].wait()
        except TimeoutError:
            return False
        return True

    async def until(self, true: Callable[[], object]) -> bool:
        """Wait for a condition, within our patience."""
        end = self.now + self.patience
        while not true():
            if self.now > end:
                return False
            await asyncio.sleep(self.lease / 20)
        return True

    # Excuses for failures.

    def begin(self, what: str, worker: int | None) -> Trouble:
        self.say(f"-- {what} {'' if worker is None else worker}")
        trouble = Trouble(what, worker, self.now)
        self.troubles.append(trouble)
        return trouble

    def end(self, trouble: Trouble) -> None:
        self.say(f"-- end of {trouble.what}")
        trouble.ended = self.now

    def is_excused(self, since: float, *workers: int | None) -> bool:
        """Return whether the engine or one of these workers has been in trouble since then.

        Trouble has consequences for as long as a lease lasts.
        """
        return any(
            trouble.ended + 2 * self.lease >= since
            and (trouble.worker is None or not workers or trouble.worker in workers)
            for trouble in self.troubles
        )

    def __str__(self) -> str:
        return "\n".join([*self._said, "", *self.faults])
