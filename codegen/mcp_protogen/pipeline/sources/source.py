"""The interface of every source of published schemas.

A source has the layout of the specification's repository: `schema/<revision>/schema.json`.
"""

import re
from dataclasses import dataclass
from typing import Protocol

from mcp_protogen.base.names import REVISION_HINT, is_revision
from mcp_protogen.base.problems import Level, Problem

MOST_REVISIONS = 200
"""The largest number of folders that are read as revisions."""
_PATH = re.compile(r"schema/([^/]+)/schema\.json")


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A published file, with the commit and day (YYYY-MM-DD) of its last change, if known."""

    content: bytes
    commit: str | None = None
    date: str | None = None


@dataclass(frozen=True, slots=True)
class SourceListing:
    """The names of a source's revisions; `incomplete` is the reason why others may be missing."""

    revisions: tuple[str, ...]
    incomplete: str = ""
    notices: tuple[Problem, ...] = ()


class SchemaSource(Protocol):
    """A place of published schemas."""

    @property
    def name(self) -> str:
        """The value of --source for this place, without passwords."""
        ...

    @property
    def kind(self) -> str:
        """The kind of source, in a word."""
        ...

    @property
    def commit(self) -> str | None:
        """The commit that is read, if known."""
        ...

    @property
    def repository(self) -> str | None:
        """The URL of the repository, for repositories on the web."""
        ...

    def listing(self) -> SourceListing:
        """Return the revisions of the source."""
        ...

    def read(self, path: str) -> PublishedFile | None:
        """Return a file such as `schema/2025-11-25/schema.json`, or None if it is missing.

        Raise `ProblemError` if it cannot be read.
        """
        ...


def path_of(revision: str) -> str:
    """Return the path of the schema of a revision in the specification's repository."""
    return f"schema/{revision}/schema.json"


def revision_at(path: str) -> str | None:
    """Return the revision whose schema is at a path; None for any other path."""
    found = _PATH.fullmatch(path)
    return found[1] if found else None


def listing_of(names: list[str], place: str) -> SourceListing:
    """Return a listing of valid names, with warnings about invalid ones."""
    usable = sorted({name for name in names if is_revision(name)})[:MOST_REVISIONS]
    unusable = sorted({name for name in names if not is_revision(name)})
    notices = tuple(
        Problem(
            "unsafe-name",
            f"{name!r:.80} cannot be the name of a revision, and was skipped",
            place,
            hint=REVISION_HINT,
            level=Level.WARNING,
        )
        for name in unusable[:3]
    )
    return SourceListing(tuple(usable), notices=notices)
