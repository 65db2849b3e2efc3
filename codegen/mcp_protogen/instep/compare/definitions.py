"""Differences between the types of two sides: names, alternatives, values, and members."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.instep.compare import fields
from mcp_protogen.instep.compare.members import Member, members, resolve_name
from mcp_protogen.instep.compare.plain_schemas import essence
from mcp_protogen.instep.compare.renames import renames
from mcp_protogen.instep.compare.revisions import ComparedRevision
from mcp_protogen.instep.compare.spelling import spell
from mcp_protogen.instep.compare.traffic import envelopes, error_code, senders
from mcp_protogen.instep.compare.values import Values
from mcp_protogen.pipeline.derive.skeleton import MESSAGE_UNIONS
from mcp_protogen.pipeline.ir import NOBODY, ObjectIR, Senders, TypeIR
from mcp_protogen.pipeline.normalise.references import definition_name
from mcp_protogen.pipeline.reports.severities import Difference

Json = dict[str, Any]

_CAPABILITIES = frozenset({"ClientCapabilities", "ServerCapabilities"})
_CONTENTS = frozenset({"params", "result"})
_ENVELOPES: Mapping[str, str] = {"request": "JSONRPCRequest", "notification": "JSONRPCNotification"}
# Only their arms are sent.
_UNIONS_OF_MESSAGES = frozenset({"JSONRPCMessage", *(name for name, _, _ in MESSAGE_UNIONS)}) | {
    *("ClientResult", "ServerResult")
}
_INVISIBLE = frozenset({"field-type-renamed", "union-arms-renamed"})
_SAME_ON_THE_WIRE = frozenset(
    {"field-moved-into-type", "field-moved-out-of-type", "field-type-renamed"}
)
# A capability is declared by its presence, or by `true`.
_IGNORED_IN_CAPABILITIES = _SAME_ON_THE_WIRE | {
    *("field-added-inside", "field-added-optional", "field-added-required"),
    *("field-removed", "field-removed-inside", "field-removed-required"),
    *("field-type-generalised", "field-type-specified"),
}
# These are reported for the method of the message, or for the error.
_CONSTANT_CODES = frozenset({"enum-member-added", "enum-member-removed"})
# The presence and type of params are reported for the method and for their members.
_IGNORED_IN_PARAMS = _IGNORED_IN_CAPABILITIES | {
    *("field-now-optional", "field-now-required"),
    *("field-type-changed", "field-type-narrowed", "field-type-widened"),
}
_Members = Mapping[str, Member]


@dataclass(frozen=True)
class Types:
    """The types of two sides, with cached results about them."""

    before: ComparedRevision
    after: ComparedRevision

    @cached_property
    def new_names(self) -> Mapping[str, str]:
        """The new name of each renamed type, by its old name."""
        return renames(self.before.definitions, self.after.definitions)

    @cached_property
    def senders(self) -> tuple[Mapping[str, Senders], Mapping[str, Senders]]:
        """The senders of each type, before and after."""
        return senders(self.before), senders(self.after)

    def senders_of(self, old: str, new: str) -> Senders:
        """Return the senders of a type that both sides have; empty if only one side sends it."""
        was, now = self.senders[0].get(old, NOBODY), self.senders[1].get(new, NOBODY)
        return (was & now or was | now) if was and now else NOBODY

    @cached_property
    def values(self) -> Values:
        """The comparison of values that schemas of the two sides accept."""
        return Values(self.before.definitions, self.after.definitions, self.new_names)

    @cached_property
    def derived_types(self) -> tuple[Mapping[str, TypeIR], Mapping[str, TypeIR]]:
        """The derived types of both sides, by name."""
        was, now = (
            {str(type_.name): type_ for type_ in revision.ir.types} for revision in self._revisions
        )
        return was, now

    @cached_property
    def envelopes(self) -> frozenset[str]:
        """The names of the types that make up the envelopes of JSON-RPC."""
        return frozenset(
            name for revision in self._revisions for name in envelopes(revision.definitions)
        )

    @property
    def _revisions(self) -> tuple[ComparedRevision, ComparedRevision]:
        return self.before, self.after

    def is_base(self, revision: ComparedRevision, name: str) -> bool:
        """Return whether a type is an envelope, or a base that no message uses directly."""
        return name in self.envelopes or name not in self.senders[revision is self.after]

    @cached_property
    def kinds(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """The kind of each message type, before and after."""
        was, now = (
            {str(method.message): str(method.kind) for method in revision.ir.methods}
            for revision in self._revisions
        )
        return was, now

    @cached_property
    def messages(self) -> frozenset[str]:
        """The names of message types; their members are those of their params."""
        return frozenset(name for kinds in self.kinds for name in kinds)

    @cached_property
    def params(self) -> frozenset[str]:
        """The names of params; their members are reported for the message."""
        return frozenset(
            name
            for revision in self._revisions
            for method in self._defined_messages(revision)
            for name in _params(revision, method)
        )

    def _defined_messages(self, revision: ComparedRevision) -> Iterator[str]:
        return (
            str(method.message)
            for method in revision.ir.methods
            if str(method.message) in revision.definitions
        )


def _params(revision: ComparedRevision, message: str) -> Iterator[str]:
    """Yield the definitions that are params of a message, also through unions."""
    properties: Json = revision.definitions[message].get("properties", {})
    schemas: list[Json] = [properties.get("params", {})]
    while schemas:
        schema = schemas.pop()
        if "$ref" in schema:
            name = definition_name(schema["$ref"])
            yield name
            schema = revision.definitions[name]
        schemas += schema.get("anyOf", ())


def changes(types: Types) -> Iterator[Difference]:
    """Yield the differences between the definitions of two sides."""
    before, after = types.before.definitions, types.after.definitions
    was, now = types.senders
    old_names = {new: old for old, new in types.new_names.items()}
    for name in sorted({*before, *after}):
        pointer = jsonpointer.join("$defs", name)
        gone, new = was.get(name, NOBODY), now.get(name, NOBODY)
        if name in old_names:
            yield Difference("type-renamed", name, pointer, old_names[name], name, new)
        elif name not in before:
            yield Difference("type-added", name, pointer, "", _kind(after[name]), new)
        if name not in after and name not in types.new_names:
            yield Difference("type-removed", name, pointer, _kind(before[name]), "", gone)
        if name in types.new_names and name in after:
            kinds = _kind(before[name]), _kind(after[name])
            yield Difference("type-redefined", name, pointer, *kinds, new)
        if name in before and (new_name := types.new_names.get(name, name)) in after:
            yield from _compare(types, name, new_name)


def _kind(schema: Json) -> str:
    """Return the kind of a definition, as short text."""
    if schema.get("properties"):
        return "object"
    if "anyOf" in schema and all("$ref" in arm or _is_object(arm) for arm in schema["anyOf"]):
        return "union"
    return spell(schema)


def _is_object(schema: Json) -> bool:
    """Return whether a definition is an object, with or without members, and not a map."""
    return bool(schema.get("properties")) or (
        schema.get("type") == "object" and not is_object(schema.get("additionalProperties"))
    )


def _compare(types: Types, old: str, new: str) -> Iterator[Difference]:
    before, after = types.before.definitions[old], types.after.definitions[new]
    sent_by = types.senders_of(old, new)
    yield from _attribute_changes(types, old, new, sent_by)
    pointer = jsonpointer.join("$defs", new)
    if _is_object(before) != _is_object(after):
        # One of the two may be an alias of an object.
        before = resolve_name(before, types.before.definitions)
        after = resolve_name(after, types.after.definitions)
    pair = fields.MemberPair(
        new, _type_as_member(old, before, pointer), _type_as_member(new, after, pointer), (old, new)
    )
    are_objects = _is_object(before) and _is_object(after)
    if are_objects:
        found = [*fields.bounds(pair, sent_by)]
    else:
        found = [*_non_object_changes(pair, types.values, sent_by)]
    # The members of an alias are reported for its type.
    is_alias = not are_objects and "$ref" in {**before, **after}
    is_comparable = _is_object(before) == _is_object(after) and not is_alias
    if is_comparable and not {old, new} & types.params:
        found += _members(types, old, new, sent_by)
    if sent_by:
        yield from found
    else:
        yield from _shorten_for_base(found) if are_objects else _summarize_unsent(new, found)


def _members(types: Types, old: str, new: str, sent_by: Senders) -> Iterator[Difference]:
    was, now = _pair_members(types, old, new)
    moved = fields.MovedMembers(types.before.definitions, types.after.definitions)
    for path in sorted({*was, *now}):
        before, after = was.get(path), now.get(path)
        inside = _is_with_parent(before, was, now) or _is_with_parent(after, now, was)
        known = _arms_beside(after, was) if before is None else frozenset[str]()
        pair = fields.MemberPair(path, before, after, (old, new), inside, known)
        unreported = _codes_not_reported(types, pair)
        every = fields.changes(pair, types.values, moved, sent_by)
        found = [change for change in every if change.code not in unreported]
        yield from found
        if not found and _has_other_content(types, pair):
            yield Difference("base-member-changed", path, pair.pointer)


def _pair_members(types: Types, old: str, new: str) -> tuple[_Members, _Members]:
    """Return the members of a type by path, before and after, both under the new name.

    A message has its own members and those of its params. Members that only one side repeats from
    the envelope are added to the other.
    """
    revisions = types.before, types.after
    was, now = (
        _members_of_side(types, side, name, new)
        for side, name in zip(revisions, (old, new), strict=True)
    )
    if new not in types.messages:
        return was, now
    kinds = [side.get(name) for side, name in zip(types.kinds, (old, new), strict=True)]
    if kinds[0] != kinds[1]:
        # Another kind of message has another envelope: this is reported for the method.
        inside = f"{new}.params."
        was, now = (
            {path: member for path, member in found.items() if path.startswith(inside)}
            for found in (was, now)
        )
        return was, now
    before, after = (_envelope(side, str(kinds[0]), new) for side in revisions)
    added = {path: before[path] for path in before.keys() & now.keys() - was.keys()}
    return {**was, **added}, {
        **now,
        **{path: after[path] for path in after.keys() & was.keys() - now.keys()},
    }


def _members_of_side(types: Types, side: ComparedRevision, name: str, called: str) -> _Members:
    found = [*members(side.definitions, name, message=False).values()]
    if called in types.messages or types.is_base(side, name):
        # The content of an envelope, and its stand-in in a base, is reported for the messages.
        found = [
            member for member in found if len(member.steps) < 3 or member.steps[1] not in _CONTENTS
        ]
    if called in types.messages:
        found += members(side.definitions, name, message=True).values()
    return {member.path: member for member in (original.of(called) for original in found)}


def _envelope(side: ComparedRevision, kind: str, called: str) -> _Members:
    """Return the members that each message of a kind gets from its envelope."""
    envelope = _ENVELOPES.get(kind, "")
    if envelope not in side.definitions:
        return {}
    messages = [str(method.message) for method in side.ir.methods if method.kind == kind]
    stated = {"method", "params"}.union(
        *(side.definitions.get(name, {}).get("properties", {}) for name in messages)
    )
    found = members(side.definitions, envelope, message=False).values()
    common = (original.of(called) for original in found if original.steps[1] not in stated)
    return {member.path: member for member in common}


def _has_other_content(types: Types, pair: fields.MemberPair) -> bool:
    """Return whether the content of an envelope or base differs in parts that are not compared."""
    before, after = pair.before, pair.after
    if before is None or after is None or pair.path.rpartition(".")[2] not in _CONTENTS:
        return False
    is_base = types.is_base(types.after, pair.names[1]) and pair.names[1] not in types.messages
    return is_base and essence(before.schema) != essence(after.schema)


def _error_code_path(types: Types, old: str, new: str) -> str:
    """Return the path of the code of an error, if the type has its own on both sides."""
    was = error_code(types.before.definitions[old])
    now = error_code(types.after.definitions[new])
    same = was is not None and now is not None and was.steps == now.steps
    return ".".join((new, *now.steps)) if now is not None and same else ""


def _is_with_parent(
    member: Member | None, here: Mapping[str, Member], there: Mapping[str, Member]
) -> bool:
    """Return whether the object with a member also exists only `here`."""
    return member is not None and member.parent in here and member.parent not in there


def _arms_beside(member: Member | None, side: _Members) -> frozenset[str]:
    """Return the union arms around the member's siblings on a side."""
    beside = (
        sibling for sibling in side.values() if member and sibling.steps[:-1] == member.steps[:-1]
    )
    return frozenset(name for sibling in beside for name in sibling.arms)


