"""The type checkers of those who use a generated package, in their strictest settings."""

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from support.tables import case, some

Findings = dict[tuple[str, int], list[str]]
"""The objections, with their rules, by file and line."""

CHECKERS: Final = ("mypy", "pyright")


def find_objections(
    checker: str,
    folder: Path,
    checked: Sequence[str],
    *,
    apart: Sequence[str] = (),
    unchecked: Sequence[str] = (),
) -> Findings:
    """Run a type checker on files and folders of a folder.

    Each folder named in `apart` has a `src`, and files that see only this and `folder`. Folders of
    packages named in `unchecked` are only imported.
    """
    check = _run_mypy if checker == "mypy" else _run_pyright
    return check(folder, checked, apart, unchecked)


def require_same(found: Findings, expected: set[tuple[str, int]]) -> None:
    """Require objections to some lines, and to no others."""
    unexpected = [f"{at}: {found[at]}" for at in sorted(found.keys() - expected)][:20]
    overlooked = [str(at) for at in sorted(expected - found.keys())]
    said = "\n".join(["unexpected:", *unexpected, "overlooked:", *overlooked])
    assert found.keys() == expected, said


def assert_nothing_found(folder: Path, checked: Sequence[str], of: str) -> None:
    """Require that a type checker, or all with `--all`, has no objection; `of` names the program.

    Nearly all their time goes into Pydantic and the generated package, which other tests check; so
    each checks some of the programs.
    """
    for checker in some(CHECKERS, 1, f"type checkers of {of}"):
        with case(checker):
            require_same(find_objections(checker, folder, checked), set())


def _run_pyright(
    folder: Path, checked: Sequence[str], apart: Sequence[str], unchecked: Sequence[str]
) -> Findings:
    settings = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "include": checked,
        "exclude": [f"**/{name}" for name in unchecked],
        "executionEnvironments": [
            {"root": name, "extraPaths": [f"{name}/src", "."]} for name in apart
        ],
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    output = _run(folder, "pyright", "--outputjson", "--pythonpath", sys.executable)
    report = json.loads(output)
    places = (path for name in checked for path in (folder / name, *(folder / name).rglob("*.py")))
    files = {path for path in places if path.is_file() and not {*path.parts} & {*unchecked}}
    assert report["summary"]["filesAnalyzed"] == len(files), output[-3000:]
    found: Findings = defaultdict(list)
    for objection in report["generalDiagnostics"]:
        place = Path(objection["file"]).resolve().relative_to(folder.resolve()).as_posix()
        line = objection["range"]["start"]["line"] + 1
        found[place, line].append(f"{objection['message']} [{objection.get('rule')}]")
    return found


def _run_mypy(
    folder: Path, checked: Sequence[str], apart: Sequence[str], unchecked: Sequence[str]
) -> Findings:
    options = ("--strict", "--config-file=", "--python-version=3.11", "--no-error-summary")
    bases = ("--explicit-package-bases", *(f"--exclude=/{name}/" for name in unchecked))
    path = os.pathsep.join([str(folder), *(str(folder / name / "src") for name in apart)])
    # What all programs import, as Pydantic, is read once in a run.
    cache = f"--cache-dir={os.environ['MADE_ONCE']}/mypy"
    output = _run(folder, "mypy", *options, *bases, cache, *checked, path=path)
    found: Findings = defaultdict(list)
    for line in output.splitlines():
        objection = re.match(r"(?P<file>[^:]+):(?P<line>\d+): error: (?P<text>.*)", line)
        if objection:
            found[objection["file"], int(objection["line"])].append(objection["text"])
    assert found or "error" not in output, output[-3000:]
    return found


def _run(folder: Path, *command: str, path: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**os.environ, "MYPYPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr
    return done.stdout
