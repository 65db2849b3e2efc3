"""External programs that tests start."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from glob import glob
from pathlib import Path


def find_program(*names: str, places: str = "") -> str | None:
    """Return the path of the first installed program; None without any.

    `places` are folders beside those of the shell.
    """
    path = os.pathsep.join([os.environ.get("PATH", ""), *sorted(glob(places), reverse=True)])
    return next((found for name in names if (found := shutil.which(name, path=path))), None)


def run_program(
    *command: str | Path,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    input: str | None = None,
    timeout: float | None = None,
    code: int = 0,
) -> str:
    """Run a program that must end with an exit code, and return what it prints."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        input=input,
        timeout=timeout,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, f"{command}: {(done.stdout + done.stderr)[-5000:]}"
    return done.stdout
