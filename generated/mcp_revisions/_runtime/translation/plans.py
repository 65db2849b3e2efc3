"""How the values of one revision become those of another: the rows of the generated tables.

A table holds, for each direction, a plan for every type that does not simply stay as it is. What is
not named in a plan passes. The values that are planned for are valid in the revision they come
from; those that come out are valid in the other.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class To:
    """What the plan for a type makes of the value."""

    plan: str


@dataclass(frozen=True, slots=True)
class Each:
    """A step for every item of an array, or every value of an object with free keys."""

    step: "Step"


@dataclass(frozen=True, slots=True)
class Either:
    """A step for a JSON object, and one for an array; other values stay as they are."""

    of_object: "Step | None" = None
    of_array: "Step | None" = None


@dataclass(frozen=True, slots=True)
class When:
    """The step of the first of `cases` whose member is there, with the constant if one is named."""

    cases: tuple[tuple[str, Any, "Step | None"], ...]
    otherwise: "Step | None" = None


Step: TypeAlias = To | Each | Either | When


@dataclass(frozen=True, slots=True)
class Drop:
    """A member that the target does not have.

    Nobody misses one that is `harmless`, nor the `usual` value, which is written for whoever says
    nothing.
    """

    why: str
    harmless: bool = False
    usual: Any = None


@dataclass(frozen=True, slots=True)
class Move:
    """A member whose place in the target is `to`, if nothing else is there; otherwise dropped."""

    to: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Apply:
    """A judgement that takes code: a function of `judgements`, by name."""

    function: str
    why: str


_NONE: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Members:
    """The plan for an object: `becomes` is the name of its type in the target.

    Functions come first and leave a value of the source revision behind; then members go, move and
    are translated inside, those are added which the target requires, and the functions of `finish`
    have the last word. `unmeant` are members that only the target declares: here they have no
    meaning, and must not be given one. Members that are `emptied` go when nothing is left in them.
    """

    becomes: str
    _: KW_ONLY
    apply: tuple[Apply, ...] = ()
    drop: Mapping[str, Drop] = field(default_factory=lambda: _NONE)
    move: Mapping[str, Move] = field(default_factory=lambda: _NONE)
    unmeant: tuple[str, ...] = ()
    inside: Mapping[str, Step] = field(default_factory=lambda: _NONE)
    emptied: tuple[str, ...] = ()
    add: Mapping[str, Any] = field(default_factory=lambda: _NONE)
    finish: tuple[Apply, ...] = ()


@dataclass(frozen=True, slots=True)
class Arms:
    """The plan for a union whose arms are told apart by the constant in `tag`.

    Functions make of arms that the target does not have some that it has. Arms that are not named
    stay as they are, as do kinds that neither revision knows.
    """

    becomes: str
    tag: str
    _: KW_ONLY
    apply: Mapping[str, Apply] = field(default_factory=lambda: _NONE)
    arms: Mapping[str, Step] = field(default_factory=lambda: _NONE)


@dataclass(frozen=True, slots=True)
class Whole:
    """The plan for a type that functions translate alone, or by `step`."""

    becomes: str
    _: KW_ONLY
    apply: tuple[Apply, ...] = ()
    step: Step | None = None


Plan: TypeAlias = Members | Arms | Whole


@dataclass(frozen=True, slots=True)
class Method:
    """The types of a method on the way from a source to a target; None where it has no result."""

    params: Step | None
    result: Step | None


@dataclass(frozen=True, slots=True)
class Direction:
    """All there is to know of one direction.

    `methods` are those that both revisions have, `plans` the types that change, `same` those that
    do not, by their names in the source, with their names in the target. `errors` maps a method and
    the code it answers with to the code that the target has for it, and the reason; the method ""
    stands for all.
    """

    source: str
    target: str
    methods: Mapping[str, Method]
    plans: Mapping[str, Plan]
    same: Mapping[str, str]
    errors: Mapping[tuple[str, int], tuple[int, str]]
