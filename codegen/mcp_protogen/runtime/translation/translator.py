"""Translation of decoded JSON between two revisions, by the plans of a generated table.

Plans are compiled into functions on demand. Such a function takes a value, its place, and a report
for losses. It returns the same object if nothing changes, or a copy of the changed parts.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from math import ceil
from types import ModuleType
from typing import Any, Final, TypeAlias

from pydantic_core import to_json

from ..core.copies import put
from ..core.json import JSONObject, is_array, is_object, is_same, read_json
from ..core.losses import Loss, Translated, What
from ..core.models.base import WireModel, validator_of
from ..core.revision import load_generated
from ..core.spec import Part
from ..core.value_paths import PathEntry, ValuePath, keys_at
from ..rules.capabilities import applies
from .conversions import CONVERSIONS, Conversion, Site
from .plans import (
    Apply,
    Arms,
    Delay,
    Direction,
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
from .report import Place, Report

Run: TypeAlias = Callable[[Any, Place, Report], Any]
Params: TypeAlias = Callable[[], JSONObject]

_IS_EMPTY: Final = "All its members were dropped."


class Translator:
    """Translates from one revision to another: by one step, then by the `following` ones."""

    def __init__(self, direction: Direction, following: "Translator | None" = None) -> None:
        self._direction = direction
        self._following = following
        self._runs: dict[str, Run] = {}
        self._messages: dict[tuple[str, Part], Run | None] = {}

    def message(self, method: str, part: Part) -> Run | None:
        """Return the function for params or a plain result; None if they do not change."""
        key = (method, part)
        if key not in self._messages:
            step = getattr(self._direction.methods[method], part)
            run, then = None if step is None else self._step(step), self._following
            rest = None if then is None else then.message(self._method(method), part)
            self._messages[key] = chain(run, rest)
        return self._messages[key]

    def of_type(self, name: str) -> Run | None:
        """Return the function for a type, by its name in the source; None if it does not change.

        Raise `LookupError` for a type that a revision on the way lacks.
        """
        there, then = self._type(name), self._following
        run = self._function_for(name) if name in self._direction.plans else None
        return chain(run, None if then is None else then.of_type(there))

    def becomes(self, name: str) -> str:
        """Return the destination's name of a type of the source; raise `LookupError`."""
        there = self._type(name)
        return self._following.becomes(there) if self._following else there

    def methods(self) -> Mapping[str, str]:
        """Return the methods that all revisions have, with their names in the destination.

        One that came again is another.
        """
        names = {name: self._method(name) for name in self._direction.methods}
        if self._following is None:
            return names
        rest = self._following.methods()
        return {name: rest[there] for name, there in names.items() if there in rest}

    def error(
        self, method: str, error: tuple[int, Any], params: Params | None, report: Report
    ) -> tuple[int, Any]:
        """Return the code and data of an error; `params` are those of its request, if known."""
        (code, data), changes = error, self._direction.errors
        for change in (*changes.get((method, code), ()), *changes.get(("", code), ())):
            if (not change.params or (params and applies(change.params, params()))) and (
                not change.data or applies(change.data, data)
            ):
                code = change.becomes
                if change.step is not None:
                    at = ((None, "error"), "data")
                    if not is_object(data):
                        report.lose(at, "dropped", change.why)
                        data = {}
                    data = self._step(change.step)(data, at, report) or None
                break
        if self._following is None:
            return code, data
        known = self._direction.methods.get(method)
        run = self._step(known.params if known else None)
        error = code, data
        after = params and (lambda: run(params(), None, Report([])))
        return self._following.error(self._method(method), error, after, report)

    def translate(self, value: Any, name: str) -> Translated[Any]:
        """Translate a value of the type `name`, and list the losses.

        Raise `LookupError` like `of_type`, and `Untranslatable`.
        """
        run = self.of_type(name)
        if run is None:
            return Translated(value)
        losses: list[Loss] = []
        return Translated(run(value, None, Report(losses)), tuple(losses))

    def _type(self, name: str) -> str:
        at = self._direction
        if name in at.same:
            return at.same[name]
        if name in at.plans:
            return at.plans[name].becomes
        raise LookupError(f"{at.destination} has no equivalent of {name} of {at.source}")

    def _method(self, name: str) -> str:
        method = self._direction.methods.get(name)
        return method.becomes or name if method else name

    def _function_for(self, name: str) -> Run:
        run = self._runs.get(name)
        if run is None:
            # A type may be recursive, so its function may need itself.
            self._runs[name] = lambda value, at, report: self._runs[name](value, at, report)
            run = self._runs[name] = self._compile(self._direction.plans[name])
        return run

    def _compile(self, plan: Plan) -> Run:
        match plan:
            case Members():
                undefined = Drop(f"{self._direction.source} does not define it.")
                dropped = {**dict.fromkeys(plan.undefined, undefined), **plan.drop}
                moved = {
                    member: [(move, self._step(move.step)) for move in moves]
                    for member, moves in plan.move.items()
                }
                inside = [(member, self._step(step)) for member, step in plan.inside.items()]
                return _members(plan, dropped, moved, inside)
            case Arms():
                arms = {kind: self._step(step) for kind, step in plan.arms.items()}
                return _arms(plan.tag, plan.apply, arms)
            case Whole():
                calls, then = _conversions(plan.apply), self._step(plan.step)
                return lambda value, at, report: then(
                    _convert(value, calls, at, report), at, report
                )

    def _step(self, step: Step | None) -> Run:
        match step:
            case None:
                return lambda value, at, report: value
            case To(name):
                return self._function_for(name)
            case Delay(unit):
                return partial(_convert_delay, unit)
            case Each(inner):
                return _run_each(self._step(inner))
            case Either(of_object, of_array):
                return _run_either(self._step(of_object), self._step(of_array))
            case When(cases, otherwise):
                steps = [(member, value, self._step(inner)) for member, value, inner in cases]
                return _run_case(steps, self._step(otherwise))


