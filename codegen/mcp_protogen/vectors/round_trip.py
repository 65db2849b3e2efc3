"""The losses, additions and changes of a value on its way through an implementation.

Values are compared as JSON: the order of members does not matter, 1 and 1.0 are the same number,
and true is not a number.
"""

from collections.abc import Iterator
from typing import Any

from mcp_protogen.base.jsonpointer import escape
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.vectors.outcome import Harm, Loss


def losses(before: Any, after: Any, pointer: str = "") -> Iterator[Loss]:
    """Yield every difference, outermost first."""
    if is_object(before) and is_object(after):
        for name in before.keys() - after.keys():
            yield Loss(Harm.LOST, f"{pointer}/{escape(name)}", before=before[name])
        for name in after.keys() - before.keys():
            yield Loss(Harm.ADDED, f"{pointer}/{escape(name)}", after=after[name])
        for name in before:
            if name in after:
                yield from losses(before[name], after[name], f"{pointer}/{escape(name)}")
    elif is_array(before) and is_array(after) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from losses(one, other, f"{pointer}/{index}")
    elif not _same(before, after):
        yield Loss(Harm.CHANGED, pointer, before, after)


def _same(before: Any, after: Any) -> bool:
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    alike = type(before) is type(after) or _are_numbers(before, after)
    return alike and bool(before == after)


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, (int, float)) for value in values)
