"""What the runtime sees to on a wire by itself, beside what translation does."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from ..core.json import JSONObject

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class Untranslated(NamedTuple):
    """What the runtime reads and writes on the wire, because only that revision has it.

    `unlost` are members, each with its method or type, whose absence after translation is no loss.
    `kept` are members that stay: of outgoing params, by method, or of an incoming type, by name.
    `written` completes translated results, `read` is shown incoming ones, by method.
    """

    unlost: frozenset[tuple[str, str]] = frozenset()
    kept: Mapping[str, frozenset[str]] = _NONE
    written: Mapping[str, Callable[[JSONObject], JSONObject]] = _NONE
    read: Mapping[str, Callable[[JSONObject], object]] = _NONE


NOTHING: Final = Untranslated()
