"""How a model's validation schema is made to say what the wire says, and Pydantic does not.

See `model` for what that is. A schema is adjusted once, in place, when its class is built.
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

# What a model's fields validate to: the declared members, the others, the names that were given.
_Members: TypeAlias = tuple[dict[str, Any], dict[str, Any] | None, set[str]]
_Check: TypeAlias = Callable[[_Members], _Members]


class _Absent(RootModel[Any]):
    """What stands for a member that did not come, where its usual value might have come as well.

    It never leaves validation; a JSON Schema made from it has the usual value, which is its root.
    """

    def __hash__(self) -> int:
        # Pydantic copies what has no hash, each time.
        return id(self)


class Implied:
    """Marks a member that has a usual value: required on the wire, filled in for callers."""


class Nullable:
    """Marks an optional member that may also be null: `Annotated[int | None, Nullable]`."""


def is_constant(field: FieldInfo) -> bool:
    """Whether a member has one value only."""
    return get_origin(field.annotation) is Literal and get_args(field.annotation) == (
        field.default,
    )


def is_implied(field: FieldInfo) -> bool:
    """Whether a member is required on the wire, and callers need not give it."""
    return is_constant(field) or Implied in field.metadata


def absent_if_none(field: FieldInfo) -> bool:
    """Whether a member is optional and may not be null, so that `None` says that it is absent."""
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
    """Make the schema of one class say what the docstring of `model` promises, in place.

    `resolve` gives what a reference in it refers to.
    """
    around = cast(cs.ModelSchema, schema)
    while around["schema"]["type"] != "model-fields":
        # Validators that a subclass may define stand around the model or around its fields.
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
    """Take members that are absent out of the names that were given.

    Pydantic has there the names of all members that came, and an undeclared one may be called on
    the wire what a declared one is called in Python. Mostly the value says which of the two came;
    this is for members whose value does not.
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
        # An assignment gives one member only, and the values of all.
        if not any(values[name] is not None or name in given for name in names):
            raise PydanticCustomError(
                "any_of_required", "At least one of {members} is required", context
            )
        return members

    return check


def build_before(cls: type[BaseModel], base: type[BaseModel]) -> None:
    """Build the classes that a module defines before one of its own, among them those it leads to.

    The class itself then needs no calls within calls for each step from class to class.
    """
    for other in list(vars(sys.modules[cls.__module__]).values()):
        if other is cls:
            return
        if isinstance(other, type) and issubclass(other, base):
            other.model_rebuild(raise_errors=False)
