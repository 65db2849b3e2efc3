"""What features say on a wire by themselves, beside what translation does."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from ..core.json import JSONObject
from ..messages.method_table import MethodTable

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class Untranslated(NamedTuple):
    """What a feature reads and writes on the wire alone.

    `unlost` are members, each with its method or type, whose absence after translation is no loss.
    `kept` are members that stay: of outgoing params, by method, or of an incoming type, by name.
    `written` completes translated results, `read` is shown incoming ones, by method.
    """

    unlost: frozenset[tuple[str, str]] = frozenset()
    kept: Mapping[str, frozenset[str]] = _NONE
    written: Mapping[str, Callable[[JSONObject], JSONObject]] = _NONE
    read: Mapping[str, Callable[[JSONObject], object]] = _NONE


NOTHING: Final = Untranslated()


class WireFeature(Protocol):
    """What a server or client has in the words of the wire, whatever its own revision is."""

    @property
    def extension(self) -> str:
        """The module of its extension, in revisions that have it as one."""
        ...

    @property
    def members(self) -> Collection[str]:
        """The members of capabilities that have something of it."""
        ...

    def without(self, declared: JSONObject, wire: MethodTable, /) -> JSONObject:
        """Return capabilities without those that `declared` returns on that wire."""
        ...

    def capabilities_on(self, wire: MethodTable, /) -> JSONObject:
        """Return its capabilities on a wire."""
        ...

    def untranslated_members(self, wire: MethodTable, /) -> Untranslated:
        """Return what it reads and writes on a wire."""
        ...
