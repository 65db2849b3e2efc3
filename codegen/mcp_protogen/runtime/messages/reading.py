"""JSON values from the bytes of a peer (UTF-8: 2025-11-25, basic/transports).

Text that is not strict JSON is repaired if its meaning is clear, and each repair is reported.
Otherwise a `ParseError` has the reason, its place, and the id and purpose of the message if known.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json

from ..core.errors import ParseError, RemoteError, RequestId
from ..core.json import ARRAY, is_object, read_json
from ..core.throttle import Throttle
from .jsonrpc import Malformed, Parsed, id_of, message_of, parse

if TYPE_CHECKING:
    from .repairing import Repair


class Batch:
    def __init__(self, values: list[Any]) -> None:
        self.values = values

    @cached_property
    def members(self) -> list[Parsed]:
        return [message_of(value) for value in self.values]


class Reading(NamedTuple):
    """The values in one text, in order: usually one, but a line may have several."""

    values: tuple[Any, ...]
    repairs: "tuple[Repair, ...]" = ()


def read_values(data: bytes) -> Reading:
    """Return the JSON values in a line, a body or an event; raise `ParseError`.

    An empty text is an error; a byte order mark alone is a text without a value.
    """
    try:
        return Reading((read_json(data),))
    except ValueError as error:
        from .repairing import repair_text

        return Reading(*repair_text(data, str(error)))


def read_messages(data: bytes, log: Throttle | None = None) -> Sequence[Parsed | Batch]:
    """Return the messages in a text, and log repairs. Never raises.

    An unreadable text becomes `Malformed`, with a `ParseError`.
    """
    try:
        # `read_json`, but each message needs no further call.
        value = from_json(data, allow_inf_nan=False, cache_strings="keys")
    except ValueError:
        try:
            values, repairs = read_values(data)
        except ParseError as unread:
            return (Malformed(unread.with_traceback(None)),)
        if log is not None:
            log_repairs(repairs, log)
        return tuple(map(_message, values))
    return (Batch(value) if type(value) is ARRAY else message_of(value),)


def messages_in(received: object, log: Throttle) -> Sequence[Parsed | Batch]:
    """Return the messages in received input; an error of the transport becomes `Malformed`."""
    if isinstance(received, bytes):
        return read_messages(received, log)
    return (Malformed(received),) if isinstance(received, RemoteError) else ()


def log_repairs(repairs: "Sequence[Repair]", log: Throttle) -> None:
    for repair in repairs:
        log.warning("repaired a message that is not strict JSON: %s", repair)


def read(data: bytes | str) -> Parsed | Batch:
    """Read one message, or a batch of them, in strict JSON; raise `ParseError`."""
    return _message(parse(data))


def _message(value: Any) -> Parsed | Batch:
    return Batch(value) if type(value) is ARRAY else message_of(value)


def is_stray(message: Parsed | Batch) -> bool:
    """Return whether a message is unrelated output rather than a wrong answer."""
    if isinstance(message, Batch):
        return all(map(is_stray, message.members))
    return type(message) is Malformed and not message.error.is_answer


def answered_id(value: object) -> RequestId | None:
    """Return the id of the request that a decoded message means to answer, even a malformed one."""
    if not is_object(value) or "method" in value or not ("result" in value or "error" in value):
        return None
    return id_of(value)
