"""The valid variations of a place: present, every arm, every constant, every bound reached."""

from collections.abc import Iterator
from typing import Any

from mcp_protogen.base.canonical import on_one_line
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.instep.vectors.cases import A, Case
from mcp_protogen.instep.vectors.places import Place, label_arms
from mcp_protogen.instep.vectors.samples import (
    ANYTHING,
    LONGEST,
    UNDECLARED,
    Samples,
    make_several,
    number,
    text,
)
from mcp_protogen.instep.vectors.shapes import ResolvedSchema

_AWKWARD = ("awkward-text", 'déjà \U0001f600 "quoted" \\ line\nline\t\u2028')
"""Characters that often cause faults in encoders and decoders."""
_FREE_TEXT = frozenset({"description", "text"})


def right(place: Place, samples: Samples) -> Iterator[Case]:
    """Yield cases that the schema accepts."""
    shape = place.shape
    least = samples.minimal(place.node, place.member)
    if not place.path and not place.label:
        yield Case(
            "minimal", least, "minimal", "only required members are given", _place_pointer(place)
        )
    elif place.optional:
        yield Case(
            "present", least, "present", "the optional member is given", _place_pointer(place)
        )
    most = samples.full(place.node, place.member)
    if (not place.path or place.closed) and most != least:
        yield Case("full", most, "full", "every declared member is given", _place_pointer(place))
    if place.closed:
        return
    if shape.arms:
        yield from _arms(place, samples)
    elif shape.anything:
        for label, value in ANYTHING:
            yield Case(f"any-{label}", value, "any", "any JSON value is allowed here")
    elif not shape.first_keyword("const"):
        yield from _plain(place, samples)


def _place_pointer(place: Place) -> str:
    return place.node.parts[-1].pointer if place.node.parts else ""


def _arms(place: Place, samples: Samples) -> Iterator[Case]:
    for name, arm in label_arms(place.shape, samples.shapes):
        value = samples.minimal(arm, place.member)
        yield Case(
            f"arm-{name}",
            value,
            "union",
            f"{name} is one of the alternatives",
            arm.parts[-1].pointer,
        )


def _plain(place: Place, samples: Samples) -> Iterator[Case]:
    shape = place.shape
    if listed := shape.first_keyword("enum"):
        for index, value in enumerate(listed.value):
            # Both 1 and "1" may be listed.
            same = [item for item in listed.value if f"{item}" == f"{value}"]
            label = f"enum-{value}" if len(same) == 1 else f"enum-{value}-{index}"
            reason = f"{on_one_line(value)} is one of the listed values"
            yield Case(label, value, "enum", reason, f"{listed.pointer}/{index}")
        return
    yield from _bounds(shape)
    keyword = shape.first_keyword("type")
    for kind in shape.kinds:
        for label, value in _of_kind(kind, place, samples):
            reason = f"{A[kind]} is allowed here"
            yield Case(label, value, "type", reason, keyword.pointer if keyword else "")
    if "array" in shape.kinds:
        yield from _lengths(place, samples)
    if "object" in shape.kinds:
        yield from _open_object(place, samples)


def _of_kind(kind: str, place: Place, samples: Samples) -> list[tuple[str, Any]]:
    """Return values of one kind that a place may have, each with a label."""
    shape = place.shape
    several_kinds = len(shape.kinds) > 1
    match kind:
        case "string":
            fitting = text(shape, place.member, samples.revision)
            found = [("type-string", fitting)] if several_kinds else []
            bounded = shape.first_keyword("format", "pattern", "maxLength")
            return found if bounded or place.member not in _FREE_TEXT else [*found, _AWKWARD]
        case "integer":
            whole: list[tuple[str, Any]] = []
            if several_kinds:
                whole.append(("type-integer", int(number(shape, 1))))
            zero = number(shape, 0)
            return [*whole, ("zero", zero)] if zero == 0 else whole
        case "number":
            return [("type-fraction", number(shape, 0.5))]
        case "boolean":
            return [("true", True), ("false", False)]
        case "null":
            return [("null", None)]
        case "array":
            return (
                [("type-array", [])]
                if several_kinds and not shape.first_keyword("minItems")
                else []
            )
        case _:  # an object comes first among the kinds
            least = samples.minimal(place.node, place.member)
            return [("type-object", least)] if several_kinds else []


def _bounds(shape: ResolvedSchema) -> Iterator[Case]:
    for keyword in ("minimum", "maximum"):
        if bound := shape.first_keyword(keyword):
            reason = f"{bound.value} is the {keyword}, and allowed"
            yield Case(keyword, bound.value, keyword, reason, bound.pointer)
    for keyword in ("minLength", "maxLength"):
        if (bound := shape.first_keyword(keyword)) and bound.value <= LONGEST:
            value = text(shape)[: bound.value].ljust(bound.value, "x")
            reason = f"{bound.value} characters are allowed"
            if not shape.first_keyword("pattern", "format"):
                yield Case(keyword, value, keyword, reason, bound.pointer)


def _lengths(place: Place, samples: Samples) -> Iterator[Case]:
    shape = place.shape
    least, most = shape.first_keyword("minItems"), shape.first_keyword("maxItems")
    item = samples.minimal(shape.items, place.member)
    counts = {"items-0": 0, "items-1": 1, "items-2": 2}
    if most and most.value <= LONGEST:
        counts["maxItems"] = most.value
    if least:
        counts["minItems"] = least.value
    for label, count in counts.items():
        if (least is None or count >= least.value) and (most is None or count <= most.value):
            bound = {"maxItems": most, "minItems": least}.get(label)
            keyword = bound.pointer if bound else ""
            value = make_several(shape, item, count)
            reason = f"{count} {'item is' if count == 1 else 'items are'} allowed"
            yield Case(label, value, label if bound else "items", reason, keyword)


def _open_object(place: Place, samples: Samples) -> Iterator[Case]:
    others = place.shape.other_members
    if others is None or not samples.shapes.of(others).anything:
        return
    base = samples.minimal(place.node, place.member)
    base = base if is_object(base) else {}
    reason = "the object is open: members that the schema does not declare are allowed"
    stated = place.shape.first_keyword("additionalProperties")
    keyword = stated.pointer if stated else ""
    value: Any = {**base, UNDECLARED: {"a": [1, "text"]}}
    yield Case("undeclared", value, "undeclared", reason, keyword, (UNDECLARED,))
    if stated:  # an intended map, such as arguments: null is a value like any other
        value = {**base, UNDECLARED: None}
        yield Case("undeclared-null", value, "undeclared", reason, keyword, (UNDECLARED,))
