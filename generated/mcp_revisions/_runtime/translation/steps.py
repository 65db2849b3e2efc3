"""Plans, compiled into functions.

A function takes a decoded JSON value, its place, and a report for losses. It never changes the
value: it returns the same object if nothing has to change, or a copy of the parts that do.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from ..core.json import JSONObject, is_array, is_object
from ..core.losses import Place, Report
from .conversions import CONVERSIONS, Judgement
from .plans import Apply, Arms, Each, Either, Members, Move, Plan, Step, To, When, Whole

Run: TypeAlias = Callable[[Any, Place, Report], Any]
"""A function that translates one value."""

_HAS_NO_MEANING: Final = "it has a meaning only in the reader's revision"
_IS_EMPTY: Final = "nothing is left in it"


class Compiled:
    """The plans of one direction as functions, each made when it is first needed."""

    def __init__(self, plans: Mapping[str, Plan]) -> None:
        self._plans = plans
        self._made: dict[str, Run] = {}

    def plan(self, name: str) -> Run:
        """Return the function of the plan `name`."""
        run = self._made.get(name)
        if run is None:
            # A type may hold values of the same type, so its function may need itself.
            self._made[name] = lambda value, at, report: self._made[name](value, at, report)
            run = self._made[name] = self._planned(self._plans[name])
        return run

    def step(self, step: Step) -> Run:
        """Return the function of a step."""
        match step:
            case To(name):
                return self.plan(name)
            case Each(inner):
                return _each(self.step(inner))
            case Either(of_object, of_array):
                return _either(self._optional(of_object), self._optional(of_array))
            case When(cases, otherwise):
                made = [(member, value, self._optional(inner)) for member, value, inner in cases]
                return _when(made, self._optional(otherwise))

    def _optional(self, step: Step | None) -> Run | None:
        return None if step is None else self.step(step)

    def _planned(self, plan: Plan) -> Run:
        match plan:
            case Members():
                inside = [(member, self.step(step)) for member, step in plan.inside.items()]
                return _members(plan, inside)
            case Arms():
                arms = {kind: self.step(step) for kind, step in plan.arms.items()}
                judged = {kind: _judged(one) for kind, one in plan.apply.items()}
                return _arms(plan.tag, judged, arms)
            case Whole():
                return _whole([*map(_judged, plan.apply)], self._optional(plan.step))


def _judged(rule: Apply) -> tuple[Judgement, str]:
    return CONVERSIONS[rule.function], rule.why


def _members(plan: Members, inside: list[tuple[str, Run]]) -> Run:
    judged, finish = [*map(_judged, plan.apply)], [*map(_judged, plan.finish)]
    going = frozenset((*plan.drop, *plan.move, *plan.unmeant))
    emptied = plan.emptied
    add = tuple(plan.add.items())

    def run(value: JSONObject, at: Place, report: Report) -> JSONObject:
        out = value
        for judge, why in judged:
            out = judge(out, at, report, why)
        if not going.isdisjoint(out):
            out = _without(out, plan, at, report)
        for member, translate in inside:
            if member in out:
                given = out[member]
                made = translate(given, (at, member), report)
                if made is not given:
                    if out is value:
                        out = dict(value)
                    out[member] = made
                    if not made and member in emptied:
                        del out[member]
                        report.lose((at, member), "dropped", _IS_EMPTY, harmless=True)
        for member, usual in add:
            if member not in out:
                if out is value:
                    out = dict(value)
                out[member] = _fresh(usual)
        for judge, why in finish:
            out = judge(out, at, report, why)
        return out

    return run


def _fresh(usual: Any) -> Any:
    """Return a copy that may be changed; faster than a deep copy of any object."""
    if is_object(usual):
        return {member: _fresh(inner) for member, inner in usual.items()}
    return [_fresh(inner) for inner in usual] if is_array(usual) else usual


def _without(value: JSONObject, plan: Members, at: Place, report: Report) -> JSONObject:
    out = dict(value)
    for member in plan.unmeant:
        if member in out:
            del out[member]
            report.lose((at, member), "dropped", _HAS_NO_MEANING)
    for member, move in plan.move.items():
        if member in out:
            _move(out, member, move, at, report)
    for member, drop in plan.drop.items():
        if member in out:
            given = out.pop(member)
            harmless = drop.harmless or (drop.usual is not None and given == drop.usual)
            report.lose((at, member), "dropped", drop.why, harmless=harmless)
    return out


def _move(out: JSONObject, member: str, move: Move, at: Place, report: Report) -> None:
    value = out.pop(member)
    *way, last = move.to
    around = out
    for step in way:
        around[step] = dict(around.get(step, {}))
        around = around[step]
    if last in around:
        report.lose((at, member), "dropped", move.why)
    else:
        around[last] = value
        report.lose((at, member), "moved", move.why, harmless=True)


def _arms(tag: str, judged: Mapping[str, tuple[Judgement, str]], arms: Mapping[str, Run]) -> Run:
    def run(value: JSONObject, at: Place, report: Report) -> JSONObject:
        out = value
        if out[tag] in judged:
            judge, why = judged[out[tag]]
            out = judge(out, at, report, why)
        translate = arms.get(out[tag])
        return out if translate is None else translate(out, at, report)

    return run


def _whole(judged: list[tuple[Judgement, str]], then: Run | None) -> Run:
    def run(value: Any, at: Place, report: Report) -> Any:
        for judge, why in judged:
            value = judge(value, at, report, why)
        return value if then is None else then(value, at, report)

    return run


def _each(translate: Run) -> Run:
    def run(values: Any, at: Place, report: Report) -> Any:
        out = values
        for place in _places(values):
            given = values[place]
            made = translate(given, (at, place), report)
            if made is not given:
                if out is values:
                    out = values.copy()
                out[place] = made
        return out

    return run


def _places(values: Any) -> Iterable[Any]:
    """Return the indices of an array, or the keys of an object."""
    return list(values) if is_object(values) else range(len(values))


def _either(of_object: Run | None, of_array: Run | None) -> Run:
    def run(value: Any, at: Place, report: Report) -> Any:
        translate = of_object if is_object(value) else of_array if is_array(value) else None
        return value if translate is None else translate(value, at, report)

    return run


def _when(cases: list[tuple[str, Any, Run | None]], otherwise: Run | None) -> Run:
    def run(value: JSONObject, at: Place, report: Report) -> JSONObject:
        translate = otherwise
        for member, constant, candidate in cases:
            if member in value and (constant is None or value[member] == constant):
                translate = candidate
                break
        return value if translate is None else translate(value, at, report)

    return run
