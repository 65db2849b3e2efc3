"""The search for generated packages below a folder, by their locks."""

import os
from collections.abc import Iterator
from pathlib import Path

from mcp_protogen.output.lock import LOCK_NAME

# Folders of files that are installed or built. Hidden folders and virtual environments are skipped,
# too.
_FOREIGN = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages"})


def folders_with_locks(start: Path) -> Iterator[Path]:
    """Yield `start` and all folders below it that are packages, sorted.

    Links are not followed.
    """
    for where, folders, files in os.walk(start):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _FOREIGN
            and not os.path.isfile(os.path.join(where, name, "pyvenv.cfg"))
        )
        if LOCK_NAME in files:
            yield Path(where)
