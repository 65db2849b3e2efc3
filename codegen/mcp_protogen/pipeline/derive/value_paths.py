"""Paths to values inside a type, such as `outputs[kind=content].content`.

A path names members, and in brackets the entry of an array or map by its constants.
"""

import json
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_protogen.base.jsonvalue import is_array, is_object, is_of_type
from mcp_protogen.pipeline.derive.expressions import by_name, flat, object_fields, plain
from mcp_protogen.pipeline.ir import (
    Anything,
    FieldIR,
    ListOf,
    LiteralOf,
    MapOf,
    Ref,
    Scalar,
    TypeExpr,
    TypeIR,
    UnionIR,
)
from mcp_protogen.runtime.core.json import is_same
from mcp_protogen.runtime.core.value_paths import PathEntry, ValuePath

_SCALAR = re.compile(r"true|false|-?(0|[1-9][0-9]*)")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[([^\[\]]+)\]")


class UnknownPath(Exception):
    """A type has no such place; the text says which step fails."""


@dataclass(frozen=True, slots=True)
class TypedPath:
    """A path, and the type of the value at its end.

    New objects on the way to it lack the required members `lacking`.
    """

    path: ValuePath
    type: TypeExpr
    lacking: tuple[str, ...] = ()


def typed_path(text: str, start: TypeExpr, types: Mapping[str, TypeIR]) -> TypedPath:
    """Return the path in a text, from a value of the type `start`; raise `UnknownPath`."""
    path: list[str | PathEntry] = []
    type_, lacking = start, list[str]()
    given: Container[str] | None = None
    for step in _split(text):
        if given is not None and isinstance(step, str):
            members = _members(plain(type_, types), types).values()
            required = (member.wire for member in members if member.required)
            lacking += (name for name in required if name != step and name not in given)
        if isinstance(step, str):
            type_ = _member(type_, step, types)
            path.append(step)
            given = ()
        else:
            is_map, type_, constants = _entry(type_, step, types)
            path.append(PathEntry(constants, "-".join(step.values()) if is_map else None))
            given = step
    return TypedPath(tuple(path), type_, tuple(lacking))


def untyped_path(text: str) -> ValuePath:
    """Return the path in a text for reading; only types tell arrays from maps."""
    return tuple(
        (
            step
            if isinstance(step, str)
            else PathEntry({name: _readings(value)[-1] for name, value in step.items()})
        )
        for step in _split(text)
    )


def _split(text: str) -> Iterator[str | dict[str, str]]:
    at = 0
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            raise UnknownPath(f"{text!r} is not a path such as a.b[kind=c].d")
        at = step.end()
        if step[1]:
            yield step[1]
            continue
        constants = [part.partition("=") for part in step[2].split(",")]
        yield {name: value for name, _, value in constants}


def _member(owner: TypeExpr, name: str, types: Mapping[str, TypeIR]) -> TypeExpr:
    if isinstance(owner, Anything):
        return owner
    for arm in _arms(owner, types):
        member = _members(arm, types).get(name)
        if member is not None:
            return member.type
    raise UnknownPath(f"{name!r} is not a member")


def _entry(
    owner: TypeExpr, constants: Mapping[str, str], types: Mapping[str, TypeIR]
) -> tuple[bool, TypeExpr, Mapping[str, Any]]:
    """Return whether the entries are those of a map, the type of the entry, and its constants."""
    container = plain(owner, types)
    if not isinstance(container, ListOf | MapOf):
        raise UnknownPath("brackets follow an array, or an object with free keys")
    for arm in _arms(container.item if isinstance(container, ListOf) else container.value, types):
        members = _members(arm, types)
        values = {
            name: value
            for name in constants.keys() & members.keys()
            for value in _readings(constants[name])
            if may_be(members[name].type, value, types)
        }
        if constants.keys() == values.keys():
            return isinstance(container, MapOf), arm, {name: values[name] for name in constants}
    entry = ", ".join(f"{name}={value}" for name, value in constants.items())
    raise UnknownPath(f"no entry has {entry}")


def _arms(expression: TypeExpr, types: Mapping[str, TypeIR]) -> Iterator[TypeExpr]:
    """Yield the alternatives of a type, also those of unions with a tag."""
    for arm in flat([expression], types):
        found = types.get(arm.name) if isinstance(arm, Ref) else None
        if isinstance(found, UnionIR):
            for inner in found.arms:
                yield from _arms(inner, types)
        else:
            yield arm


def _members(expression: TypeExpr, types: Mapping[str, TypeIR]) -> Mapping[str, FieldIR]:
    return by_name(object_fields(expression, types))


def _readings(text: str) -> tuple[Any, ...]:
    """Return the constants that a text may be, a string first."""
    return (text, json.loads(text)) if _SCALAR.fullmatch(text) else (text,)


def may_be(expression: TypeExpr, value: Any, types: Mapping[str, TypeIR]) -> bool:
    """Return whether a JSON value may be one of a type."""
    return any(_is_of(arm, value, types) for arm in _arms(expression, types))


def may_hold(member: FieldIR, value: Any, types: Mapping[str, TypeIR]) -> bool:
    """Return whether a member may have a JSON value."""
    return (value is None and member.nullable) or may_be(member.type, value, types)


def _is_of(arm: TypeExpr, value: Any, types: Mapping[str, TypeIR]) -> bool:
    match arm:
        case Anything():
            return True
        case Scalar(kind):
            return is_of_type(value, kind)
        case LiteralOf(values):
            return any(is_same(value, constant) for constant in values)
        case ListOf(item):
            return is_array(value) and all(may_be(item, entry, types) for entry in value)
        case MapOf(item):
            return is_object(value) and all(may_be(item, entry, types) for entry in value.values())
        case _:
            return is_object(value) and all(
                may_hold(member, value[name], types) if name in value else not member.required
                for name, member in _members(arm, types).items()
            )
