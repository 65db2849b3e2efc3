"""What generated dataclasses are made of: their bases, and marks in the annotations of members."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Final, NamedTuple

EXTRA: Final = "extra_members"
"""The attribute with undeclared members."""


class Absent(Enum):
    """Stands for a member that is absent, where None means null."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


class Wire(NamedTuple):
    """The name of a member in JSON, where it is not that of the attribute."""

    name: str


class Limits(NamedTuple):
    """The least and the most that the schema allows: lengths in characters, numbers of items."""

    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None


class WireError(ValueError):
    """Raised for a value that is not what its type says.

    `message` says what is expected, never what came. `pointer` is the JSON Pointer (RFC 6901) to
    the part that is wrong.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.steps: list[str | int] = []  # from the inside out

    @property
    def pointer(self) -> str:
        """The JSON Pointer to the part that is wrong; empty for the whole value."""
        steps = (str(step).replace("~", "~0").replace("/", "~1") for step in reversed(self.steps))
        return "".join(f"/{step}" for step in steps)

    def __str__(self) -> str:
        return f"{self.pointer}: {self.message}" if self.steps else self.message


@dataclass(slots=True, kw_only=True)
class WireObject:
    """A JSON object of the protocol; members that its type does not declare are dropped."""

    ANY_OF_REQUIRED: ClassVar[tuple[str, ...]] = ()
    """Wire names of which at least one must be present; most classes have none."""


@dataclass(slots=True, kw_only=True)
class OpenObject(WireObject):
    """One whose undeclared members are kept."""

    extra_members: dict[str, Any] = field(default_factory=dict[str, Any])
    """Members that its type does not declare, by their names in JSON."""


@dataclass(slots=True, kw_only=True)
class ClosedObject(WireObject):
    """One that may have no undeclared members."""


@dataclass(slots=True, kw_only=True)
class UnknownContent(OpenObject):
    """A block of content of a kind that this revision does not have."""

    type: str
    """The kind of block."""
