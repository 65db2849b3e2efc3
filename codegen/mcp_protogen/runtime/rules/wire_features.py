"""Features that add to the wire themselves, without translation."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from ..core.json import JSONObject
from ..messages.method_table import MethodTable

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class Untranslated(NamedTuple):
    """The parts of messages that a feature reads and writes on the wire alone.

    By first names of methods, or names of types: `unlost` is a member whose absence after
    translation is no loss. `kept` are members that stay, of outgoing params or an incoming type.
    `written` completes translated results, `read` receives incoming ones.
    """

    unlost: Mapping[str, str] = _NONE
    kept: Mapping[str, frozenset[str]] = _NONE
    written: Mapping[str, Callable[[JSONObject], JSONObject]] = _NONE
    read: Mapping[str, Callable[[JSONObject], object]] = _NONE


NOTHING: Final = Untranslated()


class WireFeature(Protocol):
    """A feature of a server or client in terms of the wire, whatever its own revision."""

    @property
    def extension(self) -> str: ...
    @property
    def members(self) -> Collection[str]: ...

    def without(self, declared: JSONObject, wire: MethodTable, /) -> JSONObject:
        """Return capabilities without those that `declared` returns for that wire."""
        ...

    def capabilities_on(self, wire: MethodTable, /) -> JSONObject: ...
    def untranslated_members(self, wire: MethodTable, /) -> Untranslated: ...
