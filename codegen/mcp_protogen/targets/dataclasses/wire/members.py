"""The members of a class, from its annotations."""

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from .objects import ABSENT, EXTRA, Absent, Limits, Wire, WireObject


class WireMember(NamedTuple):
    """A member, from the annotation of an attribute; `absent` is its value without the member."""

    name: str
    wire: str
    arms: tuple[Any, ...]
    limits: Limits | None
    absent: object

    @property
    def required(self) -> bool:
        """Return whether the member is required."""
        return self.absent is MISSING

    @property
    def constant(self) -> object:
        """The only value of a required member; None if it may have others."""
        values = get_args(self.arms[0])
        single = get_origin(self.arms[0]) is Literal and len(self.arms) == len(values) == 1
        return values[0] if self.required and single else None


def members_of(cls: type[WireObject]) -> Iterator[WireMember]:
    """Yield the members that a class declares."""
    hints = get_type_hints(cls, include_extras=True)
    declared: tuple[Field[Any], ...] = fields(cls)
    for attribute in declared:
        if attribute.name == EXTRA:
            continue
        hint = hints[attribute.name]
        marks: tuple[object, ...] = getattr(hint, "__metadata__", ())
        absent = attribute.default if attribute.default in (None, ABSENT) else MISSING
        # The mark of an absent member is not one of its values.
        unread = NoneType if absent is None else Absent
        found = arms_of(get_args(hint)[0] if marks else hint)
        arms = tuple(arm for arm in found if arm is not unread or absent is MISSING)
        wire = next((mark.name for mark in marks if isinstance(mark, Wire)), attribute.name)
        limits = next((mark for mark in marks if isinstance(mark, Limits)), None)
        yield WireMember(attribute.name, wire, arms, limits, absent)


def arms_of(hint: Any) -> tuple[Any, ...]:
    """Return the types in a union, or the only one."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
