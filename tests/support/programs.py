"""External programs that tests start."""

import os
import shutil
from glob import glob


def find_program(*names: str, places: str = "") -> str | None:
    """Return the path of the first installed program; None without any.

    `places` are folders beside those of the shell.
    """
    path = os.pathsep.join([os.environ.get("PATH", ""), *sorted(glob(places), reverse=True)])
    return next((found for name in names if (found := shutil.which(name, path=path))), None)
