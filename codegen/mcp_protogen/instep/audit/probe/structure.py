"""The check whether a JSON value fits an expression, for types that the SDK cannot check.

Dataclasses and typed dictionaries without Pydantic declare their members and check nothing. Members
of a dataclass may be in snake case for a wire name in camel case.
"""

import re
from collections.abc import Callable
from typing import Any, cast

_CHECKS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: (
        isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value)
    ),
}
_CONTAINERS: dict[str, type] = {"list": list, "map": dict}
_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def snake(wire: str) -> str:
    """Return a name in snake case: `mimeType` → `mime_type`, `_meta` → `meta`."""
    return _BOUNDARY.sub("_", wire.lstrip("_$")).lower()


def fault(value: Any, expression: dict[str, Any], types: dict[str, Any]) -> str:
    """Return the fault of a value in a few words; empty if it fits."""
    (kind, inside), *_ = expression.items()
    if kind == "ref":
        return _type_fault(value, types[inside], types)
    if kind == "union":
        faults = [fault(value, arm, types) for arm in inside]
        return "" if "" in faults else faults[0]
    if kind == "scalar":
        return "" if _CHECKS[inside](value) else f"{value!r:.40} is not of type {inside}"
    if kind == "literal":
        fits = any(value == item and type(value) is type(item) for item in inside)
        return "" if fits else f"{value!r:.40} is not one of {inside}"
    return _container(value, kind, inside, types)


def _container(value: Any, kind: str, inside: Any, types: dict[str, Any]) -> str:
    if kind not in _CONTAINERS:
        return ""
    if not isinstance(value, _CONTAINERS[kind]):
        return f"{value!r:.40} is not of type {kind}"
    items = cast("dict[str, Any]", value).values() if kind == "map" else cast("list[Any]", value)
    return next((found for item in items if (found := fault(item, inside, types))), "")


def _type_fault(value: Any, entry: dict[str, Any], types: dict[str, Any]) -> str:
    if entry["kind"] == "alias":
        return fault(value, entry["type"], types)
    if entry["kind"] == "enum":
        return "" if value in entry["values"] else f"{value!r:.40} is not a {entry['names'][0]}"
    if not _is_object(value):
        return f"{value!r:.40} is not an object"
    given = {**{snake(key): item for key, item in value.items()}, **value}
    for member in entry["members"]:
        if member["wire"] in given:
            found = fault(given[member["wire"]], member["type"], types)
            if found:
                return f"{member['wire']}: {found}"
        elif member["required"]:
            return f"{member['wire']} is missing"
    return ""


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)
