"""The features that survive between each two revisions: measured in memory, as tables.

As a program, it writes the tables into docs/translation.md.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from runpy import run_path
from textwrap import wrap
from typing import Any, Final, Literal, TypeAlias

import mcp_revisions as pkg
from support.folders import ROOT
from support.json_types import JsonObject
from support.peers.features import FEATURES, Use, client_of, outcomes
from support.peers.places import PROGRAMS
from support.sessions.bridging import through
from support.toolkit.mounting import revision_of

REVISIONS: Final = tuple(revision.id for revision in pkg.REVISIONS)
PAIRS: Final = tuple((server, client) for server in REVISIONS for client in REVISIONS)
PAGE: Final = ROOT / "docs" / "translation.md"
BEGIN, END = "<!-- matrix -->", "<!-- end of matrix -->"
LOST: Final = "### What was lost on the way"

Kind: TypeAlias = Literal["server", "client", "bridge"]
KINDS: Final[tuple[Kind, ...]] = ("server", "client", "bridge")
Verdict: TypeAlias = Literal["works", "degraded", "refused", "absent"]

MARKS: Final[Mapping[Verdict, str]] = {
    "works": "●",
    "degraded": "◐",
    "refused": "○",
    "absent": "–",
}
"""The marks of verdicts in the tables."""
server_of: Final = run_path(str(PROGRAMS / "our_server.py"))["server_of"]


@dataclass
class Run:
    """The results of a client of one revision at a server of another, and the reported losses."""

    server: str
    client: str
    seen: JsonObject = field(default_factory=JsonObject)
    lost: set[str] = field(default_factory=set[str])


async def run(kind: Kind, server: str, client: str) -> Run:
    """Run one client at one server, with a translation by one of them or a bridge."""
    done = Run(server, client)

    def report_loss(lost: pkg.Loss) -> None:
        place = "/".join("*" if step.isdigit() else step for step in lost.pointer.split("/"))
        done.lost.add(f"{lost.method} {place} {lost.why}")

    mcp, options = pkg.load(client), pkg.Options(on_loss=report_loss)
    async with _connect(kind, server_of(server)(), client_of(mcp), options) as one:
        done.seen = await outcomes(Use(one, mcp.models))
    return done


def _connect(
    kind: Kind, server: Any, client: Any, options: pkg.Options
) -> AbstractAsyncContextManager[Any]:
    if kind == "bridge":
        return through(client, server, options, on_loss=options.on_loss)
    if kind == "server":
        opener = pkg.in_memory(server, revisions=pkg.REVISIONS, options=options)
        return pkg.connect(opener, client, options=options)
    # A client that translates speaks the server's revision, any other its own.
    spoken = (revision_of(server),)
    return pkg.connect(pkg.in_memory(server), client, revisions=spoken, options=options)


async def runs(kind: Kind, pairs: Iterable[tuple[str, str]]) -> list[Run]:
    """Run pairs of servers and clients."""
    return await asyncio.gather(*(run(kind, *pair) for pair in pairs))


def verdicts(found: Iterable[Run]) -> dict[tuple[str, str, str], Verdict]:
    """Return the verdict on each feature, by server, client and feature.

    The measure is a client of the server's own revision.
    """
    by_pair = {(run.server, run.client): run for run in found}
    return {
        (server, client, feature): verdict_on(
            run.seen[feature], by_pair[server, server].seen[feature]
        )
        for (server, client), run in by_pair.items()
        for feature in FEATURES
    }


def verdict_on(seen: object, native: object) -> Verdict:
    """Return the verdict on a result, measured by that of a client of the server's revision."""
    if native == "not asked":
        return "absent"
    if isinstance(seen, Exception):
        return "refused"
    return "works" if seen == native else "degraded"


Cells: TypeAlias = Mapping[tuple[str, str, str], str]
"""What the tables say, by server, feature and client."""


