"""The import of a package in a separate interpreter before it is published.

Generation has compared each module with its IR; this shows that the modules can be imported. The
interpreter starts while the package is generated, and imports the runtime meanwhile.
Packages from a user's own templates are not imported: such a folder may be part of somebody else's
project, and generating must not run its code. Revisions that stay as they are, are not imported
either.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from mcp_protogen.base.names import module_name
from mcp_protogen.base.problems import Problem, ProblemError, raise_errors
from mcp_protogen.base.resources import runtime_folder
from mcp_protogen.config import GenerationOptions
from mcp_protogen.package import RUNTIME_FOLDER, Package
from mcp_protogen.parts import Selection

_PROGRAM = Path(__file__).resolve().with_name("importing.py")
_PATIENCE = 120.0
# The dependencies of the runtime, with their own. All are imported from where ours are.
_NEEDED = ("annotated_types", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection")
_HINT = "report this with the schema that led to it"

Require = Callable[[Package], None]
"""What raises `ProblemError` (`bad-output`) with each module that cannot be imported."""


@contextmanager
def trying(options: GenerationOptions) -> Generator[Require, None, None]:
    """Start the interpreter for a package with these options, and give what tries the package."""
    if options.templates is not None:
        yield _nothing
        return
    with _interpreter(options.runtime, options.selection) as process:
        yield lambda package: _require(package, process)


def _nothing(package: Package) -> None:
    """Leave a package alone."""


@contextmanager
def _interpreter(
    runtime: str | None, selection: Selection
) -> Generator[subprocess.Popen[str], None, None]:
    """Start the other interpreter with what it can import beforehand."""
    first = {
        "path": list(dict.fromkeys(filter(None, map(_folder_of, _NEEDED)))),
        "runtime": str(runtime_folder()),
        "runtime_module": runtime,
        "beforehand": [module for module, _ in selection.exports],
    }
    with _started(json.dumps(first)) as process:
        try:
            yield process
        finally:
            process.kill()


def _started(line: str) -> subprocess.Popen[str]:
    """Return the other interpreter, with a line that it reads at once."""
    try:
        process = subprocess.Popen(
            [sys.executable, *_flags(), str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            cwd=_PROGRAM.parent,
        )
        assert process.stdin is not None
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
    except OSError as error:
        raise _untried(error) from error
    return process


def _flags() -> Iterator[str]:
    """Yield the options of the interpreter.

    It runs isolated, without site: no variables, no working directory, no code from .pth files.
    Compiled modules are where ours are.
    """
    yield from ("-I", "-S", "-X", "utf8")
    if sys.dont_write_bytecode:
        yield "-B"
    if sys.pycache_prefix is not None:
        yield from ("-X", f"pycache_prefix={sys.pycache_prefix}")


def _require(package: Package, process: subprocess.Popen[str]) -> None:
    made = [file for file in package.files if file.path.endswith(".py")]
    listed = {str(module_name(revision)) for revision in package.inputs.revisions}
    copied = f"{RUNTIME_FOLDER}/"
    job = {
        "files": {f.path: f.content.decode() for f in made if not f.path.startswith(copied)},
        "kept": sorted(listed - {file.path.partition("/")[0] for file in made}),
    }
    try:
        out, _ = process.communicate(json.dumps(job), timeout=_PATIENCE)
        wrong: dict[str, str] = json.loads(out)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise _untried(error) from error
    raise_errors(
        Problem("bad-output", f"cannot be imported: {message:.300}", path, hint=_HINT)
        for path, message in wrong.items()
    )


def _untried(error: Exception) -> ProblemError:
    message = f"the package could not be tried: {type(error).__name__}: {error}"
    return ProblemError(Problem("bad-output", message, hint=_HINT))


def _folder_of(module: str) -> str | None:
    """Return the folder that a module or package is imported from here."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin)
    return str(path.parents[1 if spec.submodule_search_locations else 0])
