"""Importing a package in an interpreter of its own before it is put into place.

Generation has compared each module with what it means; this shows that they are modules. Those of
a user's own templates are not imported: such a folder may be part of somebody else's project, and
generating is no reason to run what that says. Nor are revisions that stay as they are.
"""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from mcp_protogen.names import module_name
from mcp_protogen.output.package import Package
from mcp_protogen.problems import Problem, ProblemError
from mcp_protogen.resources import runtime_folder

_PROGRAM = Path(__file__).resolve().with_name("importing.py")
_PATIENCE = 120.0
# What the runtime stands on, and what that needs. All are imported from where ours are.
_NEEDED = ("annotated_types", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection")
_HINT = "report this with the schema that led to it"


def require_importable(package: Package) -> None:
    """Raise `ProblemError` (`bad-output`) with each generated module that cannot be imported."""
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
    job = {
        "files": {f.path: f.content.decode() for f in made if not f.path.startswith("_runtime/")},
        "kept": sorted(listed - {file.path.partition("/")[0] for file in made}),
        "path": list(dict.fromkeys(filter(None, map(_folder_of, _NEEDED)))),
        "runtime": str(runtime_folder()),
    }
    return json.dumps(job)


def _folder_of(module: str) -> str | None:
    """The folder that a module or package is imported from here."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin)
    return str(path.parents[1 if spec.submodule_search_locations else 0])


def _tried(job: str) -> dict[str, str]:
    """What the other interpreter says of each module that it cannot import."""
    # Isolated, without site: no variables, no working directory, nothing that a .pth file starts.
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
