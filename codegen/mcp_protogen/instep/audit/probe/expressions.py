"""Annotations as small JSON values.

    {"scalar": "string"}   {"literal": [...]}   {"list": ...}   {"map": ...}   {"union": [...]}
    {"ref": KEY}           another type of the SDK
    {"any": TEXT}          any value, or a type that only the SDK can check; TEXT is its text

`string` stands for every type that JSON carries as one, such as dates and URLs.
"""

import collections.abc
import datetime
import decimal
import enum
import pathlib
import types
import typing
import uuid
from collections.abc import Callable
from typing import Any

Refer = Callable[[Any], str | None]

_SCALARS: dict[Any, str] = {
    **dict.fromkeys((str, bytes, uuid.UUID, pathlib.Path, pathlib.PurePath), "string"),
    **dict.fromkeys(
        (datetime.datetime, datetime.date, datetime.time, datetime.timedelta), "string"
    ),
    bool: "boolean",
    int: "integer",
    float: "number",
    decimal.Decimal: "number",
    None: "null",
    type(None): "null",
}
_LISTS = (
    *(list, tuple, set, frozenset),
    *(collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection),
    *(collections.abc.MutableSequence, collections.abc.Set),
)
_MAPS = (dict, collections.abc.Mapping, collections.abc.MutableMapping, collections.OrderedDict)
# These are about a member or a variable, and not about its type.
_WRAPPERS = frozenset({"Annotated", "Required", "NotRequired", "ReadOnly", "Final", "ClassVar"})
_ANYTHING: frozenset[Any] = frozenset({Any, object})


def expression(annotation: Any, refer: Refer) -> dict[str, Any]:
    """Return the JSON value for an annotation; `refer` returns the key of a named type."""
    if _is_hashable(annotation):
        if annotation in _ANYTHING:
            return _anything(annotation)
        if annotation in _SCALARS:
            return {"scalar": _SCALARS[annotation]}
        key = refer(annotation)
        if key is not None:
            return {"ref": key}
    if typing.get_origin(annotation) is not None:
        return _generic(annotation, refer)
    if isinstance(annotation, type):
        return _class(annotation)
    return _special_expression(annotation, refer)


def name_of(hint: Any) -> str:
    """Return the name of a class, an alias or a special form of `typing`."""
    name = getattr(hint, "__name__", None) or getattr(hint, "_name", None) or repr(hint)
    return str(name).rsplit(".", 1)[-1]


def is_union(annotation: Any) -> bool:
    """Return whether it is `X | Y`, `Union` or `Optional`."""
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


def _is_hashable(annotation: Any) -> bool:
    # The metadata of Annotated may not be.
    try:
        hash(annotation)
    except TypeError:
        return False
    return True


def _generic(annotation: Any, refer: Refer) -> dict[str, Any]:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if is_union(annotation):
        return {"union": [expression(arm, refer) for arm in arguments]}
    if name_of(origin) == "Literal":
        return {"literal": [plain(value) for value in arguments]}
    if name_of(origin) in _WRAPPERS or hasattr(annotation, "__metadata__"):
        return expression(arguments[0], refer)
    if origin in _LISTS:
        items = [item for item in arguments if item is not Ellipsis] or [Any]
        inner = [expression(item, refer) for item in items]
        return {"list": inner[0] if len(inner) == 1 else {"union": inner}}
    if origin in _MAPS:
        return {"map": expression(arguments[1], refer) if len(arguments) > 1 else _anything(Any)}
    return _anything(annotation)


def _class(cls: type) -> dict[str, Any]:
    if cls in _LISTS:
        return {"list": _anything(Any)}
    if cls in _MAPS:
        return {"map": _anything(Any)}
    # Pydantic's URLs, addresses and secrets are strings in JSON.
    if cls.__module__ in ("pydantic.networks", "pydantic_core._pydantic_core"):
        return {"scalar": "string"}
    for base, scalar in _SCALARS.items():
        if isinstance(base, type) and issubclass(cls, base) and not issubclass(cls, enum.Enum):
            return {"scalar": scalar}
    return _anything(cls)


def _special_expression(annotation: Any, refer: Refer) -> dict[str, Any]:
    if isinstance(annotation, typing.TypeVar):
        bound = annotation.__bound__
        return _anything(annotation) if bound is None else expression(bound, refer)
    supertype = getattr(annotation, "__supertype__", None)  # NewType
    return _anything(annotation) if supertype is None else expression(supertype, refer)


def plain(value: Any) -> Any:
    """Return a constant as JSON has it; another value of an enumeration becomes its `repr`."""
    constant = value.value if isinstance(value, enum.Enum) else value
    return (
        constant if constant is None or isinstance(constant, (str, int, float)) else repr(constant)
    )


def _anything(annotation: Any) -> dict[str, Any]:
    return {"any": "Any" if annotation in (Any, object) else repr(annotation)[:200]}
