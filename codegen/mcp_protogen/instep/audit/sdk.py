"""The SDK to audit: finding it, and describing it in a separate process.

An SDK is an importable module or package, or a folder of Python sources. Its own interpreter
imports it, never ours; the result is a description or one problem.
"""

import asyncio
import base64
import json
import os
import re
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import which
from typing import IO, Any

from mcp_protogen.base.printable import pluralize
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.instep.audit.decoders import Decoders
from mcp_protogen.instep.audit.description import (
    Description,
    SkippedModule,
    of_document,
    read_skipped,
)
from mcp_protogen.instep.vectors.program import kill_group, run

PATIENCE = 60.0
"""The default time for an import or an answer, in seconds."""

_OURS = "the Python that runs mcp-gen"
_PROBE = Path(__file__).resolve().parent / "probe" / "run.py"
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
# Modules in the folder of a project that are not part of it.
_BESIDE = frozenset({"setup", "conftest", "noxfile", "tests", "test", "docs", "examples", "build"})


@dataclass(frozen=True, slots=True)
class Sdk:
    """An SDK to audit: the name that the user gave, its modules, their path and interpreter.

    `interpreter` is the user's name for `python`.
    """

    name: str
    path: tuple[str, ...]
    modules: tuple[str, ...]
    python: str
    interpreter: str

    def job(self) -> dict[str, Any]:
        """Return the part of a job that names the SDK."""
        return {"path": list(self.path), "modules": list(self.modules)}


def find(name: str, python: str | None = None) -> Sdk:
    """Return the SDK with this name; raise `ProblemError` (`no-target`, `no-interpreter`)."""
    found = which(python) if python else sys.executable
    if found is None:
        message = f"there is no program {python}"
        hint = "name the interpreter that can import the SDK, such as .venv/bin/python"
        raise ProblemError(Problem("no-interpreter", message, name, hint=hint))
    # Not resolved: the interpreter of a virtual environment is a link to another.
    program, called = os.path.abspath(found), python or _OURS
    folder = Path(name)
    is_import = _DOTTED.fullmatch(name) and (folder / "__init__.py").is_file()
    if name and folder.is_dir() and not is_import:
        path, modules = _in_folder(folder.resolve(), name)
        return Sdk(name, (path,), modules, program, called)
    if _DOTTED.fullmatch(name):
        return Sdk(name, (), (name,), program, called)
    message = "this is neither a folder nor the name of a module"
    hint = "a name is what you import, such as mcp.types"
    raise ProblemError(Problem("no-target", message, name, hint=hint))


def _in_folder(folder: Path, name: str) -> tuple[str, tuple[str, ...]]:
    """Return the folder to import from, and the modules of a package or a project."""
    names: list[str] = []
    top = folder
    while (top / "__init__.py").is_file() and top.name.isidentifier():
        names.insert(0, top.name)
        top = top.parent
    if names:
        return str(top), (".".join(names),)
    top = folder / "src" if (folder / "src").is_dir() else folder
    modules = tuple(sorted(_modules(top)))
    if not modules:
        hint = "name a folder with Python modules in it, a package, or a project around one"
        raise ProblemError(Problem("no-target", "this folder has no modules", name, hint=hint))
    return str(top), modules


def _modules(folder: Path) -> Iterator[str]:
    for path in folder.iterdir():
        is_module = path.suffix == ".py" or (path / "__init__.py").is_file()
        is_beside = path.stem in _BESIDE or path.stem.startswith(("test_", "__"))
        if is_module and path.stem.isidentifier() and not is_beside:
            yield path.stem


