"""What a translation cannot keep: a list of losses, or a refusal of the whole value."""

from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from .errors import INVALID_PARAMS, LocalError
from .models.validation_errors import escaped

T = TypeVar("T")

What: TypeAlias = Literal["dropped", "moved", "replaced", "refused"]

Place: TypeAlias = "tuple[Place, str | int] | None"
"""The path of a value: that of its container, and the member or index in it."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A part of the input that the output does not hold, or holds in another form.

    `pointer` is a JSON pointer into the input. A loss is `harmless` if the reader misses nothing:
    the target revision says the same in another way, or implies it. On a connection, `method` is
    that of the message, `own` the revision of this side and `wire` that of the peer.
    """

    pointer: str
    what: What
    why: str
    harmless: bool = False
    method: str = ""
    own: str = ""
    wire: str = ""


@dataclass(frozen=True, slots=True)
class Translated(Generic[T]):
    """A value in the target revision, and what was lost by its translation."""

    value: T
    losses: tuple[Loss, ...] = ()


class Untranslatable(LocalError):
    """A value cannot be expressed in the target revision; nothing was sent.

    `code` is the JSON-RPC error code for the answer to the sender.
    """

    CODE = INVALID_PARAMS

    def __init__(self, pointer: str, why: str, *, code: int | None = None) -> None:
        super().__init__(f"{pointer or '/'}: {why}", code=code)
        self.pointer: Final = pointer
        self.why: Final = why


class Report(NamedTuple):
    """The losses of one translation; harmless ones are only collected if it is `thorough`."""

    losses: list[Loss]
    thorough: bool = True

    def lose(self, place: Place, what: What, why: str, *, harmless: bool = False) -> None:
        """Note a loss at `place`."""
        if self.thorough or not harmless:
            self.losses.append(Loss(pointer_to(place), what, why, harmless))


def pointer_to(place: Place) -> str:
    """Return the JSON pointer of a place."""
    steps: list[str] = []
    while place is not None:
        place, step = place
        steps.append(f"/{escaped(str(step))}")
    return "".join(reversed(steps))


def refuse(place: Place, why: str, *, code: int | None = None) -> Any:
    """Raise `Untranslatable` for the value at `place`."""
    raise Untranslatable(pointer_to(place), why, code=code)
