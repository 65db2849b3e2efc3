"""Change a sample of the code, one place at a time, and record which changes tests notice.

PYTHONPATH=tests python -m support.mutants [--seed N] [--of N] [--seconds N] [--area AREA ...]
                                           [--first TEST ...]

The checkout does not change: all is done in a copy, `build/mutants/tree`. A run that was ended
goes on where it was. Changes that survived are tried again.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from support.folders import ROOT
from support.mutants import sampling
from support.mutants.mutations import Mutation
from support.mutants.trying import Judge, Verdict, Workshop, lock
from support.quick.__main__ import files_naming
from support.quick.record import DEFAULT, Record, load_record, test_file
from support.quick.selection import closest_tests
from support.report import records

FOLDER: Final = ROOT / "build" / "mutants"
GOAL: Final = 95
UNCOUNTED: Final = Path(__file__).with_name("uncounted.json")
"""Changes that do not count: each with a reason, why no test can notice it."""


def main() -> None:
    """Try the sample, print what survived, and record the score of a run of all areas."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--seed", default="0", help="which changes to try")
    parser.add_argument("--of", type=int, default=280, help="try one of so many changes")
    parser.add_argument("--seconds", type=float, default=30, help="of a processor, for a change")
    parser.add_argument("--area", action="append", help="only these, and write no record")
    parser.add_argument("--first", nargs="*", default=[], help="tests to run before all others")
    options = parser.parse_args()
    record = load_record(DEFAULT)
    if record is None:
        raise SystemExit("mutants: build/quick.json is missing: run `make test RECORD=1` first")
    found = sampling.find_all(ROOT)
    areas = {
        area: sampling.sample(mutations, options.seed, options.of)
        for area, mutations in sorted(found.items())
        if not options.area or area in options.area
    }
    uncounted = read_uncounted(found)
    with lock(FOLDER):
        verdicts = Verdicts(FOLDER / "verdicts.json")
        judge = Judge(Workshop(ROOT, FOLDER), options.seconds, record.seconds)
        try_all(
            areas, uncounted, judge, verdicts, lambda path: find_tests(path, record, options.first)
        )
    score = score_of(areas, uncounted, verdicts)
    if not options.area:
        settings = {"seed": options.seed, "one_of": options.of, "seconds": options.seconds}
        records.write("mutants", {**settings, **score})
    print(f"mutants: {score['killed']} of {score['counted']} noticed, {score['percent']} %")
    if score["percent"] < GOAL:
        raise SystemExit(f"mutants: the goal is {GOAL} %; write tests for those that survived")


def read_uncounted(found: Mapping[str, Iterable[Mutation]]) -> dict[tuple[str, str], str]:
    """Return the reasons by place and change; raise `SystemExit` for an unknown change."""
    entries: list[dict[str, str]] = json.loads(UNCOUNTED.read_text("utf-8"))
    reasons = {(entry["place"], entry["change"]): entry["reason"] for entry in entries}
    known = {(mutation.place, mutation.change) for area in found.values() for mutation in area}
    if gone := sorted(reasons.keys() - known):
        raise SystemExit(f"mutants: {UNCOUNTED.name} has what the code no longer has: {gone[0]}")
    return reasons


class Verdicts:
    """Verdicts of earlier runs: valid while the changed file and the test stay the same."""

    def __init__(self, file: Path, root: Path = ROOT) -> None:
        self._file = file
        self._root = root
        self._known: dict[str, list[str]] = json.loads(file.read_text()) if file.exists() else {}

    def killer(self, mutation: Mutation) -> str | None:
        killer, *digests = self._known.get(self._key(mutation), [""])
        return killer if digests == self._digests(mutation, killer) else None

    def add(self, mutation: Mutation, killer: str | None) -> None:
        """Store a verdict, in one step."""
        self._known.pop(self._key(mutation), None)
        if killer is not None:
            self._known[self._key(mutation)] = [killer, *self._digests(mutation, killer)]
        written = self._file.with_suffix(".new")
        written.write_text(json.dumps(self._known, indent=0), "utf-8")
        written.replace(self._file)

    @staticmethod
    def _key(mutation: Mutation) -> str:
        return f"{mutation.place} {mutation.change}"

    def _digests(self, mutation: Mutation, killer: str) -> list[str]:
        files = [self._root / mutation.path, self._root / test_file(killer)]
        return [sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()]


def find_tests(path: str, record: Record, first: Iterable[str]) -> list[str]:
    """Return the tests that run a file, the closest ones first, after those of `first`.

    No record has what a test runs in another process.
    """
    return [*dict.fromkeys([*first, *closest_tests(path, record, files_naming)])]


def try_all(
    areas: Mapping[str, Iterable[Mutation]],
    uncounted: Mapping[tuple[str, str], str],
    judge: Judge,
    verdicts: Verdicts,
    tests_of: Callable[[str], list[str]],
) -> None:
    """Try each change of a sample for which no killer is known."""
    judge.workshop.lay_out()
    for area, mutations in areas.items():
        for mutation in mutations:
            known = (mutation.place, mutation.change) in uncounted or verdicts.killer(mutation)
            if not known:
                verdict = judge.judge(mutation, tests_of(mutation.path))
                verdicts.add(mutation, verdict.killer)
                print(f"{area}: {describe(mutation, verdict)}", flush=True)


def describe(mutation: Mutation, verdict: Verdict) -> str:
    """Return a change and its verdict in a line, or two if it survived."""
    if verdict.killer is not None:
        return f"killed by {verdict.killer}"
    return f"SURVIVED {verdict.ran} tests\n    {mutation.place}\n    {mutation.change}"


def score_of(
    areas: Mapping[str, Iterable[Mutation]],
    uncounted: Mapping[tuple[str, str], str],
    verdicts: Verdicts,
) -> dict[str, Any]:
    by_area: dict[str, dict[str, Any]] = {}
    for area, mutations in areas.items():
        survived, left_out, made, killed = list[dict[str, str]](), list[dict[str, str]](), 0, 0
        for mutation in mutations:
            made += 1
            entry = {"place": mutation.place, "change": mutation.change}
            if (reason := uncounted.get((mutation.place, mutation.change))) is not None:
                left_out.append({**entry, "reason": reason})
            elif verdicts.killer(mutation):
                killed += 1
            else:
                survived.append(entry)
        lists = {"survived": survived, "uncounted": left_out}
        by_area[area] = {"made": made, "killed": killed, **lists}
    made = sum(score["made"] for score in by_area.values())
    counted = made - sum(len(score["uncounted"]) for score in by_area.values())
    killed = sum(score["killed"] for score in by_area.values())
    percent = round(100 * killed / counted, 1) if counted else 100.0
    totals = {"made": made, "counted": counted, "killed": killed, "percent": percent}
    return {**totals, "areas": by_area}


if __name__ == "__main__":
    main()
