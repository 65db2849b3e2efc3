"""Writing: values as decoded JSON."""

from collections.abc import Iterable, Sequence
from types import NoneType
from typing import Any, Final, cast, overload

from .members import members_of
from .objects import OpenObject, WireObject

_UNCHANGED: Final = frozenset({str, bool, int, float, NoneType})

_written_members: dict[type, Sequence[tuple[str, str, object]]] = {}


@overload
def to_wire(value: WireObject) -> dict[str, Any]: ...
@overload
def to_wire(value: Any) -> Any: ...
def to_wire(value: Any) -> Any:
    """Return the JSON value to send; raise `TypeError` for a value that is not JSON.

    Types of members are not checked: type checkers do that.
    """
    match value:
        case WireObject():
            return _object_to_wire(value)
        case list():
            items = cast(Iterable[Any], value)
            return [item if type(item) in _UNCHANGED else to_wire(item) for item in items]
        case dict():
            members = cast(dict[str, Any], value).items()
            return {
                key: member if type(member) in _UNCHANGED else to_wire(member)
                for key, member in members
            }
        case None | str() | int() | float():
            return value
        case _:
            raise TypeError(f"{type(value).__qualname__} is not a type of JSON values")


def _object_to_wire(value: WireObject) -> dict[str, Any]:
    cls = type(value)
    rows = _written_members.get(cls)
    if rows is None:
        rows = [(member.name, member.wire, member.absent) for member in members_of(cls)]
        _written_members[cls] = rows
    wire: dict[str, Any] = {}
    if isinstance(value, OpenObject) and value.extra_members:
        wire = to_wire(value.extra_members)
    for name, key, absent in rows:
        item = getattr(value, name)
        if item is not absent:
            wire[key] = item if type(item) in _UNCHANGED else to_wire(item)
    return wire
