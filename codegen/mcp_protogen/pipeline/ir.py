"""The intermediate representation: what one revision means, as frozen values.

Everything that templates print and that comparisons read is decided here once. No object knows
its parent, nothing computes: cross references are names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mcp_protogen.base.names import ClassName, Constant, Era, FieldName, ModuleName, Stem, StubName

Role = Literal["client", "server"]
MessageKind = Literal["request", "notification", "embedded"]
Level = Literal["MUST", "SHOULD"]
Phase = Literal["any", "before_ready", "ready"]

ROLES: tuple[Role, ...] = ("client", "server")
OTHER: Mapping[Role, Role] = {"client": "server", "server": "client"}
"""The role at the other end."""

Senders = frozenset[Role]
"""The roles that send something."""
NOBODY: Senders = frozenset()
BOTH: Senders = frozenset(ROLES)
EMITTERS: Mapping[str, Senders] = {
    "client": frozenset({"client"}),
    "server": frozenset({"server"}),
    "both": BOTH,
    "never": NOBODY,
}
"""The roles that may answer with an error, by the word of the facts."""

Json = None | bool | int | float | str


@dataclass(frozen=True, slots=True)
class Filled:
    """An object whose required members all have a usual value, so that it may be left out."""


@dataclass(frozen=True, slots=True)
class Ref:
    """Another type by its name, a `ClassName` of its revision, or the key of a type of an SDK."""

    name: str


@dataclass(frozen=True, slots=True)
class Scalar:
    """A JSON string, boolean, integer, number or null."""

    kind: Literal["string", "boolean", "integer", "number", "null"]


@dataclass(frozen=True, slots=True)
class LiteralOf:
    """One of some constants."""

    values: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A JSON array of one item type."""

    item: "TypeExpr"


@dataclass(frozen=True, slots=True)
class MapOf:
    """A JSON object with free keys; the published types say `object` of a `bare` one."""

    value: "TypeExpr"
    bare: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class OneOf:
    """Any of some alternatives, in the order a reader should try them."""

    arms: tuple["TypeExpr", ...]


@dataclass(frozen=True, slots=True)
class Anything:
    """Any JSON value, null included; `name` is that of the definition that says so, if any."""

    name: str = field(default="", compare=False, kw_only=True)


TypeExpr = Ref | Scalar | LiteralOf | ListOf | MapOf | OneOf | Anything

NOTHING = OneOf(())
"""The type without values: the items of an array that is always empty, or an object's members."""


@dataclass(frozen=True, slots=True)
class FieldIR:
    """One member of an object.

    `default` is the value that a required member gets when Python code leaves it out; on the wire,
    the member is required like any other. `known_values` belong to a string that may have others.
    """

    wire: str
    name: FieldName
    type: TypeExpr
    required: bool
    default: Json | Filled
    nullable: bool
    constraints: tuple[tuple[str, Json], ...]
    known_values: tuple[str, ...]
    doc: str
    deprecated: bool


@dataclass(frozen=True, slots=True)
class ObjectIR:
    """A type with members.

    Undeclared members are always kept; `open` says that the specification intends them. Its class
    may have the members in `inherited` from that of another type, its `base`. The published types
    have no name for an `inline` one.
    """

    name: ClassName
    fields: tuple[FieldIR, ...]
    any_of_required: tuple[str, ...]
    open: bool
    origin: str
    doc: str
    deprecated: bool
    base: ClassName | None = None
    inherited: frozenset[FieldName] = frozenset()
    inline: bool = field(default=False, compare=False)

    @property
    def own_fields(self) -> tuple[FieldIR, ...]:
        """The members that its class defines itself."""
        return tuple(field for field in self.fields if field.name not in self.inherited)


@dataclass(frozen=True, slots=True)
class UnionIR:
    """A choice between named types; `tag` is the member whose constant tells the arms apart.

    The published types have no name for an `inline` one.
    """

    name: ClassName
    arms: tuple[TypeExpr, ...]
    tag: str | None
    open: bool
    origin: str
    doc: str
    deprecated: bool
    inline: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class AliasIR:
    """Another name for a type expression, enumerations included.

    The published types have no name for an `inline` one.
    """

    name: ClassName
    type: TypeExpr
    origin: str
    doc: str
    deprecated: bool
    inline: bool = field(default=False, compare=False)


TypeIR = ObjectIR | UnionIR | AliasIR


