"""A walk through two revisions that makes a translation plan for each pair of types.

Values go from a source to a destination; each direction has its own walk. Most of a plan follows
from the two types: a member that the destination lacks is dropped, a member that it requires is
added with its usual value. Other differences need a translation action; without one, the
difference is undecided and reported.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_protogen.base.names import ClassName
from mcp_protogen.pipeline.derive.expressions import (
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
from mcp_protogen.pipeline.derive.value_paths import UnknownPath, typed_path
from mcp_protogen.pipeline.inputs.translations import StepDirection, TranslationAction
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
from mcp_protogen.pipeline.plans.conditions import find_impossible
from mcp_protogen.pipeline.plans.step_actions import Case, StepActions, case_of
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

_MOST_CASES = 6
"""How many conditions a type may have: each doubles its plans."""


@dataclass(frozen=True, slots=True)
class UndecidedDifference:
    """A difference that neither the types nor an action decide."""

    at: str
    what: str


@dataclass(frozen=True, slots=True)
class UnfitAction:
    """An action that cannot be done, and why."""

    action: TranslationAction
    why: str
    hint: str


@dataclass
class Walk:
    """One direction of a walk, which fills `plans`, `undecided` and `unfit`."""

    source: RevisionIR
    destination: RevisionIR
    direction: StepDirection
    actions: StepActions
    plans: dict[TypePair, Plan] = field(default_factory=dict[TypePair, Plan])
    undecided: list[UndecidedDifference] = field(default_factory=list[UndecidedDifference])
    unfit: list[UnfitAction] = field(default_factory=list[UnfitAction])
    applied: set[str] = field(default_factory=set[str])
    """The members and arms whose values functions take."""
    cases: set[Case] = field(default_factory=set[Case])
    """The conditions of actions that plans have."""

    def __post_init__(self) -> None:
        self._sources = {str(type_.name): type_ for type_ in self.source.types}
        self._destinations = {str(type_.name): type_ for type_ in self.destination.types}

    def find_step(self, source: TypeExpr, destination: TypeExpr, at: str) -> Step | None:
        """Return the step from a value of `source` to one of `destination`; None if not needed."""
        source = resolve_alias(source, self._sources)
        destination = resolve_alias(destination, self._destinations)
        match source, destination:
            case _, Anything():
                return None
            case Ref(s), Ref(d):
                return self._reference_step(str(s), str(d))
            case (OneOf(), _) | (_, OneOf()):
                return self._choice(arms_of(source), arms_of(destination), at)
            case ListOf(s), ListOf(d):
                return _each(self.find_step(s, d, f"{at}[]"))
            case MapOf(s), MapOf(d):
                return _each(self.find_step(s, d, f"{at}{{}}"))
            case (MapOf(), Ref()) | (Ref(), MapOf()):
                return self._free(source, destination)
            case _:
                if not accepts(destination, source):
                    self._undecide(at, f"{describe(source)} must become {describe(destination)}")
                return None

    def _undecide(self, at: str, reason: str) -> None:
        difference = UndecidedDifference(at, reason)
        if difference not in self.undecided:
            self.undecided.append(difference)

    def _reference_step(self, source: str, destination: str) -> Step:
        pair = TypePair(source, destination)
        if pair not in self.plans:
            # This ends the walk of a recursive type; until it is complete, it counts as a change.
            self.plans[pair] = Whole(destination, apply=(Apply("", ""),))
            self.plans[pair] = self._plan(self._sources[source], self._destinations[destination])
        return To(key_of(pair))

    def _plan(self, source: TypeIR, destination: TypeIR) -> Plan:
        newer = str(destination.name if self.direction == "up" else source.name)
        actions = self.actions.at(newer)
        if any(action.whole for action in actions):
            return Whole(str(destination.name), apply=_functions(actions, "apply"))
        match source, destination:
            case ObjectIR(), ObjectIR():
                required = destination.any_of_required
                if required and required != source.any_of_required:
                    self._undecide(newer, f"requires one of {', '.join(required)}")
                cases = self.actions.cases(newer)
                for case in cases[_MOST_CASES:]:
                    why = f"{newer} has {len(cases)} different conditions"
                    self.refuse(case, why, f"write at most {_MOST_CASES} for one type")
                return self._cases(source, destination, newer, cases[:_MOST_CASES])
            case UnionIR(), UnionIR():
                return self._union(source, destination, newer)
            case _:
                step = self._choice(alternatives(source), alternatives(destination), newer)
                return Whole(str(destination.name), apply=_functions(actions, "apply"), step=step)

    # Objects.

    def _cases(
        self, source: ObjectIR, destination: ObjectIR, at: str, cases: Sequence[Case]
    ) -> Plan:
        """Return the plan of an object, with a step for each case that it may be."""
        name = str(destination.name)
        if not cases:
            return self.members(source.fields, destination.fields, at, name)
        first, *rest = cases
        self.cases.add(first)
        self._refuse_impossible(first, source)
        actions, steps = self.actions, list[Step]()
        for met in (actions.met | {first}, actions.met):
            self.actions = replace(actions, met=met)
            pair = TypePair(f"{at} case {len(self.plans)}", "")
            self.plans[pair] = Whole("")
            plan = self._cases(source, destination, at, rest)
            self.plans[pair] = replace(plan, becomes="")
            steps.append(To(key_of(pair)))
        self.actions = actions
        met_by = (
            (condition.member, value, steps[0])
            for condition in first[1]
            for value in condition.one_of or (None,)
        )
        return Whole(name, step=When(tuple(met_by), steps[1]))

    def _refuse_impossible(self, case: Case, source: ObjectIR) -> None:
        found = find_impossible(case[1], [source.fields], self._sources, self.source.id)
        for why, hint in found:
            self.refuse(case, why, hint)

    def refuse(self, case: Case, why: str, hint: str) -> None:
        """Report the actions with a condition."""
        actions = (action for action in self.actions.all() if case_of(action) == case)
        self.unfit += (UnfitAction(action, why, hint) for action in actions)
        self.cases.add(case)

    def _free(self, source: TypeExpr, destination: TypeExpr) -> Step | None:
        """Return the step between an object with free keys and one with declared members."""
        name = next(
            str(expression.name)
            for expression in (source, destination)
            if isinstance(expression, Ref)
        )
        pair = TypePair(name if isinstance(source, Ref) else f"an object as {name}", "")
        if pair not in self.plans:
            source_fields = object_fields(source, self._sources)
            destination_fields = object_fields(destination, self._destinations)
            self.plans[pair] = self.members(source_fields, destination_fields, name, "")
        return To(key_of(pair))

    def members(
        self, source: Sequence[FieldIR], destination: Sequence[FieldIR], at: str, becomes: str
    ) -> Members:
        sources, destinations = by_name(source), by_name(destination)
        actions = self.actions.at(at, *(f"{at}.{name}" for name in (*sources, *destinations)))
        settled = self.actions.settled_members
        moves = {
            name: move for name in sources if (move := self._moves(at, sources[name], becomes))
        }
        stays = {name: member for name, member in sources.items() if name not in moves}
        renamed = dict(self._renamed_constants(stays, destinations))
        inside: dict[str, Step] = {}
        for name in (name for name in stays if name in destinations and name not in renamed):
            place = f"{at}.{name}"
            step = self._member(sources[name], destinations[name], place, place in settled)
            if step is not None:
                inside[name] = step
        going = [name for name in stays if not (name in destinations or f"{at}.{name}" in settled)]
        filled = {move.to[0] for n, (move, *_) in moves.items() if _always_moves(sources[n], move)}
        missing = {name: member for name, member in destinations.items() if name not in filled}
        return Members(
            becomes,
            apply=_functions(actions, "apply"),
            drop={name: self._drop(at, sources[name]) for name in going}
            | {n: Drop(f"The value becomes {new}.", harmless=True) for n, new in renamed.items()},
            move=moves,
            undefined=tuple(
                name
                for name in destinations
                if name not in sources and self.actions.of(f"{at}.{name}", "keep") is None
            ),
            inside=inside,
            add=dict(self._members_to_add(stays, missing, at, settled)) | renamed,
            emptied=tuple(
                name
                for name, member in sources.items()
                if goes_when_empty(member, destinations.get(name))
            ),
            finish=_functions(actions, "finish"),
        )

    def _renamed_constants(
        self, sources: Mapping[str, FieldIR], destinations: Mapping[str, FieldIR]
    ) -> Iterator[tuple[str, Any]]:
        """Yield the members that name a revision or a method, with its name in the destination."""
        for name, member in sources.items():
            old, new = member.default, destinations[name].default if name in destinations else None
            ids = (self.source.id, self.destination.id)
            if old != new and ((old, new) == ids or new in self.actions.other_names(str(old))):
                yield name, new

    def _member(self, source: FieldIR, destination: FieldIR, at: str, settled: bool) -> Step | None:
        count = len(self.undecided)
        accepts_null = destination.nullable or isinstance(destination.type, Anything)
        if source.nullable and not accepts_null:
            self._undecide(at, f"may be null, which {self.destination.id} does not allow")
        constraints = destination.constraints
        if not set(constraints) <= set(source.constraints):
            self._undecide(at, f"must satisfy {dict(constraints)} in {self.destination.id}")
        step = self.find_step(source.type, destination.type, at)
        functions = _functions(self.actions.at(at), "apply")
        if functions:
            self.applied.add(at)
            pair = TypePair(at, "")
            self.plans[pair] = Whole("", apply=functions, step=step)
            step = To(key_of(pair))
        if settled or functions:
            # Differences inside another type are decided there.
            self.undecided[count:] = [
                difference
                for difference in self.undecided[count:]
                if difference.at.rstrip("[]{}") != at
            ]
        return step

    def _drop(self, at: str, member: FieldIR) -> Drop:
        action = self.actions.of(f"{at}.{member.wire}", "drop")
        why = action.reason if action else f"{self.destination.id} has no {member.wire} here."
        if action is not None and action.value == "harmless":
            return Drop(why, harmless=True)
        has_usual = member.required and not isinstance(member.default, Filled)
        return Drop(why, usual=member.default if has_usual else None)

    def _moves(self, at: str, member: FieldIR, becomes: str) -> tuple[Move, ...]:
        action = self.actions.of(f"{at}.{member.wire}", "move")
        if action is None:
            return ()
        ends: Mapping[str, str | None] = (
            {"": action.value} if isinstance(action.value, str) else action.value
        )
        moves: list[Move] = []
        for start, end in ends.items():
            try:
                source = typed_path(start, member.type, self._sources)
                if end is None:
                    moves.append(Move((), action.reason, source.path))
                    continue
                owner = Ref(ClassName(becomes)) if becomes else Anything()
                to = typed_path(end, owner, self._destinations)
            except UnknownPath as error:
                why = f"{action.at} cannot be moved: {error}"
                hint = "write paths of members, such as a.b[kind=c].d, from and to what there is"
                self.unfit.append(UnfitAction(action, why, hint))
                continue
            for name in to.lacking:
                self._undecide(f"{at}.{member.wire}", f"moves to {end}, which requires {name}")
            step = self.find_step(source.type, to.type, f"{at}.{member.wire}")
            moves.append(Move(to.path, action.reason, source.path, step))
        return tuple(moves)

    def _members_to_add(
        self,
        sources: Mapping[str, FieldIR],
        destinations: Mapping[str, FieldIR],
        at: str,
        settled: frozenset[str],
    ) -> Iterator[tuple[str, Any]]:
        for name, member in destinations.items():
            place, may_lack = f"{at}.{name}", name not in sources or not sources[name].required
            action = self.actions.of(place, "add")
            if action is not None and (name not in sources or (member.required and may_lack)):
                yield name, action.value
            elif member.required and may_lack:
                if member.default is not None:
                    yield name, usual(member, self._destinations)
                elif place not in settled or self.actions.of(place, "keep"):
                    self._undecide(place, f"is required in {self.destination.id}")

    # Unions.

    def _union(self, source: UnionIR, destination: UnionIR, at: str) -> Plan:
        ours = self._arms_by_tag(source, self._sources)
        theirs = self._arms_by_tag(destination, self._destinations)
        if ours is None or theirs is None or source.tag != destination.tag or source.tag is None:
            step = self._choice(source.arms, destination.arms, at)
            return Whole(
                str(destination.name), apply=_functions(self.actions.at(at), "apply"), step=step
            )
        arms, apply = dict[str, Step](), dict[str, Apply]()
        self.actions.at(at, *(f"{at}[{tag}]" for tag in ours))
        for tag, arm in ours.items():
            # A method that is the tag may have another name there.
            other = next((name for name in self.actions.other_names(tag) if name in theirs), None)
            if other is not None:
                arms[tag] = self._reference_step(arm, theirs[other])
                continue
            actions = self.actions.at(f"{at}[{tag}]")
            if not any(action.do == "apply" for action in actions):
                self._undecide(f"{at}[{tag}]", f"{self.destination.id} has no such arm")
            for function in _functions(actions, "apply"):
                apply[tag] = function
                self.applied.add(f"{at}[{tag}]")
        return Arms(str(destination.name), source.tag, apply=apply, arms=arms)

    @staticmethod
    def _arms_by_tag(union: UnionIR, types: Mapping[str, TypeIR]) -> dict[str, str] | None:
        """Return the arms of a union by the constant in its tag; None if it is not unique."""
        by_tag: dict[str, str] = {}
        for arm in union.arms:
            type_ = types.get(str(arm.name)) if isinstance(arm, Ref) else None
            constant = constants(type_).get(union.tag or "")
            if not isinstance(constant, str) or constant in by_tag or type_ is None:
                return None
            by_tag[constant] = str(type_.name)
        return by_tag

    def _choice(
        self, source: Sequence[TypeExpr], destination: Sequence[TypeExpr], at: str
    ) -> Step | None:
        """Return the step between alternatives, which differ in JSON type or in a member."""
        ours, theirs = by_kind(source, self._sources), by_kind(destination, self._destinations)
        for scalar in ours.scalars:
            if not any(accepts(their_scalar, scalar) for their_scalar in theirs.scalars):
                self._undecide(
                    at, f"{describe(scalar)} is not allowed here in {self.destination.id}"
                )
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
            return self.find_step(ours[0], theirs.arrays[0], at)
        self._undecide(at, f"an array is not allowed here in {self.destination.id}")
        # If an action handles that, the items of the array may still be allowed.
        array = ours[0]
        inner = flat([array.item], self._sources) if isinstance(array, ListOf) else ()
        objects = by_kind(tuple(inner), self._sources).objects
        return _each(self._objects(objects, theirs.objects, at)) if theirs.objects else None

    def _objects(
        self, ours: Sequence[TypeExpr], theirs: Sequence[TypeExpr], at: str
    ) -> Step | None:
        if len(ours) == 1 and len(theirs) == 1:
            return self.find_step(ours[0], theirs[0], at)
        cases: list[tuple[str, Any, Step | None]] = []
        otherwise: list[Step | None] = []
        for arm in ours:
            counterpart = self._counterpart(arm, theirs)
            if counterpart is None:
                # Without a counterpart, a function at the union must exclude such values.
                if not self.actions.of(at, "apply"):
                    self._undecide(
                        at, f"{describe(arm)} is not allowed here in {self.destination.id}"
                    )
                continue
            step = self.find_step(arm, counterpart, at)
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
        if not isinstance(arm, Ref):
            return arm if arm in theirs else None
        names = self.actions.other_names(str(arm.name))
        refs = (their_arm for their_arm in theirs if isinstance(their_arm, Ref))
        return next((ref for ref in refs if ref.name in names), None)

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


def _always_moves(member: FieldIR, move: Move) -> bool:
    return member.required and not move.source and bool(move.to)


def _functions(actions: Iterable[TranslationAction], verb: str) -> tuple[Apply, ...]:
    return tuple(Apply(action.value, action.reason) for action in actions if action.do == verb)


def _each(step: Step | None) -> Step | None:
    return None if step is None else Each(step)


def _either(of_object: Step | None, of_array: Step | None) -> Step | None:
    return None if of_object is None and of_array is None else Either(of_object, of_array)
