"""The generated package that a module imports, and the revision of its types."""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from mcp_protogen.base.names import UnsafeName, installed_module, module_name
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.config import PROJECT
from mcp_protogen.inputs.pins import load_pins
from mcp_protogen.output.lock import read_lock

PART: Final = "tool-client"
"""The part of a package on which typed clients rest."""

_HINT: Final = (
    "name it with --package, generate one with --with-package DIR, or set out in [tool.mcp-gen]"
)


def import_name(folder: Path) -> str:
    """Return the name by which a generated package is imported, from the folder it is in.

    It begins below the project's folder, or below `src` there. Raise `ProblemError`
    (`no-client-package`).
    """
    whole = folder.resolve()
    project = next((one for one in whole.parents if (one / PROJECT).is_file()), whole.parent)
    parts = list(whole.relative_to(project).parts)
    if len(parts) > 1 and parts[0] == "src":
        parts = parts[1:]
    return checked(".".join(parts))


def checked(name: str) -> str:
    """Return the name of a package; raise `ProblemError` (`no-client-package`)."""
    try:
        return installed_module(name)
    except UnsafeName as error:
        raise _no_package(f"{name!r:.80} {error}") from error


def revision_in(package: str, folder: Path | None) -> str:
    """Return the module of the newest revision in a package.

    It is that of the folder, or else of the package that can be imported, or else the newest of
    all. Raise `ProblemError` (`no-client-package`) for a package without the part of typed clients.
    """
    place = folder if folder is not None else _place(package)
    lock = read_lock(place) if place is not None else None
    if lock is not None and PART not in lock.inputs.parts:
        message = f"the package {package} has no part {PART}"
        hint = f"add it: mcp-gen --out {place} --with {PART}"
        raise ProblemError(Problem("no-client-package", message, hint=hint))
    revisions = sorted(lock.inputs.revisions) if lock is not None else sorted(load_pins())
    return str(module_name(revisions[-1]))


def _place(package: str) -> Path | None:
    """Return the folder of a package that can be imported here, without an import of it."""
    if "." in package:  # to find these, the packages around them would be imported
        return None
    try:
        found = find_spec(package)
    except (ImportError, ValueError):
        return None
    return Path(found.origin).parent if found is not None and found.origin else None


def _no_package(message: str) -> ProblemError:
    return ProblemError(Problem("no-client-package", message, hint=_HINT))


def missing() -> ProblemError:
    """Return the problem of a module that has no package to import."""
    return _no_package("a typed client imports a generated package, and none is named")
