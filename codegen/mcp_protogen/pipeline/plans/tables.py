"""The translation tables between adjacent revisions, in both directions, with only the changes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_protogen.base.names import ClassName
from mcp_protogen.base.problems import Problem, ProblemError, raise_errors
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.introductions import introduction_types
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs import sources
from mcp_protogen.pipeline.inputs.translations import (
    StepDirection,
    Translation,
    all_steps,
    place_of,
)
from mcp_protogen.pipeline.ir import MethodIR, Ref, RevisionIR
from mcp_protogen.pipeline.plans.error_changes import Key, error_changes
from mcp_protogen.pipeline.plans.renamed_names import find_open_names, find_wrong_names
from mcp_protogen.pipeline.plans.step_actions import StepActions, case_of
from mcp_protogen.pipeline.plans.walk import UnfitAction, Walk
from mcp_protogen.pipeline.plans.work import TypePair, key_of, works
from mcp_protogen.runtime.translation.plans import (
    Arms,
    Direction,
    Each,
    Either,
    ErrorChange,
    Members,
    Method,
    Plan,
    Step,
    To,
    When,
    Whole,
)

_AROUND = re.compile(r"(\[\]|\{\})+$")


@dataclass(frozen=True, slots=True)
class PairTables:
    """The tables that translate values from an older revision to a newer one, and back."""

    older: RevisionIR
    newer: RevisionIR
    up: Direction
    down: Direction


def all_tables(
    revisions: Mapping[str, RevisionIR], options: GenerationOptions
) -> tuple[PairTables, ...]:
    """Return the tables of each step from the oldest of the revisions to the newest.

    A step may lead to a revision between them, which is then derived. Raise `ProblemError`
    (`undecided-difference`) with every difference that neither types nor translation rules decide.
    """
    derived = dict(revisions)
    tables: list[PairTables] = []
    problems: list[Problem] = []
    for step in all_steps(schema_folder(), options):
        for revision in (step.older, step.newer):
            if revision not in derived:
                derived[revision] = derive_revision(sources.load(revision, options)).ir
        try:
            tables.append(pair_tables(derived[step.older], derived[step.newer], step))
        except ProblemError as error:
            problems += error.problems
    raise_errors(problems)
    return tuple(tables)


def pair_tables(
    older: RevisionIR, newer: RevisionIR, step: Translation, file: str = ""
) -> PairTables:
    """Return the tables of one step; raise `ProblemError` as `all_tables` does.

    `file` is that for missing rules, if not the one of the newer revision.
    """
    file = file or place_of(newer.id)
    up, found = _direction(older, newer, "up", step, file)
    down, more = _direction(newer, older, "down", step, file)
    problems = [*found, *more]
    problems += find_open_names(step)
    problems += () if step.edited else find_wrong_names(older, newer, step)
    if problems:
        raise ProblemError(*problems)
    return PairTables(older, newer, up, down)


def find_unsettled(
    older: RevisionIR, newer: RevisionIR, step: Translation
) -> Mapping[tuple[StepDirection, str], str]:
    """Return the places that no action decides, and those of actions without effect.

    The keys are the direction and a place for an action; the values are reasons.
    """
    found: dict[tuple[StepDirection, str], str] = {}
    for walked in (_walk(older, newer, "up", step), _walk(newer, older, "down", step)):
        walk = walked.walk
        for difference in walk.undecided:
            found.setdefault((walk.direction, place_in(difference.at)), difference.what)
        for unfit in _unfit(walk):
            found.setdefault((walk.direction, unfit.action.at), unfit.why)
    return found


def place_in(at: str) -> str:
    """Return the member with a difference, without the list or map around it."""
    return _AROUND.sub("", at)


@dataclass(frozen=True, slots=True)
class _Walked:
    walk: Walk
    methods: Mapping[str, Method]
    errors: Mapping[Key, tuple[ErrorChange, ...]]
    problems: Sequence[Problem]
    """Those of errors."""


def _walk(
    source: RevisionIR,
    destination: RevisionIR,
    direction: StepDirection,
    step: Translation,
) -> _Walked:
    walk = Walk(source, destination, direction, StepActions(step, direction))
    methods = dict(_methods(walk))
    for _, pair in _beside(walk):
        walk.find_step(Ref(ClassName(pair.source)), Ref(ClassName(pair.destination)), pair.source)
    return _Walked(walk, methods, *error_changes(walk))


def _beside(walk: Walk) -> Iterator[tuple[str, TypePair]]:
    """Yield the types that are exchanged in any era, also outside common methods.

    Each has the name that the runtime knows.
    """
    theirs = introduction_types(walk.destination)
    for name, source in introduction_types(walk.source).items():
        if name in theirs:
            yield name, TypePair(source, theirs[name])


def _direction(
    source: RevisionIR,
    destination: RevisionIR,
    direction: StepDirection,
    step: Translation,
    file: str,
) -> tuple[Direction, list[Problem]]:
    walked = _walk(source, destination, direction, step)
    walk, methods = walked.walk, walked.methods
    plans, named = _keep_working(walk.plans)
    same = dict(_equal_pairs(walk.plans, plans, named))
    for name, pair in _beside(walk):
        if name != pair.source and key_of(pair) in named:
            plans[name] = plans[named[key_of(pair)]]
        elif name != pair.source:
            same[name] = pair.destination
    table = Direction(
        source.id,
        destination.id,
        methods={name: _rewrite(method, named) for name, method in sorted(methods.items())},
        plans=dict(sorted(plans.items())),
        same=dict(sorted(same.items())),
        errors=dict(_cut_errors(walked.errors, named)),
    )
    problems = [
        _problem(difference.at, difference.what, walk, file) for difference in walk.undecided
    ]
    problems += (*dict.fromkeys(map(_bad_rule, _unfit(walk))), *walked.problems)
    return table, problems


def _problem(at: str, reason: str, walk: Walk, file: str) -> Problem:
    choices = {(choice.direction, choice.at): choice.place for choice in walk.actions.step.choices}
    message = f"from {walk.source.id} to {walk.destination.id}, {at}: {reason}"
    if kept := walk.actions.of(place_in(at), "keep"):
        place, _, pointer = kept.place.partition("#")
        hint = "write add with a value for a member, or apply with a function for an arm or a union"
        return Problem("bad-rule", f"{message}, so it cannot be kept", place, pointer, hint)
    place, _, pointer = choices.get((walk.direction, place_in(at)), "").partition("#")
    hint = "write a translation rule that decides it: here, or in a file given with --rules"
    return Problem(
        "undecided-difference",
        message,
        place or file,
        pointer or "/rules",
        "replace the choices by one of them, and write a reason" if place else hint,
    )


def _unfit(walk: Walk) -> Iterator[UnfitAction]:
    """Yield the actions that cannot be done, or have no effect.

    They are harmless where a schema was edited: what they are about is gone.
    """
    if walk.actions.step.edited:
        return
    yield from walk.unfit
    hint = "name a type, a member (Type.member) or an arm (Type[tag]) of the newer revision"
    for action in walk.actions.idle():
        yield UnfitAction(action, f"{action.at} does not exist", hint)
    for action in walk.actions.all():
        inner = "." in action.at or "[" in action.at
        calls = action.do in ("apply", "finish")
        if action.when and case_of(action) not in walk.cases:
            why, hint = f"{action.at} has no case", "name a member of an object in both revisions"
            yield UnfitAction(action, why, hint)
        elif inner and calls and not (action.do == "apply" and action.at in walk.applied):
            why = f"{action.do} has no value at {action.at}"
            yield UnfitAction(
                action,
                why,
                "name a type, or with apply a member of both revisions or an arm of one",
            )


def _bad_rule(unfit: UnfitAction) -> Problem:
    place, _, pointer = unfit.action.place.partition("#")
    why = f"in direction {unfit.action.direction}, {unfit.why}"
    message = f"this translation rule has no effect: {why}"
    return Problem("bad-rule", message, place, pointer, unfit.hint)


def _methods(walk: Walk) -> Iterator[tuple[str, Method]]:
    destinations = {method.method: method for method in walk.destination.methods}
    for method in walk.source.methods:
        names = walk.actions.other_names(method.method)
        other = next((destinations[name] for name in names if name in destinations), None)
        if other is not None:
            yield method.method, Method(
                walk.find_step(Ref(method.params), Ref(other.params), method.method),
                _result(walk, method, other),
                "" if other.method == method.method else other.method,
            )


def _result(walk: Walk, source: MethodIR, destination: MethodIR) -> Step | None:
    if not source.results or not destination.results:
        return None
    for kind in source.results[1:]:
        for name in walk.actions.other_names(str(kind)):
            if name in destination.results[1:]:
                walk.find_step(Ref(kind), Ref(name), source.method)
    return walk.find_step(Ref(source.results[0]), Ref(destination.results[0]), source.method)


# Cutting: a plan without effect is dropped, with all references to it.


def _keep_working(walked: Mapping[TypePair, Plan]) -> tuple[dict[str, Plan], Mapping[str, str]]:
    """Return the plans with an effect, by final name, and the final name of each key."""
    every = {key_of(pair) for pair in walked}
    idle = {key for key in every if not works(To(key), walked)}
    working = {pair: plan for pair, plan in walked.items() if key_of(pair) not in idle}
    names = dict(_names(working))
    plans = {names[key_of(pair)]: _rewrite(plan, names) for pair, plan in working.items()}
    return plans, names


def _names(working: Mapping[TypePair, Plan]) -> Iterator[tuple[str, str]]:
    """Yield the final name of each plan: its source, if all plans of that source do the same."""
    for pair, plan in working.items():
        others = [
            other_plan
            for other_pair, other_plan in working.items()
            if other_pair.source == pair.source
        ]
        alike = all(replace(other_plan, becomes=plan.becomes) == plan for other_plan in others)
        yield key_of(pair), pair.source if alike else key_of(pair)


def _equal_pairs(
    walked: Mapping[TypePair, Plan], plans: Mapping[str, Plan], names: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for pair, plan in walked.items():
        if key_of(pair) not in names and plan.becomes and pair.source not in plans:
            yield pair.source, pair.destination


def _cut_errors(
    errors: Mapping[Key, tuple[ErrorChange, ...]], names: Mapping[str, str]
) -> Iterator[tuple[Key, tuple[ErrorChange, ...]]]:
    for key, changes in errors.items():
        cut = [replace(change, step=_rewrite(change.step, names)) for change in changes]
        if any(change.step or change.becomes != key[1] for change in cut):
            yield key, tuple(cut)


def _rewrite(part: Any, names: Mapping[str, str]) -> Any:
    """Return `part` with the final names of plans, and without steps that have no effect."""
    match part:
        case To(key):
            return To(names[key]) if key in names else None
        case Each(step):
            inner = _rewrite(step, names)
            return None if inner is None else Each(inner)
        case Either(of_object, of_array):
            made = Either(_rewrite(of_object, names), _rewrite(of_array, names))
            return None if made == Either() else made
        case When(cases, otherwise):
            new_cases = tuple(
                (member, value, _rewrite(step, names)) for member, value, step in cases
            )
            last = _rewrite(otherwise, names)
            idle = last is None and all(step is None for _, _, step in new_cases)
            return None if idle else When(new_cases, last)
        case Method(params, result, becomes):
            return Method(_rewrite(params, names), _rewrite(result, names), becomes)
        case Members():
            moved = {
                name: tuple(replace(move, step=_rewrite(move.step, names)) for move in moves)
                for name, moves in part.move.items()
            }
            return replace(part, move=moved, inside=_rewrite_steps(part.inside, names))
        case Arms():
            return replace(part, arms=_rewrite_steps(part.arms, names))
        case Whole():
            return replace(part, step=_rewrite(part.step, names))
        case _:
            return part


def _rewrite_steps(steps: Mapping[str, Step], names: Mapping[str, str]) -> dict[str, Step]:
    result = {name: _rewrite(step, names) for name, step in steps.items()}
    return {name: step for name, step in result.items() if step is not None}
