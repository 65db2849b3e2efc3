"""Scripts of the site: our modules and libraries, made one file for browsers.

`package.json` has the libraries, and its lock their digests. npm installs them into `build` once
for each lock, from its registry, without running them.
"""

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_PACKAGE: Final = ("package.json", "package-lock.json")
_BUILD: Final = _HERE.parents[1] / "build" / "website"
# For browsers since 2022, because the style of the page needs them.
_OPTIONS: Final = (
    *("--bundle", "--minify", "--format=iife", "--target=es2022", "--charset=utf8"),
    *("--legal-comments=inline", "--log-level=warning"),
)


def bundle(scripts: Mapping[Path, Path], options: Sequence[str] = _OPTIONS) -> None:
    """Write a script for each module, with its imports.

    Raise `RuntimeError` if a module cannot be read, or if nothing can be installed.
    """
    modules = libraries()
    esbuild, environment = modules / ".bin" / "esbuild", {"NODE_PATH": str(modules)}
    for module, script in scripts.items():
        run(esbuild, module, f"--outfile={script}", *options, environment=environment)


def libraries() -> Path:
    """Return the folder of the libraries; install them on first use.

    Other processes wait meanwhile. Raise `RuntimeError` if that fails.
    """
    content = b"".join((_HERE / name).read_bytes() for name in _PACKAGE)
    folder = _BUILD / f"npm-{sha256(content).hexdigest()[:12]}"
    _BUILD.mkdir(parents=True, exist_ok=True)
    with (_BUILD / "npm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ".ready").exists():
            _install(folder)
            (folder / ".ready").touch()
    return folder / "node_modules"


def _install(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in _PACKAGE:
        shutil.copyfile(_HERE / name, folder / name)
    quietly = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    run("npm", "ci", *quietly, "--prefix", folder)


def run(
    *command: str | Path,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    given: str = "",
) -> str:
    """Return the output of a command that reads a text; raise `RuntimeError` if it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise RuntimeError(f"{command[0]} is not installed; the site needs Node and npm") from error
    if done.returncode:
        said = _COLOUR.sub("", done.stdout + done.stderr).strip()
        raise RuntimeError(f"{command[0]} failed: {said}")
    return done.stdout
