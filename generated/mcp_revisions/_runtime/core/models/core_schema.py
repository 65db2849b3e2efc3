"""Adjustments of a model's validation schema to what the wire requires, and Pydantic does not.

The module `base` describes them. A schema is adjusted once, in place, when its class is built.
"""

import sys
from collections.abc import Callable
from functools import partial
from operator import is_
from types import NoneType
from typing import Any, Final, Literal, TypeAlias, cast, get_args, get_origin

from pydantic import BaseModel, RootModel
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core import core_schema as cs

from .faults import stop_at_first

_IS_NONE: Final = partial(is_, None)

# The validated fields of a model: declared members, undeclared members, names that were given.
_Members: TypeAlias = tuple[dict[str, Any], dict[str, Any] | None, set[str]]
_Check: TypeAlias = Callable[[_Members], _Members]


class _Absent(RootModel[Any]):
    """A stand-in for a member that was absent, where its usual value might also have been sent.

    It never leaves validation. A JSON Schema made from it has the usual value, which is its root.
    """

    def __hash__(self) -> int:
        # Pydantic copies a default without a hash each time.
        return id(self)


class Implied:
    """A mark for a member with a usual value: required on the wire, filled in for callers."""


class Nullable:
    """A mark for an optional member that may also be null: `Annotated[int | None, Nullable]`."""


def is_constant(field: FieldInfo) -> bool:
    """Return whether a member has only one valid value."""
    return get_origin(field.annotation) is Literal and get_args(field.annotation) == (
        field.default,
    )


def is_implied(field: FieldInfo) -> bool:
    """Return whether a member is required on the wire, but need not be given by callers."""
    return is_constant(field) or Implied in field.metadata


def absent_if_none(field: FieldInfo) -> bool:
    """Return whether a member is optional and may not be null, so that `None` means absent."""
    arms = get_args(field.annotation)
    return (
        not field.is_required()
        and field.default is None
        and NoneType in arms
        and Any not in arms
        and Nullable not in field.metadata
    )


def adjust(
    cls: type[BaseModel], schema: CoreSchema, resolve: Callable[[CoreSchema], CoreSchema]
) -> None:
    """Adjust the schema of one class, in place, as the docstring of `base` promises.

    `resolve` returns what a reference refers to.
    """
    around = cast(cs.ModelSchema, schema)
    while around["schema"]["type"] != "model-fields":
        # A subclass may define validators around the model or around its fields.
        around = cast(cs.ModelSchema, around["schema"])
    fields = cast(cs.ModelFieldsSchema, around["schema"])
    any_of: tuple[str, ...] = getattr(cls, "ANY_OF_REQUIRED", ())
    doubtful: list[str] = []
    for name, member in fields["fields"].items():
        field = cls.model_fields[name]
        stop_at_first(member["schema"], resolve)
        if member["schema"]["type"] != "default":
            continue
        default = cast(cs.WithDefaultSchema, member["schema"])
        wire_name = field.alias or name
        if is_implied(field):
            member["schema"] = default["schema"]
            continue
        none_is_absent = absent_if_none(field)
        if none_is_absent and default["schema"]["type"] == "nullable":
            default["schema"] = cast(cs.NullableSchema, default["schema"])["schema"]
            member["serialization_exclude_if"] = _IS_NONE
        may_be_null = wire_name in any_of or not none_is_absent
        if wire_name != name and may_be_null and "default" in default:
            doubtful.append(name)
            default["default"] = _Absent(default["default"])
    if doubtful:
        check = _given(tuple(doubtful))
        around["schema"] = cs.no_info_after_validator_function(check, around["schema"])
    if any_of:
        around["schema"] = cs.no_info_after_validator_function(
            _any_of(cls, any_of), around["schema"]
        )


def _given(names: tuple[str, ...]) -> _Check:
    """Return a check that removes absent members from the names that were given.

    Pydantic lists there the names of all members that came, and the wire name of an undeclared
    member may be the Python name of a declared one. Usually the value tells which of the two came;
    this check is for the members whose value does not.
    """

    def check(members: _Members) -> _Members:
        values, others, given = members
        for name in names:
            value = values[name]
            if type(value) is _Absent:
                values[name] = value.root
                if others:
                    given.discard(name)
        return members

    return check


def _any_of(cls: type[BaseModel], wire_names: tuple[str, ...]) -> _Check:
    names = [
        name for name, field in cls.model_fields.items() if (field.alias or name) in wire_names
    ]
    context = {"members": ", ".join(wire_names)}

    def check(members: _Members) -> _Members:
        values, _, given = members
        # For an assignment, only one member is given, but all values are there.
        if not any(values[name] is not None or name in given for name in names):
            raise PydanticCustomError(
                "any_of_required", "At least one of {members} is required", context
            )
        return members

    return check


def build_before(cls: type[BaseModel], base: type[BaseModel]) -> None:
    """Build the classes that a module defines before `cls`, which may be among those it refers to.

    Then the build of the class itself does not need one nested call for each step between classes.
    """
    for other in list(vars(sys.modules[cls.__module__]).values()):
        if other is cls:
            return
        if isinstance(other, type) and issubclass(other, base):
            other.model_rebuild(raise_errors=False)
