"""The lock of a generated package: what it was made from, and each file that belongs to it.

Reads and writes `mcp-gen.lock`. Versions of the libraries that generation uses are left out on
purpose: the files do not depend on them. Paths in a lock are checked, since files are deleted by
them.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Any

from mcp_protogen.canonical import parse_json, pretty, sha256
from mcp_protogen.names import module_name
from mcp_protogen.output.package import GeneratedFile, Inputs, Package, RevisionInputs
from mcp_protogen.output.tree import NOT_A_FILE
from mcp_protogen.problems import Problem, ProblemError

LOCK_NAME = "mcp-gen.lock"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class LockedFile:
    """One generated file: the digest of its bytes and what made it."""

    sha256: str
    origin: str


@dataclass(frozen=True, slots=True)
class Lock:
    """The inputs of a generation and its files by POSIX path relative to the package."""

    inputs: Inputs
    files: Mapping[str, LockedFile]


def lock_of(package: Package, kept: Mapping[str, LockedFile]) -> Lock:
    """The lock of a package, with the files of revisions that are `kept` as they are."""
    made = {file.path: LockedFile(sha256(file.content), file.origin) for file in package.files}
    return Lock(package.inputs, dict(sorted({**kept, **made}.items())))


def lock_file(lock: Lock) -> GeneratedFile:
    """The lock as a file of the package."""
    data = {"format": FORMAT, **asdict(lock.inputs)}
    data["files"] = {path: asdict(entry) for path, entry in lock.files.items()}
    return GeneratedFile(LOCK_NAME, pretty(data), "lock")


def read_lock(folder: Path) -> Lock | None:
    """The lock in `folder`, or None where there is none.

    Raises `ProblemError` (`bad-lock`) when it cannot be read or trusted.
    """
    path = folder / LOCK_NAME
    try:
        if not S_ISREG(path.lstat().st_mode):  # reading a named pipe may never end
            raise ValueError(NOT_A_FILE)
        return _lock(parse_json(path.read_bytes(), str(path)))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _bad(path, error.strerror or str(error)) from error
    except ProblemError as error:
        raise _bad(path, error.problems[0].message) from error
    except KeyError as error:
        raise _bad(path, f"it lacks the member {error}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise _bad(path, str(error)) from error


def _lock(data: Any) -> Lock:
    if data["format"] != FORMAT:
        raise ValueError(
            f"its format is {data['format']!r}; this version of mcp-gen reads {FORMAT}"
        )
    inputs = Inputs(
        generator=data["generator"],
        generator_digest=data["generator_digest"],
        runtime_digest=data["runtime_digest"],
        templates_digest=data["templates_digest"],
        options=data["options"],
        revisions={_named(name): RevisionInputs(**r) for name, r in data["revisions"].items()},
    )
    files = {_inside(path): LockedFile(**entry) for path, entry in data["files"].items()}
    return Lock(inputs, files)


def _named(revision: str) -> str:
    module_name(revision)  # raises ValueError for what cannot be the name of a folder
    return revision


def _inside(path: str) -> str:
    if {"", ".", ".."} & set(path.split("/")) or set(path) & {"\\", ":"}:  # also in Windows' eyes
        raise ValueError(f"{path!r} is not a path inside the package")
    return path


def _bad(path: Path, reason: str) -> ProblemError:
    hint = "restore it from version control; or delete it, and generate with --force"
    return ProblemError(Problem("bad-lock", f"unusable lock: {reason}", str(path), hint=hint))
