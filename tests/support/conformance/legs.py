"""The legs of the run: the requirements for each side and revision, and how they are checked."""

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from support.conformance.judging import Found, faults, read_found
from support.conformance.kit import Kit
from support.conformance.scenarios import FOREIGN, IMPOSSIBLE, NONE, Excuses, find_scenarios
from support.engines import redis_running
from support.peers.http_peers import serve_command, with_packages
from support.peers.places import PROGRAMS, python_with
from support.revisions import OLD

# The suite uses one processor.
_AT_ONCE: Final = os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Leg:
    """One side, in its revisions, with the scenarios and the schema of one revision."""

    side: Literal["server", "client"]
    held_to: str
    only: str | None = None
    """The one revision that the server speaks; without, all."""
    excuses: Excuses = field(default_factory=lambda: NONE)
    """Scenarios that cannot be passed."""
    topic: str | None = None
    """What the scenarios are about, where those of a side have several legs."""
    some: tuple[str, ...] = ()
    """Its scenarios, if these are not all."""

    @property
    def scenarios(self) -> tuple[str, ...]:
        # All handshake revisions have those of the last one.
        revision = self.held_to if self.only is None else OLD
        return self.some or (*find_scenarios(self.side, revision, self.topic),)

    @property
    def name(self) -> str:
        limits = "" if self.only is None else f"-of-{self.only}"
        topic = "" if self.topic is None else f"-{self.topic.replace(' ', '-')}"
        return f"{self.side}{limits}{topic}-held-to-{self.held_to}"


@dataclass(frozen=True, slots=True)
class Result:
    leg: Leg
    found: Found
    faults: tuple[str, ...]

    @property
    def passed(self) -> int:
        """Count the checks that passed in the required scenarios."""
        wanted = set(self.leg.scenarios).difference(self.leg.excuses)
        return sum(check.passed for scenario in wanted for check in self.found.get(scenario, ()))


_OLD: Final = ("2025-06-18", "2025-03-26", "2024-11-05")

# The suite has no schema of 2024-11-05.
_OLD_SCHEMAS: Final = ("2025-06-18", "2025-03-26")


def _old(only: str, schema: str) -> Leg:
    foreign = NONE if only == schema else FOREIGN
    return Leg("server", schema, only, {**IMPOSSIBLE[only], **foreign})


LEGS: Final = (
    Leg("server", "2026-07-28"),
    Leg("server", "2025-11-25"),
    *(_old(only, schema) for only in _OLD for schema in _OLD_SCHEMAS),
    Leg("client", "2026-07-28"),
    Leg("client", "2025-11-25"),
    *(
        Leg("client", revision, topic="authorization")
        for revision in ("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26")
    ),
    *(
        Leg("client", revision, topic="extensions of authorization")
        for revision in ("2026-07-28", "2025-11-25")
    ),
    Leg("server", "2026-07-28", topic="skills"),
    Leg("client", "2026-07-28", topic="skills"),
)


class Runner:
    """A runner of legs, with as many at a time as there are processors."""

    def __init__(self, kit: Kit, folder: Path, serve: "Serve") -> None:
        self._kit = kit
        self._folder = folder
        self._serve = serve
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def run(self, leg: Leg) -> Result:
        """Run all of a leg in a folder for the suite's files."""
        folder = self._folder / leg.name
        folder.mkdir(parents=True)
        if leg.side == "client":
            said = await self._client(leg, folder)
        else:
            said = await self._server(leg, folder)
        found = read_found(folder, leg.side)
        return Result(leg, found, (*faults(found, leg.scenarios, leg.excuses), *said))

    async def _client(self, leg: Leg, folder: Path) -> list[str]:
        command = shlex.join([sys.executable, "-m", "support.conformance.everything_client"])
        # Extensions belong to no revision, so the suite would leave them out.
        arguments = ("client", "--command", command, "--timeout", "60000", "--force")
        return await self._each(leg, folder, arguments)

    async def _server(self, leg: Leg, folder: Path) -> list[str]:
        revisions = () if leg.only is None else ("--revisions", leg.only)
        async with self._serve(*revisions) as url:
            arguments = ("server", "--url", url)
            # A set of requirements covers a whole revision.
            if leg.only is not None or leg.topic is not None:
                return await self._each(leg, folder, (*arguments, "--force"))
            required = (*arguments, "--requirements", leg.held_to)
            return await self._play("all scenarios", *required, "-o", folder)

    async def _each(self, leg: Leg, folder: Path, arguments: tuple[str, ...]) -> list[str]:
        """Run each scenario alone, side by side."""
        chosen = (*arguments, "--spec-version", leg.held_to, "-o", str(folder))
        said = await asyncio.gather(
            *(self._play(name, *chosen, "--scenario", name) for name in leg.scenarios)
        )
        return [
            line
            for scenario, lines in zip(leg.scenarios, said, strict=True)
            for line in lines
            if scenario not in leg.excuses
        ]

    async def _play(self, what: str, *arguments: str | Path) -> list[str]:
        async with self._slots:
            ended = await self._kit.run(*arguments)
        if ended.code == 0:
            return []
        # The rest is in the files, too.
        said = ended.said.partition("Results saved to")[0].strip()[-1000:]
        return [f"{what}: the suite ended with {ended.code}, and said last: {said}"]


@asynccontextmanager
async def serving(*arguments: str, workers: int = 1) -> AsyncGenerator[str, None]:
    program = ("-m", "support.conformance.everything_server")
    async with running(
        sys.executable, *program, "--port", "PORT", *arguments, workers=workers
    ) as url:
        yield url


@asynccontextmanager
async def serving_of_the_official_sdk() -> AsyncGenerator[str, None]:
    """Serve by the newest official Python SDK, with the tools that have tasks; yield the URL."""
    program = PROGRAMS / "mcp2_tasks_server.py"
    async with running(python_with("mcp-2"), program, "PORT") as url:
        yield url


@asynccontextmanager
async def running(*command: str | Path, workers: int = 1) -> AsyncGenerator[str, None]:
    """Run a server with our packages; yield its URL. Arguments as for `serve_command`."""
    async with serve_command(*with_packages(), *command, workers=workers) as server:
        yield f"http://127.0.0.1:{server.port}/mcp"


Serve: TypeAlias = Callable[..., AbstractAsyncContextManager[str]]
"""What is called as `serving` is."""


@asynccontextmanager
async def serving_by_several(*arguments: str) -> AsyncGenerator[str, None]:
    """Serve by several processes that share a Redis, in turn; yield the URL."""
    with redis_running() as redis:
        shared = (*arguments, "--shared", redis.url)
        async with serving(*shared, workers=3) as url:
            yield url
