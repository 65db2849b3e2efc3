"""Replace the generator of the official Python SDK by a configuration, and compare its own tests.

    python prove.py CHECKOUT [--report FOLDER] [TESTS…]

`CHECKOUT` is a clone of modelcontextprotocol/python-sdk; run `uv sync --frozen` in it before. Only
a copy of it is changed. Without `TESTS`, the whole suite runs. The report has the outcome of each
test before and after, and whether `mcp-gen --check` finds a changed schema.
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
"""A member that is added to a schema: the check must find it."""

LINTERS: Final = (
    ("ruff", "check", "--no-cache", "."),
    ("ruff", "format", "--no-cache", "--check", "."),
    ("pyright", str(TYPES)),
)
"""Commands of the SDK's continuous integration that read the types, besides the tests."""

Outcomes = Mapping[str, str]


class Run(NamedTuple):
    """The result of a command."""

    code: int
    text: str
    seconds: float


class State(NamedTuple):
    """The outcome of each test, the exit code of each linter, and seconds."""

    tests: Outcomes
    linters: Mapping[str, int]
    seconds: float

    def summary(self) -> dict[str, Any]:
        """Return the state with the number of tests by outcome."""
        return {**self._asdict(), "tests": dict(sorted(Counter(self.tests.values()).items()))}


def main() -> int:
    """Prove it in a copy, print the report, and return 0 if nothing differs."""
    parser = argparse.ArgumentParser(description="Replace the generator of the Python SDK.")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--report", type=Path, help="a folder for report.json and report.md")
    options = parser.parse_intermixed_args()
    for path in (SCRIPT, TYPES, Path(".venv/bin/python")):
        if not (options.checkout / path).exists():
            parser.error(f"{options.checkout} has no {path}: clone the SDK and run uv sync in it")
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_checkout(options.checkout.resolve(), Path(folder) / "python-sdk")
        report = prove(copy, options.tests)
    text = markdown(report)
    print(text)
    if options.report:
        options.report.mkdir(parents=True, exist_ok=True)
        (options.report / "report.json").write_text(json.dumps(report, indent=2) + "\n")
        (options.report / "report.md").write_text(text)
    return 0 if report["proved"] else 1


def copy_checkout(checkout: Path, to: Path) -> Path:
    """Copy a checkout and its environment, whose paths then lead to the copy."""
    shutil.copytree(checkout, to, symlinks=True)
    scripts = (file for file in (to / ".venv/bin").iterdir() if not file.is_symlink())
    for file in (*scripts, *(to / ".venv").glob("lib/python3*/site-packages/*.pth")):
        content = file.read_bytes()
        file.write_bytes(content.replace(os.fsencode(checkout), os.fsencode(to)))
    return to


def prove(copy: Path, tests: Sequence[str]) -> dict[str, Any]:
    """Replace the script in a copy, and report the differences."""
    script = count_lines(copy / SCRIPT)
    before = read_state(copy, tests)
    replace_script(copy)
    runs = {"generation": mcp_gen(copy), "check": mcp_gen(copy, "--check", "--regenerate")}
    after = read_state(copy, tests)
    add_member(copy)
    runs |= {"check after a change": mcp_gen(copy, "--check")}
    runs |= {"diff after a change": mcp_gen(copy, "--diff")}
    differing = differences(before.tests, after.tests)
    same = bool(before.tests) and not differing and before.linters == after.linters
    found = PROBE.rpartition("/")[2] in runs["diff after a change"].text
    return {
        "proved": same and found and [result.code for result in runs.values()] == [0, 0, 1, 1],
        "commit": run(copy, "git", "rev-parse", "HEAD").text.strip(),
        "before": before.summary(),
        "after": after.summary(),
        "differing": differing,
        "lines": {
            "script": script,
            "configuration": count_lines(HERE / SETTINGS),
            "names": count_lines(HERE / NAMES),
        },
        **{name: result._asdict() for name, result in runs.items()},
    }


def differences(before: Outcomes, after: Outcomes) -> list[dict[str, str]]:
    """Return each test with another outcome; missing tests are absent."""
    pairs = {test: (before.get(test, "absent"), after.get(test, "absent")) for test in before}
    pairs |= {test: ("absent", now) for test, now in after.items() if test not in before}
    return [
        {"test": test, "before": was, "after": now}
        for test, (was, now) in sorted(pairs.items())
        if was != now
    ]