def _shorten_for_base(found: Iterable[Difference]) -> Iterator[Difference]:
    """Yield the changes of a base type, which no message uses directly.

    Details are left out: each change is reported in full for the types made from the base.
    """
    for change in found:
        match change.code.split("-"):
            case ["field", "deprecated" | "undeprecated"]:
                yield change
            case ["field", "added" | "removed" as what, *_]:
                yield replace(change, code=f"base-member-{what}")
            case _ if change.code not in _SAME_ON_THE_WIRE:
                yield replace(change, code="base-member-changed")
            case _:
                pass


def _codes_not_reported(types: Types, pair: fields.MemberPair) -> frozenset[str]:
    """Return the codes that are not reported here for a member.

    They are reported elsewhere, or mean nothing here.
    """
    old, new = pair.names
    if new in _CAPABILITIES and not _are_maps(pair):
        is_flag = any(side and side.type == "boolean" for side in (pair.before, pair.after))
        more = {"field-type-changed"} if is_flag else set[str]()
        return _IGNORED_IN_CAPABILITIES | more
    if pair.path == _error_code_path(types, old, new):
        return _CONSTANT_CODES
    if new in types.messages:
        member = pair.path.removeprefix(f"{new}.")
        return {"method": _CONSTANT_CODES, "params": _IGNORED_IN_PARAMS}.get(member, frozenset())
    return _SAME_ON_THE_WIRE if new in types.envelopes else frozenset()


