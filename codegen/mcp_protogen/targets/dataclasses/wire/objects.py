"""Bases of generated dataclasses, and marks in the annotations of their members."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Final, NamedTuple

EXTRA: Final = "extra_members"
"""The attribute with undeclared members."""


class Absent(Enum):
    """The value of an absent member, where None means null."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


class Wire(NamedTuple):
    """The name of a member in JSON, if it differs from the attribute."""

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
    """Raised for a value that does not match its type.

    `message` says what is expected, and never quotes the value. `pointer` is the JSON Pointer
    (RFC 6901) to the wrong part.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.steps: list[str | int] = []  # from the inside out

    @property
    def pointer(self) -> str:
        """The JSON Pointer to the wrong part; empty for the whole value."""
        steps = (str(step).replace("~", "~0").replace("/", "~1") for step in reversed(self.steps))
        return "".join(f"/{step}" for step in steps)

    def __str__(self) -> str:
        return f"{self.pointer}: {self.message}" if self.steps else self.message


@dataclass(slots=True, kw_only=True)
class WireObject:
    """A JSON object of the protocol; members that its type does not declare are dropped."""

    ANY_OF_REQUIRED: ClassVar[tuple[str, ...]] = ()
    """Wire names; at least one of them must be present, unless it is empty."""


@dataclass(slots=True, kw_only=True)
class OpenObject(WireObject):
    """An object that keeps undeclared members."""

    extra_members: dict[str, Any] = field(default_factory=dict[str, Any])
    """Members that its type does not declare, by their names in JSON."""


@dataclass(slots=True, kw_only=True)
class ClosedObject(WireObject):
    """An object without undeclared members."""


@dataclass(slots=True, kw_only=True)
class UnknownContent(OpenObject):
    """A block of content of an unknown kind."""

    type: str
    """The kind of block."""
