"""Replace the specification types of the official TypeScript SDK, and compare its own tests.

    python prove.py CHECKOUT [--report FILE] [TESTS…]

`CHECKOUT` is a clone of modelcontextprotocol/typescript-sdk; run `pnpm install` in it before.
Only a copy of it is changed. Without `TESTS`, the whole suite of the package runs. The report has
the type errors and each test before and after, and whether `mcp-gen --check` sees a changed schema.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

HERE: Final = Path(__file__).resolve().parent
PACKAGE: Final = Path("packages/core-internal")
REVISIONS: Final = ("2025-11-25", "2026-07-28")
SCRIPT: Final = Path("scripts/fetch-spec-types.ts")
SCHEMAS: Final = PACKAGE / "test/corpus/schema-twins"
TYPES: Final = PACKAGE / "src/types"
SETTINGS: Final = "mcp-gen.toml"
NAMES: Final = "names.json"
MODULES: Final = "node_modules"
MEMBER: Final = "shelfLife"
"""A member that is added to a tool in a schema: the check must find it."""


class Run(NamedTuple):
    """The result of a command."""

    code: int
    text: str


class State(NamedTuple):
    """The number of type errors, and the outcome of each test."""

    errors: int
    tests: Mapping[str, str]

    def summary(self) -> dict[str, Any]:
        """Return the number of type errors, and of tests by outcome."""
        return {"errors": self.errors, "tests": dict(sorted(Counter(self.tests.values()).items()))}


def main() -> int:
    """Prove it in a copy, print the report, and return 0 if nothing differs."""
    parser = argparse.ArgumentParser(description="Replace the types of the specification.")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--report", type=Path, help="a file for the report as JSON")
    options = parser.parse_intermixed_args()
    checkout: Path = options.checkout.resolve()
    for path in (SCRIPT, SCHEMAS, TYPES, PACKAGE / MODULES):
        if not (checkout / path).exists():
            parser.error(f"{checkout} has no {path}: clone the SDK and run pnpm install in it")
    report = {"commit": run(checkout, "git", "rev-parse", "HEAD").text.strip()}
    with tempfile.TemporaryDirectory() as folder:
        report |= prove(copy_checkout(checkout, Path(folder) / "sdk"), options.tests)
    print(markdown(report), end="")
    if options.report:
        options.report.write_text(json.dumps(report, indent=2) + "\n")
    return 0 if report["proved"] else 1


def copy_checkout(checkout: Path, to: Path) -> Path:
    """Copy the files of a checkout, and link its installed modules."""
    ignore = shutil.ignore_patterns(".git", MODULES)
    shutil.copytree(checkout, to, symlinks=True, ignore=ignore)
    for folder in (Path(), PACKAGE):
        (to / folder / MODULES).symlink_to(checkout / folder / MODULES)
    return to


def prove(copy: Path, tests: Sequence[str]) -> dict[str, Any]:
    """Replace the types in a copy, and report the differences."""
    script = count_lines(copy / SCRIPT)
    before = read_state(copy, tests)
    replace_types(copy)
    runs = {"generation": mcp_gen(copy), "check": mcp_gen(copy, "--check", "--regenerate")}
    after = read_state(copy, tests)
    add_member(copy / SCHEMAS / f"{REVISIONS[0]}.schema.json")
    runs |= {"check after a change": mcp_gen(copy, "--check")}
    runs |= {"diff after a change": mcp_gen(copy, "--diff")}
    codes = [result.code for result in runs.values()]
    found = f"+  {MEMBER}?: string;" in runs["diff after a change"].text
    return {
        "proved": bool(before.tests) and before == after and found and codes == [0, 0, 1, 1],
        "before": before.summary(),
        "after": after.summary(),
        "differing": sorted(
            f"{test}: {before.tests.get(test, 'absent')}, then {after.tests.get(test, 'absent')}"
            for test in before.tests.keys() | after.tests.keys()
            if before.tests.get(test) != after.tests.get(test)
        ),
        "lines": {
            "script": script,
            "configuration": count_lines(HERE / SETTINGS),
            "names": count_lines(HERE / NAMES),
        },
        **{name: result._asdict() for name, result in runs.items()},
    }


def replace_types(copy: Path) -> None:
    """Replace the script and the files that it fetches by the configuration."""
    (copy / SCRIPT).unlink()
    for revision in REVISIONS:
        (copy / TYPES / f"spec.types.{revision}.ts").unlink()
    shutil.copy(HERE / SETTINGS, copy / PACKAGE / "pyproject.toml")
    shutil.copy(HERE / NAMES, copy / PACKAGE / NAMES)


def add_member(file: Path) -> None:
    """Add a member to the tools of a schema."""
    schema = json.loads(file.read_text())
    schema["$defs"]["Tool"]["properties"][MEMBER] = {"type": "string"}
    file.write_text(json.dumps(schema))


def read_state(copy: Path, tests: Sequence[str]) -> State:
    """Run the type checker and the tests of the package."""
    programs, results = Path(MODULES) / ".bin", copy / "results.json"
    results.unlink(missing_ok=True)
    checked = run(copy / PACKAGE, f"{programs}/tsgo", "-p", ".", "--noEmit", "--pretty", "false")
    options = ("--reporter=json", f"--outputFile={results}")
    ran = run(copy / PACKAGE, f"{programs}/vitest", "run", *options, *tests)
    if not results.exists():
        sys.exit(f"vitest ended with {ran.code} before any test had run:\n{ran.text[-2000:]}")
    outcomes: dict[str, str] = {}
    for file in json.loads(results.read_text())["testResults"]:
        for test in file["assertionResults"]:
            name = f"{Path(file['name']).name}: {test['fullName']}"
            while name in outcomes:
                name += " (again)"
            outcomes[name] = test["status"]
    return State(checked.text.count(": error TS"), outcomes)


def mcp_gen(copy: Path, *options: str) -> Run:
    """Run `mcp-gen` in the package, with the settings of its pyproject.toml."""
    return run(copy / PACKAGE, sys.executable, "-m", "mcp_protogen", *options)


def run(folder: Path, *command: str) -> Run:
    """Run a command in a folder."""
    process = subprocess.run(
        command, cwd=folder, capture_output=True, encoding="utf-8", check=False
    )
    return Run(process.returncode, process.stdout + process.stderr)


def count_lines(file: Path) -> int:
    """Return the number of lines that are not empty."""
    return sum(1 for line in file.read_text(encoding="utf-8").splitlines() if line.strip())


def markdown(report: Mapping[str, Any]) -> str:
    """Return a report for people to read."""
    rows = [
        f"| {name} | {side['errors']} | {side['tests'].get('passed', 0)} |"
        f" {sum(side['tests'].values())} |"
        for name, side in (("before", report["before"]), ("after", report["after"]))
    ]
    runs = ("generation", "check", "check after a change", "diff after a change")
    lines = [
        f"Commit `{report['commit']}`\n",
        "| types | type errors | tests passed | tests |",
        "|---|---:|---:|---:|",
        *rows,
        "",
        *(f"- {test}" for test in report["differing"]),
        *(f"- The {name} ends with exit code {report[name]['code']}." for name in runs),
        f"- Lines: {', '.join(f'{name} {count}' for name, count in report['lines'].items())}",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
