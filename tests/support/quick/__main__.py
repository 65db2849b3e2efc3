"""Check the files of a change, and run the tests that run them, within a minute.

PYTHONPATH=tests python -m support.quick [--since REV] [--golden OPTIONS] [FILE ...]

Without files, they are those that differ from a revision (`HEAD`), or from the commit before it
where nothing differs.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from support.folders import ROOT
from support.quick.record import DEFAULT, load_record
from support.quick.selection import Selection, is_test_file, select, select_by_name, word_for

_LIMIT: Final = 60.0
_PROCESSES: Final = max(1, min(os.cpu_count() or 1, 4))
# Seconds for imports and collection, and for a test that runs when the time is over.
_START, _END = 12.0, 8.0
# A full run has more processes than processors, and coverage: tests take half as long without.
_RECORDED: Final = 2


def main() -> int:
    """Do it all, and return the exit code: 1 if a check or a test fails."""
    began = time.monotonic()
    parser = argparse.ArgumentParser(prog="make quick", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--since", metavar="REV")
    parser.add_argument("--golden", default="", metavar="OPTIONS")
    options = parser.parse_args()
    if options.golden:
        update_golden_output(shlex.split(options.golden))
    changed = read_files(options.files) or changed_files(options.since)
    if not changed:
        print("quick: no file has changed; name some with FILES=… or a revision with SINCE=…")
        return 0
    more = f" and {len(changed) - 8} more" if len(changed) > 8 else ""
    print(f"quick: {' '.join(changed[:8])}{more}", flush=True)
    checks = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for command in checks_of(changed)
    ]
    failed = run_tests(changed, _LIMIT - (time.monotonic() - began)) not in (0, 5)
    for check in checks:
        output, _ = check.communicate()
        if check.returncode:
            failed = True
            print(output.decode(), end="")
    verdict = "failed" if failed else "passed"
    print(f"quick: {verdict} after {time.monotonic() - began:.0f} s; `make test` runs all tests")
    return int(failed)


def update_golden_output(options: list[str]) -> None:
    """Generate `generated/` again if its inputs have changed."""
    command = [str(Path(sys.executable).with_name("mcp-gen")), *options]
    compared = subprocess.run([*command, "--check"], cwd=ROOT, capture_output=True, check=False)
    if compared.returncode:
        print("quick: generated/ is out of date", flush=True)
        if subprocess.run([*command, "--force"], cwd=ROOT, check=False).returncode:
            raise SystemExit("quick: generated/ could not be generated; see the message above")


def read_files(names: Sequence[str]) -> list[str]:
    """Return the paths of the named files, and of the output of named templates."""
    paths = [Path(os.path.relpath(name, ROOT)).as_posix() for name in names]
    if missing := [path for path in paths if not (ROOT / path).exists()]:
        raise SystemExit(f"quick: file not found: {missing[0]}")
    lock = json.loads((ROOT / "generated" / "mcp_revisions" / "mcp-gen.lock").read_text("utf-8"))
    templates = {f"template {Path(path).name}" for path in paths if path.startswith("templates/")}
    generated = (
        f"generated/mcp_revisions/{name}"
        for name, entry in lock["files"].items()
        if entry["origin"] in templates
    )
    return [*paths, *generated]


def git(*arguments: str) -> list[str]:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode > 1:
        raise SystemExit(f"quick: {done.stderr.strip()}; name the files with FILES=…")
    return [line for line in re.split(r"[\0\n]", done.stdout) if line]


def changed_files(since: str | None) -> list[str]:
    """Return the files that differ from a revision, or without one those of the last commit."""
    differing = git("diff", "--name-only", "--no-renames", "-z", since or "HEAD", "--")
    differing += git("ls-files", "--others", "--exclude-standard", "-z")
    if not differing and since is None:
        show = ("show", "--first-parent", "-m", "--format=", "--name-only", "-z", "HEAD")
        differing = git(*show)
    # A test file that is gone has no tests to run; modules that are gone had tests.
    return [path for path in differing if (ROOT / path).exists() or not is_test_file(path)]


def files_naming(path: str) -> list[str]:
    """Return the Python files that import a module, or have the name of another file in them."""
    word = re.escape(word_for(path))
    pattern = rf"^\s*(from|import)\b.*\b{word}\b" if path.endswith(".py") else rf"\b{word}\b"
    found = git("grep", "--untracked", "-lzP", "-e", pattern, "--", "*.py")
    return [name for name in found if name != path]


def checks_of(changed: Sequence[str]) -> list[list[str]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pyright"]
    included = tuple(f"{folder}/" for folder in settings["include"])
    excluded = tuple(settings["exclude"])
    python = [path for path in changed if path.endswith((".py", ".pyi")) and (ROOT / path).exists()]
    written = [path for path in python if not path.startswith("generated/")]
    typed = [path for path in written if path.startswith(included)]
    typed = [path for path in typed if not path.startswith(excluded)]
    run = [sys.executable, "-m"]
    commands = {
        ("ruff", "check", "--quiet", "--force-exclude"): written,
        ("black", "--check", "--quiet", "--diff"): written,
        ("pyright", "--pythonpath", sys.executable): typed,
    }
    return [[*run, *command, *files] for command, files in commands.items() if files]


def select_tests(changed: Sequence[str], seconds: float) -> Selection:
    """Choose the tests for a change that end in time, and explain the choice."""
    record = load_record(DEFAULT)
    if record is None:
        print(
            f"quick: no record of earlier runs ({DEFAULT.relative_to(ROOT)}): taking test files"
            " by name, without long tests; `make test RECORD=1` makes the record",
            flush=True,
        )
        tests = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")]
        return select_by_name(changed, sorted(tests), files_naming)
    budget = (seconds - _START - _END) * _PROCESSES * _RECORDED
    selection = select(changed, record, files_naming, budget)
    print(
        f"quick: {selection.chosen} of {selection.found} recorded tests for these files,"
        f" in {len(selection.files)} test files",
        flush=True,
    )
    return selection


def run_tests(changed: Sequence[str], seconds: float) -> int:
    until = time.time() + seconds - _END
    selection = select_tests(changed, seconds)
    files = [path for path in selection.files if (ROOT / path).exists()]
    if not files:
        return 0
    with TemporaryDirectory(prefix="quick-") as folder:
        left_out = Path(folder, "left-out")
        left_out.write_text("\n".join(selection.left_out), "utf-8")
        command = [sys.executable, "-m", "pytest", f"-n{min(_PROCESSES, len(files))}"]
        command += [f"--leave-out={left_out}", f"--until={until}", *selection.options, *files]
        return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
