"""Replays: a folder per case, with what is typed and everything that must come of it.

    args       one command line per line, without `mcp-gen`; `$ …` is for the shell. The last
               command line is what is looked at.
    input/     the working directory to start with (optional)
    exit       the exit code (without the file, 0)
    stdout, stderr
               the output (without the file, none)
    tree       the paths that it has added or removed, of the runtime and of the models only the
               folder (without the file, none)

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
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory

from support.running import Ran

CASES = Path(__file__).parent / "cases"
# Folders whose files are in `generated/`, too.
_FOLDED = frozenset({"_runtime", "models"})


@dataclass(frozen=True, slots=True)
class Happened:
    """What a command line did, as in the files of a case."""

    exit: str = "0\n"
    stdout: str = ""
    stderr: str = ""
    tree: str = ""


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
    done, before = Ran(0, "", ""), set[str]()
    for line in (case / "args").read_text().splitlines():
        if line.startswith("$ "):
            subprocess.run(["sh", "-ec", line[2:]], cwd=where, check=True)
        else:
            before = _paths(where)
            done = command(shlex.split(line), where)
    after = _paths(where)
    changed = [
        *(f"+{path}\n" for path in after - before),
        *(f"-{path}\n" for path in before - after),
    ]
    return Happened(f"{done.code}\n", done.out, done.err, "".join(sorted(changed)))


def _paths(where: Path) -> set[str]:
    found = [(path, path.relative_to(where)) for path in where.rglob("*")]
    return {
        relative.as_posix() + "/" * path.is_dir()
        for path, relative in found
        if not _FOLDED.intersection(relative.parts[:-1])
    }


def load_record(case: Path) -> Happened:
    """Return the recorded result of a case."""
    texts = ((case / field.name, str(field.default)) for field in fields(Happened))
    return Happened(*(file.read_text() if file.exists() else usual for file, usual in texts))


def record(case: Path) -> None:
    """Write down what a case does now."""
    with TemporaryDirectory() as folder:
        happened = play(case, Path(folder))
    for field in fields(Happened):
        text: str = getattr(happened, field.name)
        (case / field.name).unlink(missing_ok=True)
        if text != field.default:
            (case / field.name).write_text(text)


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(case.name for case in CASES.iterdir()):
        record(CASES / name)
