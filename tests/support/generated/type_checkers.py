"""The type checkers of those who use a generated package, in their strictest settings."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from support.tables import case, some

_MYPY: Final = ("--strict", "--config-file=", "--python-version=3.11", "--cache-dir=.mypy_cache")


def assert_nothing_found(folder: Path, checked: Sequence[str], of: str) -> None:
    """Require that a type checker, or all with `--all`, has no objection; `of` names the program.

    Nearly all their time goes into Pydantic and the generated package, which other tests check; so
    each checks some of the programs.
    """
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "include": checked}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    commands = (("pyright", "--pythonpath", sys.executable), ("mypy", *_MYPY, *checked))
    for command in some(commands, 1, f"type checkers of {of}"):
        with case(command[0]):
            done = subprocess.run(
                [sys.executable, "-m", *command],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(folder)},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr
