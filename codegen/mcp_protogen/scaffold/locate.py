"""The search for the generated package of a folder: by its settings, or by its lock.

Settings come first, because they say what the user means. Without any, the one lock below the
folder is taken; if there are several, the user has to choose.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.config import load_settings
from mcp_protogen.output.lock import LOCK_NAME
from mcp_protogen.output.search import folders_with_locks

_NAMED = 10


def locate(start: Path) -> Path:
    """Return the folder of the generated package that `start` is or has.

    Raise `ProblemError`: `no-package`, `several-packages`, or `bad-config` for unusable settings.
    """
    if not start.is_dir():
        message = "this is not a folder" if start.exists() else "there is no such folder"
        hint = "name a project, or the folder of a generated package"
        raise ProblemError(Problem("no-package", message, str(start), hint=hint))
    if os.path.lexists(start / LOCK_NAME):
        return start
    said = load_settings(start.resolve(), only=("out",)).out
    if said is not None:
        if not os.path.lexists(said / LOCK_NAME):
            message = "[tool.mcp-gen] names this folder, but there is no generated package in it"
            hint = "run mcp-gen to generate it; or, if it was moved, correct out in pyproject.toml"
            raise ProblemError(Problem("no-package", message, str(said), hint=hint))
        return said
    return _only(start, [*folders_with_locks(start)])


def _only(start: Path, found: Sequence[Path]) -> Path:
    if not found:
        message = f"no generated package was found: no settings, and no {LOCK_NAME} below"
        hint = 'name its folder, or set out = "FOLDER" in [tool.mcp-gen] of pyproject.toml'
        raise ProblemError(Problem("no-package", message, str(start), hint=hint))
    if len(found) > 1:
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        message = f"there are several packages: {', '.join(map(str, found[:_NAMED]))}{more}"
        hint = "name one of them"
        raise ProblemError(Problem("several-packages", message, str(start), hint=hint))
    return found[0]
