"""JSON text to send, of values that Python can hold and JSON cannot.

Python reads a file name that is not UTF-8 with lone surrogates (`os.fsdecode`), for which UTF-8 has
no form. They are sent as U+FFFD, with a warning. JSON has no NaN and no infinities: what has some
is refused, because null would mean something else. A value without either costs a search in its
text.
"""

import re
from collections.abc import Callable
from functools import partial
from logging import getLogger
from math import isfinite
from typing import Any, Final, cast

from pydantic_core import PydanticSerializationError, SchemaSerializer, to_json
from pydantic_core import core_schema as cs

from .json import is_array, is_object, read_json
from .models.validation_errors import escaped
from .throttle import Throttle

_log: Final = Throttle(getLogger(__name__))

open_text: Final = partial(to_json, inf_nan_mode="constants")
"""Return a value as text that `check_numbers` has to see before it is sent."""

as_python: Final[Callable[..., Any]] = SchemaSerializer(cs.any_schema()).to_python
"""Return a value with dictionaries in place of models; their numbers stay what they are."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Unsendable(ValueError):
    """A value without a JSON form."""

    def __init__(self, pointer: str, why: str) -> None:
        super().__init__(f"{pointer or '/'}: {why}")
        self.pointer: Final = pointer
        self.why: Final = why


def sendable_text(value: Any, what: str) -> bytes:
    """Return a value as JSON text; `what` names it in the log.

    Raise `Unsendable`, and `PydanticSerializationError` for other values without a JSON form.
    """
    try:
        text = open_text(value)
    except PydanticSerializationError as error:
        text = open_text(without_surrogates(as_python(value, by_alias=True), what, error))
    if b"NaN" in text or b"Infinity" in text:
        check_numbers(text, as_python(value, by_alias=True))
    return text


def check_numbers(text: bytes, value: Any) -> None:
    """Raise `Unsendable` if a number in `text`, which was made from `value`, is not JSON."""
    if b"NaN" not in text and b"Infinity" not in text:
        return
    try:
        read_json(text)
    except ValueError:
        # Nesting that is too deep for readers is no fault of a number.
        check_finite(value)


def check_finite(value: Any, at: str = "") -> None:
    """Raise `Unsendable` for the first number in a value that is not finite."""
    if isinstance(value, float):
        if not isfinite(value):
            raise Unsendable(at, f"{value} is not a number of JSON")
    elif is_object(value):
        for name, member in value.items():
            check_finite(member, f"{at}/{escaped(str(name))}")
    elif is_array(value) or isinstance(value, tuple):
        for number, item in enumerate(cast(list[Any], value)):
            check_finite(item, f"{at}/{number}")


def without_surrogates(value: Any, what: str, error: PydanticSerializationError) -> Any:
    """Return a value with U+FFFD in place of lone surrogates; raise `error` if it has none."""
    places: list[str] = []
    replaced = _replaced(value, "", places)
    if not places:
        raise error
    # Each name has entries of its own: the names are those of methods and tools.
    named = what[:100].replace("%", "%%")
    _log.warning(f"{named} has half of a surrogate pair at %.200s, sent as U+FFFD", places[0])
    return replaced


def _replaced(value: Any, at: str, places: list[str]) -> Any:
    if isinstance(value, str):
        text, count = _SURROGATE.subn("\ufffd", value)
        if count:
            places.append(at or "/")
        return text
    if is_object(value):
        return {
            _replaced(name, at, places): _replaced(member, f"{at}/{_shown(name)}", places)
            for name, member in value.items()
        }
    if is_array(value) or isinstance(value, tuple):
        items = cast(list[Any], value)
        return [_replaced(item, f"{at}/{number}", places) for number, item in enumerate(items)]
    return value


def _shown(name: Any) -> str:
    return escaped(_SURROGATE.sub("\ufffd", str(name)))
