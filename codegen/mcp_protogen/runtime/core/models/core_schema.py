"""Adjustments of a model's validation schema to the rules of the wire; see `base`."""

from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter, is_
from types import NoneType
from typing import Any, Final, TypeAlias, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core import core_schema as cs

from ..json import is_object

_IS_NONE: Final = partial(is_, None)

# The validated fields of a model: declared members, undeclared members, names that were set.
_Members: TypeAlias = tuple[dict[str, Any], dict[str, Any] | None, set[str]]
_Check: TypeAlias = Callable[[_Members], _Members]


class _Absent:
    """A stand-in for an absent member whose default is also a valid value on the wire."""

    def __init__(self, default: Any) -> None:
        self.default = default

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        # JSON Schemas show the default.
        shown = cs.plain_serializer_function_ser_schema(attrgetter("default"))
        return cs.any_schema(serialization=shown)


class Implied:
    """A mark for a member with a default: required on the wire, filled in for callers."""


class Nullable:
    """A mark for an optional member that may also be null: `Annotated[int | None, Nullable]`."""


def is_constant(field: FieldInfo) -> bool:
    # Only a `Literal` has a value among its arguments.
    return get_args(field.annotation) == (field.default,)


def is_implied(field: FieldInfo) -> bool:
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
    """Adjust the schema of a class in place; `resolve` follows a reference."""
    around: Any = schema
    while around["schema"]["type"] != "model-fields":
        # A subclass may define validators around the model or around its fields.
        around = around["schema"]
    any_of: tuple[str, ...] = getattr(cls, "ANY_OF_REQUIRED", ())
    doubtful: list[str] = []
    for name, member in around["schema"]["fields"].items():
        field, default = cls.__pydantic_fields__[name], member["schema"]
        _stop_at_first(default, resolve)
        if default["type"] != "default":
            continue
        wire_name = field.alias or name
        if is_implied(field):
            member["schema"] = default["schema"]
            continue
        none_is_absent = absent_if_none(field)
        if none_is_absent and default["schema"]["type"] == "nullable":
            default["schema"] = default["schema"]["schema"]
            member["serialization_exclude_if"] = _IS_NONE
        may_be_null = wire_name in any_of or not none_is_absent
        if wire_name != name and may_be_null and "default" in default:
            doubtful.append(name)
            default["default"] = _Absent(default["default"])
    checks = [_absence_check(doubtful)] if doubtful else []
    checks += [_any_of(cls, any_of)] if any_of else []
    for check in checks:
        around["schema"] = cs.no_info_after_validator_function(check, around["schema"])


def _stop_at_first(schema: CoreSchema, resolve: Callable[[CoreSchema], CoreSchema]) -> None:
    # For each error, the validator copies the path to it: many errors below a long name would take
    # a thousand times the memory of the value. Models have few members.
    stack: list[Any] = [schema]
    while stack:
        node: Any = stack.pop()
        if node["type"] == "definition-ref":
            try:
                node = resolve(node)
            except LookupError:
                continue  # a model that is still being built is adjusted afterwards
        if node["type"] in ("list", "dict"):
            if node.get("fail_fast"):
                continue
            node["fail_fast"] = True
        if node["type"] != "model":
            stack += _inside(node)


def _inside(value: Any) -> Iterator[Any]:
    for member in value.values() if is_object(value) else value:
        if is_object(member) and isinstance(member.get("type"), str):
            yield member
        elif isinstance(member, (dict, list, tuple)):
            yield from _inside(member)


def _absence_check(names: list[str]) -> _Check:
    # A received undeclared member may have the Python name of a declared one.

    def check(members: _Members) -> _Members:
        values, extra, keys = members
        for name in names:
            value = values[name]
            if type(value) is _Absent:
                values[name] = value.default
                if extra:
                    keys.discard(name)
        return members

    return check


def _any_of(cls: type[BaseModel], wire_names: tuple[str, ...]) -> _Check:
    fields = cls.__pydantic_fields__.items()
    names = [name for name, field in fields if (field.alias or name) in wire_names]
    context = {"members": ", ".join(wire_names)}

    def check(members: _Members) -> _Members:
        values, _, keys = members
        # An assignment sets one member, but `values` has all of them.
        if not any(values[name] is not None or name in keys for name in names):
            raise PydanticCustomError(
                "any_of_required", "At least one of {members} is required", context
            )
        return members

    return check


def by_reference(cls: type[BaseModel]) -> CoreSchema:
    """Return a schema without the members of a class: its own validator reads them."""
    constants = {
        name: cs.model_field(cs.literal_schema([field.default]), validation_alias=field.alias)
        for name, field in cls.__pydantic_fields__.items()
        if is_constant(field)
    }
    return cs.no_info_wrap_validator_function(
        lambda value, _: cls.model_validate(value),
        cs.model_schema(cls, cs.model_fields_schema(constants)),  # for the tags of unions
        serialization=cs.simple_ser_schema("any"),
    )
