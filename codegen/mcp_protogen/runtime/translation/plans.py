"""The rows of the generated tables, which translate values between two revisions.

Every type that changes has a plan; members that a plan does not name stay. A value is valid in the
source before, and in the destination after.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeAlias

from ..core.spec import Condition as Condition
from ..core.value_paths import PathEntry as PathEntry
from ..core.value_paths import ValuePath


@dataclass(frozen=True, slots=True)
class To:
    """A step that applies the plan of a type."""

    plan: str


@dataclass(frozen=True, slots=True)
class Each:
    """A step for every item of an array, or every value of an object with arbitrary keys."""

    step: "Step"


@dataclass(frozen=True, slots=True)
class Either:
    """A step for a JSON object, and one for an array; other values stay as they are."""

    of_object: "Step | None" = None
    of_array: "Step | None" = None


@dataclass(frozen=True, slots=True)
class When:
    """The step of the first matching case: its member is present, and has its constant if any."""

    cases: tuple[tuple[str, Any, "Step | None"], ...]
    otherwise: "Step | None" = None


@dataclass(frozen=True, slots=True)
class Delay:
    """A step for a time to wait, in the other unit than `unit`: "ms" or "s"."""

    unit: str


Step: TypeAlias = To | Each | Either | When | Delay


@dataclass(frozen=True, slots=True)
class Drop:
    """A member that the destination lacks; its loss is harmless if the value is `usual`."""

    why: str
    harmless: bool = False
    usual: Any = None


@dataclass(frozen=True, slots=True)
class Move:
    """A value at `source` in a member, which `step` translates and which moves to `to`.

    If that place is taken, the value is dropped. Without a place it goes, and is not missed.
    """

    to: ValuePath
    why: str
    source: ValuePath = ()
    step: Step | None = None


@dataclass(frozen=True, slots=True)
class Apply:

    function: str
    why: str


@dataclass(frozen=True, slots=True)
class Members:
    """The plan for an object; `becomes` is the name of its type in the destination.

    First, the functions of `apply` return another value of the source. Then members are dropped,
    moved and translated, and required members of the destination added, before those that move into
    them; the functions of `finish` come last. Parts that no move takes are lost. Members of
    `undefined`, which the source does not define, are dropped, and those of `emptied` if they are
    empty.
    """

    becomes: str
    _: KW_ONLY
    apply: tuple[Apply, ...] = ()
    drop: Mapping[str, Drop] = field(default_factory=dict[str, Drop])
    move: Mapping[str, tuple[Move, ...]] = field(default_factory=dict[str, tuple[Move, ...]])
    undefined: tuple[str, ...] = ()
    inside: Mapping[str, Step] = field(default_factory=dict[str, Step])
    emptied: tuple[str, ...] = ()
    add: Mapping[str, Any] = field(default_factory=dict[str, Any])
    finish: tuple[Apply, ...] = ()


@dataclass(frozen=True, slots=True)
class Arms:
    """The plan for a union whose arms are distinguished by the constant in `tag`.

    Functions replace arms that the destination lacks. Other arms stay as they are.
    """

    becomes: str
    tag: str
    _: KW_ONLY
    apply: Mapping[str, Apply] = field(default_factory=dict[str, Apply])
    arms: Mapping[str, Step] = field(default_factory=dict[str, Step])


@dataclass(frozen=True, slots=True)
class Whole:
    """The plan for a type that only functions or `step` translate."""

    becomes: str
    _: KW_ONLY
    apply: tuple[Apply, ...] = ()
    step: Step | None = None


Plan: TypeAlias = Members | Arms | Whole


@dataclass(frozen=True, slots=True)
class Method:
    """The steps for the params and the result of a method; None if nothing changes.

    `becomes` is its name in the destination, if that is another one.
    """

    params: Step | None
    result: Step | None
    becomes: str = ""


@dataclass(frozen=True, slots=True)
class ErrorChange:
    """The code of an error in the destination, and the step for its data.

    With conditions, it counts if the request's params, and the data, meet any of theirs.
    """

    becomes: int
    why: str
    params: tuple[Condition, ...] = ()
    data: tuple[Condition, ...] = ()
    step: Step | None = None


@dataclass(frozen=True, slots=True)
class Direction:
    """All tables for one direction.

    `methods` are those of both revisions, `plans` the types that change, `same` the others, by
    names in source and destination. `errors` maps a method, or "" for all, and an error code to its
    changes, of which the first counts.
    """

    source: str
    destination: str
    methods: Mapping[str, Method]
    plans: Mapping[str, Plan]
    same: Mapping[str, str]
    errors: Mapping[tuple[str, int], tuple[ErrorChange, ...]]
