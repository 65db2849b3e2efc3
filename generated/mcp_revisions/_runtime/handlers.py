"""Classes whose methods answer what the peer sends.

A generated base class has one method per message and a table that says which is which; what a
subclass overrides is what it handles, and from that follows what it has to declare.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, Final, TypeAlias

from . import gate
from .codec import MethodTable
from .jsonvalue import JSONObject, is_object
from .model import WireModel
from .spec import NotificationSpec, RequestSpec, Role

RequestHandlers: TypeAlias = Mapping[str, tuple[RequestSpec[Any, Any], str]]
NotificationHandlers: TypeAlias = Mapping[str, tuple[NotificationSpec[Any], str]]

_TABLES: Final = ("REQUESTS", "INPUT_REQUESTS", "NOTIFICATIONS")


class Handlers:
    """Base of the generated classes that hold one handler per message.

    `REQUESTS` and `NOTIFICATIONS` map a wire name to its entry in the method table and the name of
    the handler; generated code fills them in.
    """

    ROLE: ClassVar[Role]
    TABLE: ClassVar[MethodTable]
    REQUESTS: ClassVar[RequestHandlers] = {}
    NOTIFICATIONS: ClassVar[NotificationHandlers] = {}
    INPUT_REQUESTS: ClassVar[RequestHandlers] = {}
    """Questions that a server puts into a result (2026-07-28, basic/patterns/mrtr)."""
    SENDS: ClassVar[frozenset[str]] = frozenset()
    """Wire names of the notifications that a subclass sends; they may need a capability."""
    DECLARES: ClassVar[Mapping[str, Any]] = {}
    """Capabilities to declare beside those, as a JSON object: modes, extensions, experiments."""

    @classmethod
    def handled(cls) -> frozenset[str]:
        """The wire names of the messages whose handler a subclass overrides."""
        tables = (cls.REQUESTS, cls.INPUT_REQUESTS, cls.NOTIFICATIONS)
        return frozenset(
            method
            for table in tables
            for method, (_, name) in table.items()
            if cls._overrides(name)
        )

    @classmethod
    def _overrides(cls, name: str) -> bool:
        # The generated class is the first to bring a table along; it heads the user's classes.
        generated = next(
            base
            for base in reversed(cls.__mro__)
            if base is not Handlers and not base.__dict__.keys().isdisjoint(_TABLES)
        )
        return getattr(cls, name) is not getattr(generated, name, None)

    def declaration(self) -> JSONObject:
        """The JSON object of the capabilities to declare: what is handled and sent needs them."""
        handled = self.handled()
        needs = [
            need
            for method, (spec, _) in (*self.REQUESTS.items(), *self.INPUT_REQUESTS.items())
            if method in handled
            for need in spec.requires
        ]
        for method in self.SENDS:
            needs += self.TABLE.notifications[method].requires
        return merged(gate.declare(gate.needed(needs, self.ROLE)), self.DECLARES)

    def bound(self) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        """The handlers that a subclass overrides, by wire name."""
        handled = self.handled()
        tables = (self.REQUESTS, self.INPUT_REQUESTS, self.NOTIFICATIONS)
        return {
            method: getattr(self, name)
            for table in tables
            for method, (_, name) in table.items()
            if method in handled
        }

    def identity(self) -> JSONObject:
        """What this side calls itself: its `info`, or else the name of its class."""
        info: WireModel | None = getattr(self, "info", None)
        return {"name": type(self).__name__, "version": "0"} if info is None else info.to_wire()


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> JSONObject:
    """Two JSON objects as one; where both have a member that is no object, `other` counts."""
    both = dict(one)
    for key, value in other.items():
        mine = both.get(key)
        both[key] = merged(mine, value) if is_object(mine) and is_object(value) else value
    return both
