"""Classes whose methods answer messages of the peer.

A subclass of a generated class handles the methods it overrides, and declares the matching
capabilities.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias, TypeVar

from ..core.json import JSONObject, is_object
from ..core.middleware import CallNext, MethodCall, Middleware, check
from ..core.models.base import WireModel
from ..core.spec import AnyRequest, NotificationSpec, Role
from ..messages.method_table import EXTENSIONS, MethodTable
from . import capabilities

if TYPE_CHECKING:
    from ..core.extensions import Extension
    from .wire_features import WireFeature

Handler: TypeAlias = Callable[..., Awaitable[Any]]
RequestHandlers: TypeAlias = Mapping[str, tuple[AnyRequest, str]]

if TYPE_CHECKING:
    made_once = property
else:
    # `cached_property` is not a property of a protocol for type checkers.
    made_once = cached_property

MARKS: Final = "__mcp_marks__"
"""The attribute of a function with its decorators' marks; only a toolkit reads it."""


class HandlerSet:
    """The runtime's part of an object with handlers."""

    def __init__(self, owner: "Handlers") -> None:
        self.owner: Final = owner

    def handled_methods(self, revision: str | None = None) -> frozenset[str]:
        """Return the wire names of the methods that the class handles in a revision."""
        cls = type(self.owner)
        names = _names(cls, revision).items()
        return frozenset(method for method, name in names if _overrides(cls, name))

    def unused_methods(self) -> frozenset[str]:
        """Return the handled methods for which this object has no items."""
        return frozenset()

    def answered_methods(self, revision: str | None = None) -> frozenset[str]:
        """Return the handled methods of a revision without the unused ones."""
        return self.handled_methods(revision) - (
            self.unused_methods() - _special(type(self.owner), revision).keys()
        )

    def sends(self) -> frozenset[str]:
        return self.owner.SENDS

    def declaration(self) -> JSONObject:
        """Return the capabilities that handled and sent methods need, and `DECLARES`."""
        owner, handled = self.owner, self.answered_methods()
        needs = [
            need
            for method, (spec, _) in (*owner.REQUESTS.items(), *owner.INPUT_REQUESTS.items())
            if method in handled
            for need in spec.requires
        ]
        for method in self.sends():
            needs += owner.TABLE.notifications[method].requires
        declared = capabilities.declare(capabilities.required_capabilities(needs, owner.ROLE))
        return merge_objects(merge_objects(declared, self._extensions(handled)), owner.DECLARES)

    def _extensions(self, handled: frozenset[str]) -> JSONObject:
        role = self.owner.ROLE
        result: JSONObject = {}
        for extension in self.owner.TABLE.extensions:
            answers = [name for name, spec in extension.requests.items() if spec.senders - {role}]
            if role in extension.settings and (not answers or not handled.isdisjoint(answers)):
                extension.declare(role, result)
        return {EXTENSIONS: result} if result else {}

    def declaration_in(self, revision: str) -> JSONObject:
        return self.declaration()

    def wire_feature(self) -> "WireFeature | None":
        """Return what the object adds on the wire of any revision."""
        return None

    def handlers_for(self, revision: str) -> Mapping[str, Handler]:
        return self.handlers(revision, self.answered_methods(revision))

    def handlers(self, revision: str, methods: Collection[str]) -> Mapping[str, Handler]:
        names = _names(type(self.owner), revision).items()
        return {method: getattr(self.owner, name) for method, name in names if method in methods}

    def middleware(self) -> tuple[Middleware, ...]:
        owner = self.owner
        check(type(owner).__name__, owner.middleware)
        own = (owner.around,) if type(owner).around is not Handlers.around else ()
        return (*owner.__mcp_around__, *owner.middleware, *own)

    def identity(self) -> JSONObject:
        info: WireModel | None = getattr(self.owner, "info", None)
        if info is None:
            return {"name": type(self.owner).__name__, "version": "0"}
        return info.to_wire()


