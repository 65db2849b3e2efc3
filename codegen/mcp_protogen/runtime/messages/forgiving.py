"""Params that break the schema in a way that leaves their meaning clear.

Many programs write null for a member that is absent, and languages without integers write 8.0 for
8. The models refuse both, as the schema does. Here such params are mended after that, so params
that fit the schema cost nothing.
"""

from collections.abc import Sequence
from logging import getLogger
from typing import Any, Final

from ..core.errors import InvalidParams, RemoteError
from ..core.json import JSONObject, is_array, is_object
from ..core.models.validation_errors import unescaped
from ..core.spec import Role
from .jsonrpc import Call, message_of
from .method_table import Message, MethodTable, Notification, Request

_log: Final = getLogger(__name__)


def reinterpret(
    table: MethodTable, call: Call, refused: InvalidParams, sender: Role
) -> Message | RemoteError:
    """Return the meaning of a call with mended params; `refused` if it stays invalid."""
    mended = _mended(call, refused.problems)
    again = None if mended is None else table.interpret(mended, sender, lambda _: None)
    return again if isinstance(again, (Request, Notification)) else refused


def _mended(call: Call, problems: Sequence[tuple[str, str]]) -> Call | None:
    """Return a call without the nulls and whole floats that are `problems`; None without such.

    The message of the call is changed in place: a copy of a large one would take long.
    """
    pointers = {pointer for pointer, _ in problems}
    changed = [pointer for pointer in sorted(pointers) if _mend(call.message, pointer)]
    if not changed:
        return None
    _log.debug("params of %.100r were read in spite of %s", call.method, ", ".join(changed)[:500])
    mended = message_of(call.message)
    return mended if isinstance(mended, Call) else None


def _mend(message: JSONObject, pointer: str) -> bool:
    *steps, last = map(unescaped, pointer.split("/")[1:])
    holder: Any = message
    for step in steps:
        holder = _member(holder, step)
    value = _member(holder, last)
    if value is None and is_object(holder) and last in holder:
        del holder[last]
    elif isinstance(value, float) and value.is_integer():
        key: Any = int(last) if is_array(holder) else last
        holder[key] = int(value)
    else:
        return False
    return True


def _member(holder: Any, step: str) -> Any:
    if is_object(holder):
        return holder.get(step)
    if is_array(holder) and step.isdecimal() and int(step) < len(holder):
        return holder[int(step)]
    return None
