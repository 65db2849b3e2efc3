"""A module and its lock: made, written, and compared with what is there."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from mcp_protogen import __version__
from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.file_set import finish, write_files
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.output.drift import Cause, DriftKind
from mcp_protogen.typed_clients.lock import ClientLock, lock_of, read_client_lock
from mcp_protogen.typed_clients.module import ModuleNames, class_of, module_text
from mcp_protogen.typed_clients.types import typed_server


def made(lock: ClientLock, module: Path) -> tuple[bytes, tuple[Problem, ...]]:
    """Return the module for a contract, and what is to be said about it."""
    names = ModuleNames(class_of(module), lock.package, lock.revision_module)
    server = typed_server(lock.contract, lock.methods, names.classes)
    return module_text(server, names).encode(), server.problems


def write(lock: ClientLock, module: Path, *, force: bool) -> tuple[bool, tuple[Problem, ...]]:
    """Write module and lock, both or neither; return whether that changed anything.

    Raise `ProblemError`: `edited-file` for a module that is not as it was written, unless `force`
    says that it may go, and `cannot-write`.
    """
    content, problems = made(lock, module)
    finish(module)
    found = _read(module)
    before = read_client_lock(lock_of(module)) if not force else None
    own = before is None or found is None or before.module != sha256(found)
    if found not in (None, content) and own and not force:
        message = "this file is not as mcp-gen wrote it, and is not overwritten"
        hint = "keep your own code in another file, or give it up with --force"
        raise ProblemError(Problem("edited-file", message, str(module), hint=hint))
    new = replace(lock, module=sha256(content), generator=__version__)
    files = {module: content, lock_of(module): new.content()}
    stale = {path: one for path, one in files.items() if _read(path) != one}
    write_files(stale, module)
    return bool(stale), problems


def causes(lock: ClientLock | None, module: Path) -> Iterator[Cause]:
    """Yield why a module is not what its lock and this version of mcp-gen make."""
    if lock is None:
        message = f"there is no lock beside it, {lock_of(module).name}"
        yield Cause(DriftKind.NOT_GENERATED, module.name, message)
        return
    found = _read(module)
    if found is None:
        yield Cause(DriftKind.MISSING, module.name, "the module is not there")
    elif sha256(found) != lock.module:
        yield Cause(DriftKind.EDITED, module.name, "the module is not as mcp-gen wrote it")
    elif made(lock, module)[0] != found:
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
