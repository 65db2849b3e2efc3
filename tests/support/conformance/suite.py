"""Runs the official conformance suite against our server and client, and records the results.

PYTHONPATH=.github:tests:docs python -m support.conformance.suite
"""

import asyncio
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from support.conformance.kit import HERE, Kit, kit
from support.conformance.legs import LEGS, Leg, Result, Runner, Serve, serving
from support.folders import ROOT
from support.report import records
from website import marks

from releasing.conformance import table

PAGE: Final = ROOT / "docs" / "conformance.md"


async def run(
    legs: Iterable[Leg], kit: Kit, folder: Path, serve: Serve = serving
) -> Sequence[Result]:
    """Run legs side by side."""
    runner = Runner(kit, folder, serve)
    return await asyncio.gather(*(runner.run(leg) for leg in legs))


def record_of(result: Result) -> dict[str, Any]:
    """Return the findings of a leg as the report wants them."""
    possible = set(result.leg.scenarios).difference(result.leg.excuses)
    faulty = {fault.split(":")[0] for fault in result.faults}
    return {
        "side": result.leg.side,
        "topic": result.leg.topic,
        "speaks": result.leg.only,
        "held_to": result.leg.held_to,
        "passed": len(possible - faulty),
        "possible": len(possible),
        "checks": result.passed,
        "impossible": {name: excuse.why for name, excuse in result.leg.excuses.items()},
    }


def main() -> int:
    """Run all legs; return 1 on faults, 2 if the suite could not be installed."""
    try:
        suite = kit()
    except pytest.skip.Exception as why:
        print(why, file=sys.stderr)
        return 2
    with TemporaryDirectory() as folder:
        results = asyncio.run(run(LEGS, suite, Path(folder)))
    legs = list(map(record_of, results))
    print(table(legs))
    for result in results:
        for fault in result.faults:
            print(f"{result.leg.name}: {fault}", file=sys.stderr)
    if any(result.faults for result in results):
        return 1
    pinned = json.loads((HERE / "package.json").read_bytes())["dependencies"]
    marks.write(PAGE, "conformance", table(legs))
    records.write("conformance", {"suite": pinned, "legs": legs})
    return 0


if __name__ == "__main__":
    sys.exit(main())
