"""How much of what is wrong with a value is found: of each list and each object, the first thing.

Whoever checks a value notes for each fault where it is, and copies the names on the way there for
it: many faults below a long name would take a thousand times what the value itself takes.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pydantic_core import CoreSchema

from .jsonvalue import is_object


def stop_at_first(schema: CoreSchema, resolve: Callable[[CoreSchema], CoreSchema]) -> None:
    """Have a schema stop at the first fault of each array or object of any members, in place.

    Not in models, which have few members; `resolve` gives what a reference refers to.
    """
    left: list[Any] = [schema]
    while left:
        one: Any = left.pop()
        if one["type"] == "definition-ref":
            try:
                one = resolve(one)
            except LookupError:
                # A model that is being built, and adjusted then, which this one is a part of.
                continue
        if one["type"] in ("list", "dict"):
            if one.get("fail_fast"):
                continue
            one["fail_fast"] = True
        if one["type"] != "model":
            left += _inside(one)


def _inside(value: Any) -> Iterator[Any]:
    """The schemas right inside of one."""
    inner: Iterable[Any] = value.values() if is_object(value) else value
    for one in inner:
        if is_object(one) and isinstance(one.get("type"), str):
            yield one
        elif isinstance(one, (dict, list, tuple)):
            yield from _inside(one)
