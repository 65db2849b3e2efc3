"""Builds the site: a staging folder, zensical, and what is added to its output."""

import re
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from website.libraries import NotInstalledError
from website.links import DeadLinkError
from website.staging import stage

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


class BuildError(Exception):
    """The site could not be built; its text says why."""


def build(out: Path) -> None:
    """Build the site into a folder, whose former content goes; raise `BuildError`."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        try:
            stage(folder)
        except (DeadLinkError, NotInstalledError) as error:
            raise BuildError(str(error)) from error
        _zensical(folder)
        built = folder / "built"
        if find_spec("website.explorer") is not None:
            import_module("website.explorer").write(built)
        shutil.rmtree(out, ignore_errors=True)
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(built, out)


def _zensical(folder: Path) -> None:
    """Run zensical; a warning, such as one about a dead link, is an error."""
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BuildError(_COLOUR.sub("", done.stdout + done.stderr))
