"""The intermediate representation: the meaning of one revision, as frozen values.

Templates and comparisons only read it. Objects do not know their parents; cross references are
names.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mcp_protogen.base.names import ClassName, Constant, Era, FieldName, ModuleName, Stem, StubName
from mcp_protogen.runtime.core.value_paths import ToolPlaces, ValuePath

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
"""The roles that may answer with an error, by the word in the facts."""

PROGRESS = "notifications/progress"
"""The first name of the report that the runtime itself sends and takes."""

Json = None | bool | int | float | str


@dataclass(frozen=True, slots=True)
class Filled:
    """The default of an object that may be left out: all its required members have usual values.

    Those in `texts` are empty until the message is sent.
    """

    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference to a type: a `ClassName` of the revision, or the key of a type of an SDK."""

    name: str


@dataclass(frozen=True, slots=True)
class Scalar:
    """A JSON string, boolean, integer, number or null."""

    kind: Literal["string", "boolean", "integer", "number", "null"]


@dataclass(frozen=True, slots=True)
class LiteralOf:
    """One of several constants."""

    values: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A JSON array of one item type."""

    item: "TypeExpr"


@dataclass(frozen=True, slots=True)
class MapOf:
    """A JSON object with free keys; the published types call a `bare` one `object`."""

    value: "TypeExpr"
    bare: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class OneOf:
    """Alternatives, in the order in which readers try them."""

    arms: tuple["TypeExpr", ...]


@dataclass(frozen=True, slots=True)
class Anything:
    """Any JSON value, including null; `name` is the name of its definition, if any."""

    name: str = field(default="", compare=False, kw_only=True)


TypeExpr = Ref | Scalar | LiteralOf | ListOf | MapOf | OneOf | Anything

NOTHING = OneOf(())
"""The type without values: of the items of an always empty array, or an object's members."""


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
    have no name for an `inline` one. The result of a tool has `places`.
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
    places: ToolPlaces | None = None

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
    """A member of the params that makes a capability necessary."""

    member: str
    one_of: tuple[Json, ...] | None
    or_absent: bool

    @property
    def texts(self) -> tuple[str, ...]:
        """The values of `one_of` as JSON, strings without quotes."""
        values = self.one_of or ()
        return tuple(value if isinstance(value, str) else json.dumps(value) for value in values)


@dataclass(frozen=True, slots=True)
class RequirementIR:
    """A capability that must be declared before `sender` may send, if any of `when` is true."""

    capability: Constant
    role: Role
    path: tuple[str, ...]
    level: Level
    sender: Role
    when: tuple[ConditionIR, ...]
    source: str


@dataclass(frozen=True, slots=True)
class HeaderFieldIR:
    """A header field over HTTP that repeats the part of a message at `path`.

    `path` begins at the message, or for an answer at its result or the data of its error.
    """

    header: str
    path: tuple[str, ...]
    policy: Literal["both", "if_present", "header_wins"]


@dataclass(frozen=True, slots=True)
class SessionIR:
    """A session besides the connection: the answer to `begins` may name its id in `header`.

    The HTTP method `ends` ends it.
    """

    begins: str
    header: str
    ends: str


@dataclass(frozen=True, slots=True)
class TransportIR:
    """A transport to a server that a user names by its `address`: a program, or a URL.

    `names` are those in configurations, ours first. `client` and `server` are functions of the
    runtime after their modules; `server` is empty if the transport is served with another one.
    `fallback` is the transport to try if a server refuses this one. A `later` one is defined by
    a later revision only.
    """

    name: str
    address: Literal["program", "url"]
    names: tuple[str, ...]
    framing: str
    client: str
    server: str
    fallback: str
    later: bool
    session: SessionIR | None = None


@dataclass(frozen=True, slots=True)
class StreamPlaceIR:
    """The place of a notification on the stream of the long-lived `request`.

    It is the first or last one there, comes at least `every_ms` milliseconds after another, or is
    selected by the `member` of a filter.
    """

    request: str
    order: Literal["", "first", "last"]
    member: str
    every_ms: int


@dataclass(frozen=True, slots=True)
class MethodErrorIR:
    """A code that answers a method, and the case, with the strength of the demand."""

    code: int
    when: str
    level: Literal["MUST", "SHOULD", "MAY", "example"]


@dataclass(frozen=True, slots=True)
class ReportIR:
    """A notification about a request of the peer, whose `_meta` has the same `token`.

    Its member `number` grows with each.
    """

    token: str
    number: str


