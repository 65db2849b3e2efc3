"""Made-up pairs of revisions: types, rules between them, and the tables that follow."""

import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from mcp_protogen.base.names import ClassName, FieldName
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline import ir
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs import sources, translations
from mcp_protogen.pipeline.inputs.translations import StepDirection, Translation
from mcp_protogen.pipeline.plans.tables import PairTables, pair_tables
from mcp_protogen.runtime.translation.plans import Direction
from support.revisions import REVISIONS

Json = dict[str, Any]
Types = tuple[ir.TypeIR, ...]
Fields = tuple[ir.FieldIR, ...]

OLDEST, MIDDLE, NEWEST = REVISIONS[:3]
WAYS: tuple[StepDirection, ...] = ("up", "down")
WHY = "It is so."
STRING, NUMBER = ir.Scalar("string"), ir.Scalar("number")


def member(wire: str, type_: ir.TypeExpr = STRING, **more: Any) -> ir.FieldIR:
    plain = ir.FieldIR(wire, FieldName(wire), type_, False, None, False, (), (), "", False)
    return replace(plain, **more)


def a(name: str, *fields: ir.FieldIR) -> ir.ObjectIR:
    return ir.ObjectIR(ClassName(name), fields, (), False, "", "", False)


def ref(name: str) -> ir.Ref:
    return ir.Ref(ClassName(name))


def array(of: str | ir.Scalar) -> ir.ListOf:
    return ir.ListOf(ref(of) if isinstance(of, str) else of)


def union(name: str, *arms: str) -> ir.UnionIR:
    return ir.UnionIR(ClassName(name), tuple(map(ref, arms)), "type", False, "", "", False)


@cache
def derive_ir(revision: str) -> ir.RevisionIR:
    return derive_revision(sources.load(revision, GenerationOptions((revision,)))).ir


def revision(id_: str, *types: ir.TypeIR) -> ir.RevisionIR:
    """Return a revision with one method, whose params are the first type."""
    say = replace(derive_ir(OLDEST).methods[0], method="say", params=types[0].name, results=())
    return replace(derive_ir(OLDEST), id=id_, types=types, methods=(say,))


def rule(*at: str, **actions: Json) -> Json:
    return {"at": list(at), **actions, "reason": WHY, "source": "basic/index"}


def rules_file(*entries: Json, **sections: Any) -> GivenFile:
    document: Json = {"older": "any", "became": {}, "rules": entries, "errors": [], **sections}
    return GivenFile("mine.json", json.dumps(document).encode())


def options(step: GivenFile) -> GenerationOptions:
    return GenerationOptions(REVISIONS[:3], rules={MIDDLE: step, NEWEST: rules_file()})


def read_step(file: GivenFile) -> Translation:
    (step,) = translations.steps_between(schema_folder(), OLDEST, MIDDLE, options(file))
    return step


def both_ways(older: Types, newer: Types, *entries: Json) -> PairTables:
    step = read_step(rules_file(*entries))
    return pair_tables(revision(OLDEST, *older), revision(MIDDLE, *newer), step)


def direction(way: StepDirection, source: Types, destination: Types, *entries: Json) -> Direction:
    """Return the tables from `source` to `destination`, which is newer if the way is up."""
    made: Direction = getattr(both_ways(*order_sides(way, source, destination), *entries), way)
    return made


def order_sides(way: StepDirection, source: Any, destination: Any) -> tuple[Any, Any]:
    return (source, destination) if way == "up" else (destination, source)


def problems_of(older: Types, newer: Types, *entries: Json) -> tuple[Problem, ...]:
    with pytest.raises(ProblemError) as caught:
        both_ways(older, newer, *entries)
    return caught.value.problems