class Handlers:
    """Base of the generated classes with one handler per message.

    `REQUESTS` and `NOTIFICATIONS` map a wire name to its entry in the method table and the name of
    the handler. Subclasses may use any name except `__mcp_runtime__`.
    """

    ROLE: ClassVar[Role]
    TABLE: ClassVar[MethodTable]
    REQUESTS: ClassVar[RequestHandlers] = {}
    NOTIFICATIONS: ClassVar[Mapping[str, tuple[NotificationSpec[Any], str]]] = {}
    INPUT_REQUESTS: ClassVar[RequestHandlers] = {}
    """Questions that a server puts into a result (2026-07-28, basic/patterns/mrtr)."""
    EXTENSION: "ClassVar[Extension | None]" = None
    """The extension of a generated base; a subclass has those of all its bases."""
    EXTENDED_TABLE: ClassVar[Callable[..., MethodTable]]
    """Makes a table with extensions, where a package has any."""
    SENDS: ClassVar[frozenset[str]] = frozenset()
    """Wire names of the notifications that a subclass sends; they may need a capability."""
    DECLARES: ClassVar[Mapping[str, Any]] = {}
    """Further capabilities to declare, as a JSON object: modes, extensions, experiments."""
    middleware: Sequence[Middleware] = ()
    """Middleware around each message, outermost first; fixed at the first connection."""
    __mcp_around__: ClassVar[tuple[Middleware, ...]] = ()
    __mcp_reads_marks__: ClassVar[bool] = False
    __mcp_wants_scopes__: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Bind the extensions of the bases.

        Raise `TypeError` for decorated functions that nothing would call, and for an extension of
        another revision.
        """
        super().__init_subclass__(**options)
        _extend(cls)
        check(cls.__name__, cls.middleware)
        if not cls.__mcp_reads_marks__:
            _refuse_marked(cls)

    @made_once
    def __mcp_runtime__(self) -> HandlerSet:
        # A user's __init__ need not call ours.
        return HandlerSet(self)

    async def around(self, call: MethodCall, next: CallNext, /) -> Any:
        """Return the result of a message: override it to add code around `await next(call)`.

        It runs inside `middleware`. A server's is around the messages it handles; a client's also
        around those it sends (`call.is_sent`).
        """
        return await next(call)


def _names(cls: type[Handlers], revision: str | None) -> dict[str, str]:
    tables = (cls.REQUESTS, cls.INPUT_REQUESTS, cls.NOTIFICATIONS)
    usual = {method: name for table in tables for method, (_, name) in table.items()}
    return usual | _special(cls, revision)


def generated_class(cls: type[Any]) -> type[Any]:
    # It is the first class with a table, and the user's classes derive from it.
    return next(base for base in reversed(cls.__mro__) if "TABLE" in base.__dict__)


def extended_by(cls: type[Any]) -> list[type[Any]]:
    return [base for base in cls.__mro__ if base.__dict__.get("EXTENSION") is not None]


def _overrides(cls: type[Handlers], name: str) -> bool:
    generated = (generated_class(cls), *extended_by(cls))
    return all(getattr(cls, name) is not getattr(base, name, None) for base in generated)


def _extend(cls: type[Handlers]) -> None:
    bases = extended_by(cls)
    if not bases or not hasattr(cls, "TABLE"):
        return
    core: type[Handlers] = generated_class(cls)
    # The order of bases must not create another table.
    in_order = tuple(base.EXTENSION for base in sorted(bases, key=repr))
    try:
        cls.TABLE = cls.EXTENDED_TABLE(core.TABLE, in_order)
    except ValueError as error:
        raise TypeError(f"{cls.__name__}: {error}") from None
    for tables in ("REQUESTS", "NOTIFICATIONS"):
        both: dict[str, Any] = {}
        for base in (*bases, core):
            both |= base.__dict__.get(tables, {})
        setattr(cls, tables, MappingProxyType(both))


HandlerT = TypeVar("HandlerT", bound=Callable[..., Any])

_FOR: Final = "__mcp_handles__"


def handles(method: str, *revisions: str) -> Callable[[HandlerT], HandlerT]:
    """Mark a handler of `method` that replaces the usual one for peers of some revisions.

    It has the types of its class, like the usual one.
    """

    def mark(handler: HandlerT) -> HandlerT:
        setattr(handler, _FOR, (method, frozenset(revisions)))
        return handler

    return mark


def _special(cls: type[Handlers], revision: str | None) -> dict[str, str]:
    names: dict[str, str] = {}
    revision = revision or cls.TABLE.revision
    for base in reversed(cls.__mro__):
        for name, value in base.__dict__.items():
            mark: Any = getattr(value, _FOR, None)
            if isinstance(mark, tuple) and revision in mark[1]:
                names[mark[0]] = name
    return names


def _refuse_marked(cls: type[Any]) -> None:
    attributes = {name: value for base in cls.__mro__[::-1] for name, value in vars(base).items()}
    for name, value in attributes.items():
        # Some objects claim to have every attribute.
        if not isinstance(getattr(getattr(value, "__func__", value), MARKS, None), tuple):
            continue
        bases = ", ".join(("Toolkit", *(base.__name__ for base in cls.__bases__)))
        advice = f"write class {cls.__name__}({bases})"
        if getattr(cls, "ROLE", "") == "client":
            advice = "only servers have tools, resources and prompts"
        raise TypeError(
            f"{cls.__name__}.{name} is decorated, but the class has no toolkit: {advice}"
        )


def merge_objects(one: Mapping[str, Any], other: Mapping[str, Any]) -> JSONObject:
    """Merge two JSON objects; `other` overrides members that are not both objects."""
    both = dict(one)
    for key, value in other.items():
        old = both.get(key)
        both[key] = merge_objects(old, value) if is_object(old) and is_object(value) else value
    return both
