"""A protocol with one request, small enough to see the differences between two versions.

A client sends `things/ask`, a server answers. `side` builds a version.
"""

from dataclasses import dataclass, replace
from typing import Any

from mcp_protogen.base.names import ClassName, Constant, FieldName, ModuleName, Stem
from mcp_protogen.instep.compare.readable_schema import readable
from mcp_protogen.instep.compare.revisions import ComparedRevision, Header
from mcp_protogen.pipeline.ir import (
    CapabilityIR,
    ErrorIR,
    FieldIR,
    MetaKeyIR,
    MethodIR,
    ObjectIR,
    RequirementIR,
    RevisionIR,
    RulesIR,
    Scalar,
)
from support.unit.schemas import STRING, record, ref

Json = dict[str, Any]

EMBEDDED = frozenset({"AskResult.plan"})

ASK = MethodIR(
    method="things/ask",
    kind="request",
    stem=Stem("ask"),
    constant=Constant("ASK"),
    message=ClassName("AskRequest"),
    senders=("client",),
    params=ClassName("AskRequestParams"),
    params_required=False,
    params_given=False,
    order=(),
    variants=(),
    results=(ClassName("AskResult"),),
    requires=(),
    phase="ready",
    traits=("cancellable",),
    list_member="",
    items=None,
    since="1",
    removed=None,
    deprecated=None,
    source="",
    doc="",
)
RULES = RulesIR(
    receive_batches=False,
    send_batches=False,
    error_id_optional=False,
    server_requests=True,
    polling=False,
    unnamed_over_http=False,
    bad_arguments="error",
    resource_not_found=-32002,
    result_type_values=("complete",),
    leniency=(),
)
_IR = RevisionIR(
    id="made-up",
    module=ModuleName("made_up"),
    era="handshake",
    rules=RULES,
    types=(),
    methods=(ASK,),
    capabilities=(),
    errors=(),
    meta_keys=(),
)


def side(
    definitions: Json | None = None, *, headers: tuple[Header, ...] = (), **facts: Any
) -> ComparedRevision:
    """Return a version with further definitions, and changed members of its IR."""
    schema = {
        "AskRequest": {
            **record(("method",), method={"const": "things/ask"}, params=ref("AskRequestParams"))
        },
        "AskRequestParams": record(),
        "AskResult": record(),
        **(definitions or {}),
    }
    read = readable({"$defs": schema}, EMBEDDED, "made up")
    return ComparedRevision("made-up", read, replace(_IR, **facts), headers)


def result(
    schema: Json | None, definitions: Json | None = None, *, required: bool = False
) -> ComparedRevision:
    """A version whose result has the member `value`, if a schema is given for it."""
    members = {} if schema is None else {"value": schema}
    answer = record(("value",) if required else (), **members)
    return side({"AskResult": answer, **(definitions or {})})


def params(schema: Json | None, *, required: bool = False) -> ComparedRevision:
    """A version whose params have the member `value`, if a schema is given for it."""
    members = {} if schema is None else {"value": schema}
    return side({"AskRequestParams": record(("value",) if required else (), **members)})


def asking(**differences: Any) -> ComparedRevision:
    """A version whose one method is different."""
    return side(methods=(replace(ASK, **differences),))


def gate(**differences: Any) -> RequirementIR:
    """A capability that the client needs before it asks."""
    usual = RequirementIR(
        capability=Constant("SERVER_THINGS"),
        role="server",
        path=("things",),
        level="MUST",
        sender="client",
        when=(),
        source="",
    )
    return replace(usual, **differences)


def capability(**differences: Any) -> CapabilityIR:
    """Something that a server declares."""
    usual = CapabilityIR(
        constant=Constant("SERVER_THINGS"),
        role="server",
        path=("things",),
        flag=False,
        implied=False,
        source="",
        doc="",
    )
    return replace(usual, **differences)


def error(**differences: Any) -> ErrorIR:
    usual = ErrorIR(code=-1, name=Constant("NO_THING"), data=None, emit="server", source="", doc="")
    return replace(usual, **differences)


def meta_key(**differences: Any) -> MetaKeyIR:
    usual = MetaKeyIR(
        key="a/b",
        constant=Constant("META_B"),
        on=("request",),
        type="string",
        required=False,
        source="",
    )
    return replace(usual, **differences)


def header(level: str, when: str = "", *, direction: str = "request") -> Header:
    return Header("x-thing", direction, level, when, "")


def answer_type(*, deprecated: bool = False) -> ObjectIR:
    """Return `AskResult` as derived, without members."""
    return ObjectIR(ClassName("AskResult"), (), (), False, "/$defs/AskResult", "", deprecated)


def answer_with(
    known_values: tuple[str, ...] = (), *, deprecated: bool = False
) -> ComparedRevision:
    """Return a version whose result has the open string `value`, as derived."""
    field = FieldIR(
        wire="value",
        name=FieldName("value"),
        type=Scalar("string"),
        required=False,
        default=None,
        nullable=False,
        constraints=(),
        known_values=known_values,
        doc="",
        deprecated=deprecated,
    )
    return side(
        {"AskResult": record(value=STRING)}, types=(replace(answer_type(), fields=(field,)),)
    )


@dataclass(frozen=True)
class Case:
    """Two versions, and the codes of all their differences; the first is its subject."""

    codes: tuple[str, ...]
    before: ComparedRevision
    after: ComparedRevision

    @property
    def code(self) -> str:
        return self.codes[0]


def make_case(code: str, before: ComparedRevision, after: ComparedRevision, *others: str) -> Case:
    """Return a case; `others` are the codes of further differences."""
    return Case((code, *others), before, after)
