"""Differences between types of an SDK and the schema, member by member."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from mcp_protogen.base.jsonpointer import join
from mcp_protogen.instep.audit.description import SdkMember, SdkType
from mcp_protogen.instep.audit.expected import ENVELOPE_MEMBERS
from mcp_protogen.instep.audit.fitting import AuditedSdk, ShapeFit, fit
from mcp_protogen.instep.audit.matching import How, Match
from mcp_protogen.instep.audit.member_types import NULL, leaves, text
from mcp_protogen.instep.audit.other_revisions import OtherRevisions
from mcp_protogen.instep.audit.severities import AuditFinding
from mcp_protogen.instep.vectors.envelope import ENVELOPE_PREFIX
from mcp_protogen.pipeline.ir import Anything, FieldIR, LiteralOf, ObjectIR, Ref, Role, TypeExpr

_KEPT = {"allow": "kept as it came", "ignore": "dropped", "forbid": "refused"}


@dataclass(slots=True)
class TypeWalk:
    """A comparison of each pair of an object and a class, also of those found by place.

    Afterwards `by_place` has the classes that stand for inline objects, `used` all classes that
    hold something of the schema, and `untyped` the objects that the SDK does not check.
    """

    audited: AuditedSdk
    other_revisions: OtherRevisions
    findings: list[AuditFinding] = field(default_factory=list[AuditFinding])
    by_place: dict[str, str] = field(default_factory=dict[str, str])
    used: set[str] = field(default_factory=set[str])
    untyped: set[str] = field(default_factory=set[str])
    _done: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    _inherited: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def types(self) -> None:
        """Compare every type that has a match and occurs in messages."""
        senders = self.audited.wanted.senders
        for name, match in sorted(self.audited.matching.matches.items()):
            if name not in senders and match.how is not How.MAPPING:
                continue
            if not self.audited.wanted.audits(name):
                continue
            theirs = self.audited.sdk.types[match.key]
            ours = self.audited.wanted.resolve(name)
            origin = self.audited.wanted.types[name].origin
            place = _ComparedPlace(name, origin, self._senders(name), (name,))
            if ours is None and theirs.type is None:
                self._variants(match, place)
            elif ours is not None:
                self._shapes(ours, theirs.type or Ref(theirs.key), place)

    def _variants(self, match: Match, place: "_ComparedPlace") -> None:
        """Compare an object with all its variants; only a fault of all of them is a fault."""
        self._object(match.type, self.audited.sdk.types[match.key], place)
        for key in match.variants:
            other = TypeWalk(self.audited, self.other_revisions)
            other._object(match.type, self.audited.sdk.types[key], place)
            wrong = {(finding.code, finding.item) for finding in other.findings}
            mine = [f for f in self.findings if f.item.startswith(f"{match.type}.")]
            for finding in mine:
                if (finding.code, finding.item) not in wrong:
                    self.findings.remove(finding)
            self.used |= {key} | other.used

    def _senders(self, name: str) -> frozenset[Role]:
        return self.audited.wanted.senders.get(name, frozenset())

    def _object(self, name: str, theirs: SdkType, place: "_ComparedPlace") -> None:
        if (name, theirs.key) in self._done:
            return
        self._done.add((name, theirs.key))
        ours = self.audited.wanted.types[name]
        assert isinstance(ours, ObjectIR)
        found = {member.wire: member for member in theirs.members}
        fields = {field.wire: field for field in ours.fields}
        apart = name in self.audited.wanted.messages and "jsonrpc" not in found
        for wire, field_ in fields.items():
            if apart and wire in ENVELOPE_MEMBERS:
                continue
            below = place.member(wire)
            if wire not in found:
                self._missing_member(field_, theirs, below)
            else:
                self._member(name, field_, found[wire], below)
        for wire, member in found.items():
            if wire not in fields:
                self._extra(name, member, theirs, place.member(wire))

    def _missing_member(self, field_: FieldIR, theirs: SdkType, place: "_ComparedPlace") -> None:
        kept = _KEPT.get(theirs.extra, "not declared")
        code = "field-missing-required" if field_.required else "field-missing"
        if theirs.extra == "ignore" and not field_.required:
            code = "field-lost"
        needed = "required" if field_.required else "optional"
        before = f"{needed}, {text(field_.type)}"
        self._add(code, place, f"is not a member of {theirs.title}", before, kept)

    def _extra(
        self, name: str, member: SdkMember, theirs: SdkType, place: "_ComparedPlace"
    ) -> None:
        owner = self._owner(theirs, member)
        if (owner.key, member.wire) in self._inherited:
            return
        self._inherited.add((owner.key, member.wire))
        if owner.key != theirs.key:
            names = [m.type for m in self.audited.matching.matches.values() if m.key == owner.key]
            name = names[0] if names else owner.names[0]
            place = _ComparedPlace(name, "", place.senders, (name,)).member(member.wire)
        revisions = self.other_revisions.members(name, member.wire)
        after = f"{owner.title}.{member.name}: {text(member.type)}"
        if revisions:
            after += f" (in {', '.join(revisions)})"
        code = "field-extra-required" if member.required else "field-extra"
        self._add(code, place.without_pointer(), "is not in the revision", "", after)

    def _owner(self, theirs: SdkType, member: SdkMember) -> SdkType:
        """Return the base class that declares a member first, so that it is reported only once."""
        for base in reversed(theirs.bases):
            above = self.audited.sdk.types.get(base)
            if above and not above.generic and member in above.members:
                return above
        return theirs

    def _member(
        self, owner: str, field_: FieldIR, member: SdkMember, place: "_ComparedPlace"
    ) -> None:
        ours, theirs = field_.type, member.type
        self._presence(field_, member, place)
        self._nullness(field_, member, place)
        if f"{owner}.{field_.wire}" in self.audited.wanted.json_schemas:
            # The class of such a member may have more of JSON Schema than the IR.
            self.used.update(
                leaf.name for leaf in self.audited.target_arms(theirs) if isinstance(leaf, Ref)
            )
        elif not isinstance(ours, Ref) or not self._has_own_match(ours.name, theirs):
            self._shapes(ours, theirs, place)

    def _presence(self, field_: FieldIR, member: SdkMember, place: "_ComparedPlace") -> None:
        if member.required and not field_.required:
            self._add("field-required", place, "is required", "optional", "required")
        elif field_.required and not member.required and not _is_filled(field_, member):
            after = "optional" if member.default is None else f"optional, {member.default!r}"
            self._add("field-optional", place, "may be left out", "required", after)

    def _nullness(self, field_: FieldIR, member: SdkMember, place: "_ComparedPlace") -> None:
        theirs = _has_null(member.type, self.audited)
        if field_.nullable:
            if not theirs:
                after = text(member.type)
                self._add("field-not-nullable", place, "may not be null", "or null", after)
            return
        # `X | None = None` is the usual way in Python to make a member optional.
        needed = field_.required and member.required
        if theirs and needed and not _is_anything(member.type, self.audited):
            self._add("field-nullable", place, "may be null", "not null", text(member.type))

    def _has_own_match(self, name: str, theirs: TypeExpr) -> bool:
        """Return whether this is an alias with an equal match, which is compared itself."""
        key = self.audited.matching.key(name)
        if key is None or self.audited.wanted.resolve(name) is None:
            return False
        return set(self.audited.target_arms(theirs)) == set(self.audited.target_arms(Ref(key)))

    def _shapes(self, ours: TypeExpr, theirs: TypeExpr, place: "_ComparedPlace") -> None:
        result = fit(ours, theirs, self.audited)
        self.used.update(result.used)
        self._report_untyped(result, place)
        self._values(result, place)
        if result.disjoint and not result.values_missing:
            after = text(theirs)
            self._add("field-type", place, "is of another type", text(ours), after)
            return
        self._arms(result, place)
        for name, key in result.objects:
            self._compare_inner(name, key, place)
        for inside, counterpart, step in result.inside:
            self._shapes(inside, counterpart, place.inside(step))

    def _report_untyped(self, result: ShapeFit, place: "_ComparedPlace") -> None:
        # An envelope is read before its content is known.
        if not result.untyped or place.item.startswith(ENVELOPE_PREFIX):
            return
        self.untyped.update(result.untyped)
        before = " | ".join(result.untyped)
        self._add("field-untyped", place, "is not checked", before, "any object")

    def _compare_inner(self, name: str, key: str, place: "_ComparedPlace") -> None:
        """Compare an object of the schema with the class in its place, unless it has its own match.

        If its match is another class, the difference is one of this place.
        """
        matched = self.audited.matching.key(name)
        if matched is None and name not in self.audited.wanted.wire_names:
            self.by_place.setdefault(name, key)
        if matched != key:
            self._object(name, self.audited.sdk.types[key], place)

    def _values(self, result: ShapeFit, place: "_ComparedPlace") -> None:
        missing, extra = result.values_missing, result.values_extra
        if len(missing) == 1 and len(extra) == 1 and result.disjoint:
            before, after = json.dumps(missing[0]), json.dumps(extra[0])
            self._add("constant-wrong", place, "is another constant", before, after)
            return
        for value in missing:
            self._add_at("enum-member-missing", place, value, "is not accepted")
        for value in extra:
            self._add_at("enum-member-extra", place, value, "is not in the revision")

    def _arms(self, result: ShapeFit, place: "_ComparedPlace") -> None:
        literal = [leaf for leaf in result.missing if isinstance(leaf, LiteralOf)]
        for leaf in dict.fromkeys(text(leaf) for leaf in result.missing if leaf not in literal):
            item = place.at(leaf)
            self._add("union-arm-missing", item, "is not among the alternatives", leaf, "")
        for leaf in dict.fromkeys(
            text(leaf) for leaf in result.extra if not isinstance(leaf, LiteralOf)
        ):
            item = place.at(leaf).without_pointer()
            self._add("union-arm-extra", item, "is not in the revision", "", leaf)

    def _add_at(self, code: str, place: "_ComparedPlace", value: object, message: str) -> None:
        shown = json.dumps(value)
        missing = code.endswith("missing")
        before, after = (shown, "") if missing else ("", shown)
        self._add(code, place.at(shown), message, before, after)

    def _add(
        self, code: str, place: "_ComparedPlace", message: str, before: str, after: str
    ) -> None:
        where = place.pointer, before, after, place.senders, place.steps
        self.findings.append(AuditFinding(code, place.item, message, *where))


@dataclass(frozen=True, slots=True)
class _ComparedPlace:
    """A place in a comparison: its name, its pointer into the schema, and its senders.

    `steps` lead there from a type, which is the first one.
    """

    item: str
    pointer: str
    senders: frozenset[Role]
    steps: tuple[str, ...]

    def member(self, wire: str) -> "_ComparedPlace":
        pointer = f"{self.pointer}{join('properties', wire)}"
        return _ComparedPlace(f"{self.item}.{wire}", pointer, self.senders, (*self.steps, wire))

    def inside(self, step: str) -> "_ComparedPlace":
        """Return the place of the items of the list, or of the values of the map, here."""
        return replace(self, item=self.item + step, steps=(*self.steps, "*"))

    def at(self, alternative: str) -> "_ComparedPlace":
        """Return the place of one of the alternatives here."""
        return replace(self, item=f"{self.item} {alternative}")

    def without_pointer(self) -> "_ComparedPlace":
        """Return the place without a pointer, because the schema does not have it."""
        return replace(self, pointer="")


def _is_filled(field_: FieldIR, member: SdkMember) -> bool:
    """Return whether the class fills in a required constant, and so always writes it."""
    shape = field_.type
    return isinstance(shape, LiteralOf) and member.default in shape.values


def _is_anything(shape: TypeExpr, audited: AuditedSdk) -> bool:
    return any(isinstance(leaf, Anything) for leaf in audited.target_arms(shape))


def _has_null(shape: TypeExpr, audited: AuditedSdk) -> bool:
    found: Iterator[TypeExpr] = leaves(shape, audited.sdk.resolve)
    return any(leaf == NULL or isinstance(leaf, Anything) for leaf in found)
