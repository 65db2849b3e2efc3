"""Runs the official conformance suite against our server and client, and prints the results.

PYTHONPATH=tests:docs python -m support.conformance.suite
    [--write PAGE] [--record] [--only server|client] [--keep DIR]
"""

import asyncio
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from support.conformance.kit import HERE, Kit, kit
from support.conformance.legs import LEGS, Leg, Result, Runner, Serve, serving
from support.report import records
from website import marks


async def run(
    legs: Iterable[Leg], kit: Kit, folder: Path, serve: Serve = serving
) -> Sequence[Result]:
    """Run legs side by side."""
    runner = Runner(kit, folder, serve)
    return await asyncio.gather(*(runner.run(leg) for leg in legs))


def table(results: Iterable[Result]) -> str:
    """Return the findings as Markdown, and why some scenarios cannot be passed."""
    results = list(results)
    lines = [
        "| what | speaks | tested for | scenarios | checks passed | impossible |",
        "|---|---|---|---:|---:|---:|",
        *map(row, results),
    ]
    excused = list(_excuses(results))
    if excused:
        lines += [
            "",
            "Impossible:",
            "",
            *excused,
        ]
    return "\n".join(lines) + "\n"


def passed_scenarios(result: Result) -> tuple[int, int]:
    """Return how many of the possible scenarios passed, and how many there are."""
    possible = set(result.leg.scenarios).difference(result.leg.excuses)
    faulty = {fault.split(":")[0] for fault in result.faults}
    return len(possible - faulty), len(possible)


def row(result: Result) -> str:
    leg = result.leg
    passed = "{} of {}".format(*passed_scenarios(result))
    speaks = leg.only or ("its era" if leg.side == "client" else "all")
    impossible = len(leg.excuses) or "–"
    what = leg.side if leg.topic is None else f"{leg.side}, {leg.topic}"
    return f"| {what} | {speaks} | {leg.held_to} | {passed} | {result.passed} | {impossible} |"


def record(results: Iterable[Result]) -> dict[str, Any]:
    """Return the findings as a record of the report."""
    pinned = json.loads((HERE / "package.json").read_bytes())["dependencies"]
    legs = [
        {
            "side": result.leg.side,
            "topic": result.leg.topic,
            "speaks": result.leg.only,
            "held_to": result.leg.held_to,
            "passed": passed_scenarios(result)[0],
            "possible": passed_scenarios(result)[1],
            "checks": result.passed,
            "impossible": {name: excuse.why for name, excuse in result.leg.excuses.items()},
        }
        for result in results
    ]
    return {"suite": pinned, "legs": legs}


def _excuses(results: Iterable[Result]) -> Iterator[str]:
    by_reason: dict[str, set[str]] = {}
    for result in results:
        for scenario, excuse in result.leg.excuses.items():
            by_reason.setdefault(excuse.why, set()).add(scenario)
    for why, scenarios in by_reason.items():
        named = ", ".join(f"`{name}`" for name in sorted(scenarios))
        yield f"- {why}: {named}"


def main(arguments: Namespace) -> int:
    """Run the chosen legs; return 1 on faults, 2 if the suite could not be installed."""
    try:
        suite = kit()
    except pytest.skip.Exception as why:
        print(why, file=sys.stderr)
        return 2
    legs = [leg for leg in LEGS if arguments.only in (None, leg.side)]
    with TemporaryDirectory() as temporary:
        folder: Path = arguments.keep or Path(temporary)
        results = asyncio.run(run(legs, suite, folder))
    text = table(results)
    print(text)
    for result in results:
        for fault in result.faults:
            print(f"{result.leg.name}: {fault}", file=sys.stderr)
    if any(result.faults for result in results):
        return 1
    if arguments.write is not None:
        marks.write(arguments.write, "conformance", text)
    if arguments.record:
        records.write("conformance", record(results))
    return 0


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into this page")
    parser.add_argument("--record", action="store_true", help="record it for the report")
    parser.add_argument("--only", choices=("server", "client"), help="this side only")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep what the suite writes")
    given = parser.parse_args()
    if given.only is not None and (given.record or given.write is not None):
        parser.error("--write and --record need both sides, for they are of both")
    if given.keep is not None and given.keep.exists():
        parser.error(f"{given.keep} is there already; --keep makes a new folder")
    sys.exit(main(given))
