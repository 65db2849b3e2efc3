"""A walk through two revisions that makes a translation plan for each pair of types.

Values go from a source to a target; each direction has its own walk. Most of a plan follows from
the two types: a member that the target lacks is dropped, a member that it requires is added with
its usual value. Other differences need a rule; without one, the difference is undecided and
reported.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_protogen.pipeline.inputs.rules import StepDirection, TranslationRule
from mcp_protogen.pipeline.ir import (
    Anything,
    FieldIR,
    Filled,
    ListOf,
    MapOf,
    ObjectIR,
    OneOf,
    Ref,
    RevisionIR,
    TypeExpr,
    TypeIR,
    UnionIR,
)
from mcp_protogen.pipeline.plans.expressions import (
    ByKind,
    accepts,
    alternatives,
    arms_of,
    by_kind,
    by_name,
    constants,
    describe,
    flat,
    goes_when_empty,
    object_fields,
    resolve_alias,
    usual,
)
from mcp_protogen.pipeline.plans.ruling import Ruling
from mcp_protogen.pipeline.plans.work import TypePair, key_of, works
from mcp_protogen.runtime.translation.plans import (
    Apply,
    Arms,
    Drop,
    Each,
    Either,
    Members,
    Move,
    Plan,
    Step,
    To,
    When,
    Whole,
)


@dataclass(frozen=True, slots=True)
class UndecidedDifference:
    """A difference that neither the types nor a rule decide."""

    at: str
    what: str


@dataclass
class Walk:
    """One direction of a walk, which fills `plans` and `undecided`."""

    source: RevisionIR
    target: RevisionIR
    direction: StepDirection
    ruling: Ruling
    plans: dict[TypePair, Plan] = field(default_factory=dict[TypePair, Plan])
    undecided: list[UndecidedDifference] = field(default_factory=list[UndecidedDifference])

    def __post_init__(self) -> None:
        self._sources = {str(type_.name): type_ for type_ in self.source.types}
        self._targets = {str(type_.name): type_ for type_ in self.target.types}

    def between(self, source: TypeExpr, target: TypeExpr, at: str) -> Step | None:
        """Return the step from a value of `source` to one of `target`; None if not needed."""
        source, target = resolve_alias(source, self._sources), resolve_alias(target, self._targets)
        match source, target:
            case _, Anything():
                return None
            case Ref(s), Ref(t):
                return self._reference_step(str(s), str(t))
            case (OneOf(), _) | (_, OneOf()):
                return self._choice(arms_of(source), arms_of(target), at)
            case ListOf(s), ListOf(t):
                return _each(self.between(s, t, f"{at}[]"))
            case MapOf(s), MapOf(t):
                return _each(self.between(s, t, f"{at}{{}}"))
            case (MapOf(), Ref()) | (Ref(), MapOf()):
                return self._free(source, target)
            case _:
                if not accepts(target, source):
                    self._undecide(at, f"{describe(source)} must become {describe(target)}")
                return None

    def _undecide(self, at: str, what: str) -> None:
        self.undecided.append(UndecidedDifference(at, what))

    def _reference_step(self, source: str, target: str) -> Step:
        pair = TypePair(source, target)
        if pair not in self.plans:
            # This ends the walk of a recursive type; until it is complete, it counts as a change.
            self.plans[pair] = Whole(target, apply=(Apply("", ""),))
            self.plans[pair] = self._plan(self._sources[source], self._targets[target])
        return To(key_of(pair))

    def _plan(self, source: TypeIR, target: TypeIR) -> Plan:
        newer = str(target.name if self.direction == "up" else source.name)
        rules = self.ruling.at(newer)
        if any(rule.whole for rule in rules):
            return Whole(str(target.name), apply=_functions(rules, "apply"))
        match source, target:
            case ObjectIR(), ObjectIR():
                if target.any_of_required and target.any_of_required != source.any_of_required:
                    self._undecide(newer, f"requires one of {', '.join(target.any_of_required)}")
                return self._members(source.fields, target.fields, newer, str(target.name))
            case UnionIR(), UnionIR():
                return self._union(source, target, newer)
            case _:
                step = self._choice(alternatives(source), alternatives(target), newer)
                return Whole(str(target.name), apply=_functions(rules, "apply"), step=step)

    # Objects.

    def _free(self, source: TypeExpr, target: TypeExpr) -> Step | None:
        """Return the step between an object with free keys and one with declared members."""
        name = next(
            str(expression.name) for expression in (source, target) if isinstance(expression, Ref)
        )
        pair = TypePair(name if isinstance(source, Ref) else f"an object as {name}", "")
        if pair not in self.plans:
            ours, theirs = object_fields(source, self._sources), object_fields(
                target, self._targets
            )
            self.plans[pair] = self._members(ours, theirs, name, "")
        return To(key_of(pair))

    def _members(
        self, source: Sequence[FieldIR], target: Sequence[FieldIR], at: str, becomes: str
    ) -> Members:
        ours, theirs = by_name(source), by_name(target)
        rules = self.ruling.at(at, *(f"{at}.{name}" for name in (*ours, *theirs)))
        settled = self.ruling.settled
        inside: dict[str, Step] = {}
        for name in (name for name in ours if name in theirs):
            step = self._member(ours[name], theirs[name], f"{at}.{name}", f"{at}.{name}" in settled)
            if step is not None:
                inside[name] = step
        ids = (self.source.id, self.target.id)  # the values of members that name the revision
        named = [n for n in ours if n in theirs and (ours[n].default, theirs[n].default) == ids]
        going = [name for name in ours if name not in theirs and f"{at}.{name}" not in settled]
        moved = {name: move for name in going if (move := self._find_move(at, name, becomes))}
        return Members(
            becomes,
            apply=_functions(rules, "apply"),
            drop={name: self._drop(at, ours[name]) for name in going if name not in moved}
            | {name: Drop(f"The value becomes {ids[1]}.", harmless=True) for name in named},
            move=moved,
            target_only=tuple(name for name in theirs if name not in ours),
            inside={name: inside[name] for name in ours if name in inside},
            add=dict(self._members_to_add(ours, theirs, at, settled))
            | dict.fromkeys(named, ids[1]),
            emptied=tuple(name for name in ours if goes_when_empty(ours[name], theirs.get(name))),
            finish=_functions(rules, "finish"),
        )

    def _member(self, ours: FieldIR, theirs: FieldIR, at: str, settled: bool) -> Step | None:
        seen = len(self.undecided)
        if ours.nullable and not theirs.nullable and not isinstance(theirs.type, Anything):
            self._undecide(at, f"may be null, which {self.target.id} does not allow")
        if not set(theirs.constraints) <= set(ours.constraints):
            self._undecide(at, f"must satisfy {dict(theirs.constraints)} in {self.target.id}")
        step = self.between(ours.type, theirs.type, at)
        if settled:
            # Differences inside another type are decided there.
            inside = [
                difference
                for difference in self.undecided[seen:]
                if difference.at.rstrip("[]{}") != at
            ]
            self.undecided[seen:] = inside
        return step

    def _drop(self, at: str, member: FieldIR) -> Drop:
        rule = self.ruling.of(f"{at}.{member.wire}", "drop")
        why = f"{self.target.id} has no {member.wire} here." if rule is None else rule.reason
        if rule is not None and rule.value == "harmless":
            return Drop(why, harmless=True)
        filled_in = member.required and not isinstance(member.default, Filled)
        return Drop(why, usual=member.default if filled_in else None)

    def _find_move(self, at: str, name: str, becomes: str) -> Move | None:
        rule = self.ruling.of(f"{at}.{name}", "move")
        if rule is None:
            return None
        to = tuple(str(rule.value).split("."))
        # An older revision may not have the new place.
        return Move(to, rule.reason) if self._has(becomes, to) else None

    def _has(self, name: str, path: tuple[str, ...]) -> bool:
        owner = self._targets.get(name)
        for step in path:
            fields = by_name(owner.fields) if isinstance(owner, ObjectIR) else {}
            if step not in fields:
                return False
            inner = fields[step].type
            owner = self._targets.get(str(inner.name)) if isinstance(inner, Ref) else None
        return True

    def _members_to_add(
        self,
        ours: Mapping[str, FieldIR],
        theirs: Mapping[str, FieldIR],
        at: str,
        settled: frozenset[str],
    ) -> Iterator[tuple[str, Any]]:
        for name, member in theirs.items():
            rule = self.ruling.of(f"{at}.{name}", "add")
            if rule is not None and name not in ours:
                yield name, rule.value
            elif member.required and not (name in ours and ours[name].required):
                if member.default is not None:
                    yield name, usual(member, self._targets)
                elif f"{at}.{name}" not in settled:
                    self._undecide(f"{at}.{name}", f"is required in {self.target.id}")

    # Unions.

    def _union(self, source: UnionIR, target: UnionIR, at: str) -> Plan:
        ours, theirs = self._arms_by_tag(source, self._sources), self._arms_by_tag(
            target, self._targets
        )
        if ours is None or theirs is None or source.tag != target.tag or source.tag is None:
            step = self._choice(source.arms, target.arms, at)
            return Whole(str(target.name), apply=_functions(self.ruling.at(at), "apply"), step=step)
        arms, apply = dict[str, Step](), dict[str, Apply]()
        self.ruling.at(at, *(f"{at}[{tag}]" for tag in ours))
        for tag, arm in ours.items():
            if tag in theirs:
                arms[tag] = self._reference_step(arm, theirs[tag])
                continue
            rules = [
                candidate
                for candidate in self.ruling.at(f"{at}[{tag}]")
                if candidate.do in ("apply", "keep")
            ]
            if not rules:
                self._undecide(f"{at}[{tag}]", f"{self.target.id} has no such arm")
            for rule in _functions(rules, "apply"):
                apply[tag] = rule
        return Arms(str(target.name), source.tag, apply=apply, arms=arms)

    @staticmethod
    def _arms_by_tag(union: UnionIR, types: Mapping[str, TypeIR]) -> dict[str, str] | None:
        """Return the arms of a union by the constant in its tag; None if it is not unique."""
        found: dict[str, str] = {}
        for arm in union.arms:
            named = types.get(str(arm.name)) if isinstance(arm, Ref) else None
            constant = constants(named).get(union.tag or "")
            if not isinstance(constant, str) or constant in found or named is None:
                return None
            found[constant] = str(named.name)
        return found

    def _choice(
        self, source: Sequence[TypeExpr], target: Sequence[TypeExpr], at: str
    ) -> Step | None:
        """Return the step between alternatives, which differ in JSON type or in a member."""
        ours, theirs = by_kind(source, self._sources), by_kind(target, self._targets)
        for scalar in ours.scalars:
            if not any(accepts(other_scalar, scalar) for other_scalar in theirs.scalars):
                self._undecide(at, f"{describe(scalar)} is not allowed here in {self.target.id}")
        of_array = self._arrays(ours.arrays, theirs, at) if ours.arrays else None
        of_object = self._objects(ours.objects, theirs.objects, at) if ours.objects else None
        if of_array is None:
            alone = not ours.scalars and not ours.arrays
            return of_object if alone else _either(of_object, None)
        return _either(of_object, of_array)

    def _arrays(self, ours: Sequence[TypeExpr], theirs: ByKind, at: str) -> Step | None:
        if len(ours) > 1 and not all(array in theirs.arrays for array in ours):
            self._undecide(at, "the arrays cannot be distinguished")
        if theirs.arrays:
            return self.between(ours[0], theirs.arrays[0], at)
        self._undecide(at, f"an array is not allowed here in {self.target.id}")
        # If a rule handles that, the items of the array may still be allowed.
        array = ours[0]
        inner = flat([array.item], self._sources) if isinstance(array, ListOf) else ()
        objects = by_kind(tuple(inner), self._sources).objects
        return _each(self._objects(objects, theirs.objects, at)) if theirs.objects else None

    def _objects(
        self, ours: Sequence[TypeExpr], theirs: Sequence[TypeExpr], at: str
    ) -> Step | None:
        if len(ours) == 1 and len(theirs) == 1:
            return self.between(ours[0], theirs[0], at)
        cases: list[tuple[str, Any, Step | None]] = []
        otherwise: list[Step | None] = []
        for arm in ours:
            match_ = self._counterpart(arm, theirs)
            if match_ is None:
                # Without one, a rule at the union must exclude such values.
                if not self.ruling.at(at):
                    self._undecide(at, f"{describe(arm)} is not allowed here in {self.target.id}")
                continue
            step = self.between(arm, match_, at)
            mark = self._mark(arm, ours)
            if mark is None:
                otherwise.append(step)
            else:
                cases.append((*mark, step))
        if len(otherwise) > 1 and any(works(step, self.plans) for step in otherwise):
            self._undecide(at, "the alternatives cannot be distinguished")
        last = otherwise[0] if len(otherwise) == 1 else None
        return When(tuple(cases), last) if cases else last

    def _counterpart(self, arm: TypeExpr, theirs: Sequence[TypeExpr]) -> TypeExpr | None:
        name = arm.name if isinstance(arm, Ref) else ""
        names = {name, *self.ruling.other_names(name, self.direction)}
        return next(
            (
                candidate
                for candidate in theirs
                if isinstance(candidate, Ref) and candidate.name in names
            ),
            None,
        )

    def _mark(self, arm: TypeExpr, arms: Sequence[TypeExpr]) -> tuple[str, Any] | None:
        """Return a member that only this arm requires, with its constant, if any."""
        types = [self._object(other_arm) for other_arm in arms]
        mine = self._object(arm)
        others = [type_ for type_ in types if type_ is not mine]
        for name, constant in constants(mine).items():
            if all(constants(other_type).get(name) != constant for other_type in others):
                return name, constant
        required = [member.wire for member in mine.fields if member.required] if mine else []
        for name in required:
            if all(name not in by_name(other_type.fields) for other_type in others if other_type):
                return name, None
        return None

    def _object(self, arm: TypeExpr) -> ObjectIR | None:
        found = self._sources.get(str(arm.name)) if isinstance(arm, Ref) else None
        return found if isinstance(found, ObjectIR) else None


def _functions(rules: Iterable[TranslationRule], verb: str) -> tuple[Apply, ...]:
    return tuple(Apply(rule.value, rule.reason) for rule in rules if rule.do == verb)


def _each(step: Step | None) -> Step | None:
    return None if step is None else Each(step)


def _either(of_object: Step | None, of_array: Step | None) -> Step | None:
    return None if of_object is None and of_array is None else Either(of_object, of_array)
