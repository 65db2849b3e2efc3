"""The changes of errors in one direction: their codes, by condition, and their data.

Rules for the type of the data count here, too. A delay moves by the facts of both revisions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mcp_protogen.base.names import ClassName
from mcp_protogen.base.problems import Problem, did_you_mean
from mcp_protogen.pipeline.derive.expressions import by_name, object_fields
from mcp_protogen.pipeline.inputs.translations import CodeChange
from mcp_protogen.pipeline.ir import ConditionIR, ErrorIR, FieldIR, Ref, RevisionIR, TypeIR
from mcp_protogen.pipeline.plans.conditions import find_impossible
from mcp_protogen.pipeline.plans.walk import Walk
from mcp_protogen.pipeline.plans.work import TypePair, key_of
from mcp_protogen.runtime.translation.plans import Condition, Delay, ErrorChange, Members, Move, To

Key = tuple[str, int]
_Finding = tuple[str, str]
"""A message and a hint."""


@dataclass(frozen=True)
class _End:
    """An error code in one revision, with its fact if it has one."""

    revision: RevisionIR
    error: ErrorIR | None
    types: Mapping[str, TypeIR]
    delay: tuple[str, str] | None
    """The member of the data with the delay, and the unit."""

    @property
    def data(self) -> str:
        """The type of the data; empty if it may be anything."""
        return str(self.error.data or "") if self.error else ""

    @property
    def fields(self) -> tuple[FieldIR, ...]:
        return self.members_of(self.data) if self.data else ()

    @property
    def has_retry(self) -> bool:
        """Return whether its own fact says where the delay is."""
        return bool(self.error and self.error.retry)

    def members_of(self, name: str) -> tuple[FieldIR, ...]:
        return object_fields(Ref(ClassName(name)), self.types)


def error_changes(walk: Walk) -> tuple[Mapping[Key, tuple[ErrorChange, ...]], list[Problem]]:
    """Return the changes by method and code, those without a condition last, and the problems.

    The plans of `walk` get one for the data of each.
    """
    found: dict[Key, list[ErrorChange]] = {}
    problems: list[Problem] = []
    changes = [change for change in walk.actions.step.errors if change.direction == walk.direction]
    for change in (*changes, *_codes_of_both(walk)):
        source = _end(walk.source, change.was, change.retry)
        destination = _end(walk.destination, change.becomes, change.retry)
        method = next(iter(_names(change, source)), change.method)
        others = found.setdefault((method, change.was), [])
        place, _, pointer = change.place.partition("#")
        refused = [
            Problem("bad-rule", message, place, pointer, hint)
            for message, hint in _findings(change, source, destination, others)
        ]
        if refused and walk.actions.step.edited:
            # Our rules are about the pinned schema, which has what this one lacks.
            continue
        problems += refused
        name, number = f"{change.was} as {change.becomes}", len(walk.plans)
        pair = TypePair(f"{name} ({number})", "")
        walk.plans[pair] = _plan_data(walk, change, source, destination)
        params, data = (
            tuple(Condition(part.member, part.one_of, part.or_absent) for part in conditions)
            for conditions in (change.params, change.data)
        )
        made = ErrorChange(change.becomes, change.reason, params, data, To(key_of(pair)))
        others.append(made)
    return {
        key: tuple(sorted(made, key=lambda change: not (change.params or change.data)))
        for key, made in sorted(found.items())
        if made
    }, problems


def _end(revision: RevisionIR, code: int, delay: tuple[str, str] | None) -> _End:
    error = next((error for error in revision.errors if error.code == code), None)
    types = {str(type_.name): type_ for type_ in revision.types}
    return _End(revision, error, types, (error.retry if error else None) or delay)


def _codes_of_both(walk: Walk) -> Iterator[CodeChange]:
    """Yield the codes that both revisions have, with data of a type in both."""
    there = {error.code for error in walk.destination.errors if error.data}
    there -= {
        change.was
        for change in walk.actions.step.errors
        if change.direction == walk.direction
        and not (change.method or change.params or change.data)
    }
    for error in walk.source.errors:
        if error.data and error.code in there:
            yield CodeChange(("",), walk.direction, error.code, error.code, "", "")


def _names(change: CodeChange, source: _End) -> list[str]:
    """Return the name of the method in the source; empty if it has none."""
    known = {method.method for method in source.revision.methods}
    return [name for name in change.names if name in known]


def _findings(
    change: CodeChange, source: _End, destination: _End, others: Sequence[ErrorChange]
) -> Iterator[_Finding]:
    revision = source.revision
    if change.method and not _names(change, source):
        hint = did_you_mean(change.method, [method.method for method in revision.methods])
        yield f"{revision.id} has no method {change.method}", hint
        return
    kinds = [
        source.members_of(method.params)
        for method in revision.methods
        if not change.method or method.method in change.names
    ]
    yield from find_impossible(change.params, kinds, source.types, revision.id)
    if not (change.params or change.data or all(entry.params or entry.data for entry in others)):
        hint = "give one of them a condition, or leave it out"
        yield f"another entry without a condition has the code {change.was}", hint
    if change.retry and source.has_retry == destination.has_retry:
        both = "both revisions say" if source.has_retry else "neither revision says"
        hint = "write it for a delay that the facts of one revision have"
        yield f"retry has no effect: {both} where the delay is", hint
    if source.data:
        yield from find_impossible(change.data, [source.fields], source.types, revision.id)
    if destination.data:
        added = tuple(ConditionIR(name, (value,), False) for name, value in change.add.items())
        yield from find_impossible(
            added, [destination.fields], destination.types, destination.revision.id
        )


def _plan_data(walk: Walk, change: CodeChange, source: _End, destination: _End) -> Members:
    newer, older = (destination, source) if walk.direction == "up" else (source, destination)
    at = newer.data or older.data
    for case in walk.actions.cases(at):
        why = f"{at} is the data of the error {change.was}"
        walk.refuse(case, why, "write the condition at the entry in errors, under when")
    step, (start, end) = _delay(source, destination)
    # Data without a type may have anything, so that only rules say what goes.
    sources = [
        member
        for member in source.fields
        if member.wire != start and (destination.data or walk.actions.has(f"{at}.{member.wire}"))
    ]
    destinations = [
        replace(member, required=member.required and member.wire not in change.add)
        for member in destination.fields
        if member.wire != end or _may_lack(member, start, change, source)
    ]
    plan = walk.members(sources, destinations, at, destination.data)
    moved = {start: (Move((end,), change.reason, step=step),)} if start != end else {}
    return replace(
        plan,
        becomes="",
        move={**plan.move, **moved},
        undefined=tuple(name for name in plan.undefined if name != end),
        inside={**plan.inside, end: step} if step and start == end else plan.inside,
        add={**plan.add, **change.add},
    )


def _delay(source: _End, destination: _End) -> tuple[Delay | None, tuple[str, str]]:
    """Return the step for the delay, and its member at both ends; they are empty without one."""
    if not source.delay or not destination.delay:
        return None, ("", "")
    (start, unit), (end, other) = source.delay, destination.delay
    return None if unit == other else Delay(other), (start, end)


def _may_lack(member: FieldIR, start: str, change: CodeChange, source: _End) -> bool:
    """Return whether the delay that a type requires may be missing in the source."""
    given = by_name(source.fields).get(start)
    needed = (part.member for part in change.data if not part.or_absent)
    return member.required and not ((given and given.required) or start in needed)
