"""Programs of others that tests start, and that `.ci/run` may be installing meanwhile."""

import os
import shutil
from fcntl import LOCK_SH, flock
from glob import glob

from support.folders import ROOT


def installed(kind: str, *names: str, places: str = "") -> str | None:
    """Return the path of the first of some programs; None if none of them is installed.

    Wait until `.ci/run` has installed all of that kind, for which it holds a lock. `places` are
    folders beside those of the shell.
    """
    installing = ROOT / "build" / f"{kind}.lock"
    if installing.exists():
        with installing.open() as lock:
            flock(lock, LOCK_SH)
    path = os.pathsep.join([os.environ.get("PATH", ""), *sorted(glob(places), reverse=True)])
    return next((found for name in names if (found := shutil.which(name, path=path))), None)
