"""JSON text of Python values that JSON cannot fully express.

Lone surrogates, as in a file name that is not UTF-8 (`os.fsdecode`), are sent as U+FFFD, with a
warning. NaN and infinities raise an error, because null would mean something else.
"""

import re
from collections.abc import Callable
from math import isfinite
from typing import Any, Final, cast

from pydantic_core import PydanticSerializationError, SchemaSerializer, SchemaValidator, to_json
from pydantic_core import core_schema as cs

from .errors import escape_step
from .json import is_object
from .throttle import Throttle

_log: Final = Throttle(__name__)

as_python: Final[Callable[..., Any]] = SchemaSerializer(cs.any_schema()).to_python
"""Return a value with dictionaries in place of models; their numbers stay as they are."""

may_have_nan: Final = SchemaValidator(cs.str_schema(pattern="null|NaN|Infinity")).isinstance_python
"""Return whether JSON text may have NaN or an infinity, or null in its place."""


class Unsendable(ValueError):
    """A value that JSON cannot express."""

    def __init__(self, pointer: str, why: str) -> None:
        super().__init__(f"{pointer or '/'}: {why}")
        self.pointer: Final = pointer
        self.why: Final = why


def sendable_text(value: Any, label: str) -> bytes:
    """Return a value as JSON text; `label` names it in the log.

    Raise `Unsendable` and `PydanticSerializationError`.
    """
    try:
        text = to_json(value)
    except PydanticSerializationError as error:
        text = to_json(without_surrogates(as_python(value, by_alias=True), label, error))
    if may_have_nan(text):
        check_finite(as_python(value, by_alias=True))
    return text


def check_finite(value: Any) -> None:
    """Raise `Unsendable` if a value contains NaN or an infinity."""
    if not _has_odd_number(value):
        return
    pointer = ""
    while value.__class__ is not float:
        members = value.items() if value.__class__ is dict else enumerate(value)
        step, value = next(pair for pair in members if _has_odd_number(pair[1]))
        pointer += f"/{escape_step(str(step))}"
    raise Unsendable(pointer, f"{value} is not valid in JSON")


def _has_odd_number(value: Any) -> bool:
    kind = value.__class__
    if kind is dict:
        value = value.values()
    elif kind is not list and kind is not tuple:
        return kind is float and not isfinite(value)
    # Every sent value passes here, so most cost no call.
    for member in value:
        kind = member.__class__
        if kind is not str and kind is not int and _has_odd_number(member):
            return True
    return False


def without_surrogates(value: Any, label: str, error: PydanticSerializationError) -> Any:
    """Return a value with U+FFFD in place of lone surrogates; raise `error` if it has none."""
    places: list[str] = []
    replaced = _replace_surrogates(value, "", places)
    if not places:
        raise error
    # A separate throttle entry for each method and tool.
    named = label[:100].replace("%", "%%")
    _log.warning(f"{named} has a lone surrogate at %.200s, sent as U+FFFD", places[0])
    return replaced


def _replace_surrogates(value: Any, at: str, places: list[str]) -> Any:
    if isinstance(value, str):
        text, count = re.subn("[\ud800-\udfff]", "\ufffd", value)
        if count:
            places.append(at or "/")
        return text
    if is_object(value):
        replaced: dict[Any, Any] = {}
        for name, member in value.items():
            name = _replace_surrogates(name, at, places)
            replaced[name] = _replace_surrogates(member, f"{at}/{escape_step(str(name))}", places)
        return replaced
    if isinstance(value, (list, tuple)):
        items = enumerate(cast(list[Any], value))
        return [_replace_surrogates(item, f"{at}/{number}", places) for number, item in items]
    return value
