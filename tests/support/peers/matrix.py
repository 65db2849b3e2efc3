"""What gets through between each two revisions: found out with real processes, shown as tables.

Run as a program, it writes the tables into docs/translation.md.
"""

import asyncio
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import mcp_revisions as pkg

from support.folders import ROOT
from support.generated.package_copy import copy_folder
from support.json_types import JsonObject
from support.peers.features import FEATURES, Use, client_of, outcome
from support.peers.places import PROGRAMS

REVISIONS: Final = tuple(revision.id for revision in pkg.REVISIONS)
PAIRS: Final = tuple((server, client) for server in REVISIONS for client in REVISIONS)
PAGE: Final = ROOT / "docs" / "translation.md"
BEGIN, END = "<!-- matrix -->", "<!-- end of matrix -->"

Kind: TypeAlias = Literal["server", "client", "bridge"]
KINDS: Final[tuple[Kind, ...]] = ("server", "client", "bridge")
Verdict: TypeAlias = Literal["works", "degraded", "refused", "absent"]

_MARKS: Final[Mapping[Verdict, str]] = {
    "works": "●",
    "degraded": "◐",
    "refused": "○",
    "absent": "–",
}
_AT_ONCE: Final = 4


@dataclass
class Run:
    """What a client of one revision saw of a server class of another, and what was lost."""

    server: str
    client: str
    seen: JsonObject = field(default_factory=JsonObject)
    lost: set[str] = field(default_factory=set[str])


async def run(kind: Kind, server: str, client: str) -> Run:
    """One client at one server, of which one translates, or a bridge between them."""
    done = Run(server, client)

    def read_loss(line: str) -> None:
        if line.startswith("LOST "):
            done.lost.add(line.strip().removeprefix("LOST "))

    def report_loss(lost: pkg.Loss) -> None:
        place = "/".join("*" if step.isdigit() else step for step in lost.pointer.split("/"))
        read_loss(f"LOST {lost.method} {place} {lost.why}")

    mcp = pkg.load(client)
    opened = pkg.stdio_client(
        _command(kind, server), env={"PYTHONPATH": str(copy_folder())}, stderr=read_loss
    )
    # A client that translates speaks the server's revision, any other its own.
    spoken = (
        [revision for revision in pkg.REVISIONS if revision.id == server]
        if kind == "client"
        else None
    )
    options = pkg.Options(on_loss=report_loss)
    connected = pkg.connect(opened, client_of(mcp), revisions=spoken, options=options)
    async with connected as one:
        use = Use(one, mcp.models)
        for feature in FEATURES:
            done.seen[feature] = await outcome(use, feature)
    return done


def _command(kind: Kind, server: str) -> list[str | Path]:
    native: list[str | Path] = [sys.executable, PROGRAMS / "our_server.py", server]
    if kind == "client":
        return native
    if kind == "server":
        return [sys.executable, PROGRAMS / "our_server.py", "--as", server]
    return [sys.executable, PROGRAMS / "our_bridge.py", *native]


async def runs(kind: Kind, pairs: Iterable[tuple[str, str]]) -> list[Run]:
    """Pairs of servers and clients, a few at a time."""
    turn = asyncio.Semaphore(_AT_ONCE)

    async def run_pair(server: str, client: str) -> Run:
        async with turn:
            return await run(kind, server, client)

    done = await asyncio.gather(*(run_pair(*pair) for pair in pairs), return_exceptions=True)
    return [_or_raised(result) for result in done]


def _or_raised(done: Run | BaseException) -> Run:
    if isinstance(done, BaseException):
        raise done
    return done


def verdicts(found: Iterable[Run]) -> dict[tuple[str, str, str], Verdict]:
    """What became of each feature, by server, client and feature.

    The measure is what a client of the server's own revision sees.
    """
    by_pair = {(run.server, run.client): run for run in found}
    return {
        (server, client, feature): _verdict(
            run.seen[feature], by_pair[server, server].seen[feature]
        )
        for (server, client), run in by_pair.items()
        for feature in FEATURES
    }


def _verdict(seen: object, native: object) -> Verdict:
    if native == "not asked":
        return "absent"
    if isinstance(seen, Exception):
        return "refused"
    return "works" if seen == native else "degraded"


Cells: TypeAlias = Mapping[tuple[str, str, str], str]
"""What the tables say, by server, feature and client."""


def cells(found: Mapping[Kind, list[Run]]) -> Cells:
    """What was found, in the words of the tables."""
    by_kind: dict[Kind, Any] = {kind: verdicts(runs) for kind, runs in found.items()}
    return {
        (server, _in_words(feature), client): _cell(
            {kind: found[server, client, feature] for kind, found in by_kind.items()}
        )
        for server, client, feature in next(iter(by_kind.values()))
    }


def cells_of(page: str) -> Cells:
    """What the tables of a page say."""
    shown: dict[tuple[str, str, str], str] = {}
    server = ""
    for line in page.splitlines():
        if line.startswith("#"):
            server = line.rpartition(" ")[2]
        elif server in REVISIONS and line.startswith("| "):
            feature, *row = (cell.strip() for cell in line.strip("|").split("|"))
            shown |= {
                (server, feature, client): cell
                for client, cell in zip(REVISIONS, row, strict=False)
            }
    return shown


def tables(found: Mapping[Kind, list[Run]]) -> str:
    """The tables, and what was lost, as Markdown."""
    shown = cells(found)
    lines: list[str] = []
    for server in REVISIONS:
        lines += ["", f"### A server class of {server}", ""]
        lines += _table(server, shown)
    lines += ["", "### What was lost on the way", "", "| method | member | why |", "|---|---|---|"]
    lines += sorted(losses(found))
    return "\n".join(lines).strip() + "\n"


def _table(server: str, shown: Cells) -> Iterator[str]:
    yield f"| | {' | '.join(REVISIONS)} |"
    yield f"|---|{'---|' * len(REVISIONS)}"
    for feature in FEATURES:
        row = [shown[server, _in_words(feature), client] for client in REVISIONS]
        yield f"| {_in_words(feature)} | {' | '.join(row)} |"


def _in_words(feature: str) -> str:
    return feature.replace("_", " ")


def _cell(found: Mapping[Kind, Verdict]) -> str:
    """One mark where all ways agree, or else one for each, with its name."""
    if len(set(found.values())) == 1:
        return _MARKS[next(iter(found.values()))]
    by_mark: dict[str, list[str]] = defaultdict(list)
    for kind, verdict in found.items():
        by_mark[_MARKS[verdict]].append(kind)
    return ", ".join(f"{mark} {'/'.join(kinds)}" for mark, kinds in sorted(by_mark.items()))


def losses(found: Mapping[Kind, list[Run]]) -> set[str]:
    """What was lost on the way, as rows of a table."""
    lines = {line for runs in found.values() for run in runs for line in run.lost}
    parts = [line.split(" ", 2) for line in lines]
    return {f"| `{method}` | `{place or '/'}` | {why} |" for method, place, why in parts}


def page_with(text: str) -> str:
    """The page with these tables in it."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{text}{END}{rest.split(END)[1]}"


async def all_runs(pairs: Iterable[tuple[str, str]] = PAIRS) -> dict[Kind, list[Run]]:
    """Pairs of servers and clients, and what they are measured by, one kind after the other."""
    wanted = {*pairs, *((server, server) for server, _ in pairs)}
    return {kind: await runs(kind, sorted(wanted)) for kind in KINDS}


if __name__ == "__main__":
    PAGE.write_text(page_with(tables(asyncio.run(all_runs()))), encoding="utf-8")
