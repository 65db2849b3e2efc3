"""The losses of one translation."""

from typing import NamedTuple, TypeAlias

from ..core.losses import Loss, What
from ..core.models.validation_errors import pointer_to

Place: TypeAlias = "tuple[Place, str | int] | None"
"""The path of a value: that of its container, and the member or index in it."""


class Report(NamedTuple):
    """The losses of one translation; harmless ones are only collected if it is `thorough`."""

    losses: list[Loss]
    thorough: bool = True

    def lose(self, place: Place, what: What, why: str, *, harmless: bool = False) -> None:
        if self.thorough or not harmless:
            self.losses.append(Loss(pointer_of(place), what, why, harmless))


def pointer_of(place: Place) -> str:
    steps: list[str | int] = []
    while place is not None:
        place, step = place
        steps.append(step)
    return pointer_to(reversed(steps))
