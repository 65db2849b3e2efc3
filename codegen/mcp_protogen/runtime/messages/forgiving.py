"""Params that break the schema in a way that leaves their meaning clear.

Many programs write null for a member that is absent, and languages without integers write 8.0 for
8. The models refuse both, as the schema does. Here such params are mended after that, so params
that fit the schema cost nothing.
"""

from collections.abc import Sequence
from logging import getLogger
from typing import Final

from ..core.errors import InvalidParams, RemoteError
from ..core.json import JSONObject, is_object
from ..core.places import steps_of, value_at
from ..core.spec import Role
from .codec import Notification, Request, Understood
from .jsonrpc import Call, message_of
from .method_table import MethodTable

_log: Final = getLogger(__name__)

# Each round validates the params again, so a peer may not ask for many.
_MOST_ROUNDS: Final = 8


def reinterpret(
    table: MethodTable, call: Call, refused: InvalidParams, sender: Role
) -> Understood | RemoteError:
    """Return what a call comes to once its params are mended; `refused` if it stays invalid."""
    problems = refused.problems
    # Only the first fault of a list is among the problems.
    for _ in range(_MOST_ROUNDS):
        mended = _mend_call(call, problems)
        if mended is None:
            break
        again = table.interpret(mended, sender)
        if not isinstance(again, InvalidParams):
            return again if isinstance(again, (Request, Notification)) else refused
        call, problems = mended, again.problems
    return refused


def _mend_call(call: Call, problems: Sequence[tuple[str, str]]) -> Call | None:
    """Return a call without the nulls and whole floats that are `problems`; None without such.

    The message of the call is changed in place: a copy of a large one would take long.
    """
    pointers = {pointer for pointer, _ in problems}
    changed = [pointer for pointer in sorted(pointers) if _mend_value(call.message, pointer)]
    if not changed:
        return None
    _log.debug("params of %.100r were read in spite of %s", call.method, ", ".join(changed)[:500])
    mended = message_of(call.message)
    return mended if isinstance(mended, Call) else None


def _mend_value(message: JSONObject, pointer: str) -> bool:
    *way, last = steps_of(pointer, message)
    holder = value_at(message, way)
    value = value_at(holder, [last])
    if value is None and is_object(holder):
        del holder[str(last)]
    elif isinstance(value, float) and value.is_integer():
        holder[last] = int(value)
    else:
        return False
    return True
