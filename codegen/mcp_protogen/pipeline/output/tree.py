"""The files below a folder; links are not followed.

Bytecode folders (`__pycache__`) come and go with every import and are ignored.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.problems import Problem, ProblemError

_BYTECODE = "__pycache__"
NOT_A_FILE = "not a regular file"
"""The value in place of a digest for links and special files; it equals no digest."""


class Tree(NamedTuple):
    """Files (with their digests) and folders below `folder`, by POSIX relative path.

    `unified` has the digests that files with CRLF at the end of lines would have with LF.
    """

    files: Mapping[str, str]
    folders: frozenset[str]
    unified: Mapping[str, str] = MappingProxyType({})
    folder: Path = Path()

    def is_written(self, path: str, digest: str) -> bool:
        """Return whether a file has this digest, apart from line endings."""
        return digest in (self.files.get(path), self.unified.get(path))

    @property
    def attributes(self) -> str:
        """The line for .gitattributes of the repository that keeps line endings as written."""
        folder = self.folder.resolve()
        root = next(
            (parent for parent in folder.parents if (parent / ".git").exists()), folder.parent
        )
        return f"{folder.relative_to(root).as_posix()}/** text eol=lf"


def read_tree(folder: Path) -> Tree:
    """Return the result of `scan`; raise `ProblemError`: `not-a-folder`, `cannot-read`."""
    try:
        return scan(folder)
    except OSError as error:
        place = str(error.filename or folder)
        if isinstance(error, NotADirectoryError):
            raise ProblemError(Problem("not-a-folder", "this is not a folder", place)) from error
        raise ProblemError(Problem("cannot-read", error.strerror or str(error), place)) from error


def scan(folder: Path) -> Tree:
    """Return the tree below `folder`, empty without one; raise `OSError`."""
    files: dict[str, str] = {}
    unified: dict[str, str] = {}
    folders: set[str] = set()
    for entry, path in _entries(folder):
        if entry.is_dir(follow_symlinks=False):
            folders.add(path)
            continue
        content = _read_bytes(entry.path) if entry.is_file(follow_symlinks=False) else None
        files[path] = NOT_A_FILE if content is None else sha256(content)
        if content and b"\r" in content:
            unified[path] = sha256(content.replace(b"\r\n", b"\n"))
    return Tree(dict(sorted(files.items())), frozenset(folders), unified, folder)


def file_digest(path: Path) -> str:
    """Return the digest of a regular file, `NOT_A_FILE` for anything else."""
    return sha256(_read_bytes(path)) if stat.S_ISREG(path.lstat().st_mode) else NOT_A_FILE


def _read_bytes(path: str | Path) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def parents(path: str) -> Iterator[str]:
    """Yield the folders that contain a relative path, outermost first."""
    parts = path.split("/")
    return ("/".join(parts[:depth]) for depth in range(1, len(parts)))


def _entries(folder: Path, prefix: str = "") -> Iterator[tuple["os.DirEntry[str]", str]]:
    try:
        with os.scandir(folder / prefix) as scan:
            entries = [entry for entry in scan if entry.name != _BYTECODE]
    except FileNotFoundError:
        return
    for entry in entries:
        path = f"{prefix}{entry.name}"
        yield entry, path
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(folder, f"{path}/")
