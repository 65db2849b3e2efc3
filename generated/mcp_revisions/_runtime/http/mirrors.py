"""Arguments of tools that are repeated in header fields, so that whoever routes need not parse.

A tool's schema says which: a property with `x-mcp-header` (2026-07-28,
basic/transports/streamable-http, "Custom Headers from Tool Parameters").
"""

import re
from collections.abc import Iterable
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast, get_args

from ..jsonvalue import is_array, is_object
from ..pointers import escaped
from .fields import PARAM_PREFIX, decoded, encoded

MirroredType: TypeAlias = Literal["string", "integer", "boolean"]

ANNOTATION: Final = "x-mcp-header"

_TYPES: Final = frozenset(get_args(MirroredType))
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_INTEGER: Final = re.compile(r"(-?[0-9]{1,20})(?:\.0{1,20})?")
_LARGEST: Final = 2**53 - 1

# What stands below these is data, which may look like a schema without being one.
_DATA: Final = frozenset({"const", "default", "enum", "examples"})
# Below these are schemas by names of somebody's choice, which are no keywords.
_NAMED: Final = frozenset(
    {
        "$defs",
        "definitions",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "patternProperties",
        "properties",
    }
)

# Far more than any schema needs; whoever sends more wants to keep its reader busy.
_DEEPEST: Final = 200
_MOST: Final = 100_000

_Path: TypeAlias = tuple[str, ...]


class BadAnnotation(ValueError):
    """A schema breaks the rules for `x-mcp-header`; says where, as a JSON pointer, and why."""


class Mirror(NamedTuple):
    """One argument that is repeated in a header field."""

    path: _Path
    """The names that lead to it from the arguments."""
    header: str
    """The name of the whole field, in lower case."""
    type: MirroredType


def mirrors_of(schema: object) -> tuple[Mirror, ...]:
    """The arguments that a tool's input schema wants repeated; raises `BadAnnotation`.

    The whole schema is searched: an annotation where no argument can be reached by `properties`
    alone makes the tool invalid.
    """
    found: dict[str, Mirror] = {}
    # Not recursive, and counted: a schema built in Python may be deep, or contain itself.
    left = [_Place(schema, "", ())]
    seen = 0
    while left:
        place = left.pop()
        seen += 1
        if seen > _MOST or place.pointer.count("/") > _DEEPEST:
            raise BadAnnotation(f"{place.pointer[:100]}: the schema is too large to be searched")
        if is_object(place.value) and ANNOTATION in place.value:
            mirror = _mirror(place)
            if mirror.header in found:
                raise _bad(place, "another property has the same name there, ignoring case")
            found[mirror.header] = mirror
        left += reversed(_below(place))
    return tuple(found.values())


class _Place(NamedTuple):
    """A value inside a schema; `path` is None where no argument is reached."""

    value: Any
    pointer: str
    path: _Path | None


def _below(place: _Place) -> list[_Place]:
    value = place.value
    if is_array(value):
        return [_Place(one, f"{place.pointer}/{at}", None) for at, one in enumerate(value)]
    if not is_object(value):
        return []
    places: list[_Place] = []
    for keyword, one in value.items():
        pointer = f"{place.pointer}/{escaped(keyword)}"
        if keyword in _NAMED and is_object(one):
            reached = place.path if keyword == "properties" else None
            for name, schema in one.items():
                path = None if reached is None else (*reached, name)
                places.append(_Place(schema, f"{pointer}/{escaped(name)}", path))
        elif keyword not in _DATA and isinstance(one, (dict, list)):
            places.append(_Place(one, pointer, None))
    return places


def _mirror(place: _Place) -> Mirror:
    name, type = place.value[ANNOTATION], place.value.get("type")
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise _bad(place, "has to be the name of a header field: letters, digits, !#$%&'*+-.^_`|~")
    if not place.path:
        raise _bad(place, "may stand only at a property that is reached by properties alone")
    # A list of types is unhashable, and none of them.
    if not isinstance(type, str) or type not in _TYPES:
        raise _bad(place, "needs a property of the type string, integer or boolean")
    return Mirror(place.path, PARAM_PREFIX + name.lower(), cast(MirroredType, type))


def _bad(place: _Place, reason: str) -> BadAnnotation:
    return BadAnnotation(f"{place.pointer}/{ANNOTATION}: {reason}")


def value_at(arguments: object, path: _Path) -> Any:
    """The argument at a path; None if there is none."""
    for name in path:
        if not is_object(arguments):
            return None
        arguments = arguments.get(name)
    return arguments


def text_of(value: object) -> str | None:
    """An argument as text; None if it has none, and the field is left out.

    Integers have to be safe for readers that know only doubles; one written as 42.0 is one.
    """
    if type(value) is str:
        return value
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is int and -_LARGEST <= value <= _LARGEST:
        return str(value)
    return None


def agrees(mirror: Mirror, header_value: str | None, arguments: object) -> bool:
    """Whether a header field says what the arguments say; both may be silent.

    Integers are compared as numbers (2026-07-28, basic/transports/streamable-http, "Server
    Validation").
    """
    text = text_of(value_at(arguments, mirror.path))
    if header_value is None or text is None:
        return header_value is None and text is None
    value = decoded(header_value)
    if value is None or value == text:
        return value is not None
    return (
        mirror.type == "integer" and _number(text) is not None and _number(value) == _number(text)
    )


def _number(text: str) -> int | None:
    match = _INTEGER.fullmatch(text)
    return None if match is None else int(match[1])


def headers_for(mirrors: Iterable[Mirror], arguments: object) -> dict[str, str]:
    """The header fields that repeat these arguments."""
    texts = ((mirror.header, text_of(value_at(arguments, mirror.path))) for mirror in mirrors)
    return {header: encoded(text) for header, text in texts if text is not None}
