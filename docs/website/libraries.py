"""Libraries of others for the browser: installed by npm from a lock, served from the site."""

import fcntl
import os
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

from website.places import HERE, ROOT


class NotInstalledError(Exception):
    """The libraries could not be installed; its text says why."""


def installed() -> Path:
    """Return `node_modules` with what the lock names; raise `NotInstalledError`.

    npm runs once for each content of the lock, and no script of a library runs.
    """
    lock = HERE / "package-lock.json"
    folder = ROOT / "build" / f"website-{sha256(lock.read_bytes()).hexdigest()[:12]}"
    ready = folder / ".ready"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        if not ready.exists():
            _install(folder)
            ready.touch()
    return folder / "node_modules"


def _install(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NotInstalledError("npm is needed: the site serves libraries that it installs")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    done = subprocess.run(
        [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"],
        cwd=folder,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NotInstalledError(f"npm ci failed in {folder}:\n{done.stdout}{done.stderr}")
