"""What does not survive a translation: named one by one, or a reason to refuse the whole."""

from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from ..errors import INVALID_PARAMS, LocalError
from ..pointers import escaped

T = TypeVar("T")

What: TypeAlias = Literal["dropped", "moved", "replaced", "refused"]

Place: TypeAlias = "tuple[Place, str | int] | None"
"""Where a value stands: the place of what holds it, and the member or index there."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Something of the input that the output does not hold, or holds in another form.

    `pointer` is a JSON pointer into the input. `harmless` says that the reader misses nothing: the
    target revision says the same by other means, or without words.
    """

    pointer: str
    what: What
    why: str
    harmless: bool = False


@dataclass(frozen=True, slots=True)
class Translated(Generic[T]):
    """A value as the target revision has it, and what was lost on the way there."""

    value: T
    losses: tuple[Loss, ...] = ()


class Untranslatable(LocalError):
    """A value that the target revision has no words for; nothing was sent.

    `code` is the JSON-RPC error that says so to the one who wanted it said.
    """

    CODE = INVALID_PARAMS

    def __init__(self, pointer: str, why: str, *, code: int | None = None) -> None:
        super().__init__(f"{pointer or '/'}: {why}", code=code)
        self.pointer: Final = pointer
        self.why: Final = why


class Report(NamedTuple):
    """Collects losses; a revision's own machinery, which nobody misses, only if asked to."""

    losses: list[Loss]
    thorough: bool = True

    def lose(self, place: Place, what: What, why: str, *, harmless: bool = False) -> None:
        """Note a loss at `place`."""
        if self.thorough or not harmless:
            self.losses.append(Loss(pointer_to(place), what, why, harmless))


def pointer_to(place: Place) -> str:
    """The JSON pointer of a place."""
    steps: list[str] = []
    while place is not None:
        place, step = place
        steps.append(f"/{escaped(str(step))}")
    return "".join(reversed(steps))


def refuse(place: Place, why: str, *, code: int | None = None) -> Any:
    """Raise `Untranslatable` for what stands at `place`."""
    raise Untranslatable(pointer_to(place), why, code=code)
