"""What every source of published schemas can do, wherever its files are.

A source is laid out as the specification's repository: `schema/<revision>/schema.json`.
"""

import re
from dataclasses import dataclass
from typing import Protocol

from mcp_protogen.names import UnsafeName, module_name
from mcp_protogen.problems import Level, Problem

MOST_REVISIONS = 200
"""More folders than this beside each other are not the revisions of a protocol."""
_PATH = re.compile(r"schema/([^/]+)/schema\.json")


@dataclass(frozen=True, slots=True)
class Published:
    """A published file; commit and day (YYYY-MM-DD) are those that brought it, where known."""

    content: bytes
    commit: str | None = None
    date: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The names of the revisions that a source has.

    `incomplete` says why there may be more of them; it is empty when these are all.
    """

    revisions: tuple[str, ...]
    incomplete: str = ""
    notices: tuple[Problem, ...] = ()


class SchemaSource(Protocol):
    """A place where published schemas are."""

    @property
    def name(self) -> str:
        """What --source has to be to come here again, without passwords."""
        ...

    @property
    def kind(self) -> str:
        """What it is, in a word."""
        ...

    @property
    def commit(self) -> str | None:
        """The commit that is looked at, where it is known."""
        ...

    @property
    def repository(self) -> str | None:
        """The repository on the web that it is, if it is one."""
        ...

    def listing(self) -> Listing:
        """The revisions there are."""
        ...

    def read(self, path: str) -> Published | None:
        """The file at a path such as `schema/2025-11-25/schema.json`, or None if there is none.

        Raises `ProblemError` where it cannot be told or read.
        """
        ...


def path_of(revision: str) -> str:
    """Where the specification's repository has the schema of a revision."""
    return f"schema/{revision}/schema.json"


def revision_at(path: str) -> str | None:
    """The revision whose schema is at a path, if it is the path of one."""
    found = _PATH.fullmatch(path)
    return found[1] if found else None


def listing_of(names: list[str], place: str, incomplete: str = "") -> Listing:
    """A listing of the names that can be those of revisions, with a warning about the others."""
    usable = sorted({name for name in names if _usable(name)})[:MOST_REVISIONS]
    unusable = sorted({name for name in names if not _usable(name)})
    notices = tuple(
        Problem(
            "unsafe-name",
            f"{name!r:.80} cannot be the name of a revision, so it was not looked at",
            place,
            hint="letters and digits, with single hyphens or dots between them",
            level=Level.WARNING,
        )
        for name in unusable[:3]
    )
    return Listing(tuple(usable), incomplete, notices)


def _usable(name: str) -> bool:
    try:
        module_name(name)
    except UnsafeName:
        return False
    return True
