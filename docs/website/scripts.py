"""Scripts of the site: our modules and libraries of others, made one file for browsers.

`package.json` has the libraries, and its lock their digests. They are installed into `build` once
for each lock, by the registry that npm is set up for, and never run while they are installed.
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
_PACKAGE: Final = ("package.json", "package-lock.json")
_BUILD: Final = _HERE.parents[1] / "build" / "website"
# What browsers since 2022 know: no older one has all that the style of the page uses.
_OPTIONS: Final = (
    *("--bundle", "--minify", "--format=iife", "--target=es2022", "--charset=utf8"),
    *("--legal-comments=inline", "--log-level=warning"),
)


def bundled(scripts: Mapping[Path, Path], options: Sequence[str] = _OPTIONS) -> None:
    """Write a script for each module, with all that it imports.

    Raise `RuntimeError` if a module cannot be read, or if nothing can be installed.
    """
    modules = libraries()
    for module, script in scripts.items():
        esbuild = modules / ".bin" / "esbuild"
        _run((esbuild, module, f"--outfile={script}", *options), {"NODE_PATH": str(modules)})


def libraries() -> Path:
    """Return the folder of the libraries, in which they are installed on first use.

    Other processes that want it wait. Raise `RuntimeError` if that fails.
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
    _run(["npm", "ci", *quietly, "--prefix", folder], {})


def _run(command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise RuntimeError(f"{command[0]} is not installed; the site needs Node and npm") from error
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr.strip()}")
