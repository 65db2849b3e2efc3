"""Replace the generator of the official Python SDK by a configuration, and compare its own tests.

    python prove.py CHECKOUT [--report FOLDER] [TESTS…]

`CHECKOUT` is a clone of modelcontextprotocol/python-sdk in which `uv sync --frozen` has been run.
It is copied, and only the copy is changed. Without `TESTS`, the whole suite runs. The report says
what each test did before and after, and whether `mcp-gen --check` finds a changed schema.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

HERE: Final = Path(__file__).resolve().parent
REVISIONS: Final = ("2025-11-25", "2026-07-28")
SCRIPT: Final = Path("scripts/gen_surface_types.py")
TYPES: Final = Path("src/mcp-types/mcp_types")
SETTINGS: Final = "mcp-gen.toml"
NAMES: Final = "names.json"
PROBE: Final = "/$defs/Tool/properties/shelfLife"
"""The member that is added to a schema, to see whether the check finds it."""

Outcomes = Mapping[str, str]


class Run(NamedTuple):
    """A command that has ended."""

    code: int
    text: str
    seconds: float


def main() -> int:
    """Do everything in a copy, print the report, and return 0 if nothing differs."""
    parser = argparse.ArgumentParser(description="Replace their generator by a configuration.")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--report", type=Path, help="a folder for report.json and report.md")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = copied(wanted.checkout.resolve(), Path(folder) / "python-sdk")
        report = proved(copy, wanted.tests)
    text = markdown(report)
    print(text)
    if wanted.report:
        wanted.report.mkdir(parents=True, exist_ok=True)
        (wanted.report / "report.json").write_text(json.dumps(report, indent=2) + "\n")
        (wanted.report / "report.md").write_text(text)
    return 0 if report["proved"] else 1


def copied(checkout: Path, to: Path) -> Path:
    """Copy a checkout with its environment, which then finds the packages of the copy."""
    shutil.copytree(checkout, to, symlinks=True)
    scripts = (file for file in (to / ".venv/bin").iterdir() if not file.is_symlink())
    for file in (*scripts, *(to / ".venv").glob("lib/python3*/site-packages/*.pth")):
        content = file.read_bytes()
        file.write_bytes(content.replace(os.fsencode(checkout), os.fsencode(to)))
    return to


def proved(copy: Path, tests: Sequence[str]) -> dict[str, Any]:
    """Run the tests before and after the script is replaced, and return a report."""
    script = lines(copy / SCRIPT)
    before, seconds_before = suite(copy, tests)
    replace(copy)
    generation = mcp_gen(copy)
    check = mcp_gen(copy, "--check", "--regenerate")
    after, seconds_after = suite(copy, tests)
    changed = check_of_a_changed_schema(copy)
    differing = [
        {"test": test, "before": before.get(test), "after": after.get(test)}
        for test in sorted(before.keys() | after.keys())
        if before.get(test) != after.get(test)
    ]
    found = changed.code == 1 and REVISIONS[0] in changed.text
    return {
        "proved": generation.code == check.code == 0 and bool(before) and not differing and found,
        "commit": run(copy, "git", "rev-parse", "HEAD").text.strip(),
        "tests": {"before": Counter(before.values()), "after": Counter(after.values())},
        "seconds": {
            "tests before": seconds_before,
            "tests after": seconds_after,
            "generation": generation.seconds,
            "check": check.seconds,
        },
        "differing": differing,
        "lines": {
            "script": script,
            "configuration": lines(HERE / SETTINGS),
            "names": lines(HERE / NAMES),
        },
        "generation": generation._asdict(),
        "check": check._asdict(),
        "check of a changed schema": changed._asdict(),
    }


def replace(copy: Path) -> None:
    """Put the configuration in the place of the script and of what it has generated."""
    (copy / SCRIPT).unlink()
    for revision in REVISIONS:
        shutil.rmtree(copy / TYPES / f"_v{revision.replace('-', '_')}")
    with (copy / "pyproject.toml").open("a") as settings:
        settings.write("\n" + (HERE / SETTINGS).read_text())
    shutil.copy(HERE / NAMES, copy / "schema" / NAMES)


def check_of_a_changed_schema(copy: Path) -> Run:
    """Return what the check says after a member has been added to a schema."""
    file = copy / "schema" / f"{REVISIONS[0]}.json"
    schema = json.loads(file.read_text())
    place = schema
    *parents, member = PROBE.split("/")[1:]
    for name in parents:
        place = place[name]
    place[member] = {"type": "string"}
    file.write_text(json.dumps(schema))
    return mcp_gen(copy, "--check")


def suite(copy: Path, tests: Sequence[str]) -> tuple[Outcomes, float]:
    """Run tests of a checkout, and return what each of them did, and how long all took."""
    results = copy.parent / "results.xml"
    python = str(copy / ".venv/bin/python")
    options = ("-q", "-n", "2", "-o", "log_cli=false", f"--junitxml={results}")
    ran = run(copy, python, "-m", "pytest", *options, *tests)
    return dict(outcomes(results)), ran.seconds


def outcomes(results: Path) -> Iterator[tuple[str, str]]:
    """Yield each test of a JUnit report, and what it did."""
    for case in ET.parse(results).iter("testcase"):
        kinds = [one.tag for one in case if one.tag in ("error", "failure", "skipped")]
        yield f"{case.get('classname')}::{case.get('name')}", kinds[0] if kinds else "passed"


def mcp_gen(copy: Path, *options: str) -> Run:
    """Run the generator in a checkout, with the settings of its pyproject.toml."""
    return run(copy, sys.executable, "-m", "mcp_protogen", *options)


def run(folder: Path, *command: str) -> Run:
    """Run a command in a folder, as continuous integration of the SDK does."""
    start = time.monotonic()
    environment = {**os.environ, "PYTHONWARNDEFAULTENCODING": "1"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    return Run(done.returncode, done.stdout + done.stderr, round(time.monotonic() - start, 1))


def lines(file: Path) -> int:
    """Return how many lines a file has that are not empty."""
    return sum(1 for line in file.read_text(encoding="utf-8").splitlines() if line.strip())


def markdown(report: Mapping[str, Any]) -> str:
    """Return a report for people to read."""
    kinds = sorted({*report["tests"]["before"], *report["tests"]["after"]})
    rows = [
        f"| {when} | {' | '.join(str(counts.get(kind, 0)) for kind in kinds)} |"
        for when, counts in report["tests"].items()
    ]
    said = report["check of a changed schema"]
    return "\n".join(
        (
            f"Commit {report['commit']}\n",
            f"| tests | {' | '.join(kinds)} |",
            f"|---|{'---:|' * len(kinds)}",
            *rows,
            "",
            *(
                f"- {one['test']}: {one['before']}, then {one['after']}"
                for one in report["differing"]
            ),
            f"Lines: {', '.join(f'{name} {number}' for name, number in report['lines'].items())}",
            f"Seconds: {', '.join(f'{name} {took}' for name, took in report['seconds'].items())}",
            f"Generation exits with {report['generation']['code']}, the check with"
            f" {report['check']['code']}, and with {PROBE} in a schema with {said['code']}:\n",
            said["text"],
        )
    )


if __name__ == "__main__":
    sys.exit(main())