def chain(first: Run | None, then: Run | None) -> Run | None:
    if first is None or then is None:
        return first or then

    def run_both(value: Any, at: Place, report: Report) -> Any:
        value = then(first(value, at, report), at, report)
        report.unite()
        return value

    return run_both


def _convert_delay(unit: str, delay: Any, at: Place, report: Report) -> Any:
    if type(delay) not in (int, float):
        return delay
    return delay / 1000 if unit == "s" else ceil(round(delay * 1000, 3))


def _conversions(calls: Iterable[Apply]) -> list[tuple[Conversion, str]]:
    return [(CONVERSIONS[call.function], call.why) for call in calls]


def _members(
    plan: Members,
    dropped: Mapping[str, Drop],
    moved: Mapping[str, list[tuple[Move, Run]]],
    inside: list[tuple[str, Run]],
) -> Run:
    apply, finish = _conversions(plan.apply), _conversions(plan.finish)
    names, emptied = frozenset((*dropped, *moved)), plan.emptied
    entered = {move.to[0] for moves in plan.move.values() for move in moves if move.to[1:]}
    # Decoded each time, so that messages share no values.
    add = [(member, to_json(value)) for member, value in plan.add.items()]

    def run(value: JSONObject, at: Place, report: Report) -> Any:
        out = _convert(value, apply, at, report)
        if not names.isdisjoint(out):
            out = dict(out)
            moving = [(member, out.pop(member)) for member in moved if member in out]
            for member, drop in dropped.items():
                if member in out:
                    lost = out.pop(member)
                    harmless = drop.harmless or (drop.usual is not None and lost == drop.usual)
                    report.lose((at, member), "dropped", drop.why, harmless=harmless)
            if moving:
                first = entered - out.keys()
                out.update((name, read_json(text)) for name, text in add if name in first)
            for member, old in moving:
                out = _move(out, old, moved[member], (at, member), report)
        for member, translate in inside:
            if member in out:
                result = translate(old := out[member], (at, member), report)
                if result is not old:
                    out = dict(out) if out is value else out
                    out[member] = result
                    if not result and member in emptied:
                        del out[member]
                        report.lose((at, member), "dropped", _IS_EMPTY, harmless=True)
        for member, text in add:
            if member not in out:
                out = dict(out) if out is value else out
                out[member] = read_json(text)
        return _convert(out, finish, at, report)

    return run


def _convert(value: Any, by: list[tuple[Conversion, str]], at: Place, report: Report) -> Any:
    for convert, why in by:
        value = convert(value, Site(at, report, why))
    return value


def _move(
    out: JSONObject, value: Any, moves: list[tuple[Move, Run]], at: Place, report: Report
) -> JSONObject:
    why, taken = moves[0][0].why, set[tuple[str | int, ...]]()
    what: What | None = None
    for move, translate in moves:
        for keys in _keys_of(value, move.source):
            place, old = at, value
            for depth, (key, step) in enumerate(zip(keys, move.source, strict=True), 1):
                place, old = (place, key), old[key]
                if isinstance(step, PathEntry):
                    taken.update((*keys[:depth], name) for name in step.constants)
            taken.add(keys)
            if not move.to:
                what = what or "dropped"
            elif any(_keys_of(out, move.to)):
                report.lose(place, "dropped", why)
            else:
                out, what = put(out, move.to, translate(old, place, report)), "moved"
    if what is not None:
        report.lose(at, what, why, harmless=True)
    _lose_others(value, (), taken, Site(at, report, why))
    return out


