"""Classes whose methods answer what the peer sends.

A generated base class has one method per message and a table that says which is which; what a
subclass overrides is what it handles, and from that follows what it has to declare.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

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
    def handled(cls, revision: str | None = None) -> frozenset[str]:
        """The wire names of the messages that a subclass handles from a peer of a revision.

        Without one, from a peer of its own.
        """
        tables = (cls.REQUESTS, cls.INPUT_REQUESTS, cls.NOTIFICATIONS)
        overridden = frozenset(
            method
            for table in tables
            for method, (_, name) in table.items()
            if cls._overrides(name)
        )
        return overridden.union(_special(cls, revision or cls.TABLE.revision))

    @classmethod
    def _overrides(cls, name: str) -> bool:
        # The generated class is the first to bring a table along; it heads the user's classes.
        generated = next(
            base
            for base in reversed(cls.__mro__)
            if base is not Handlers and not base.__dict__.keys().isdisjoint(_TABLES)
        )
        return getattr(cls, name) is not getattr(generated, name, None)

    def unused(self) -> frozenset[str]:
        """What the class handles, but this instance has nothing to answer with, as wire names."""
        return frozenset()

    def answered(self, revision: str | None = None) -> frozenset[str]:
        """Return the methods that this instance handles: those of `handled` that are in use."""
        special = _special(type(self), revision or self.TABLE.revision)
        return self.handled(revision) - (self.unused() - special.keys())

    def declaration(self) -> JSONObject:
        """The JSON object of the capabilities to declare: what is handled and sent needs them."""
        handled = self.answered()
        needs = [
            need
            for method, (spec, _) in (*self.REQUESTS.items(), *self.INPUT_REQUESTS.items())
            if method in handled
            for need in spec.requires
        ]
        for method in self.SENDS:
            needs += self.TABLE.notifications[method].requires
        return merged(gate.declare(gate.needed(needs, self.ROLE)), self.DECLARES)

    def declaration_in(self, revision: str) -> JSONObject:
        """What of it is to be said in the words of another revision."""
        return self.declaration()

    def bound(self, revision: str) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        """The handlers of what comes from a peer of `revision`, by wire name."""
        handled = self.answered(revision)
        tables = (self.REQUESTS, self.INPUT_REQUESTS, self.NOTIFICATIONS)
        names = {
            method: name
            for table in tables
            for method, (_, name) in table.items()
            if method in handled
        }
        names |= _special(type(self), revision)
        return {method: getattr(self, name) for method, name in names.items()}

    def identity(self) -> JSONObject:
        """What this side calls itself: its `info`, or else the name of its class."""
        info: WireModel | None = getattr(self, "info", None)
        return {"name": type(self).__name__, "version": "0"} if info is None else info.to_wire()


HandlerT = TypeVar("HandlerT", bound=Callable[..., Any])

_FOR: Final = "__mcp_handles__"


def handles(method: str, *revisions: str) -> Callable[[HandlerT], HandlerT]:
    """Marks a handler of `method` that goes before the usual one for peers of some revisions.

    It has the types of the class it stands in, as the usual one has.
    """

    def marked(handler: HandlerT) -> HandlerT:
        setattr(handler, _FOR, (method, frozenset(revisions)))
        return handler

    return marked


def _special(cls: type[Any], revision: str) -> dict[str, str]:
    """The marked handlers for a revision: their names, by wire name."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        for name, value in base.__dict__.items():
            marked: Any = getattr(value, _FOR, None)
            # Some objects say of any attribute that they have it.
            if isinstance(marked, tuple) and revision in marked[1]:
                found[marked[0]] = name
    return found


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> JSONObject:
    """Two JSON objects as one; where both have a member that is no object, `other` counts."""
    both = dict(one)
    for key, value in other.items():
        mine = both.get(key)
        both[key] = merged(mine, value) if is_object(mine) and is_object(value) else value
    return both
