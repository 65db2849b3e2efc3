"""Finding a target, and asking it in a process of its own.

A target is an importable module or package, or a folder of Python sources. It is imported by its
own interpreter and never by ours; however that goes, it ends in a description or in one problem.
"""

import asyncio
import base64
import json
import os
import re
import signal
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import which
from typing import IO, Any

from mcp_protogen.audit.description import Description, of_document, skipped
from mcp_protogen.audit.refusals import died, hangs, not_importable, nothing_found
from mcp_protogen.problems import Problem, ProblemError
from mcp_protogen.vectors.interruption import run

PATIENCE = 60.0
"""Seconds that an import, or an answer, may take unless somebody says otherwise."""

_OURS = "the Python that runs mcp-gen"
_PROBE = Path(__file__).resolve().parent / "probe" / "run.py"
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
# What stands beside the modules of a project and is none of them.
_BESIDE = frozenset({"setup", "conftest", "noxfile", "tests", "test", "docs", "examples", "build"})


@dataclass(frozen=True, slots=True)
class Target:
    """Something to audit: what the user called it, and what is imported from where by whom.

    `interpreter` is how the user called `python`.
    """

    name: str
    path: tuple[str, ...]
    modules: tuple[str, ...]
    python: str
    interpreter: str

    def job(self) -> dict[str, Any]:
        """What the probe is told of it."""
        return {"path": list(self.path), "modules": list(self.modules)}


def find(name: str, python: str | None = None) -> Target:
    """The target of that name; raises `ProblemError` (`no-target`, `no-interpreter`)."""
    found = which(python) if python else sys.executable
    if found is None:
        message = f"there is no program {python}"
        hint = "name the interpreter that can import the target, such as .venv/bin/python"
        raise ProblemError(Problem("no-interpreter", message, name, hint=hint))
    # Not resolved: the interpreter of a virtual environment is a link to another.
    program, called = os.path.abspath(found), python or _OURS
    folder = Path(name)
    is_import = _DOTTED.fullmatch(name) and (folder / "__init__.py").is_file()
    if name and folder.is_dir() and not is_import:
        path, modules = _in_folder(folder.resolve(), name)
        return Target(name, (path,), modules, program, called)
    if _DOTTED.fullmatch(name):
        return Target(name, (), (name,), program, called)
    message = "this is neither a folder nor the name of a module"
    hint = "a name is what one imports, such as mcp.types"
    raise ProblemError(Problem("no-target", message, name, hint=hint))


def _in_folder(folder: Path, name: str) -> tuple[str, tuple[str, ...]]:
    """The folder to import from, and the modules: of a package, or of a project around some."""
    parts: list[str] = []
    top = folder
    while (top / "__init__.py").is_file() and top.name.isidentifier():
        parts.insert(0, top.name)
        top = top.parent
    if parts:
        return str(top), (".".join(parts),)
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


def describe(target: Target, messages: Mapping[str, str], timeout: float = PATIENCE) -> Description:
    """What is in a target; `messages` have a method for the name of each.

    Raises `ProblemError`: `target-not-found`, `target-fails`, `target-exits`, `target-hangs`,
    `target-died`, `nothing-to-audit`.
    """
    methods = sorted(set(messages.values()))
    job = {**target.job(), "methods": methods, "messages": sorted(messages)}
    command = [*_command(target, "describe"), _packed(job)]
    code, out, said = run(_run(target, command, timeout))
    try:
        document = json.loads(out)
    except ValueError:
        raise died(target.name, code, said) from None
    if "types" not in document:
        raise not_importable(target.name, target.interpreter, skipped(document))
    if not document["types"]:
        raise nothing_found(target.name, document["modules"])
    return of_document(document)


async def _run(target: Target, command: Sequence[str], timeout: float) -> tuple[int, bytes, str]:
    """Run the probe to its end: its exit code, its document, what it and the target said."""
    # Files, because what the target leaves running may keep a pipe open for good.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=said,
                start_new_session=True,  # a group of its own, to end it as a whole
            )
        except OSError as error:
            message = f"{target.interpreter} cannot be started: {error.strerror}"
            raise ProblemError(Problem("no-interpreter", message, target.name)) from None
        try:
            async with asyncio.timeout(timeout):
                code = await process.wait()
        except TimeoutError:
            raise hangs(target.name, timeout) from None
        finally:
            _kill(process)
            await process.wait()
        return code, _content(out), _content(said).decode(errors="replace")


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _kill(process: asyncio.subprocess.Process) -> None:
    """End the process with all that it started, as far as that is still there."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _command(target: Target, part: str) -> list[str]:
    # Looking at a folder leaves nothing in it, no bytecode either.
    return [target.python, "-B", "-X", "utf8", str(_PROBE), part]


def _packed(job: Mapping[str, Any]) -> str:
    """A job as one short word: some systems allow 32 thousand characters for a command."""
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(job).encode())).decode()


@dataclass(frozen=True, slots=True)
class Entry:
    """How one kind of value is read: as one of some types of the target.

    Where the target keeps the envelope of JSON-RPC apart, `envelope` are the types that read it,
    and `inside` the member that holds what `keys` read; empty if that is all but the envelope.
    """

    keys: tuple[str, ...]
    envelope: tuple[str, ...] = ()
    inside: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """How every value of a revision is read: definitions by name, messages as the probe has it.

    `written` is what is left out of what is written back: none (values that are None), unset or
    all (nothing is left out). `envelopes` says whether the target reads those of messages at all.
    """

    types: Mapping[str, Entry]
    messages: Mapping[str, Entry]
    written: str = "none"
    envelopes: bool = True


def responder(target: Target, described: Description, reading: Reading) -> Sequence[str]:
    """The command of a responder for a target as it was described.

    All that it has to know is in the command: it can be started again, and leaves no file behind.
    """
    modules = [name for name in target.modules if name in described.modules]
    modules += described.through
    job = {**target.job(), "modules": modules, "name": described.name, **asdict(reading)}
    return [*_command(target, "respond"), _packed(job)]


def responder_command(target: str, revision: str, *, python: str | None = None) -> Sequence[str]:
    """The command of a responder for a target, matched with a revision as an audit would.

    Raises `ProblemError` for a target that cannot be audited.
    """
    from mcp_protogen.audit.engine import matched
    from mcp_protogen.audit.reading import reading_of

    found = find(target, python)
    description, wanted, matching = matched(found, revision)
    return responder(found, description, reading_of(wanted, description, matching))
