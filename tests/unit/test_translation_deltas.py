"""The tables of adjacent revisions, against a reference list of their differences."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import pytest
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline import ir
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs import sources
from mcp_protogen.pipeline.inputs.translations import Translation, steps_between
from mcp_protogen.pipeline.ir import RevisionIR, TypeExpr, TypeIR
from mcp_protogen.pipeline.plans.tables import PairTables, pair_tables
from mcp_protogen.runtime.translation.plans import Apply, Direction, Members, Whole
from support import missing
from support.revisions import NEIGHBOURS

Json = dict[str, Any]

RENAMED = "annotations-rename"

URL_MODE = "stands in the params of the URL mode alone, which forms_only refuses as a whole"
UNMAPPED: dict[tuple[str, str], str] = {
    ("2025-11-25", "ElicitRequest.params.elicitationId"): URL_MODE,
    ("2025-11-25", "ElicitRequest.params.url"): URL_MODE,
}


@dataclass(frozen=True)
class Delta:
    """A member, or a method, that only one revision of a pair has."""

    item: str
    rule: str
    change: Literal["added", "removed"]

    @property
    def path(self) -> tuple[str, ...]:
        """Return the first type of the path, and its steps."""
        first, *way = self.item.split(".")
        return (f"{first}Params", *way[1:]) if way[0] == "params" else (first, *way)


@pytest.fixture(scope="module")
def reference() -> list[Json]:
    file = missing.reference("spec/revision-deltas.json", "differences of revisions against a list")
    pairs: list[Json] = json.loads(file.read_bytes())["pairs"]
    return pairs


def pairs_of(reference: list[Json]) -> list[tuple[str, str]]:
    """Return the pairs of revisions in the list."""
    return [(pair["older"], pair["newer"]) for pair in reference]


def deltas(reference: list[Json], newer: str, cat: str) -> list[Delta]:
    """Return the added and removed items of one category."""
    pair = next((pair for pair in reference if pair["newer"] == newer), None)
    if pair is None:
        missing.skip_untested(f"differences to {newer} in ../shared", "that they are those we have")
    return [
        Delta(delta["item"], delta["rule"], delta["change"])
        for delta in pair["deltas"]
        if delta["cat"] == cat and delta["change"] in ("added", "removed")
    ]


@cache
def revision(name: str) -> RevisionIR:
    return derive_revision(sources.load(name, GenerationOptions((name,)))).ir


@cache
def step_between(older: str, newer: str) -> Translation:
    (step,) = steps_between(schema_folder(), older, newer, GenerationOptions((older, newer)))
    return step


@cache
def tables(older: str, newer: str) -> PairTables:
    return pair_tables(revision(older), revision(newer), step_between(older, newer))


# The members at a path of the list in a revision.


@dataclass(frozen=True)
class Spot:
    """A member of a named type."""

    parent: str
    wire: str
    required: bool


Way = tuple[Spot, ...]


def ways(of: RevisionIR, path: tuple[str, ...]) -> list[Way]:
    """Return every way along a path; none if the revision lacks one."""
    start, *steps = path
    return list(_ways({str(type_.name): type_ for type_ in of.types}, start, tuple(steps)))


def _ways(types: dict[str, TypeIR], name: str, steps: tuple[str, ...]) -> Iterator[Way]:
    match types.get(name):
        case ir.ObjectIR(fields=fields):
            for field in fields:
                if field.wire == steps[0]:
                    spot = Spot(name, field.wire, field.required)
                    yield from ((spot, *rest) for rest in _further(types, field.type, steps[1:]))
        case ir.UnionIR(arms=arms):
            for arm in arms:
                yield from _further(types, arm, steps)
        case ir.AliasIR(type=meant):
            yield from _further(types, meant, steps)
        case None:
            return


def _further(
    types: dict[str, TypeIR], expression: TypeExpr, steps: tuple[str, ...]
) -> Iterator[Way]:
    if not steps:
        yield ()
        return
    for name in names_in(expression):
        yield from _ways(types, name, steps)


def names_in(expression: TypeExpr) -> Iterator[str]:
    """The types that an expression names."""
    match expression:
        case ir.Ref(name):
            yield str(name)
        case ir.OneOf(arms):
            for arm in arms:
                yield from names_in(arm)
        case ir.ListOf(inner) | ir.MapOf(inner):
            yield from names_in(inner)
        case _:
            return


# The tables' statements about a member.


class Passage:
    """One direction of a pair, and the members that its functions translate."""

    def __init__(self, of: RevisionIR, made: Direction, way: Literal["up", "down"]) -> None:
        """Index the members; `of` is the revision that has them."""
        self.made = made
        self._unions = [type_ for type_ in of.types if isinstance(type_, ir.UnionIR)]
        self._settled = {
            (member if "." in member else f"{action.at}.{member}", action.value)
            for action in step_between(*sorted((made.source, made.destination))).actions
            if action.direction == way
            for member in action.settles
        }

    def takes(self, spot: Spot) -> bool:
        """Return whether a member of the source is dropped, moved, or left to a function."""
        plans = [plan for key, plan in self.made.plans.items() if _is_for(key, spot.parent)]
        members = [plan for plan in plans if isinstance(plan, Members)]
        gone = [
            spot.wire in (*plan.drop, *plan.move) or self._settles(plan.apply, spot)
            for plan in members
        ]
        return (bool(gone) and all(gone)) or self._is_translated_alone(spot)

    def gives(self, spot: Spot) -> bool:
        """Return whether a member of the destination is new, and is set if required."""
        plans = [plan for plan in self.made.plans.values() if plan.becomes == spot.parent]
        members = [plan for plan in plans if isinstance(plan, Members)]
        new = [
            spot.wire in plan.undefined
            and (not spot.required or spot.wire in plan.add or self._settles(plan.finish, spot))
            for plan in members
        ]
        return (bool(new) and all(new)) or self._is_translated_alone(spot)

    def _settles(self, functions: tuple[Apply, ...], spot: Spot) -> bool:
        member = f"{spot.parent}.{spot.wire}"
        return any((member, function.function) in self._settled for function in functions)

    def _is_translated_alone(self, spot: Spot) -> bool:
        """Return whether only functions translate its type, because of a union at any depth."""
        around = {spot.parent}
        for _ in self._unions:
            around |= {
                str(union.name)
                for union in self._unions
                if any(name in around for arm in union.arms for name in names_in(arm))
            }
        plans = [self.made.plans.get(name) for name in around]
        return any(isinstance(plan, Whole) and plan.apply and not plan.step for plan in plans)

    def knows(self, spot: Spot) -> bool:
        """Return whether values of its type are translated."""
        named = any(
            _is_for(key, spot.parent) or plan.becomes == spot.parent
            for key, plan in self.made.plans.items()
        )
        same = {*self.made.same, *self.made.same.values()}
        return named or spot.parent in same or self._is_translated_alone(spot)


def _is_for(key: str, type_name: str) -> bool:
    return key == type_name or key.startswith(f"{type_name} as ")


def passages(delta: Delta, older: str, newer: str) -> tuple[Passage, Passage]:
    """Return the directions in which a member goes, and comes."""
    made = tables(older, newer)
    if delta.change == "added":
        return Passage(revision(newer), made.down, "down"), Passage(revision(newer), made.up, "up")
    return Passage(revision(older), made.up, "up"), Passage(revision(older), made.down, "down")


def mapped_ways(delta: Delta, older: str, newer: str) -> list[Way]:
    """Return the ways to a member through translated types."""
    has_it = newer if delta.change == "added" else older
    going, _ = passages(delta, older, newer)
    return [way for way in ways(revision(has_it), delta.path) if going.knows(way[0])]


def is_on_the_wire(delta: Delta, older: str, newer: str) -> bool:
    """Return whether only one revision has the member."""
    return not (ways(revision(older), delta.path) and ways(revision(newer), delta.path))


@pytest.mark.parametrize(("older", "newer"), NEIGHBOURS)
def test_every_member_that_comes_or_goes_is_in_the_tables(
    reference: list[Json], older: str, newer: str
) -> None:
    missing: list[str] = []
    wanted = deltas(reference, newer, "field")
    for delta in wanted:
        if (newer, delta.item) in UNMAPPED or not is_on_the_wire(delta, older, newer):
            continue
        going, coming = passages(delta, older, newer)
        found = mapped_ways(delta, older, newer)
        if not (found and all(any(map(going.takes, way)) for way in found)):
            missing.append(f"{delta.item} does not go")
        if not (found and all(any(map(coming.gives, way)) for way in found)):
            missing.append(f"{delta.item} does not come")
    assert wanted and missing == []


def test_only_renamed_annotations_are_no_difference_on_the_wire(reference: list[Json]) -> None:
    for older, newer in pairs_of(reference):
        for delta in deltas(reference, newer, "field"):
            assert is_on_the_wire(delta, older, newer) == (delta.rule != RENAMED), delta


def test_unmappable_deltas_are_exactly_those_listed(reference: list[Json]) -> None:
    unmapped = {
        (newer, delta.item)
        for older, newer in pairs_of(reference)
        for delta in deltas(reference, newer, "field")
        if delta.rule != RENAMED and not mapped_ways(delta, older, newer)
    }
    assert unmapped == set(UNMAPPED)


@pytest.mark.parametrize(("older", "newer"), NEIGHBOURS)
def test_a_method_that_only_one_revision_has_is_not_translated(
    reference: list[Json], older: str, newer: str
) -> None:
    made = tables(older, newer)
    alone = {delta.item for delta in deltas(reference, newer, "method")}
    ours, theirs = ({method.method for method in revision(name).methods} for name in (older, newer))
    assert alone == ours ^ theirs
    assert set(made.up.methods) == set(made.down.methods) == ours & theirs
