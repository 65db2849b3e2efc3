"""A limit on the errors of one validation: the first one in each array and each object.

For each error, the validator copies the path to it. Many errors below a long name would take a
thousand times the memory of the value itself.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pydantic_core import CoreSchema

from ..json import is_object


def stop_at_first(schema: CoreSchema, resolve: Callable[[CoreSchema], CoreSchema]) -> None:
    """Make a schema stop at the first error of each array and each free-form object, in place.

    Models are left as they are, because they have few members. `resolve` returns what a reference
    refers to.
    """
    left: list[Any] = [schema]
    while left:
        one: Any = left.pop()
        if one["type"] == "definition-ref":
            try:
                one = resolve(one)
            except LookupError:
                # The reference leads to a model that is still being built, and is adjusted after
                # that.
                continue
        if one["type"] in ("list", "dict"):
            if one.get("fail_fast"):
                continue
            one["fail_fast"] = True
        if one["type"] != "model":
            left += _inside(one)


def _inside(value: Any) -> Iterator[Any]:
    """Yield the schemas directly inside a schema."""
    inner: Iterable[Any] = value.values() if is_object(value) else value
    for one in inner:
        if is_object(one) and isinstance(one.get("type"), str):
            yield one
        elif isinstance(one, (dict, list, tuple)):
            yield from _inside(one)