def cells(found: Mapping[Kind, list[Run]]) -> Cells:
    by_kind: dict[Kind, Any] = {kind: verdicts(runs) for kind, runs in found.items()}
    return {
        (server, in_words(feature), client): _cell(
            {kind: found[server, client, feature] for kind, found in by_kind.items()}
        )
        for server, client, feature in next(iter(by_kind.values()))
    }


def cells_of(page: str) -> Cells:
    """Return the cells that the table of a page shows, with those that it leaves out."""
    table = page.split(BEGIN)[1].split(LOST)[0]
    shown = {
        (server, in_words(feature), client): MARKS["works"]
        for server, client in PAIRS
        for feature in FEATURES
    }
    for line in table.splitlines():
        if line.startswith(tuple(f"| {revision}" for revision in REVISIONS)):
            servers, features, *marks = (cell.strip() for cell in line.strip("|").split("|"))
            shown |= {
                (server, feature, client): mark
                for server in servers.split(", ")
                for feature in features.split(", ")
                for client, mark in zip(REVISIONS, marks, strict=True)
            }
    return shown


def tables(found: Mapping[Kind, list[Run]]) -> str:
    """Return the tables as Markdown: cells that differ from "works", and losses."""
    lines = [*_table(cells(found)), "", LOST, "", "| method | member | why |", "|---|---|---|"]
    return "\n".join([*lines, *sorted(losses(found))]) + "\n"


def _table(shown: Cells) -> Iterator[str]:
    """Yield a row for servers and features with equal marks, without those that all work."""
    marked: dict[tuple[str, ...], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    working: list[str] = []
    for feature in map(in_words, FEATURES):
        rows = {s: tuple(shown[s, feature, client] for client in REVISIONS) for s in REVISIONS}
        differing = {s: marks for s, marks in rows.items() if {*marks} != {MARKS["works"]}}
        working += [] if differing else [feature]
        for server, marks in differing.items():
            marked[marks][server].append(feature)
    working_text = ", ".join(working)
    sentence = f"Between any two revisions, these work: {working_text}. The rest, by the client:"
    yield from wrap(sentence, 120)
    yield from (
        "",
        f"| server class | | {' | '.join(REVISIONS)} |",
        f"|---|---|{'---|' * len(REVISIONS)}",
    )
    for marks, by_server in marked.items():
        by_features: dict[str, list[str]] = defaultdict(list)
        for server, features in by_server.items():
            by_features[", ".join(features)].append(server)
        for listed, servers in by_features.items():
            yield f"| {', '.join(servers)} | {listed} | {' | '.join(marks)} |"


def in_words(feature: str) -> str:
    """Return the name of a feature in the tables."""
    return feature.replace("_", " ")


def _cell(found: Mapping[Kind, Verdict]) -> str:
    """Return one mark if all kinds agree, otherwise a named one for each."""
    if len(set(found.values())) == 1:
        return MARKS[next(iter(found.values()))]
    by_mark: dict[str, list[str]] = defaultdict(list)
    for kind, verdict in found.items():
        by_mark[MARKS[verdict]].append(kind)
    return ", ".join(f"{mark} {'/'.join(kinds)}" for mark, kinds in sorted(by_mark.items()))


def losses(found: Mapping[Kind, list[Run]]) -> set[str]:
    lines = {line for runs in found.values() for run in runs for line in run.lost}
    parts = [line.split(" ", 2) for line in lines]
    return {f"| `{method}` | `{place or '/'}` | {why} |" for method, place, why in parts}


def page_with(text: str) -> str:
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{text}{END}{rest.split(END)[1]}"


async def all_runs() -> dict[Kind, list[Run]]:
    """Run all pairs of servers and clients, one kind after the other."""
    return {kind: await runs(kind, PAIRS) for kind in KINDS}


if __name__ == "__main__":
    PAGE.write_text(page_with(tables(asyncio.run(all_runs()))), encoding="utf-8")
