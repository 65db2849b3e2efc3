"""The losses of one translation."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from ..core.losses import Loss, What
from ..core.models.validation_errors import pointer_to

Place: TypeAlias = "tuple[Place, str | int] | None"
"""The path of a value: that of its container, and the member or index in it."""


class Report(NamedTuple):
    """The losses of one translation; harmless ones are only collected if it is `thorough`."""

    losses: list[Loss]
    thorough: bool = True
    client_uri: Callable[[str], str] = str
    """Returns the URI of a resource as the reader knows it, for texts."""

    def lose(self, place: Place, what: What, why: str, *, harmless: bool = False) -> None:
        if self.thorough or not harmless:
            self.losses.append(Loss(pointer_of(place), what, why, harmless))

    def unite(self) -> None:
        """Keep one loss of each kind at each place, and none inside a part that is lost."""
        dropped = (loss for loss in self.losses if loss.what == "dropped" and not loss.harmless)
        around = tuple(f"{loss.pointer}/" for loss in dropped)
        united: dict[tuple[str, What], Loss] = {}
        for loss in self.losses:
            key = (loss.pointer, loss.what)
            if not loss.pointer.startswith(around) and (key not in united or united[key].harmless):
                united[key] = loss
        self.losses[:] = united.values()


def pointer_of(place: Place) -> str:
    steps: list[str | int] = []
    while place is not None:
        place, step = place
        steps.append(step)
    return pointer_to(reversed(steps))
