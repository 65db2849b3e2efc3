"""A module and its lock: made, written, and compared with the files on disk."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mcp_protogen import __version__
from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.file_set import finish, hold_files, write_files
from mcp_protogen.base.files import writing
from mcp_protogen.base.problems import Level, Problem, ProblemError
from mcp_protogen.pipeline.output.drift import Cause, DriftKind
from mcp_protogen.servers.clients.lock import ClientLock, lock_of, read_client_lock
from mcp_protogen.servers.clients.module import ModuleNames, class_of, module_text
from mcp_protogen.servers.clients.package import TASKS_PART, PackageTasks
from mcp_protogen.servers.clients.types import typed_server


def build_module(lock: ClientLock, module: Path) -> tuple[bytes, tuple[Problem, ...]]:
    """Return the module for a contract, and warnings about it."""
    left_out = lock.contract.only_as_tasks if lock.tasks is PackageTasks.NONE else []
    tasks = lock.tasks if lock.contract.calls_tasks else PackageTasks.NONE
    names = ModuleNames(class_of(module), lock.package, lock.revision_module, tasks)
    server = typed_server(lock.contract.without(left_out), lock.methods, names.classes)
    problems = (*_task_problems(lock, left_out), *server.problems)
    return module_text(server, names, left_out).encode(), problems


def _task_problems(lock: ClientLock, left_out: Sequence[str]) -> Iterator[Problem]:
    """Yield the tools that cannot be called without tasks, or without those of the extension."""
    place, with_tasks = lock.contract.server, f"generate {lock.package} with --with {TASKS_PART}"
    for name in left_out:
        message = f"the tool {name!r:.80} can only be called as a task, and is left out"
        hint = f"{with_tasks} beside its other parts, and run this again"
        yield Problem("no-tasks", message, place, hint=hint, level=Level.WARNING)
    if lock.contract.task_extension and lock.tasks is not PackageTasks.EXTENSION:
        message = (
            "the server may run calls as tasks; a tool that it always runs as a task will fail"
        )
        hint = f"{with_tasks} --extension tasks beside its other parts, and run this again"
        yield Problem("no-tasks", message, place, hint=hint, level=Level.WARNING)


def write(lock: ClientLock, module: Path, *, force: bool) -> tuple[bool, tuple[Problem, ...]]:
    """Write module and lock, both or neither; return whether a file changed.

    Raise `ProblemError`: `edited-file` for an edited module, unless `force` allows overwriting it,
    and `cannot-write`.
    """
    content, problems = build_module(lock, module)
    new = replace(lock, module=sha256(content), generator=__version__)
    files = {module: content, lock_of(module): new.content()}
    finish(module)
    if not _stale(files):
        write_files({}, module)
        return False, problems
    with writing(module), hold_files(module) as file_set:  # another run may be between the two
        if not force:
            _refuse_edited(module, content)
        stale = _stale(files)
        file_set.write(stale)
    return bool(stale), problems


def _stale(files: Mapping[Path, bytes]) -> dict[Path, bytes]:
    return {path: content for path, content in files.items() if _read(path) != content}


def _refuse_edited(module: Path, content: bytes) -> None:
    """Raise `ProblemError` (`edited-file`) for a module that mcp-gen did not write."""
    found = _read(module)
    before = read_client_lock(lock_of(module))
    if found in (None, content) or (before is not None and before.module == sha256(found)):
        return
    message = "this file is not as mcp-gen wrote it, and is not overwritten"
    hint = "keep your own code in another file, or give it up with --force"
    raise ProblemError(Problem("edited-file", message, str(module), hint=hint))


def causes(lock: ClientLock | None, module: Path) -> Iterator[Cause]:
    """Yield the reasons why a module differs from its lock and this version of mcp-gen."""
    if lock is None:
        message = f"there is no lock beside it, {lock_of(module).name}"
        yield Cause(DriftKind.NOT_GENERATED, module.name, message)
        return
    found = _read(module)
    if found is None:
        yield Cause(DriftKind.MISSING, module.name, "the module is not there")
    elif sha256(found) != lock.module:
        yield Cause(DriftKind.EDITED, module.name, "the module is not as mcp-gen wrote it")
    elif build_module(lock, module)[0] != found:
        message = f"mcp-gen {__version__} makes another module of it than {lock.generator} did"
        yield Cause(DriftKind.GENERATOR, module.name, message)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        message = error.strerror or str(error)
        raise ProblemError(Problem("cannot-write", message, str(path))) from error
