"""The import of a package in a separate interpreter before it is published.

Generation has compared each module with its IR; this shows that the modules can be imported.
Packages from a user's own templates are not imported: such a folder may be part of somebody else's
project, and generating must not run its code. Revisions that stay as they are, are not imported
either.
"""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from mcp_protogen.base.names import module_name
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.resources import runtime_folder
from mcp_protogen.package import RUNTIME_FOLDER, Package, runtime_in

_PROGRAM = Path(__file__).resolve().with_name("importing.py")
_PATIENCE = 120.0
# The dependencies of the runtime, with their own. All are imported from where ours are.
_NEEDED = ("annotated_types", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection")
_HINT = "report this with the schema that led to it"


def require_importable(package: Package) -> None:
    """Raise `ProblemError` (`bad-output`) with each module that cannot be imported."""
    if "templates" in package.inputs.options:
        return
    found = _tried(_job(package))
    if found:
        raise ProblemError(
            *(
                Problem("bad-output", f"cannot be imported: {message:.300}", path, hint=_HINT)
                for path, message in found.items()
            )
        )


def _job(package: Package) -> str:
    made = [file for file in package.files if file.path.endswith(".py")]
    listed = {str(module_name(revision)) for revision in package.inputs.revisions}
    copied = f"{RUNTIME_FOLDER}/"
    job = {
        "files": {f.path: f.content.decode() for f in made if not f.path.startswith(copied)},
        "kept": sorted(listed - {file.path.partition("/")[0] for file in made}),
        "path": list(dict.fromkeys(filter(None, map(_folder_of, _NEEDED)))),
        "runtime": str(runtime_folder()),
        "runtime_module": runtime_in(package.inputs),
    }
    return json.dumps(job)


def _folder_of(module: str) -> str | None:
    """Return the folder that a module or package is imported from here."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin)
    return str(path.parents[1 if spec.submodule_search_locations else 0])


def _tried(job: str) -> dict[str, str]:
    """Return the errors that the other interpreter found, by module."""
    # Isolated, without site: no variables, no working directory, no code from .pth files.
    command = [sys.executable, "-I", "-S", "-B", "-X", "utf8", str(_PROGRAM)]
    try:
        ran = subprocess.run(
            command,
            input=job,
            capture_output=True,
            encoding="utf-8",
            timeout=_PATIENCE,
            cwd=_PROGRAM.parent,
            check=False,
        )
        wrong: dict[str, str] = json.loads(ran.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        message = f"the package could not be tried: {type(error).__name__}: {error}"
        raise ProblemError(Problem("bad-output", message, hint=_HINT)) from error
    return wrong
