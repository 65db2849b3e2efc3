"""Repairs of params that break the schema although their meaning is clear.

Many programs write null for an absent member, and languages without integers write 8.0 for 8. The
models reject both, as the schema does. Repair happens after that, so valid params cost nothing.
"""

from collections.abc import Sequence
from logging import getLogger
from typing import Final

from ..core.errors import InvalidParams, RemoteError
from ..core.json import JSONObject, is_object
from ..core.json_pointers import steps_of, value_at
from ..core.spec import Role
from .codec import Notification, Request, TypedCall
from .jsonrpc import Call, message_of
from .method_table import MethodTable

_log: Final = getLogger(__name__)

# Each round validates the params again, so their number is limited.
_MOST_ROUNDS: Final = 8


def reinterpret(
    table: MethodTable, call: Call, error: InvalidParams, sender: Role
) -> TypedCall | RemoteError:
    """Return a call with repaired params as a typed value; `error` if it stays invalid."""
    problems = error.problems
    # Only the first fault of a list is among the problems.
    for _ in range(_MOST_ROUNDS):
        mended = _mend_call(call, problems)
        if mended is None:
            break
        again = table.interpret(mended, sender)
        if not isinstance(again, InvalidParams):
            return again if isinstance(again, (Request, Notification)) else error
        call, problems = mended, again.problems
    return error


def _mend_call(call: Call, problems: Sequence[tuple[str, str]]) -> Call | None:
    """Repair the nulls and whole floats in `problems`; return None if there are none.

    The message is changed in place: copying a large one would take long.
    """
    pointers = {pointer for pointer, _ in problems}
    repairs = [pointer for pointer in sorted(pointers) if _mend_value(call.message, pointer)]
    if not repairs:
        return None
    places = ", ".join(repairs)[:500]
    _log.debug("read params of %.100r although they break the schema at %s", call.method, places)
    mended = message_of(call.message)
    return mended if isinstance(mended, Call) else None


def _mend_value(message: JSONObject, pointer: str) -> bool:
    *way, last = steps_of(pointer, message)
    parent = value_at(message, way)
    value = value_at(parent, [last])
    if value is None and is_object(parent):
        del parent[str(last)]
    elif isinstance(value, float) and value.is_integer():
        parent[last] = int(value)
    else:
        return False
    return True
