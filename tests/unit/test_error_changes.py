"""Rules for errors between two revisions: what cannot hold is refused at its place."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from mcp_protogen.base.names import ClassName, Constant
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline import ir
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs import sources
from mcp_protogen.pipeline.inputs.translations import translation_of
from mcp_protogen.pipeline.plans.tables import PairTables, pair_tables
from mcp_protogen.runtime.translation.plans import Delay, Members, Move
from support.revisions import NEWEST
from support.tables import case
from support.unit.revision_pairs import NUMBER, STRING, a, array, member, ref

Json = dict[str, Any]

FILE = "mine.json"
NEXT = "2099-01-01"
DATA = "GoneData"


@cache
def newest() -> ir.RevisionIR:
    return derive_revision(sources.load(NEWEST, GenerationOptions((NEWEST,)))).ir


def with_error(
    code: int, data: str | None, retry: tuple[str, str] | None = None, revision: str = NEWEST
) -> ir.RevisionIR:
    """Return the newest revision with one error more; its data may have a type of three members."""
    types = [type_ for type_ in newest().types if type_.name == "ProgressNotificationParams"]
    name = None if data is None else ClassName(data)
    more = [replace(type_, name=name) for type_ in types if name is not None]
    error = ir.ErrorIR(code, Constant("GONE"), name, "server", "", "", retry=retry)
    known = newest()
    return replace(known, id=revision, errors=(*known.errors, error), types=(*known.types, *more))


def tables(older: ir.RevisionIR, newer: ir.RevisionIR, *errors: Json, **more: Any) -> PairTables:
    said = {"reason": "It is so.", "source": "basic/index"}
    document: Json = {
        "older": older.id,
        "became": {},
        "rules": [],
        "errors": [{"method": "", **error, **said} for error in errors],
        **more,
    }
    return pair_tables(older, newer, translation_of(document, newer.id, FILE))


def code(was: int, becomes: int, **more: Any) -> Json:
    return {"was": was, "becomes": becomes, **more}


REFUSED: dict[str, tuple[Json, str]] = {
    "a method that is not there": (
        {"method": "tools/cal", "up": code(1, 2)},
        f"{NEWEST} has no method tools/cal",
    ),
    "a member that no params have": (
        {"up": code(1, 2, when={"params": [{"member": "nothing"}]})},
        f"nothing is no member in {NEWEST}",
    ),
    "a member of other params": (
        {"method": "tools/list", "up": code(1, 2, when={"params": [{"member": "uri"}]})},
        f"uri is no member in {NEWEST}",
    ),
    "a value that a member never has": (
        {"down": code(-9, 2, when={"data": [{"member": "progress", "one_of": [True]}]})},
        f"progress is never true in {NEXT}",
    ),
    "a member that the data lacks": (
        {"down": code(-9, 2, when={"data": [{"member": "kind"}]})},
        f"kind is no member in {NEXT}",
    ),
    "a new member of another type": (
        {"up": code(1, -9, add={"progress": "1", "progressToken": 1})},
        f'progress is never "1" in {NEXT}',
    ),
    "a delay that no revision has": (
        {"up": code(1, 2, retry={"member": "wait", "unit": "s"})},
        "retry has no effect: neither revision says where the delay is",
    ),
}


def test_condition_that_cannot_hold_is_refused_at_its_place() -> None:
    for name, (error, message) in REFUSED.items():
        with case(name), pytest.raises(ProblemError) as caught:
            tables(newest(), with_error(-9, DATA, None, NEXT), error)
        way = "up" if "up" in error else "down"
        found = [problem for problem in caught.value.problems if problem.code == "bad-rule"]
        with case(name):
            assert [str(problem).partition("\n")[0] for problem in found] == [
                f"error[bad-rule]: {FILE}#/errors/0/{way}: {message}"
            ]
            assert found[0].hint


def open_differences(older: ir.RevisionIR, newer: ir.RevisionIR, *errors: Json) -> list[Problem]:
    with pytest.raises(ProblemError) as caught:
        tables(older, newer, *errors)
    return [problem for problem in caught.value.problems if problem.code == "undecided-difference"]


def test_member_that_the_new_data_require_is_asked_about() -> None:
    newer = with_error(-9, DATA, ("progress", "ms"), NEXT)
    found = open_differences(newest(), newer, {"up": code(1, -9)})
    assert {problem.message.partition(", ")[2] for problem in found} == {
        f"{DATA}.{member}: is required in {NEXT}" for member in ("progress", "progressToken")
    }
    # A delay counts as there where a condition says so.
    given = {"up": code(1, -9, when={"data": [{"member": "wait"}]}, retry=RETRY, add=TOKEN)}
    (change,) = tables(newest(), newer, given).up.errors["", 1]
    assert change.step is not None


RETRY = {"member": "wait", "unit": "s"}
LISTED = {"method": "tools/list", "down": code(-9, 7, retry=RETRY)}
TOKEN = {"progressToken": 1}


def test_delay_moves_by_the_facts_of_both_revisions() -> None:
    older = with_error(-8, None, ("progress", "s"))
    newer = with_error(-9, DATA, ("progress", "ms"), NEXT)
    changed = tables(older, newer, {"down": code(-9, -8)}, LISTED)
    first, second = (plan for name, plan in changed.down.plans.items() if name.startswith("-9 as"))
    plans = {"same": first, "other": second}
    if isinstance(first, Members) and first.move:
        plans = {"same": second, "other": first}
    assert plans == {
        "same": Members("", inside={"progress": Delay("s")}),
        "other": Members("", move={"progress": (Move(("wait",), "It is so.", step=Delay("s")),)}),
    }


def test_rules_for_the_type_of_the_data_count_where_the_other_end_has_none() -> None:
    newer = with_error(-9, DATA, None, NEXT)
    rule = {"at": [f"{DATA}.total"], "reason": "No.", "source": "basic/index"}
    for action, part in (({"drop": "lossy"}, "drop"), ({"move": "rest.total"}, "move")):
        with case(part):
            made = tables(newest(), newer, {"down": code(-9, 2)}, rules=[{**rule, "down": action}])
            (plan,) = (plan for name, plan in made.down.plans.items() if "-9" in name)
            assert list(getattr(plan, part)) == ["total"]


VALUES: dict[str, tuple[ir.FieldIR, list[Any], list[Any]]] = {
    "list": (member("x", array(STRING)), [[], ["a"]], ["a", [1], None]),
    "map": (member("x", ir.MapOf(NUMBER)), [{}, {"a": 1}], [[], {"a": "b"}]),
    "object": (member("x", ref("Owner")), [{"name": "a"}, {"name": "a", "b": 1}], [{}, [], "a"]),
    "null": (member("x", nullable=True), [None, "a"], [1]),
}


def test_new_member_of_the_data_has_a_value_of_its_type() -> None:
    for name, (field, values, others) in VALUES.items():
        newer = with_error(-9, DATA, None, NEXT)
        data, owner = a(DATA, field), a("Owner", member("name", required=True))
        types = (*(type_ for type_ in newer.types if type_.name != DATA), data, owner)
        newer = replace(newer, types=types)
        for value in values:
            with case((name, value)):
                made = tables(newest(), newer, {"up": code(1, -9, add={"x": value})})
                (plan,) = (plan for key, plan in made.up.plans.items() if key.startswith("1 as"))
                assert isinstance(plan, Members) and plan.add == {"x": value}
        for value in others:
            with case((name, value)):
                (problem,) = refusals(newest(), newer, {"up": code(1, -9, add={"x": value})})
                assert "x is never" in problem.message


def refusals(
    older: ir.RevisionIR, newer: ir.RevisionIR, *errors: Json, **more: Any
) -> list[Problem]:
    with pytest.raises(ProblemError) as caught:
        tables(older, newer, *errors, **more)
    return [problem for problem in caught.value.problems if problem.code == "bad-rule"]


def test_condition_on_the_data_of_an_error_is_refused_at_its_rule() -> None:
    drop = {"drop": "harmless", "when": [{"member": "progress"}]}
    rule = {"at": [f"{DATA}.total"], "down": drop, "reason": "No.", "source": "basic/index"}
    newer = with_error(-9, DATA, None, NEXT)
    (problem,) = refusals(newest(), newer, {"down": code(-9, 2)}, rules=[rule])
    assert problem.where == f"{FILE}#/rules/0"
    assert f"{DATA} is the data of the error -9" in problem.message
    assert problem.hint == "write the condition at the entry in errors, under when"


def test_rule_for_all_methods_decides_about_a_code_of_both_revisions() -> None:
    older, newer = with_error(-9, "OldData"), with_error(-9, DATA, None, NEXT)
    kept = tuple(type_ for type_ in newer.types if type_.name != DATA)
    newer = replace(newer, types=(*kept, a(DATA, member("kind", required=True))))
    assert [problem.message for problem in open_differences(older, newer, {"down": code(-9, -9)})]
    made = tables(
        older,
        newer,
        {"up": code(-9, -9, add={"kind": "gone"})},
        {"down": code(-9, -9, add={"progress": 1, "progressToken": 1})},
    )
    assert len(made.up.errors["", -9]) == len(made.down.errors["", -9]) == 1


def test_second_change_without_a_condition_is_refused() -> None:
    (problem,) = refusals(
        newest(), replace(newest(), id=NEXT), {"up": code(1, 2)}, {"up": code(1, 3)}
    )
    assert problem.where == f"{FILE}#/errors/1/up"
    assert problem.message == "another entry without a condition has the code 1"


def test_delay_that_both_revisions_name_is_not_named_again() -> None:
    both = with_error(-9, DATA, ("progress", "ms"))
    changed = {"up": code(-9, -9, retry=RETRY)}
    (problem,) = refusals(both, replace(both, id=NEXT), changed)
    assert "both revisions say where the delay is" in problem.message


def test_change_of_a_method_that_an_edited_schema_lacks_is_left_out() -> None:
    document: Json = {"older": NEWEST, "became": {}, "rules": [], "errors": []}
    said = {"method": "tools/gone", "reason": "It is so.", "source": "basic/index"}
    step = translation_of({**document, "errors": [{**said, "up": code(1, 2)}]}, NEXT, FILE)
    edited = pair_tables(newest(), replace(newest(), id=NEXT), replace(step, edited=True))
    assert ("tools/gone", 1) not in edited.up.errors


def test_change_without_a_condition_comes_last() -> None:
    condition = {"params": [{"member": "cursor"}]}
    made = tables(
        newest(), replace(newest(), id=NEXT), {"up": code(1, 2)}, {"up": code(1, 3, when=condition)}
    )
    assert [change.becomes for change in made.up.errors["", 1]] == [3, 2]
