"""The tables of the layers `methods` and `capabilities`: plain data, for any runtime.

Types are classes and aliases of the models, or names if the models are not generated.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from mcp_protogen.pipeline.emit.text import literal, tuple_of
from mcp_protogen.pipeline.ir import EMITTERS, OTHER, MessageKind, MethodIR, RevisionIR, Role
from mcp_protogen.pipeline.target import Layer
from mcp_protogen.targets.results import result_type

IMPORTS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "collections.abc": frozenset({"Mapping"}),
        "types": frozenset({"MappingProxyType"}),
        "typing": frozenset({"Any", "Final", "Literal", "NamedTuple"}),
    }
)
"""The imports of the tables."""

_MESSAGES: tuple[tuple[str, MessageKind, Role, str], ...] = (
    ("CLIENT_REQUESTS", "request", "client", "Requests that clients send"),
    ("SERVER_REQUESTS", "request", "server", "Requests that servers send"),
    ("CLIENT_NOTIFICATIONS", "notification", "client", "Notifications that clients send"),
    ("SERVER_NOTIFICATIONS", "notification", "server", "Notifications that servers send"),
    ("INPUT_REQUESTS", "embedded", "server", "Requests that only travel inside a result"),
)
_RESULTS: tuple[tuple[str, MessageKind, Role, str], ...] = (
    ("CLIENT_RESULTS", "request", "client", "Results that clients send"),
    ("SERVER_RESULTS", "request", "server", "Results that servers send"),
    ("INPUT_RESPONSES", "embedded", "client", "Answers to the requests inside a result"),
)
_METHODS = ("ERA", "ERRORS", "ErrorInfo", "META_KEYS", "METHODS", "MetaKeyInfo", "MethodInfo")
_CAPABILITIES = (
    *("CLIENT_CAPABILITIES", "CapabilityCondition", "CapabilityInfo", "CapabilityRequirement"),
    *("REQUIREMENTS", "SERVER_CAPABILITIES"),
)


@dataclass(frozen=True, slots=True)
class MessageTable:
    """A table from methods to types: its name, docstring, and an expression for each method."""

    name: str
    doc: str
    hint: str
    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class MethodRow:
    """A method, with expressions for its types."""

    ir: MethodIR
    message: str
    params: str
    results: str


@dataclass(frozen=True, slots=True)
class Rows:
    """The content of the tables of a revision."""

    ir: RevisionIR
    messages: tuple[MessageTable, ...]
    methods: tuple[MethodRow, ...]
    data: Mapping[int, str]
    senders: Mapping[int, str]
    class_hint: str
    type_hint: str


@dataclass(frozen=True, slots=True)
class TypeExpressions:
    """The naming of types in tables: an expression, and annotations for a class and any type."""

    of: Callable[[str], str]
    class_hint: str
    type_hint: str


def as_expressions(prefix: str) -> TypeExpressions:
    """Return the naming of importable types; `prefix` is their module, with a dot."""
    return TypeExpressions(lambda name: f"{prefix}{name}", "type[Any]", "Any")


def as_strings() -> TypeExpressions:
    """Return the naming of types without models."""
    return TypeExpressions(literal, "str", "str")


def rows(ir: RevisionIR, types: TypeExpressions) -> Rows:
    """Return the tables of a revision."""
    methods = tuple(
        MethodRow(
            method,
            types.of(method.message),
            types.of(method.params),
            tuple_of(map(types.of, method.results)),
        )
        for method in ir.methods
    )
    return Rows(
        ir=ir,
        messages=(*_message_tables(ir, types), *_result_tables(ir, types)),
        methods=methods,
        data={error.code: types.of(error.data) if error.data else "None" for error in ir.errors},
        senders={error.code: roles(sorted(EMITTERS[error.emit])) for error in ir.errors},
        class_hint=types.class_hint,
        type_hint=types.type_hint,
    )


def roles(names: Sequence[str]) -> str:
    """Return a frozen set of roles as an expression."""
    return f"frozenset({{{', '.join(map(literal, names))}}})" if names else "frozenset()"


def names(ir: RevisionIR, layers: Sequence[Layer]) -> tuple[str, ...]:
    """Return the names that the tables of some layers define."""
    result: list[str] = []
    if "methods" in layers:
        result += [*_METHODS, *(name for name, _, _, _ in (*_MESSAGES, *_RESULTS))]
        result += [*(error.name for error in ir.errors), *(key.constant for key in ir.meta_keys)]
    if "capabilities" in layers:
        result += _CAPABILITIES
    return (*result, "REVISION") if result else ()


def _message_tables(ir: RevisionIR, types: TypeExpressions) -> Iterator[MessageTable]:
    for name, kind, role, doc in _MESSAGES:
        entries = tuple(
            (method.method, types.of(method.message))
            for method in ir.methods
            if method.kind == kind and role in method.senders
        )
        yield MessageTable(name, f"{doc}: the type of the message, by method.", "class", entries)


def _result_tables(ir: RevisionIR, types: TypeExpressions) -> Iterator[MessageTable]:
    for name, kind, role, doc in _RESULTS:
        entries = tuple(
            (method.method, types.of(result))
            for method in ir.methods
            for result in [result_type(method)]
            if method.kind == kind and OTHER[role] in method.senders and result is not None
        )
        yield MessageTable(name, f"{doc}: the type, by method of the request.", "type", entries)
