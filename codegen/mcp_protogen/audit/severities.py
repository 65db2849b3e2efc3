"""The severities of each finding for each reader, with reasons: one row for each code.

A row has the severity for the developer of the SDK, and for users of the SDK who then send values
of the type, or read them; a client that only reads a type is not affected by what cannot be sent. A
gateway does both. Findings about behaviour are judged in `vectors.severities`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mcp_protogen.findings.change import Category, Change, Reader, Severity
from mcp_protogen.ir import Role

_BREAKING, _WARNING, _INFO, _NONE = (
    *(Severity.BREAKING, Severity.WARNING),
    *(Severity.INFO, Severity.NONE),
)


@dataclass(frozen=True, slots=True)
class Row:
    """The severities of one kind of finding."""

    category: Category
    sdk: Severity
    sends: Severity
    reads: Severity
    gateway: Severity
    why: str


ROWS: Mapping[str, Row] = {
    "type-missing": Row(
        *(Category.TYPE, _WARNING, _WARNING, _WARNING, _INFO),
        "Messages hold values of this type, and nothing checks them or helps to write them.",
    ),
    "type-missing-base": Row(
        *(Category.TYPE, _INFO, _NONE, _NONE, _NONE),
        "It is a base of other types, or a special case of a more general type.",
    ),
    "type-extra": Row(
        *(Category.TYPE, _INFO, _NONE, _NONE, _NONE),
        "It is defined beside the protocol's types, but the revision does not have it.",
    ),
    "field-missing": Row(
        *(Category.FIELD, _WARNING, _WARNING, _WARNING, _INFO),
        "Users of the SDK cannot see the member, and get no help to write it.",
    ),
    "field-lost": Row(
        *(Category.FIELD, _BREAKING, _WARNING, _BREAKING, _BREAKING),
        "The member is not declared, and undeclared members are dropped: nobody can see it.",
    ),
    "field-missing-required": Row(
        *(Category.FIELD, _BREAKING, _BREAKING, _WARNING, _WARNING),
        "Written values lack a required member, so that a peer has to refuse them.",
    ),
    "field-extra": Row(
        *(Category.FIELD, _INFO, _INFO, _NONE, _NONE),
        "The revision has no such member; a peer keeps or ignores it.",
    ),
    "field-extra-required": Row(
        *(Category.FIELD, _BREAKING, _WARNING, _BREAKING, _BREAKING),
        "Valid values are refused, because they lack a member that the revision does not have.",
    ),
    "field-untyped": Row(
        *(Category.FIELD, _INFO, _INFO, _INFO, _NONE),
        "Any JSON object is accepted here without a check, although the revision defines its type.",
    ),
    "field-required": Row(
        *(Category.FIELD, _BREAKING, _INFO, _BREAKING, _BREAKING),
        "Valid values that leave the member out are refused.",
    ),
    "field-optional": Row(
        *(Category.FIELD, _WARNING, _WARNING, _INFO, _INFO),
        "Values without the member are accepted here, but a peer refuses them.",
    ),
    "field-nullable": Row(
        *(Category.FIELD, _WARNING, _WARNING, _INFO, _INFO),
        "Null is accepted here, but a peer refuses it, or it is left out.",
    ),
    "field-not-nullable": Row(
        *(Category.FIELD, _BREAKING, _WARNING, _BREAKING, _BREAKING),
        "Null has a meaning in the revision, but is refused here.",
    ),
    "field-type": Row(
        *(Category.FIELD, _BREAKING, _BREAKING, _BREAKING, _BREAKING),
        "Valid values are refused, because they have another type than the SDK expects.",
    ),
    "enum-member-missing": Row(
        *(Category.ENUM, _BREAKING, _WARNING, _BREAKING, _BREAKING),
        "A valid value is refused.",
    ),
    "enum-member-extra": Row(
        *(Category.ENUM, _WARNING, _WARNING, _INFO, _INFO),
        "This value is accepted here, but a peer refuses it.",
    ),
    "union-arm-missing": Row(
        *(Category.UNION, _BREAKING, _WARNING, _BREAKING, _BREAKING),
        "Values of this kind are refused, or read as something else.",
    ),
    "union-arm-extra": Row(
        *(Category.UNION, _INFO, _WARNING, _NONE, _NONE),
        "Values of this kind are accepted here, but a peer refuses them.",
    ),
    "constant-wrong": Row(
        *(Category.FIELD, _BREAKING, _BREAKING, _BREAKING, _BREAKING),
        "Every valid value is refused, and every written value is wrong.",
    ),
    "method-missing": Row(
        *(Category.METHOD, _BREAKING, _WARNING, _WARNING, _WARNING),
        "The method can be neither called nor served.",
    ),
    "method-extra": Row(
        *(Category.METHOD, _INFO, _INFO, _NONE, _NONE),
        "The revision does not have this method; a peer answers that it is not found.",
    ),
    "error-code-missing": Row(
        *(Category.ERROR, _INFO, _INFO, _INFO, _NONE),
        "The code has no name, so that users have to write the number.",
    ),
    "error-code-wrong": Row(
        *(Category.ERROR, _BREAKING, _BREAKING, _BREAKING, _NONE),
        "The code means something else, or nothing, to a peer.",
    ),
    "unknown-members-lost": Row(
        *(Category.RULE, _INFO, _NONE, _INFO, _WARNING),
        "Members of later revisions and of extensions are lost when a message is passed on.",
    ),
    "unknown-members-refused": Row(
        *(Category.RULE, _BREAKING, _NONE, _BREAKING, _BREAKING),
        "Valid values with members of later revisions and of extensions are refused.",
    ),
    "revision-not-named": Row(
        *(Category.RULE, _INFO, _NONE, _NONE, _NONE),
        "The target names other revisions, but not this one: it may not claim to speak it.",
    ),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference between the schema and a target, which is not judged yet.

    `place` is the place of a part of a type: the type and the steps from there, `*` for any item or
    key. `senders` are the roles that send values of its type.
    """

    code: str
    item: str
    message: str
    pointer: str = ""
    before: str = ""
    after: str = ""
    senders: frozenset[Role] = frozenset()
    place: tuple[str, ...] = ()


def judged(finding: Finding) -> Change:
    """Return the finding with its severities."""
    row = ROWS[finding.code]
    return Change(
        code=finding.code,
        category=row.category,
        item=finding.item,
        message=finding.message,
        severity={
            Reader.CLIENT: _worst(_of_role("client", row, finding.senders)),
            Reader.SERVER: _worst(_of_role("server", row, finding.senders)),
            Reader.SDK: row.sdk,
            Reader.GATEWAY: row.gateway,
        },
        pointer=finding.pointer,
        before=finding.before,
        after=finding.after,
        why=row.why,
    )


def _of_role(role: Role, row: Row, senders: frozenset[Role]) -> Iterator[Severity]:
    if role in senders or not senders:
        yield row.sends
    if senders != frozenset((role,)):
        yield row.reads


def _worst(severities: Iterable[Severity]) -> Severity:
    return min(severities, key=lambda severity: severity.rank)