def describe(sdk: Sdk, messages: Mapping[str, str], timeout: float = PATIENCE) -> Description:
    """Return the description of an SDK; `messages` map message names to methods.

    Raise `ProblemError`: `target-not-found`, `target-fails`, `target-exits`, `target-hangs`,
    `target-died`, `nothing-to-audit`.
    """
    methods = sorted(set(messages.values()))
    job = {**sdk.job(), "methods": methods, "messages": sorted(messages)}
    command = [*_command(sdk, "describe"), _pack(job)]
    code, out, said = run(_run(sdk, command, timeout))
    try:
        document = json.loads(out)
    except ValueError:
        raise _exit_error(sdk.name, code, said) from None
    if "types" not in document:
        raise _import_error(sdk.name, sdk.interpreter, read_skipped(document))
    if not document["types"]:
        raise _no_types_error(sdk.name, document["modules"])
    return of_document(document)


async def _run(sdk: Sdk, command: Sequence[str], timeout: float) -> tuple[int, bytes, str]:
    """Run the probe to its end; return its exit code, its document, and its standard error."""
    # Files, because a process that the SDK leaves running may keep a pipe open forever.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=said,
                start_new_session=True,  # its own process group, to end it as a whole
            )
        except OSError as error:
            message = f"{sdk.interpreter} cannot be started: {error.strerror}"
            raise ProblemError(Problem("no-interpreter", message, sdk.name)) from None
        try:
            async with asyncio.timeout(timeout):
                code = await process.wait()
        except TimeoutError:
            raise _timeout_error(sdk.name, timeout) from None
        finally:
            kill_group(process.pid, process)
            await process.wait()
        return code, _content(out), _content(said).decode(errors="replace")


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _command(sdk: Sdk, mode: str) -> list[str]:
    # An audit leaves nothing in a folder, not even bytecode.
    return [sdk.python, "-B", "-X", "utf8", str(_PROBE), mode]


def _pack(job: Mapping[str, Any]) -> str:
    """Return a job as one short word, because some systems limit commands to 32,000 characters."""
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(job).encode())).decode()


def responder(sdk: Sdk, described: Description, reading: Decoders) -> Sequence[str]:
    """Return the command of a responder for an SDK as it was described.

    The command carries everything it needs, so that it can be started again and leaves no file.
    """
    modules = [name for name in sdk.modules if name in described.modules]
    modules += described.through
    job = {**sdk.job(), "modules": modules, "name": described.name, **asdict(reading)}
    return [*_command(sdk, "respond"), _pack(job)]


def _import_error(name: str, python: str, skipped: Sequence[SkippedModule]) -> ProblemError:
    """Return the error if no named module can be imported, with the reason of the first."""
    first = skipped[0]
    if first.kind == "not-found":
        hint = f"is it installed for {python}? name another interpreter with --python"
        message = f"there is no module {first.module}"
        return ProblemError(Problem("target-not-found", message, name, hint=hint))
    if first.kind == "exits":
        hint = "importing must not end the process; name a module that only defines types"
        message = f"importing {first.module} ends the process: {first.error}"
        return ProblemError(Problem("target-exits", message, name, hint=hint))
    hint = f"{python} must be able to import it; name another interpreter with --python"
    message = f"importing {first.module} fails: {first.error}"
    return ProblemError(Problem("target-fails", message, name, hint=hint))


def _no_types_error(name: str, modules: Sequence[str]) -> ProblemError:
    message = f"no models, dataclasses or typed dictionaries in {pluralize(len(modules), 'module')}"
    hint = "name the module with the protocol's types, such as mcp.types"
    return ProblemError(Problem("nothing-to-audit", message, name, hint=hint))


def _timeout_error(name: str, timeout: float) -> ProblemError:
    message = f"it was not imported within {timeout:g} seconds"
    return ProblemError(
        Problem("target-hangs", message, name, hint="does it wait for something? see --timeout")
    )


def _exit_error(name: str, code: int, said: str) -> ProblemError:
    """Return the error if the process ended, by itself or by a signal, before its description."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = f"; its last output: {lines[-1][:300]}" if lines else ""
    message = f"its process ended with exit code {code} while it was imported{last}"
    hint = "import it by hand to see why; an interpreter of Python 3.10 or later is needed"
    return ProblemError(Problem("target-died", message, name, hint=hint))
