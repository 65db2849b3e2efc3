"""The translation actions of the step between two adjacent revisions, in one direction."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from mcp_protogen.pipeline.inputs.translations import (
    StepDirection,
    Translation,
    TranslationAction,
    Verb,
)
from mcp_protogen.pipeline.plans.conditions import Conditions

Case = tuple[str, Conditions]
"""A type, and the conditions of an action at one of its members."""


def case_of(action: TranslationAction) -> Case:
    return action.at.partition(".")[0], action.when


@dataclass(frozen=True)
class StepActions:
    """The actions of a step in one direction; their places have the names of the newer end."""

    step: Translation
    direction: StepDirection
    looked_up: set[str] = field(default_factory=set[str])
    """The places that the walk has looked up."""
    met: frozenset[Case] = frozenset()
    """The conditions of the actions that count, beside those without any."""

    @cached_property
    def _by_place(self) -> Mapping[str, tuple[TranslationAction, ...]]:
        found: dict[str, list[TranslationAction]] = {}
        for action in self.step.actions:
            if action.direction == self.direction:
                found.setdefault(action.at, []).append(action)
        # An action with a condition counts before one without.
        return {
            place: tuple(sorted(actions, key=lambda action: not action.when))
            for place, actions in found.items()
        }

    def cases(self, owner: str) -> tuple[Case, ...]:
        """Return the different conditions of actions at the members of a type."""
        found = (case_of(action) for action in self.all() if action.when)
        return tuple(dict.fromkeys(case for case in found if case[0] == owner))

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
        return tuple(
            action
            for action in self._by_place.get(place, ())
            if not action.when or case_of(action) in self.met
        )

    def has(self, place: str) -> bool:
        return place in self._by_place

    def of(self, place: str, verb: Verb) -> TranslationAction | None:
        """Return the first action with this verb at a member."""
        return next((action for action in self.at(place) if action.do == verb), None)

    def idle(self) -> Iterator[TranslationAction]:
        """Yield the actions at places that a complete walk has not looked up."""
        for place, actions in self._by_place.items():
            if place not in self.looked_up:
                yield from actions

    def all(self) -> Iterator[TranslationAction]:
        """Yield the actions at all places, with any condition."""
        return chain.from_iterable(self._by_place.values())

    def other_names(self, name: str) -> tuple[str, ...]:
        """Return the names that a type or method may have at the other end."""
        became, removed = self.step.became, self.step.removed
        if self.direction == "up":
            return () if name in removed else (became.get(name, name),)
        older_names = sorted(older for older, newer in became.items() if newer == name)
        # The older name may be that of another thing.
        is_other = name in became or name in removed
        return tuple(older_names) if is_other else (name, *older_names)
