"""The translation actions of the step between two adjacent revisions, in one direction."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from mcp_protogen.pipeline.inputs.translations import (
    StepDirection,
    Translation,
    TranslationAction,
    Verb,
)


@dataclass(frozen=True)
class StepActions:
    """The actions of a step in one direction; their places have the names of the newer end."""

    step: Translation
    direction: StepDirection
    looked_up: set[str] = field(default_factory=set[str])
    """The places that the walk has looked up."""

    @cached_property
    def _by_place(self) -> Mapping[str, tuple[TranslationAction, ...]]:
        found: dict[str, list[TranslationAction]] = {}
        for action in self.step.actions:
            if action.direction == self.direction:
                found.setdefault(action.at, []).append(action)
        return {place: tuple(actions) for place, actions in found.items()}

    @cached_property
    def settled_members(self) -> frozenset[str]:
        """The members whose differences an action handles."""
        return frozenset(
            member if member[:1].isupper() else f"{place}.{member}"
            for place, actions in self._by_place.items()
            for action in actions
            for member in (*action.settles, *([place] if action.do == "keep" else []))
        )

    def at(self, place: str, *inside: str) -> tuple[TranslationAction, ...]:
        """Return the actions at a place, in the order of application.

        The caller also handles the members or arms `inside`.
        """
        self.looked_up.update((place, *inside))
        return self._by_place.get(place, ())

    def of(self, place: str, verb: Verb) -> TranslationAction | None:
        """Return the first action with this verb at a member."""
        return next((action for action in self.at(place) if action.do == verb), None)

    def idle(self) -> Iterator[TranslationAction]:
        """Yield the actions at places that a complete walk has not looked up."""
        for place, actions in self._by_place.items():
            if place not in self.looked_up:
                yield from actions

    def other_names(self, name: str) -> tuple[str, ...]:
        """Return the names that a type or method may have at the other end."""
        became, removed = self.step.became, self.step.removed
        if self.direction == "up":
            return () if name in removed else (became.get(name, name),)
        older_names = sorted(older for older, newer in became.items() if newer == name)
        # The older name may be that of another thing.
        is_other = name in became or name in removed
        return tuple(older_names) if is_other else (name, *older_names)
