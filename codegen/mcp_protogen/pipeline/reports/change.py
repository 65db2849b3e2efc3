"""Values for differences with their severities for each reader, and for a matrix of revisions.

`mcp-gen diff`, `audit` and `update` use them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from mcp_protogen.base.problems import Problem


class Severity(StrEnum):
    """The importance of a change for a reader, beginning with the worst."""

    BREAKING = "breaking"
    """What worked before fails, or is refused."""
    WARNING = "warning"
    """What worked before still works, but has another meaning or lacks something."""
    INFO = "info"
    """Something to know, or to use."""
    NONE = "none"
    """Of no interest to this reader."""

    @property
    def rank(self) -> int:
        """The position of the severity; 0 is the worst."""
        return list(Severity).index(self)


class Reader(StrEnum):
    """The reader of a change, who decides its severity."""

    CLIENT = "client"
    """The author of a client, or of an application that has one inside."""
    SERVER = "server"
    """The author of a server."""
    SDK = "sdk"
    """The author of a library for clients and servers."""
    GATEWAY = "gateway"
    """The author of a program between client and server that passes messages on."""
    CALLER = "caller"
    """The author of a program that calls the tools of one server."""
    MODEL = "model"
    """A model that chooses tools by their descriptions, and the author of its prompts."""
    HOST = "host"
    """The application that offers tools to a model, and its user, who allows their calls."""


PROTOCOL: Final[tuple[Reader, ...]] = (Reader.CLIENT, Reader.SERVER, Reader.SDK, Reader.GATEWAY)
"""The readers of changes of the protocol."""


class Category(StrEnum):
    """The subject of a change."""

    METHOD = "method"
    TYPE = "type"
    FIELD = "field"
    UNION = "union"
    ENUM = "enum"
    CAPABILITY = "capability"
    ERROR = "error"
    META_KEY = "meta-key"
    HEADER = "header"
    TRANSPORT = "transport"
    RULE = "rule"
    BEHAVIOUR = "behaviour"
    """The reaction of an implementation to a message; found by audits."""
    SERVER = "server"
    TOOL = "tool"
    PROMPT = "prompt"
    RESOURCE = "resource"
    TEMPLATE = "template"
    ANNOTATION = "annotation"
    """A server's hints about a tool, for hosts."""
    ARGUMENT = "argument"
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class ReportedChange:
    """A difference between the side before and the side after.

    `code` names the kind of change and is stable, such as `field-added-required`; `item` is its
    subject, such as `Tool.icons` or `tools/call`. `pointer` is an RFC 6901 JSON Pointer into the
    schema after, or into the schema before if the item was removed; it is empty if no schema has
    the item. `before` and `after` are the two sides as short text, or empty. `why` is the reason
    for the severities, in a sentence. `feature` is the part of the protocol with the item, such as
    `tools`, if known. If one cause has several places, `places` has all of them; then `item` is the
    first one, or a name for the cause.
    """

    code: str
    category: Category
    item: str
    message: str
    severity: Mapping[Reader, Severity]
    pointer: str = ""
    before: str = ""
    after: str = ""
    why: str = ""
    feature: str = ""
    places: tuple[str, ...] = ()

    @property
    def worst(self) -> Severity:
        """The worst severity for any reader."""
        return min(self.severity.values(), key=lambda severity: severity.rank)

    def severity_for(self, reader: Reader | None) -> Severity:
        """Return the severity for a reader, by default none; without a reader, the worst one."""
        return self.worst if reader is None else self.severity.get(reader, Severity.NONE)


@dataclass(frozen=True, slots=True)
class Overview:
    """A summary of the side after as a whole, apart from changes.

    `rows` are texts with labels, which may repeat. The first row of `table` names its columns, and
    the first column names the rows. `remarks` are sentences.
    """

    rows: tuple[tuple[str, str], ...]
    table: tuple[tuple[str, ...], ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences between two things, with the names that the user gave them.

    `notes` are warnings, such as one about a method without facts. `left_out` is the number of
    hidden changes, which matter too little, or not to this reader. `came` and `went` are the
    features that only the side after or only the side before has. `readers` have severities in the
    changes. `overview` is for the head of a page.
    """

    before: str
    after: str
    changes: tuple[ReportedChange, ...]
    notes: tuple[Problem, ...] = ()
    left_out: int = 0
    came: tuple[str, ...] = ()
    went: tuple[str, ...] = ()
    readers: tuple[Reader, ...] = PROTOCOL
    overview: Overview | None = None

    def narrow(self, reader: Reader | None, least: Severity | None = None) -> "Comparison":
        """Return it with only changes of at least `least` for the reader, the worst first."""
        changes = sorted(self._reaching(reader, least or Severity.INFO), key=_by_rank(reader))
        left_out = self.left_out + len(self.changes) - len(changes)
        return replace(self, changes=tuple(changes), left_out=left_out)

    def reaches(self, reader: Reader | None, severity: Severity) -> bool:
        """Return whether a change has at least this severity for the reader."""
        return any(self._reaching(reader, severity))

    def _reaching(self, reader: Reader | None, least: Severity) -> Iterator[ReportedChange]:
        return (change for change in self.changes if change.severity_for(reader).rank <= least.rank)


def _by_rank(reader: Reader | None) -> Callable[[ReportedChange], int]:
    return lambda change: change.severity_for(reader).rank


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """The state of a row in one revision.

    `detail` is a short text, such as the sender of a method and its result. `digest` identifies the
    whole meaning: it differs from the cell before if something has changed.
    """

    present: bool
    detail: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A method or a type over time; `cells` are in the order of the revisions."""

    category: Category
    name: str
    cells: tuple[MatrixCell, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Every row in every revision, oldest revision first."""

    revisions: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
