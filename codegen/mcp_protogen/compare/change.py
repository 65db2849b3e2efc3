"""One difference, and how much it matters to whom.

Values only: finding differences, judging them and showing them are for the modules beside this
one. `mcp-gen diff`, `audit` and `update` all speak in these.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from mcp_protogen.problems import Problem


class Severity(StrEnum):
    """How much a change matters to a reader, from the worst on."""

    BREAKING = "breaking"
    """What worked before fails, or is refused."""
    WARNING = "warning"
    """What worked before goes on, but means something else or misses something."""
    INFO = "info"
    """Something to know of, or to make use of."""
    NONE = "none"
    """Not this reader's business."""

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)


class Reader(StrEnum):
    """For whom a change is judged."""

    CLIENT = "client"
    """The author of a client, or of an application that has one inside."""
    SERVER = "server"
    """The author of a server."""
    SDK = "sdk"
    """The author of a library for both."""
    GATEWAY = "gateway"
    """The author of what stands between the two and passes messages on."""


class Category(StrEnum):
    """What a change is about."""

    METHOD = "method"
    TYPE = "type"
    FIELD = "field"
    UNION = "union"
    ENUM = "enum"
    CAPABILITY = "capability"
    ERROR = "error"
    META_KEY = "meta-key"
    HEADER = "header"
    RULE = "rule"
    BEHAVIOUR = "behaviour"
    """What an implementation does with a message; found by audits."""


@dataclass(frozen=True, slots=True)
class Change:
    """A difference between what was before and what is after.

    `code` names the kind of change and is stable, such as `field-added-required`; `item` is what
    has changed, such as `Tool.icons` or `tools/call`; `pointer` is an RFC 6901 JSON Pointer into
    the schema after, or into the one before for what is gone, and empty for what no schema says.
    `before` and `after` are the two sides as short text, empty where there is none. `why` is the
    reason for the severities, in a sentence. `feature` is the part of the protocol that it belongs
    to, such as `tools`, where that is known. Where one cause shows in several places, `places` are
    all of them; then `item` is the first, or a name for the cause.
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
        """The severity for whom it is worst."""
        return min(self.severity.values(), key=lambda severity: severity.rank)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences between two things, which are called as their user called them.

    `notes` are warnings met on the way, such as about a method without facts. `left_out` is how
    many changes are not among these, because they matter too little or not to the reader. `came`
    and `went` are the features that only one of the two has.
    """

    before: str
    after: str
    changes: tuple[Change, ...]
    notes: tuple[Problem, ...] = ()
    left_out: int = 0
    came: tuple[str, ...] = ()
    went: tuple[str, ...] = ()
