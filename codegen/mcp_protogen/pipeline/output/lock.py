"""The lock of a generated package: its inputs, and each file that belongs to it.

This module reads and writes `mcp-gen.lock`. A lock has no versions of libraries, because the files
do not depend on them. Its paths are checked, because they decide which files are deleted.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

from mcp_protogen.base.canonical import parse_json, pretty, sha256
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.names import extension_module, module_name
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.inputs.file_formats import check_format
from mcp_protogen.pipeline.options import locked_options
from mcp_protogen.pipeline.output.tree import NOT_A_FILE
from mcp_protogen.pipeline.package import (
    GENERATOR,
    ExtensionInputs,
    GeneratedFile,
    GenerationInputs,
    Package,
    RevisionInputs,
    newer,
)

LOCK_NAME = "mcp-gen.lock"
_NO_COMMIT = ("spec_commit", None)
_DIGESTS = ("generator_digest", "runtime_digest", "templates_digest")
FORMAT = 1


class LockedFile(NamedTuple):
    """One generated file: the digest of its bytes, and its origin."""

    sha256: str
    origin: str


class Lock(NamedTuple):
    """The inputs of a generation and its files by POSIX path relative to the package."""

    inputs: GenerationInputs
    files: Mapping[str, LockedFile]


def lock_of(package: Package, kept_files: Mapping[str, LockedFile]) -> Lock:
    """Return the lock of a package, with the `kept_files` of other revisions."""
    files = {file.path: LockedFile(sha256(file.content), file.origin) for file in package.files}
    return Lock(package.inputs, dict(sorted({**kept_files, **files}.items())))


def lock_file(lock: Lock) -> GeneratedFile:
    """Return the lock as a file of the package."""
    data = {"format": FORMAT, **lock.inputs.as_json()}
    data["files"] = {path: entry._asdict() for path, entry in lock.files.items()}
    return GeneratedFile(LOCK_NAME, pretty(data), "lock")


def read_lock(folder: Path) -> Lock | None:
    """Return the lock in `folder`, or None without one.

    Raise `ProblemError` if it cannot be read or trusted: `merge-conflict`, `newer-lock`, or
    `bad-lock` for any other reason.
    """
    path = folder / LOCK_NAME
    data: Any = None
    try:
        if not S_ISREG(path.lstat().st_mode):  # reading a named pipe may never end
            raise ValueError(NOT_A_FILE)
        data = _parse(path, path.read_bytes())
        return _lock(path, data)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _bad(path, error.strerror or str(error)) from error
    except KeyError as error:
        raise _strange(path, data, f"it lacks the member {error}") from error
    except (TypeError, AttributeError) as error:
        raise _strange(path, data, str(error)) from error
    except ValueError as error:
        raise _bad(path, str(error)) from error


def _parse(path: Path, content: bytes) -> Any:
    if b"\n<<<<<<< " in b"\n" + content:
        raise _in_conflict(path)
    try:
        return parse_json(content, str(path))
    except ProblemError as error:
        raise _bad(path, error.problems[0].message) from error


def _lock(path: Path, data: Any) -> Lock:
    version = data["format"]
    if version != FORMAT:
        reason = f"its format is {version!r}, but {GENERATOR} reads {FORMAT}"
        if isinstance(version, int) and version > FORMAT:
            raise _newer(path, str(data.get("generator", "a later mcp-gen")), reason)
        raise ValueError(reason)
    inputs = GenerationInputs(
        generator=str(data["generator"]),
        **_texts({name: data[name] for name in _DIGESTS}),
        options={**data["options"]},
        revisions={
            _check_revision(name): RevisionInputs(**_texts(made))
            for name, made in data["revisions"].items()
        },
        extensions={
            _check_extension(name): _extension(**_texts(made))
            for name, made in data.get("extensions", {}).items()
        },
    )
    locked_options(inputs.options)  # raises for unknown values
    files = {_inside(path): LockedFile(**_texts(entry)) for path, entry in data["files"].items()}
    return Lock(inputs, files)


def _texts(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an entry of the lock; raise `TypeError` unless its digests and names are strings."""
    for name, value in entry.items():
        if not isinstance(value, str) and name != "revisions" and (name, value) != _NO_COMMIT:
            raise TypeError(f"{name} is not a string")
    return entry


def _check_revision(revision: str) -> str:
    module_name(revision)  # raises ValueError for an unsafe name of a folder
    return revision


def _check_extension(name: str) -> str:
    extension_module(name)  # raises ValueError for an unsafe name of a folder
    return name


def _extension(revisions: Iterable[str], **digests: Any) -> ExtensionInputs:
    return ExtensionInputs(**digests, revisions=tuple(map(_check_revision, revisions)))


def _inside(path: str) -> str:
    if {"", ".", ".."} & set(path.split("/")) or set(path) & {"\\", ":"}:  # also on Windows
        raise ValueError(f"{path!r} is not a path inside the package")
    return path


def _in_conflict(path: Path) -> ProblemError:
    folder = path.parent
    message = "a merge left conflict markers here"
    hint = f"take one side: git checkout --ours -- {folder}; then generate: mcp-gen sync {folder}"
    return ProblemError(Problem("merge-conflict", message, str(path), hint=hint))


def _strange(path: Path, data: Any, reason: str) -> ProblemError:
    """Return the problem of a malformed lock, which a later version may have written."""
    writer = data.get("generator") if is_object(data) else None
    if isinstance(writer, str) and newer(writer):
        return _newer(path, writer, reason)
    for fault in check_format(data, "lock", str(path)):
        return _bad(path, fault.message, fault.pointer)
    return _bad(path, reason)


def _newer(path: Path, writer: str, reason: str) -> ProblemError:
    hint = f"use {writer}, or restore the package of an earlier version from version control"
    return ProblemError(Problem("newer-lock", f"{writer} wrote it: {reason}", str(path), hint=hint))


def _bad(path: Path, reason: str, pointer: str = "") -> ProblemError:
    hint = "restore it from version control, or move it away and generate with --force"
    message = f"unusable lock: {reason}"
    return ProblemError(Problem("bad-lock", message, str(path), pointer, hint))


# Folders of installed or built files. Hidden folders and virtual environments are skipped, too.
_FOREIGN = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages"})


def folders_with_locks(start: Path) -> Iterator[Path]:
    """Yield `start` and all folders below it that are packages, sorted.

    Links are not followed.
    """
    for folder, folders, files in os.walk(start):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _FOREIGN
            and not os.path.isfile(os.path.join(folder, name, "pyvenv.cfg"))
        )
        if LOCK_NAME in files:
            yield Path(folder)
