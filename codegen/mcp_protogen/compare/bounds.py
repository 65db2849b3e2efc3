"""The direction of a change of a constraint: whether it allows more or less than before."""

from typing import Any

# A smaller upper bound is tighter, and so is a greater lower bound.
_UPPER = frozenset(
    {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"}
)
_LOWER = frozenset(
    {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"}
)
# https://json-schema.org/draft/2020-12/json-schema-validation: sections 7 and 8, where both are
# annotations unless somebody asks for more.
_ANNOTATIONS = frozenset({"contentEncoding", "contentMediaType", "contentSchema", "format"})


def bound_change(keyword: str, was: Any, now: Any) -> str | None:
    """Return the code of a change of one constraint; None if there is none.

    `keyword` begins with `items/` if it is about the items of a list.
    """
    if was == now:
        return None
    name = keyword.rpartition("/")[2]
    if name in _ANNOTATIONS:
        return "field-format-changed"
    if was is None:
        return "bound-tightened"
    if now is None:
        return "bound-loosened"
    if name in _UPPER:
        return "bound-tightened" if now < was else "bound-loosened"
    if name in _LOWER:
        return "bound-tightened" if now > was else "bound-loosened"
    return "bound-changed"