def _lose_others(
    value: Any, keys: tuple[str | int, ...], taken: Collection[tuple[str | int, ...]], site: Site
) -> None:
    if keys in taken:
        return
    if any(other_keys[: len(keys)] == keys for other_keys in taken):
        for key in _places(value):
            _lose_others(value[key], (*keys, key), taken, site)
    else:
        site.lose("dropped", *keys, harmless=value in ([], {}))


def _keys_of(value: Any, path: ValuePath) -> Iterator[tuple[str | int, ...]]:
    if not path:
        yield ()
        return
    for key in keys_at(value, path[0]):
        yield from ((key, *rest) for rest in _keys_of(value[key], path[1:]))


def _arms(tag: str, apply: Mapping[str, Apply], arms: Mapping[str, Run]) -> Run:
    conversions = {kind: _conversions([call]) for kind, call in apply.items()}

    def run(value: JSONObject, at: Place, report: Report) -> JSONObject:
        value = _convert(value, conversions.get(value[tag], []), at, report)
        translate = arms.get(value[tag])
        return value if translate is None else translate(value, at, report)

    return run


def _run_each(translate: Run) -> Run:
    def run(values: Any, at: Place, report: Report) -> Any:
        out = values
        for place in _places(values):
            old = values[place]
            new = translate(old, (at, place), report)
            if new is not old:
                out = values.copy() if out is values else out
                out[place] = new
        return out

    return run


def _places(values: Any) -> Iterable[Any]:
    return values if is_object(values) else range(len(values))


def _run_either(of_object: Run, of_array: Run) -> Run:
    def run(value: Any, at: Place, report: Report) -> Any:
        if is_object(value):
            return of_object(value, at, report)
        return of_array(value, at, report) if is_array(value) else value

    return run


def _run_case(cases: list[tuple[str, Any, Run]], otherwise: Run) -> Run:
    def run(value: JSONObject, at: Place, report: Report) -> Any:
        for member, constant, translate in cases:
            if member in value and (constant is None or is_same(value[member], constant)):
                return translate(value, at, report)
        return otherwise(value, at, report)

    return run


@cache
def translator(package: ModuleType, source: str, destination: str) -> Translator:
    """Return the translator of a generated package between two of its revisions.

    Raise `LookupError` if the package has no tables for them.
    """
    down: list[Direction] = []
    up: list[Direction] = []
    start, end = source, destination
    while start != end:
        # Each revision has a table to an older one, so the newer of two leads to where they meet.
        tables = package.__mcp_part__(f"translate.{module_name(max(start, end))}")
        if tables is None:
            raise LookupError(f"{package.__name__} has no tables from {source} to {destination}")
        if start > end:
            down.append(tables.DOWN)
            start = tables.DOWN.destination
        else:
            up.insert(0, tables.UP)
            end = tables.UP.source
    *earlier, last = *down, *up
    found = Translator(last)
    for direction in reversed(earlier):
        found = Translator(direction, found)
    return found


def module_name(revision: str) -> str:
    return "v" + revision.replace("-", "_").replace(".", "_").lower()


def translate_value(
    value: Any,
    package: str,
    source: str | ModuleType,
    destination: str | ModuleType,
    type_name: str | None = None,
) -> Translated[Any]:
    """Translate a value; see `translate` of a generated package, whose name is `package`."""
    source_id, destination_id = _id_of(source), _id_of(destination)
    if isinstance(value, WireModel):
        type_name = _name_in(value, f"{package}.{module_name(source_id)}.models")
    elif type_name is None:
        raise TypeError("the type of decoded JSON is unknown: pass type=…")
    if source_id == destination_id:
        return Translated(value)
    loaded = load_generated(package)
    plan = translator(loaded, source_id, destination_id)
    if not isinstance(value, WireModel):
        return plan.translate(value, type_name)
    outcome = plan.translate(value.to_wire(), type_name)
    result: Any = getattr(loaded.load(destination_id).models, plan.becomes(type_name))
    return Translated(validator_of(result)(outcome.value), outcome.losses)


def _id_of(revision: str | ModuleType) -> str:
    return revision if isinstance(revision, str) else str(revision.methods.REVISION)


def _name_in(value: WireModel, module: str) -> str:
    for cls in type(value).__mro__:
        if cls.__module__.rpartition(".")[0] == module:
            return cls.__name__
    raise TypeError(f"{type(value).__name__} is not a model of {module}")
