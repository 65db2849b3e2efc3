"""The invalid variations of a place, each with one fault: near misses, not nonsense.

This module does not know whether the schema refuses a case. If alternatives overlap, a value that
is wrong for one may be right for another; the caller asks the schema and drops such cases.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mcp_protogen.base.canonical import on_one_line
from mcp_protogen.base.jsonpointer import escape
from mcp_protogen.base.jsonvalue import is_object, json_type
from mcp_protogen.instep.vectors.cases import A, Case
from mcp_protogen.instep.vectors.places import Place
from mcp_protogen.instep.vectors.samples import LONGEST, UNDECLARED, Samples, make_several, text
from mcp_protogen.instep.vectors.shapes import Node, ResolvedSchema

_NEAR: Mapping[str, tuple[Any, ...]] = {
    "object": ([], "text"),
    "array": ({}, "text"),
    "string": (1, ["text"]),
    "integer": ("1", 0.5, True),
    "number": ("1", True),
    "boolean": ("true", 1),
    "null": ("", {}),
}
"""Values of other kinds for each kind, which careless readers accept."""

_CALLED: Mapping[str, str] = {**A, "boolean": "true", "number": "a fraction"}
"""The names of these values; for some kinds, only one value is tried."""

_STRAYS: Mapping[str, Any] = {"null": None, "text": "text", "integer": 1, "object": {}}
"""Values for which most unions have no arm."""

_UNKNOWN = "x-unknown"


def wrong(place: Place, samples: Samples) -> Iterator[Case]:
    """Yield cases that the schema refuses, unless another alternative accepts them."""
    shape = place.shape
    if shape.anything and not shape.arms:
        return
    if place.closed:
        yield from _kinds(place, samples)
        yield from _inner_faults(place, samples)
    elif shape.arms:
        yield from _no_arm(place, samples)
    else:
        yield from _kinds(place, samples)
        yield from _values(shape)
        yield from _bounds(shape)
        if "array" in shape.kinds:
            yield from _lengths(place, samples)
        if "object" in shape.kinds:
            yield from _members(place, samples)


def _kinds(place: Place, samples: Samples) -> Iterator[Case]:
    """Yield values of kinds that are not allowed; null is always tried."""
    shape = place.shape
    keyword = shape.first_keyword("type")
    allowed = _kinds_of(place, samples)
    tried: list[Any] = [None, *(value for kind in allowed for value in _NEAR[kind])]
    seen: set[str] = set()
    for value in tried:
        kind = json_type(value)
        if kind in allowed or kind in seen:
            continue
        seen.add(kind)
        wanted = " or ".join(A[k] for k in allowed if k != "integer" or "number" not in allowed)
        label, code = ("null", "null") if value is None else (f"type-{kind}", "type")
        reason = f"{_CALLED[kind]} in place of {wanted}"
        yield Case(label, value, code, reason, keyword.pointer if keyword else "")


def _kinds_of(place: Place, samples: Samples) -> tuple[str, ...]:
    """Return the allowed kinds; those of all arms for a closed union."""
    if not place.shape.arms:
        return place.shape.kinds
    kinds = [kind for arm in place.shape.arms for kind in samples.shapes.of(arm).kinds]
    return tuple(dict.fromkeys(kinds))


def _values(shape: ResolvedSchema) -> Iterator[Case]:
    if fixed := shape.first_keyword("const"):
        reason = f"the value must be {on_one_line(fixed.value)}"
        yield Case("const", _other_value(fixed.value), "const", reason, fixed.pointer)
    if listed := shape.first_keyword("enum"):
        reason = "the value is not one of the listed values"
        yield Case("enum", _UNKNOWN, "enum", reason, listed.pointer)
        first = listed.value[0]
        if isinstance(first, str) and first.upper() not in listed.value:
            reason = "the listed values are case-sensitive"
            yield Case("enum-case", first.upper(), "enum", reason, listed.pointer)


def _other_value(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    return _UNKNOWN


def _bounds(shape: ResolvedSchema) -> Iterator[Case]:
    step = 1 if "number" not in shape.kinds else 0.5
    for keyword, sign in (("minimum", -step), ("maximum", step)):
        if bound := shape.first_keyword(keyword):
            where = "below" if sign < 0 else "above"
            reason = f"{where} the {keyword}, {bound.value}"
            yield Case(keyword, bound.value + sign, keyword, reason, bound.pointer)
    for keyword in ("exclusiveMinimum", "exclusiveMaximum"):
        if bound := shape.first_keyword(keyword):
            yield Case(keyword, bound.value, keyword, "the bound itself is excluded", bound.pointer)
    if (bound := shape.first_keyword("minLength")) and bound.value > 0:
        reason = f"shorter than {bound.value} characters"
        yield Case("minLength", "x" * (bound.value - 1), "minLength", reason, bound.pointer)
    if (bound := shape.first_keyword("maxLength")) and bound.value <= LONGEST:
        value = text(shape).ljust(bound.value + 1, "x")
        value = value if len(value) > bound.value else "x" * (bound.value + 1)
        reason = f"longer than {bound.value} characters"
        yield Case("maxLength", value, "maxLength", reason, bound.pointer)
    if bound := shape.first_keyword("pattern"):
        for index, value in enumerate(("", "\n", "é !", "x" * 300)):
            reason = "the string does not match the pattern"
            yield Case(f"pattern-{index}", value, "pattern", reason, bound.pointer)


def _lengths(place: Place, samples: Samples) -> Iterator[Case]:
    shape = place.shape
    item = samples.minimal(shape.items, place.member)
    if (bound := shape.first_keyword("minItems")) and bound.value > 0:
        reason = f"fewer than {bound.value} items"
        value = make_several(shape, item, bound.value - 1)
        yield Case("minItems", value, "minItems", reason, bound.pointer)
    if (bound := shape.first_keyword("maxItems")) and bound.value <= LONGEST:
        reason = f"more than {bound.value} items"
        value = make_several(shape, item, bound.value + 1)
        yield Case("maxItems", value, "maxItems", reason, bound.pointer)
    if (bound := shape.first_keyword("uniqueItems")) and bound.value:
        yield Case("uniqueItems", [item, item], "uniqueItems", "the same item twice", bound.pointer)


def _members(place: Place, samples: Samples) -> Iterator[Case]:
    shape = place.shape
    base = samples.minimal(place.node, place.member)
    if not is_object(base):
        return
    for name, keyword in shape.required.items():
        yield _omit_member(base, name, keyword)
    if shape.other_members is None:
        closed = shape.first_keyword("additionalProperties")
        keyword = closed.pointer if closed else ""
        value = {**base, UNDECLARED: "text"}
        reason = "the object is closed: an undeclared member is refused"
        yield Case("additional", value, "additional", reason, keyword, (UNDECLARED,))


def _omit_member(base: Mapping[str, Any], name: str, keyword: str) -> Case:
    value = {key: item for key, item in base.items() if key != name}
    reason = f"{name} is required and missing"
    return Case(f"{escape(name)}/missing", value, "required", reason, keyword, (name,))


def _inner_faults(place: Place, samples: Samples) -> Iterator[Case]:
    """Yield one fault inside a value of another definition, to test whether readers look there."""
    base = samples.minimal(place.node, place.member)
    if is_object(base) and place.shape.required:
        name, keyword = next(iter(place.shape.required.items()))
        yield _omit_member(base, name, keyword)


def _no_arm(place: Place, samples: Samples) -> Iterator[Case]:
    union, reason = place.shape.union, "the value matches none of the alternatives"
    keyword = union.pointer if union else ""
    common = place.shape.common
    if common.parts:  # the common part of all alternatives is tested with its own values
        kinds = replace(place, node=common, shape=samples.shapes.of(common))
        yield from _kinds(kinds, samples)
        strays: Mapping[str, Any] = {"common": samples.minimal(common, place.member)}
    else:
        strays = _STRAYS
    for label, value in strays.items():
        yield Case(f"no-arm-{label}", value, "union", reason, keyword)
    yield from _unknown_tags(place, samples, keyword)


def _unknown_tags(place: Place, samples: Samples, keyword: str) -> Iterator[Case]:
    tags = {name for arm in place.shape.arms for name in _constants(arm, samples)}
    tags -= set(_constants(place.shape.common, samples))
    base = samples.minimal(place.shape.arms[0], place.member)
    for name in sorted(tags):
        if is_object(base) and isinstance(base.get(name), str):
            value = {**base, name: _UNKNOWN}
            reason = f"no alternative has this {name}"
            open_kind = name == "type"
            yield Case(
                f"{escape(name)}/unknown", value, "union", reason, keyword, (name,), open_kind
            )


def _constants(arm: Node, samples: Samples) -> Iterator[str]:
    shape = samples.shapes.of(arm)
    for name in shape.required:
        member = shape.members.get(name)
        if member is not None and samples.shapes.of(member).first_keyword("const"):
            yield name
