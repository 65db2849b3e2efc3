"""Tool arguments that HTTP repeats in header fields, so that proxies need not read the body.

The tool's schema marks them: they are the properties with `x-mcp-header` (2026-07-28,
basic/transports/streamable-http, "Custom Headers from Tool Parameters").
"""

import re
from typing import Any, Final, NamedTuple

from ..core.errors import escape_step
from ..core.json import is_array, is_object

ANNOTATION: Final = "x-mcp-header"
_PREFIX: Final = "mcp-param-"

_TYPES: Final = ("string", "integer", "boolean")
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")

# These keywords contain data, which may look like a schema.
_DATA: Final = ("const", "default", "enum", "examples")
# These keywords contain schemas by name; the names are not keywords.
_NAMED: Final = (
    *("$defs", "definitions", "dependencies", "dependentRequired", "dependentSchemas"),
    *("patternProperties", "properties"),
)

# Far more than any schema needs; a larger one is meant to keep its reader busy.
_MAX_DEPTH: Final = 200
_MAX_VALUES: Final = 100_000


class BadAnnotation(ValueError):
    """A schema that breaks the rules for `x-mcp-header`; the message is a pointer and a reason."""


class HeaderParam(NamedTuple):
    path: tuple[str, ...]
    """The member names that lead to the argument."""
    header: str
    """The full name of the header field, in lower case."""
    type: str


def header_params(schema: object) -> tuple[HeaderParam, ...]:
    """Return the arguments that a tool's input schema marks; raise `BadAnnotation`.

    The whole schema is searched: a mark on anything but a nested property makes the tool invalid.
    """
    params: dict[str, HeaderParam] = {}
    # With a list and a counter: a schema built in Python may be deep, or contain itself.
    queue = [_Place(schema, "", ())]
    count = 0
    while queue:
        place = queue.pop()
        count += 1
        if count > _MAX_VALUES or place.pointer.count("/") > _MAX_DEPTH:
            raise BadAnnotation(f"{place.pointer[:100]}: the schema is too large")
        if is_object(place.value) and ANNOTATION in place.value:
            param = _param_at(place)
            if param.header in params:
                raise _bad(place, "another property has the same header name, ignoring case")
            params[param.header] = param
        queue += reversed(_inner_places(place))
    return tuple(params.values())


def check_header_params(schema: object, label: str) -> None:
    """Raise `ValueError` for a tool that clients over HTTP would have to ignore."""
    try:
        header_params(schema)
    except BadAnnotation as error:
        raise ValueError(f"{label}: the input schema at {error}") from error


class _Place(NamedTuple):
    """A value inside a schema; `path` is None if it does not describe an argument."""

    value: Any
    pointer: str
    path: tuple[str, ...] | None


def _inner_places(place: _Place) -> list[_Place]:
    value = place.value
    if is_array(value):
        return [_Place(item, f"{place.pointer}/{at}", None) for at, item in enumerate(value)]
    if not is_object(value):
        return []
    places: list[_Place] = []
    for keyword, member in value.items():
        pointer = f"{place.pointer}/{escape_step(keyword)}"
        if keyword in _NAMED and is_object(member):
            reached = place.path if keyword == "properties" else None
            for name, schema in member.items():
                path = None if reached is None else (*reached, name)
                places.append(_Place(schema, f"{pointer}/{escape_step(name)}", path))
        elif keyword not in _DATA and isinstance(member, (dict, list)):
            places.append(_Place(member, pointer, None))
    return places


def _param_at(place: _Place) -> HeaderParam:
    name, type = place.value[ANNOTATION], place.value.get("type")
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise _bad(place, "must be the name of a header field: letters, digits, !#$%&'*+-.^_`|~")
    if not place.path:
        raise _bad(place, "is only allowed on a property of the arguments, nested or not")
    if type not in _TYPES:
        raise _bad(place, "needs a property of type string, integer or boolean")
    return HeaderParam(place.path, _PREFIX + name.lower(), type)


def _bad(place: _Place, reason: str) -> BadAnnotation:
    return BadAnnotation(f"{place.pointer}/{ANNOTATION}: {reason}")