def replace_script(copy: Path) -> None:
    """Replace the script and its output by the configuration."""
    settings = copy / "pyproject.toml"
    text = settings.read_text().replace(f"{TYPES}/_v*/__init__.py", f"{TYPES}/_v*.py")
    settings.write_text(f"{text}\n{(HERE / SETTINGS).read_text()}")
    (copy / SCRIPT).unlink()
    for revision in REVISIONS:
        shutil.rmtree(copy / TYPES / f"_v{revision.replace('-', '_')}")
    shutil.copy(HERE / NAMES, copy / "schema" / NAMES)


def add_member(copy: Path) -> None:
    """Add a member to a schema."""
    file = copy / "schema" / f"{REVISIONS[0]}.json"
    schema = json.loads(file.read_text())
    parent = schema
    *parents, member = PROBE.split("/")[1:]
    for name in parents:
        parent = parent[name]
    parent[member] = {"type": "string"}
    file.write_text(json.dumps(schema))


def read_state(copy: Path, tests: Sequence[str]) -> State:
    """Run tests and linters of a checkout."""
    programs, results = copy / ".venv/bin", copy.parent / "results.xml"
    results.unlink(missing_ok=True)
    options = ("-q", "-n", "2", "-o", "log_cli=false", f"--junitxml={results}")
    ran = run(copy, str(programs / "python"), "-m", "pytest", *options, *tests)
    if not results.exists():
        sys.exit(f"pytest ended with {ran.code} before it had run any test:\n{ran.text[-2000:]}")
    linters = {
        " ".join(linter): run(copy, str(programs / linter[0]), *linter[1:]).code
        for linter in LINTERS
    }
    return State(dict(read_outcomes(results)), linters, ran.seconds)


def read_outcomes(results: Path) -> Iterator[tuple[str, str]]:
    """Yield each test of a JUnit report with its outcome."""
    for case in ET.parse(results).iter("testcase"):
        kinds = [child.tag for child in case if child.tag in ("error", "failure", "skipped")]
        yield f"{case.get('classname')}::{case.get('name')}", kinds[0] if kinds else "passed"


def mcp_gen(copy: Path, *options: str) -> Run:
    """Run `mcp-gen` in a checkout, with the settings of its pyproject.toml."""
    return run(copy, sys.executable, "-m", "mcp_protogen", *options)


def run(folder: Path, *command: str) -> Run:
    """Run a command in a folder, as continuous integration of the SDK does."""
    start = time.monotonic()
    environment = {**os.environ, "PYTHONWARNDEFAULTENCODING": "1"}
    process = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    return Run(
        process.returncode, process.stdout + process.stderr, round(time.monotonic() - start, 1)
    )


def count_lines(file: Path) -> int:
    """Return the number of lines that are not empty."""
    return sum(1 for line in file.read_text(encoding="utf-8").splitlines() if line.strip())


def markdown(report: Mapping[str, Any]) -> str:
    """Return a report for people to read."""
    sides = {side: report[side] for side in ("before", "after")}
    ends = sorted({end for side in sides.values() for end in side["tests"]})
    return "\n".join(
        (
            f"Commit `{report['commit']}`, with Python {sys.version.split()[0]}\n",
            f"| tests | {' | '.join(ends)} | seconds |",
            f"|---|{'---:|' * len(ends)}---:|",
            *(
                f"| {name} | {' | '.join(str(side['tests'].get(end, 0)) for end in ends)} |"
                f" {side['seconds']} |"
                for name, side in sides.items()
            ),
            "",
            *(
                f"- {test['test']}: {test['before']}, then {test['after']}"
                for test in report["differing"]
            ),
            *(
                f"- `{name}` exits with {code}, then {sides['after']['linters'][name]}"
                for name, code in sides["before"]["linters"].items()
            ),
            f"- Lines: {', '.join(f'{name} {count}' for name, count in report['lines'].items())}",
            *(
                f"- The {name}: exit code {report[name]['code']}, {report[name]['seconds']} seconds"
                for name in ("generation", "check", "check after a change", "diff after a change")
            ),
            f"\nThe change is `{PROBE}` in the schema of {REVISIONS[0]}. The check and the diff:\n",
            "```",
            report["check after a change"]["text"].strip(),
            report["diff after a change"]["text"].partition("--- a/mcp-gen.lock")[0].strip(),
            "```\n",
        )
    )


if __name__ == "__main__":
    sys.exit(main())