@dataclass(frozen=True, slots=True)
class MethodIR:
    """A request or notification: its senders, params and results.

    `params_required` is about the wire; `params_given` says whether a caller must give params.
    `order` has the first members of a call. `variants` are further calls by their names, each with
    its class of params, or the member that asks for another result. `list_member` is the only
    list that each result has; `items` is the type of its items, if there may be more pages.
    `known_as` is its first name, if earlier revisions call it otherwise. `principal` is the code of
    the error for senders that are not authenticated, if they have to be.
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
    list_member: str
    items: TypeExpr | None
    since: str
    removed: str | None
    deprecated: str | None
    source: str
    doc: str
    headers: tuple[HeaderFieldIR, ...] = ()
    errors: tuple[MethodErrorIR, ...] = ()
    known_as: str = ""
    stream: StreamPlaceIR | None = None
    reports: ReportIR | None = None
    principal: int = 0


@dataclass(frozen=True, slots=True)
class CapabilityIR:
    """A capability that a role may declare: by the presence of a key, or by a true flag.

    An `implied` one is also declared by an empty object around it. With a `version`, an extension
    is meant that has all of that.
    """

    constant: Constant
    role: Role
    path: tuple[str, ...]
    flag: bool
    implied: bool
    source: str
    doc: str
    version: str = ""


@dataclass(frozen=True, slots=True)
class ErrorIR:
    """An error code, the roles that may send it, and the status of its answer over HTTP.

    `retry` is the member of its data with the time until a repetition, and the unit. Only requests
    with the key `only_with` in `_meta` get it. It `outdates` what a client has cached of methods,
    or of those that a member of its data lists.
    """

    code: int
    name: Constant
    data: ClassName | None
    emit: Literal["client", "server", "both", "never"]
    source: str
    doc: str
    status: int = 200
    retry: tuple[str, str] | None = None
    only_with: str = ""
    outdates: tuple[str, ...] | str = ()


@dataclass(frozen=True, slots=True)
class MetaKeyIR:
    """A key of `_meta` with a meaning in the specification.

    Messages of the kinds in `on` carry it, the data of errors, or other types; `of` names the types
    of messages if only some do. `type` is a JSON type or a type of the revision, with `[]` after it
    for an array of these, and `{}` for an object of them. If it `varies`, results depend on it. A
    method that it `gates` needs the capabilities in it, for the entry of a list that has it.
    """

    key: str
    constant: Constant
    on: tuple[str, ...]
    type: str
    required: bool
    source: str
    of: tuple[str, ...] = ()
    varies: bool = False
    gates: str = ""

    @property
    def item_type(self) -> str:
        """The type without arrays and objects around it."""
        return self.type.rstrip("[]{}")


@dataclass(frozen=True, slots=True)
class LeniencyIR:
    """The value that a receiver reads for an absent member of a result, or a negative number."""

    member: str
    rule: Literal["absent", "negative"]
    value: Json


@dataclass(frozen=True, slots=True)
class RulesIR:
    """The rules for sending messages of a revision.

    `headers` are those of all requests, `answer_headers` those of answers. Responses with the
    status of an error have `error_headers`, each with its value.
    """

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
    headers: tuple[HeaderFieldIR, ...] = ()
    answer_headers: tuple[HeaderFieldIR, ...] = ()
    error_headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PlacesIR:
    """The places of values that convenience functions read and write.

    `item` is the type of a tool, and `result` that of its result, with the places of `tool`.
    """

    item: str = ""
    result: str = ""
    tool: ToolPlaces | None = None
    content_variant: ValuePath | None = None
    output_schema: ValuePath | None = None
    requested_outputs: ValuePath | None = None
    cursor: str = ""
    next_cursor: str = ""
    task_id: str = ""


@dataclass(frozen=True, slots=True)
class CachingIR:
    """What a client caches: the member with the tag of a result, and keys of `_meta` for tags.

    Requests have the `known` tags, results the methods with `stale` ones. Pages of `whole_lists`
    are cached under the same terms.
    """

    tag: str = ""
    known: str = ""
    stale: str = ""
    whole_lists: bool = False


@dataclass(frozen=True, slots=True)
class RevisionIR:
    """One whole revision; `absorbs` are the identifiers of extensions that became part of it."""

    id: str
    module: ModuleName
    era: Era
    rules: RulesIR
    types: tuple[TypeIR, ...]
    methods: tuple[MethodIR, ...]
    capabilities: tuple[CapabilityIR, ...]
    errors: tuple[ErrorIR, ...]
    meta_keys: tuple[MetaKeyIR, ...]
    places: PlacesIR = PlacesIR()
    absorbs: tuple[str, ...] = ()
    caching: CachingIR = CachingIR()

    @property
    def gate(self) -> MetaKeyIR | None:
        """The key of `_meta` that gates calls of tools."""
        return next((key for key in self.meta_keys if key.gates), None)

    @property
    def parts(self) -> MethodIR | None:
        """The notification with parts of a result."""
        return next(filter(is_part, self.methods), None)

    @property
    def caches_by_rules(self) -> bool:
        """Return whether facts say more of a client's cache than results do."""
        return self.caching != CachingIR() or any(error.outdates for error in self.errors)


def is_part(method: MethodIR) -> bool:
    """Return whether a notification is about a request, and no report of progress."""
    return method.reports is not None and PROGRESS not in (method.known_as, method.method)