@dataclass(frozen=True, slots=True)
class ConditionIR:
    """A member of the params that brings a capability into play."""

    member: str
    one_of: tuple[str, ...] | None
    or_absent: bool


@dataclass(frozen=True, slots=True)
class RequirementIR:
    """A capability that must be declared before `sender` may send; `when` is any-of."""

    capability: Constant
    role: Role
    path: tuple[str, ...]
    level: Level
    sender: Role
    when: tuple[ConditionIR, ...]
    source: str


@dataclass(frozen=True, slots=True)
class MethodIR:
    """A request or notification: who sends it, with which params, and what the answer is.

    `params_required` is what the wire demands; `params_given` says whether a caller has to give
    any. `order` has the members that come first in a call. `variants` are further calls by their
    names, each with its class of params, or the member that asks for another result. `items` is the
    member of the result that a paginated method lists, and the type of its items.
    """

    method: str
    kind: MessageKind
    stem: Stem
    constant: Constant
    message: ClassName
    senders: tuple[Role, ...]
    params: ClassName
    params_required: bool
    params_given: bool
    order: tuple[str, ...]
    variants: tuple[tuple[StubName, str], ...]
    results: tuple[ClassName, ...]
    requires: tuple[RequirementIR, ...]
    phase: Phase
    traits: tuple[str, ...]
    items: tuple[FieldName, TypeExpr] | None
    since: str
    removed: str | None
    deprecated: str | None
    source: str
    doc: str


@dataclass(frozen=True, slots=True)
class CapabilityIR:
    """A capability that a role may declare: by the presence of a key, or by a true flag.

    An `implied` one also counts where the object around it is declared and empty.
    """

    constant: Constant
    role: Role
    path: tuple[str, ...]
    flag: bool
    implied: bool
    source: str
    doc: str


@dataclass(frozen=True, slots=True)
class ErrorIR:
    """An error code and who may send it."""

    code: int
    name: Constant
    data: ClassName | None
    emit: Literal["client", "server", "both", "never"]
    source: str
    doc: str


@dataclass(frozen=True, slots=True)
class MetaKeyIR:
    """A key of `_meta` to which the specification gives a meaning.

    Messages of the kinds in `on` carry it; if only some of these do, `of` names their types.
    """

    key: str
    constant: Constant
    on: tuple[str, ...]
    type: str
    required: bool
    source: str
    of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeniencyIR:
    """The way a receiver reads a member of a result that is absent, or a number below zero."""

    member: str
    rule: Literal["absent", "negative"]
    value: Json


@dataclass(frozen=True, slots=True)
class RulesIR:
    """The differences between revisions in how messages are sent."""

    receive_batches: bool
    send_batches: bool
    error_id_optional: bool
    server_requests: bool
    polling: bool
    unnamed_over_http: bool
    bad_arguments: Literal["error", "result"]
    resource_not_found: int
    result_type_values: tuple[str, ...]
    leniency: tuple[LeniencyIR, ...]


@dataclass(frozen=True, slots=True)
class RevisionIR:
    """One whole revision."""

    id: str
    module: ModuleName
    era: Era
    rules: RulesIR
    types: tuple[TypeIR, ...]
    methods: tuple[MethodIR, ...]
    capabilities: tuple[CapabilityIR, ...]
    errors: tuple[ErrorIR, ...]
    meta_keys: tuple[MetaKeyIR, ...]


@dataclass(frozen=True, slots=True)
class ClaimIR:
    """A result that a method of the core may have besides its own, by its `resultType`."""

    method: str
    result_type: str
    type: ClassName


@dataclass(frozen=True, slots=True)
class MembersIR:
    """A type whose members a type of the core has, too, in the messages of a method."""

    method: str
    type: ClassName


@dataclass(frozen=True, slots=True)
class ExtensionIR:
    """What an extension adds to a revision.

    `ir` has what is its own and nothing else; its types may name those of `core`, the revision
    without it. `names` are the members that `Mcp-Name` repeats, by method; `settings` is what each
    role that it binds declares.
    """

    name: str
    module: ModuleName
    identifier: str
    ir: RevisionIR
    core: RevisionIR
    claims: tuple[ClaimIR, ...]
    members: tuple[MembersIR, ...]
    names: Mapping[str, str]
    settings: Mapping[Role, Mapping[str, Any]]

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles that have something to declare, to send or to answer."""
        return tuple(role for role in ROLES if role in self.settings or self.ir.methods)
