"""Reading: a function for each type, made from annotations at its first use."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import MISSING
from json import dumps
from math import isfinite
from sys import modules
from threading import RLock
from types import NoneType, UnionType
from typing import (
    Any,
    Final,
    ForwardRef,
    Literal,
    Never,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    overload,
)

from .members import WireMember, arms_of, members_of
from .objects import EXTRA, ClosedObject, Limits, OpenObject, UnknownContent, WireError, WireObject

_T = TypeVar("_T")
_Read: TypeAlias = Callable[[Any], Any]
_Object: TypeAlias = dict[str, Any]

_readers: dict[Any, _Read] = {}
# Classes whose readers are being made; they may contain themselves.
_under_way: set[type] = set()
_LOCK: Final = RLock()

# Types whose values stay unchanged; a float may be NaN.
_PLAIN: Final = frozenset({str, bool, int, NoneType})


@overload
def from_wire(kind: type[_T], value: Any) -> _T: ...
@overload
def from_wire(kind: Any, value: Any) -> Any: ...
def from_wire(kind: Any, value: Any) -> Any:
    """Read a decoded JSON value as a class or an alias; raise `WireError`."""
    read = _readers.get(kind)
    return (read or _reader_of(kind))(value)


def _reader_of(kind: Any) -> _Read:
    with _LOCK:
        if kind not in _readers:
            type_ = _resolve(kind) if isinstance(kind, ForwardRef) else kind
            _readers[kind] = _compile(arms_of(type_))
        return _readers[kind]


def _resolve(reference: ForwardRef) -> Any:
    """Return the target of a recursive alias."""
    module: Any = reference.__forward_module__
    return eval(reference.__forward_arg__, vars(modules[module]))


def _compile(arms: tuple[Any, ...]) -> _Read:
    """Return a reader of a value as one of `arms`."""
    if len(arms) == 1:
        return _single(arms[0])
    if float in arms:
        arms = tuple(arm for arm in arms if arm is not int)  # it would accept every number first
    classes = [arm for arm in arms if _is_class(arm)]
    readers = [_single(arm) for arm in arms if not _is_class(arm)]
    if classes:
        readers.insert(0, _objects(classes))
    if len(readers) == 1:
        return readers[0]
    plain = _PLAIN.intersection(arms)

    def read(value: Any) -> Any:
        return value if type(value) in plain else _read_first(readers, value)

    return read


def _single(hint: Any) -> _Read:
    if _is_class(hint):
        return _class(hint)
    if hint in _SCALARS:
        return _SCALARS[hint]
    match get_origin(hint), get_args(hint):
        case (origin, (item,)) if origin is list:
            return _list(_compile(arms_of(item)))
        case (origin, (_, item)) if origin is dict:
            return _map(_compile(arms_of(item)))
        case (origin, values) if origin is Literal:
            return _literal(values)
        case (origin, arms) if origin in (Union, UnionType):
            return _compile(arms)
        case _ if isinstance(hint, ForwardRef):
            return lambda value: _reader_of(hint)(value)
        case _:
            raise TypeError(f"{hint!r} is not a type of JSON values")


def _is_class(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, WireObject)


def _class(cls: type[WireObject]) -> _Read:
    if cls in _readers:
        return _readers[cls]
    if cls in _under_way:
        return lambda value: _reader_of(cls)(value)
    _under_way.add(cls)
    try:
        _readers[cls] = _object(cls)
    finally:
        _under_way.discard(cls)
    return _readers[cls]


def _object(cls: type[WireObject]) -> _Read:
    members = {member.wire: _entry(member) for member in members_of(cls)}
    required = frozenset(member.wire for member in members_of(cls) if member.required)
    is_open, complete = issubclass(cls, OpenObject), _complete(cls)

    def read(value: Any) -> Any:
        document = _object_of(value)
        fields: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        key = ""
        try:
            for key, item in document.items():
                member = members.get(key)
                if member is None:
                    extra[key] = item
                else:
                    name, kind, read_item = member
                    fields[name] = item if type(item) is kind else read_item(item)
        except WireError as error:
            error.steps.append(key)
            raise
        if not required <= document.keys():
            raise _at(min(required - document.keys()), "is required")
        if complete is not None:
            complete(document, extra)
        if extra and is_open:
            fields[EXTRA] = extra
        return cls(**fields)

    return read


def _entry(member: WireMember) -> tuple[str, Any, _Read]:
    """Return the attribute of a member, a type that needs no reading, and a reader."""
    read = _compile(member.arms)
    if member.limits is not None:
        return member.name, None, _with_limits(read, member.limits)
    plain = _PLAIN.intersection(member.arms[:1])
    return member.name, next(iter(plain), None), read


def _complete(cls: type[WireObject]) -> Callable[[_Object, _Object], None] | None:
    """Return a check of all members of an object together, or None."""
    any_of, closed = cls.ANY_OF_REQUIRED, issubclass(cls, ClosedObject)
    if not any_of and not closed:
        return None

    def check(value: _Object, extra: _Object) -> None:
        if any_of and value.keys().isdisjoint(any_of):
            raise WireError(f"at least one of {', '.join(any_of)} is required")
        if closed and extra:
            raise _at(next(iter(extra)), "is not declared")

    return check


def _objects(classes: Sequence[type[WireObject]]) -> _Read:
    """Return a reader of an object as one of some classes: by a constant, or by its members."""
    if len(classes) == 1:
        return _class(classes[0])
    closed = [cls for cls in classes if cls is not UnknownContent]
    for tag in (member.wire for member in members_of(closed[0]) if member.constant is not None):
        tags = [
            member.constant for cls in closed for member in members_of(cls) if member.wire == tag
        ]
        if all(isinstance(value, str) for value in tags) and len(set(tags)) == len(closed):
            readers = {value: _class(cls) for value, cls in zip(tags, closed, strict=True)}
            return _read_by_tag(tag, readers, len(closed) < len(classes))
    choices = [
        (frozenset(member.wire for member in members_of(cls)), _class(cls)) for cls in classes
    ]

    def read(value: Any) -> Any:
        names = _object_of(value).keys()
        # The class that declares most of the members: others may accept them as undeclared.
        ranked = sorted(choices, key=lambda choice: -len(choice[0] & names))
        return _read_first((reader for _, reader in ranked), value)

    return read


def _read_by_tag(tag: str, readers: Mapping[object, _Read], is_open: bool) -> _Read:
    unknown = _class(UnknownContent) if is_open else None
    expected = f"one of {', '.join(map(str, readers))} is expected"

    def read(value: Any) -> Any:
        document = _object_of(value)
        if tag not in document:
            raise _at(tag, "is required")
        kind = document[tag]
        read_arm = readers.get(kind, unknown) if isinstance(kind, str) else None
        if read_arm is None:
            raise _at(tag, "a string is expected" if is_open else expected)
        return read_arm(value)

    return read


def _read_first(readers: Iterable[_Read], value: Any) -> Any:
    """Return the first successful reading, or raise the error at the deepest place."""
    errors: list[WireError] = []
    for read in readers:
        try:
            return read(value)
        except WireError as error:
            errors.append(error)
    furthest = max(errors, key=lambda error: len(error.steps))
    if furthest.steps:
        raise furthest
    raise WireError(", or ".join(dict.fromkeys(error.message for error in errors)))


def _list(read_item: _Read) -> _Read:
    def read(value: Any) -> Any:
        items: list[Any] = []
        try:
            for item in _array_of(value):
                items.append(read_item(item))
        except WireError as error:
            error.steps.append(len(items))
            raise
        return items

    return read


def _map(read_item: _Read) -> _Read:
    def read(value: Any) -> Any:
        result = dict(_object_of(value))
        if read_item is _anything:
            return result
        key = ""
        try:
            for key, item in result.items():
                result[key] = read_item(item)
        except WireError as error:
            error.steps.append(key)
            raise
        return result

    return read


def _literal(values: tuple[Any, ...]) -> _Read:
    # In Python, true is 1; in JSON it is not, but 1.0 is.
    by_key = {(isinstance(constant, bool), constant): constant for constant in values}
    texts = frozenset(constant for constant in values if isinstance(constant, str))
    expected = f"{' or '.join(dumps(constant) for constant in values)} is expected"

    def read(value: Any) -> Any:
        if isinstance(value, str) and value in texts:
            return value
        if isinstance(value, int | float | None):
            constant = by_key.get((isinstance(value, bool), value), MISSING)
            if constant is not MISSING:
                return constant
        raise WireError(expected)

    return read


def _with_limits(read_value: _Read, limits: Limits) -> _Read:
    def read(value: Any) -> Any:
        result: Any = read_value(value)
        if isinstance(result, int | float) and not isinstance(result, bool):
            _check_range(result, limits.minimum, limits.maximum, "a value")
        elif isinstance(result, str):
            _check_range(len(result), limits.min_length, limits.max_length, "a length")
        elif isinstance(result, list):
            length = len(cast(Sized, result))
            _check_range(length, limits.min_items, limits.max_items, "a number of items")
        return cast(Any, result)

    return read


def _check_range(value: float, least: float | None, most: float | None, noun: str) -> None:
    if least is not None and value < least:
        raise WireError(f"{noun} of at least {least} is expected")
    if most is not None and value > most:
        raise WireError(f"{noun} of at most {most} is expected")


def _instance(kind: type, expected: str) -> _Read:
    def read(value: Any) -> Any:
        if isinstance(value, kind):
            return value
        raise WireError(f"{expected} is expected")

    return read


_object_of: Final[Callable[[Any], _Object]] = _instance(dict, "an object")
_array_of: Final[Callable[[Any], list[Any]]] = _instance(list, "an array")


def _at(name: str, message: str) -> WireError:
    error = WireError(message)
    error.steps.append(name)
    return error


def _anything(value: Any) -> Any:
    return value


def _refuse(value: Any) -> Any:
    raise WireError("no value is expected")


def _integer(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise WireError("an integer is expected")


def _number(value: Any) -> int | float:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    raise WireError("a number is expected")


_SCALARS: Final[Mapping[Any, _Read]] = {
    Any: _anything,
    str: _instance(str, "a string"),
    bool: _instance(bool, "a boolean"),
    int: _integer,
    float: _number,
    NoneType: _instance(NoneType, "null"),
    Never: _refuse,
}
