"""Differences between two members at the same path, or between two types without members."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from mcp_protogen.base.canonical import on_one_line
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.instep.compare.bounds import CHOICE, Bound, bound_pairs
from mcp_protogen.instep.compare.members import Member
from mcp_protogen.instep.compare.plain_schemas import OF_KIND
from mcp_protogen.instep.compare.readable_schema import EMBEDDED
from mcp_protogen.instep.compare.spelling import ANY
from mcp_protogen.instep.compare.values import Relation, Values
from mcp_protogen.pipeline.ir import Senders
from mcp_protogen.pipeline.normalise.references import definition_name
from mcp_protogen.pipeline.reports.severities import Difference

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class MemberPair:
    """One member on both sides; None on a side that does not have it.

    `names` are those of its type, before and after. `inside` says that it was added or removed
    together with the object around it; `known` are the alternatives that this object had before.
    """

    path: str
    before: Member | None
    after: Member | None
    names: tuple[str, str]
    inside: bool = False
    known: frozenset[str] = frozenset()

    @property
    def pointer(self) -> str:
        """The place of the member in the schema after; if it is not there, in the one before."""
        member = self.after or self.before
        return member.pointer if member else ""


@dataclass(frozen=True, slots=True)
class MovedMembers:
    """A search for members that still exist, behind a type that has a name on one side only."""

    before: Json
    after: Json

    def has_after(self, pair: MemberPair) -> bool:
        """Return whether a removed member can still be reached through named types."""
        return _leads_on(self.after, pair.names[1], pair.before)

    def was_reachable(self, pair: MemberPair) -> bool:
        """Return whether an added member could already be reached through named types."""
        return _leads_on(self.before, pair.names[0], pair.after)


def _leads_on(definitions: Json, start: str, member: Member | None) -> bool:
    schema: Json | None = definitions.get(start)
    for step in member.steps[1:] if member else ():
        schema = _step(definitions, schema, step) if schema is not None else None
    return schema is not None


def _step(definitions: Json, schema: Json, step: str) -> Json | None:
    while "$ref" in schema:
        schema = definitions[definition_name(schema["$ref"])]
    found: Any
    if step in ("[]", "{}"):
        found = schema.get("items" if step == "[]" else "additionalProperties")
    else:
        found = schema.get("properties", {}).get(step)
    return found if is_object(found) else None


def changes(
    pair: MemberPair, values: Values, moved: MovedMembers, who: Senders
) -> Iterator[Difference]:
    """Yield the differences; `who` sends the type that has the member.

    If both sides have the member in the same alternatives, these are compared one by one; a change
    of the member as a whole is not repeated for them.
    """
    if pair.before is None or pair.after is None:
        yield _came_or_went(pair, moved, who)
        return
    arms = [*_same_arms(pair, pair.before, pair.after)]
    whole = [*_member_changes(pair, values, who, has_arms=bool(arms))]
    yield from whole
    met = {change.code for change in whole}
    distinct: dict[tuple[str, str, str], Difference] = {}
    for change in (change for arm in arms for change in changes(arm, values, moved, who)):
        distinct.setdefault((change.code, change.before, change.after), change)
    yield from (change for change in distinct.values() if change.code not in met)


def _same_arms(pair: MemberPair, before: Member, after: Member) -> Iterator[MemberPair]:
    for name, was in before.arms.items():
        now = after.arms.get(name)
        if name in after.arms and (was or now):
            yield replace(pair, before=was, after=now)


def _member_changes(
    pair: MemberPair, values: Values, who: Senders, *, has_arms: bool
) -> Iterator[Difference]:
    before, after = pair.before, pair.after
    assert before is not None and after is not None
    at = (pair.path, pair.pointer)
    if before.required != after.required:
        code = "field-now-required" if after.required else "field-now-optional"
        yield Difference(code, *at, before.text, after.text, who)
    if before.nullable != after.nullable and before.type != ANY and after.type != ANY:
        code = "field-now-nullable" if after.nullable else "field-not-nullable"
        yield Difference(code, *at, before.text, after.text, who)
    if before.choices and after.choices:
        yield from _choices(pair, who)
    elif change := _arms_change(before, after, values) or _type_change(before, after, values):
        yield Difference(change, *at, before.type, after.type, who)
    if not has_arms:
        yield from bounds(pair, who)
    # For a whole type, this is reported with the other changes of the type.
    if after.steps[1:] and before.deprecated != after.deprecated:
        code = f"field-{'' if after.deprecated else 'un'}deprecated"
        yield Difference(code, *at, senders=who)
    if before.schema.get(EMBEDDED) != after.schema.get(EMBEDDED):
        yield Difference("field-schema-changed", *at, senders=who)


def _arms_change(before: Member, after: Member, values: Values) -> str | None:
    """Return the change of a whole type that is a union on one side; None for others."""
    schemas = before.schema, after.schema
    is_union = not after.steps[1:] and any("anyOf" in schema for schema in schemas)
    if before.type == after.type or not is_union:
        return None
    relation = values.of_names(*schemas) or values.relation(*schemas)
    return f"union-arms-{_ARMS[relation]}"


_ARMS = {
    Relation.SAME: "renamed",
    Relation.WIDER: "added",
    Relation.NARROWER: "removed",
    Relation.OTHER: "changed",
}


def _came_or_went(pair: MemberPair, moved: MovedMembers, who: Senders) -> Difference:
    at = (pair.path, pair.pointer)
    if pair.after is not None:
        after = _strictest(pair.after, pair.known)
        if moved.was_reachable(pair):
            return Difference("field-moved-out-of-type", *at, "", after.text, who)
        need = "required" if after.required else "optional"
        code = f"field-added-{'inside' if pair.inside else need}"
        return Difference(code, *at, "", after.text, who)
    assert pair.before is not None
    if moved.has_after(pair):
        return Difference("field-moved-into-type", *at, pair.before.text, "", who)
    code = "field-removed-required" if pair.before.required else "field-removed"
    code = "field-removed-inside" if pair.inside else code
    return Difference(code, *at, pair.before.text, "", who)


def _strictest(member: Member, arms: frozenset[str]) -> Member:
    """Return a member as required if one of some alternatives requires it."""
    found = (arm for name, arm in member.arms.items() if name in arms)
    return replace(member, required=member.required or any(arm and arm.required for arm in found))


def _choices(pair: MemberPair, who: Senders) -> Iterator[Difference]:
    assert pair.before is not None and pair.after is not None
    was, now = pair.before.choices, pair.after.choices
    for value in sorted(now - was):
        yield Difference("enum-member-added", pair.path, pair.pointer, "", value, who)
    for value in sorted(was - now):
        yield Difference("enum-member-removed", pair.path, pair.pointer, value, "", who)


def _type_change(before: Member, after: Member, values: Values) -> str | None:
    if before.type == after.type:
        return None
    match values.relation(before.schema, after.schema):
        case Relation.WIDER:
            return "field-type-widened"
        case Relation.NARROWER:
            return "field-type-narrowed"
        case Relation.OTHER:
            return "field-type-changed"
        case Relation.SAME:
            was, now = values.member_names(before.schema, after.schema)
            if was == now:
                return "field-type-renamed"
            return "field-type-specified" if was < now else "field-type-generalised"


def bounds(pair: MemberPair, who: Senders) -> Iterator[Difference]:
    """Yield the differences between the constraints of two members, or of two types."""
    assert pair.before is not None and pair.after is not None
    for label, was, now, at in bound_pairs(pair.before.schema, pair.after.schema):
        before, after = (_bound_text(label, bound) for bound in (was, now))
        code = (
            "field-default-changed"
            if label.endswith("default")
            else bound_change(label, was and was.limit, now and now.limit)
        )
        if code:
            yield Difference(code, pair.path, pair.pointer + at, before, after, who)


def _bound_text(label: str, bound: Bound | None) -> str:
    """Return a constraint as text; a default is not a constraint, and is shown alone."""
    if bound is None:
        return ""
    value = on_one_line(bound.value)
    place = label.rpartition("/")[0]
    keyword = bound.keyword if bound.keyword != "default" or place else ""
    return " ".join(filter(None, ("/".join(filter(None, (place, keyword))), value)))


# A smaller upper bound is tighter, and so is a greater lower bound.
_UPPER = frozenset(
    {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"}
)
_LOWER = frozenset(
    {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"}
)
# https://json-schema.org/draft/2020-12/json-schema-validation: sections 7 to 9; and
# https://json-schema.org/draft/2020-12/json-schema-core, section 6.5, for unknown keywords.
_ANNOTATIONS = frozenset({"contentEncoding", "contentMediaType", "contentSchema", "format"})
_RESTRICTIONS = (
    frozenset({"allOf", "anyOf", "else", "if", "not", "oneOf", "then", CHOICE}).union(
        *OF_KIND.values()
    )
    - _ANNOTATIONS
)


def bound_change(keyword: str, was: Any, now: Any) -> str | None:
    """Return the code of a change of one constraint; None without a change.

    `keyword` begins with `items/` if it is about the items of a list.
    """
    if was == now:
        return None
    name = keyword.rpartition("/")[2]
    if name not in _RESTRICTIONS:
        return "field-format-changed"
    # One more alternative allows more; an object that is not closed has any other members.
    gives_room = name == CHOICE
    if now is False or (now if gives_room else was) is None:
        return "bound-tightened"
    if None in (was, now) or was is False:
        return "bound-loosened"
    if name in _UPPER:
        return "bound-tightened" if now < was else "bound-loosened"
    if name in _LOWER:
        return "bound-tightened" if now > was else "bound-loosened"
    return "bound-changed"
