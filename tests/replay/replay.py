"""Replays: a folder per case, with what is typed and everything that must come of it.

    args       one command line per line, without `mcp-gen`; `$ …` is for the shell. The last
               command line is what is looked at.
    input/     the working directory to start with (optional)
    exit       the exit code
    stdout, stderr
    tree       every path in the working directory afterwards, the runtime folded to one line
    expected/  files whose contents must be these (optional)

A case is added by making a folder with `args` and running this module, with `tests` on the path,
which records what happens now; read the difference before committing it:

    PYTHONPATH=tests python -m replay.replay NAME
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from support.running import Ran

CASES = Path(__file__).parent / "cases"
# A package marker in place of the line for every file of the vendored runtime.
_FOLDED = "_runtime"


@dataclass(frozen=True, slots=True)
class Happened:
    """What a command line did."""

    exit: int
    stdout: str
    stderr: str
    tree: str


ENVIRONMENT = {"NO_COLOR": "1", "COLUMNS": "100", "LC_ALL": "C.UTF-8"}
"""What is the same wherever a case is played."""

Command = Callable[[Sequence[str], Path], Ran]
"""Runs `mcp-gen` with arguments in a folder."""


def process(arguments: Sequence[str], where: Path) -> Ran:
    """Run `mcp-gen` as a new process."""
    done = subprocess.run(
        [sys.executable, "-m", "mcp_protogen", *arguments],
        cwd=where,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def play(case: Path, where: Path, command: Command = process) -> Happened:
    """Run a case in the empty folder `where`."""
    if (case / "input").is_dir():
        shutil.copytree(case / "input", where, dirs_exist_ok=True)
    done: Ran | None = None
    for line in (case / "args").read_text().splitlines():
        if line.startswith("$ "):
            subprocess.run(["sh", "-ec", line[2:]], cwd=where, check=True)
        else:
            done = command(shlex.split(line), where)
    assert done is not None, f"{case} has no args"
    return Happened(done.code, done.out, done.err, _tree(where))


def _tree(where: Path) -> str:
    paths: set[str] = set()
    for path in where.rglob("*"):
        relative = path.relative_to(where)
        if _FOLDED in relative.parts[:-1]:
            continue
        paths.add(relative.as_posix() + ("/" if path.is_dir() else ""))
    return "".join(f"{path}\n" for path in sorted(paths))


def record(case: Path) -> None:
    """Write down what a case does now."""
    with TemporaryDirectory() as folder:
        where = Path(folder)
        happened = play(case, where)
        (case / "exit").write_text(f"{happened.exit}\n")
        (case / "stdout").write_text(happened.stdout)
        (case / "stderr").write_text(happened.stderr)
        (case / "tree").write_text(happened.tree)
        for path in (case / "expected").rglob("*"):
            if path.is_file():
                shutil.copy(where / path.relative_to(case / "expected"), path)


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(case.name for case in CASES.iterdir()):
        record(CASES / name)
