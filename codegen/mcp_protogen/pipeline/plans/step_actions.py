"""The translation actions between two revisions, with any number of steps.

An action of one step uses the names of its newer end. A later revision may have renamed a type, so
each name is translated to the newest one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from mcp_protogen.pipeline.inputs.translations import (
    CodeChange,
    StepDirection,
    Translation,
    TranslationAction,
)


@dataclass(frozen=True)
class StepActions:
    """The actions of some steps, oldest first, in one direction."""

    steps: Sequence[Translation]
    direction: StepDirection
    looked_up: set[str] = field(default_factory=set[str])
    """The places that the walk has looked up."""

    @cached_property
    def _by_place(self) -> Mapping[str, tuple[TranslationAction, ...]]:
        found: dict[str, list[TranslationAction]] = {}
        # Actions apply in the order of the steps.
        numbered = list(enumerate(self.steps))
        for number, step in numbered if self.direction == "up" else reversed(numbered):
            for action in step.actions:
                if action.direction == self.direction:
                    found.setdefault(self._translate_place(action.at, number), []).append(action)
        return {place: tuple(actions) for place, actions in found.items()}

    def _translate_place(self, at: str, number: int) -> str:
        """Return a place of one step with the names of the last step."""
        end = next((i for i, char in enumerate(at) if char in ".["), len(at))
        name, rest = at[:end], at[end:]
        for later in self.steps[number + 1 :]:
            name = later.became.get(name, name)
        return name + rest

    @cached_property
    def settled_members(self) -> frozenset[str]:
        """The members whose differences an action handles."""
        return frozenset(
            self._translate_place(
                member if member[:1].isupper() else f"{action.at}.{member}", number
            )
            for number, step in enumerate(self.steps)
            for action in step.actions
            if action.direction == self.direction
            for member in (*action.settles, *([action.at] if action.do == "keep" else []))
        )

    def at(self, place: str, *inside: str) -> tuple[TranslationAction, ...]:
        """Return the actions at a place, in the order of application.

        The caller also handles the members or arms `inside`.
        """
        self.looked_up.update((place, *inside))
        return self._by_place.get(place, ())

    def of(self, place: str, verb: str) -> TranslationAction | None:
        """Return the first action with this verb at a member."""
        return next((action for action in self.at(place) if action.do == verb), None)

    def idle(self) -> Iterator[TranslationAction]:
        """Yield the actions at places that a complete walk has not looked up."""
        for place, actions in self._by_place.items():
            if place not in self.looked_up:
                yield from actions

    def other_names(self, name: str, direction: StepDirection) -> Iterator[str]:
        """Yield the names that a type may have at the other end."""
        if direction == "up":
            for step in self.steps:
                name = step.became.get(name, name)
            yield name
            return
        names = {name}
        for step in reversed(self.steps):
            names |= {older for older, newer in step.became.items() if newer in names}
        yield from sorted(names)

    @property
    def codes(self) -> tuple[CodeChange, ...]:
        """The error codes that change between the two revisions."""
        return tuple(
            change
            for step in self.steps
            for change in step.errors
            if change.direction == self.direction
        )