def _are_maps(pair: fields.MemberPair) -> bool:
    """Return whether a capability is a map on both sides, and so has values."""
    members_ = [member for member in (pair.before, pair.after) if member]
    return len(members_) == 2 and all(member.type.startswith("map<") for member in members_)


def _non_object_changes(
    pair: fields.MemberPair, values: Values, sent_by: Senders
) -> Iterator[Difference]:
    """Yield the changes of unions, enumerations and aliases."""
    assert pair.before is not None and pair.after is not None
    before, after = pair.before.schema, pair.after.schema
    if _is_object(before) != _is_object(after):
        kinds = _kind(before), _kind(after)
        yield Difference("type-changed", pair.path, pair.pointer, *kinds, sent_by)
    else:
        yield from fields.changes(pair, values, fields.MovedMembers({}, {}), sent_by)


def _summarize_unsent(name: str, found: Iterable[Difference]) -> Iterator[Difference]:
    """Yield at most one change of a type that no message contains.

    Unions of all messages or results are skipped, because each of their arms is reported by itself.
    """
    change = next((difference for difference in found if difference.code not in _INVISIBLE), None)
    if change is not None and name not in _UNIONS_OF_MESSAGES:
        yield replace(change, code="type-changed-unsent", item=name)


def _type_as_member(name: str, schema: Json, pointer: str) -> Member:
    return Member((name,), schema, True, pointer)


def _attribute_changes(types: Types, old: str, new: str, sent_by: Senders) -> Iterator[Difference]:
    """Yield the changes of a type that becomes open, closed, deprecated or undeprecated."""
    was, now = types.derived_types[0].get(old), types.derived_types[1].get(new)
    pointer = jsonpointer.join("$defs", new)
    deprecated = (
        _is_deprecated(types.before.definitions[old], was),
        _is_deprecated(types.after.definitions[new], now),
    )
    if deprecated[0] != deprecated[1]:
        yield Difference(
            f"type-{'' if deprecated[1] else 'un'}deprecated", new, pointer, senders=sent_by
        )
    opened = old in types.before.open_types, new in types.after.open_types
    if isinstance(was, ObjectIR) and isinstance(now, ObjectIR) and opened[0] != opened[1]:
        yield Difference(
            "type-opened" if opened[1] else "type-closed", new, pointer, senders=sent_by
        )


def _is_deprecated(schema: Json, derived: TypeIR | None) -> bool:
    return schema.get("deprecated") is True or (derived is not None and derived.deprecated)
