"""The generated package that a module imports, and the revision of its types."""

from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from mcp_protogen.base.names import UnsafeName, installed_module, module_name
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline import commands
from mcp_protogen.pipeline.config import PROJECT
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.output.lock import read_lock
from mcp_protogen.pipeline.parts import ALL
from mcp_protogen.pipeline.settings import Settings

PART: Final = "tool-client"
"""The part of a package that typed clients need."""
TASKS_PART: Final = "tasks"


class PackageTasks(StrEnum):
    """The tasks that clients of a package can have; the extension has those of the core, too."""

    NONE = "none"
    CORE = "core"
    EXTENSION = "extension"


_HINT: Final = (
    "name it with --package, generate one with --with-package DIR, or set out in [tool.mcp-gen]"
)


def import_name(folder: Path) -> str:
    """Return the import name of a generated package in a folder.

    It begins below the project's folder, or below `src` there. Raise `ProblemError`
    (`no-client-package`).
    """
    whole = folder.resolve()
    project = next(
        (parent for parent in whole.parents if (parent / PROJECT).is_file()), whole.parent
    )
    parts = list(whole.relative_to(project).parts)
    if len(parts) > 1 and parts[0] == "src":
        parts = parts[1:]
    return check_name(".".join(parts))


def check_name(name: str) -> str:
    """Return the name of a package; raise `ProblemError` (`no-client-package`)."""
    try:
        return installed_module(name)
    except UnsafeName as error:
        raise _no_package(f"{name!r:.80} {error}") from error


def revision_and_tasks(package: str, folder: Path | None) -> tuple[str, PackageTasks]:
    """Return the module of the newest revision in a package, and the tasks of its clients.

    It is that of the folder; without it, of the importable package; without that, the newest of
    all, without tasks. Raise `ProblemError` (`no-client-package`) for a package without the part of
    typed clients.
    """
    place = folder if folder is not None else _place(package)
    lock = read_lock(place) if place is not None else None
    if lock is not None and PART not in lock.inputs.parts:
        message = f"the package {package} has no part {PART}"
        hint = f"add it: mcp-gen --out {place} --with {PART}"
        raise ProblemError(Problem("no-client-package", message, hint=hint))
    module = str(module_name(max(load_pins() if lock is None else lock.inputs.revisions)))
    if lock is None or TASKS_PART not in lock.inputs.parts:
        return module, PackageTasks.NONE
    has_extension = f"{module}/ext/tasks/client.py" in lock.files
    return module, PackageTasks.EXTENSION if has_extension else PackageTasks.CORE


def ensure(folder: Path, *, tasks: bool) -> tuple[Problem, ...]:
    """Generate a package for clients of all revisions if the folder has none; return warnings."""
    if read_lock(folder) is not None:
        return ()
    extensions = (TASKS_PART,) if tasks else ()
    parts = ("auth", "http-client", "stdio", PART, *extensions)
    settings = Settings(revisions=(ALL,), out=folder, parts=parts, extensions=extensions or None)
    return commands.write(settings).problems


def _place(package: str) -> Path | None:
    """Return the folder of an importable package, without importing it."""
    first, *inner = package.split(".")  # to find an inner one would import those around it
    try:
        found = find_spec(first)
    except (ImportError, ValueError):
        return None
    folders = None if found is None else found.submodule_search_locations
    places = (Path(folder, *inner) for folder in folders or ())
    return next((place for place in places if place.is_dir()), None)


def _no_package(message: str) -> ProblemError:
    return ProblemError(Problem("no-client-package", message, hint=_HINT))


def missing_package() -> ProblemError:
    """Return the problem of a module that has no package to import."""
    return _no_package("a typed client needs a generated package, and none is named")
