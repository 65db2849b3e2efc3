"""Actions of translation rules that count only where a member has a value."""

from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline import ir
from mcp_protogen.runtime.translation.translator import Translator
from support.tables import case
from support.unit.revision_pairs import (
    MIDDLE,
    NUMBER,
    OLDEST,
    STRING,
    Json,
    Types,
    a,
    direction,
    member,
    problems_of,
    read_step,
    ref,
    rule,
    rules_file,
)

SIGNED = member("signed", ir.Scalar("boolean"))
NEWER: Types = (
    a("Params", SIGNED, member("level", NUMBER), member("text"), member("inner", ref("Inner"))),
    a("Inner", SIGNED, member("text")),
)
OLDER: Types = (
    a("Params", SIGNED, member("level", NUMBER), member("note"), member("inner", ref("Inner"))),
    a("Inner", SIGNED),
)


def when(*conditions: Json, **action: Any) -> Json:
    return {"down": {**action, "when": list(conditions)}}


IS_SIGNED: Json = {"member": "signed", "one_of": [True]}
HAS_LEVEL: Json = {"member": "level"}


def translate_down(value: Json, *entries: Json) -> tuple[Json, list[tuple[str, bool]]]:
    """Return a value of the newer revision in the older one, and its losses."""
    found = Translator(direction("down", NEWER, OLDER, *entries)).translate(value, "Params")
    return found.value, [(loss.pointer, loss.harmless) for loss in found.losses]


def test_action_counts_only_where_its_condition_holds() -> None:
    moved = rule("Params.text", **when(IS_SIGNED, move="note"))
    for value, got, lost in (
        ({"signed": True, "text": "t"}, {"signed": True, "note": "t"}, ("/text", True)),
        ({"signed": False, "text": "t"}, {"signed": False}, ("/text", False)),
        ({"signed": 1, "text": "t"}, {"signed": 1}, ("/text", False)),
        ({"text": "t"}, {}, ("/text", False)),
    ):
        with case(value):
            assert translate_down(value, moved) == (got, [lost])


def test_conditions_of_several_actions_count_each_for_itself() -> None:
    entries = (
        rule("Params.text", **when(IS_SIGNED, move="note")),
        rule("Params.text", **when(HAS_LEVEL, drop="harmless")),
        rule("Inner.text", **when(IS_SIGNED, drop="harmless")),
    )
    inner = {"signed": False, "text": "t"}
    for value, got, lost in (
        ({"level": 1, "text": "t"}, {"level": 1}, [("/text", True)]),
        ({"signed": True, "level": 1, "text": "t"}, None, [("/text", True)]),
        # The condition of another type of the same form does not count.
        ({"signed": True, "inner": inner}, None, [("/inner/text", False)]),
    ):
        with case(value):
            found, losses = translate_down(value, *entries)
            assert losses == lost
            assert got is None or found == got


def test_action_without_a_condition_is_for_the_other_cases() -> None:
    entries = (
        rule("Params.text", down={"drop": "harmless"}),
        rule("Params.text", **when(IS_SIGNED, drop="lossy")),
    )
    assert translate_down({"text": "t"}, *entries) == ({}, [("/text", True)])
    signed = {"signed": True}
    assert translate_down({**signed, "text": "t"}, *entries) == (signed, [("/text", False)])


def test_member_is_added_by_condition() -> None:
    older: Types = (a("Params", SIGNED, member("kind", STRING, required=True)),)
    newer: Types = (a("Params", SIGNED),)
    entries = (
        rule("Params.kind", **when(IS_SIGNED, add="signed")),
        rule("Params.kind", down={"add": "plain"}),
    )
    translator = Translator(direction("down", newer, older, *entries))
    for signed, kind in ((True, "signed"), (False, "plain")):
        with case(signed):
            assert translator.translate({"signed": signed}, "Params").value["kind"] == kind
    problems = problems_of(older, newer, entries[0])
    assert [problem.message.partition(", ")[2] for problem in problems] == [
        f"Params.kind: is required in {OLDEST}"
    ]


def test_condition_that_cannot_hold_is_refused_at_its_rule() -> None:
    for condition, why in (
        ({"member": "signd"}, f"signd is no member in {MIDDLE}"),
        ({"member": "signed", "one_of": [1]}, f"signed is never 1 in {MIDDLE}"),
        ({"member": "level", "one_of": ["high"]}, f'level is never "high" in {MIDDLE}'),
    ):
        with case(condition):
            entry = rule("Params.text", **when(condition, drop="harmless"))
            (problem,) = problems_of(OLDER, NEWER, entry)
            assert str(problem).startswith("error[bad-rule]: mine.json#/rules/0: ")
            assert why in problem.message


def test_impossible_condition_is_reported_once_beside_others() -> None:
    entries = (
        rule("Params.text", **when(HAS_LEVEL, drop="harmless")),
        rule("Params.text", "Params.note", **when({"member": "signd"}, drop="harmless")),
    )
    assert len(problems_of(OLDER, NEWER, *entries)) == 1


def test_type_has_at_most_six_conditions() -> None:
    def make_rules(count: int) -> list[Json]:
        levels = ({"member": "level", "one_of": [level]} for level in range(count))
        return [rule("Params.text", **when(level, drop="harmless")) for level in levels]

    assert translate_down({"level": 5, "text": "t"}, *make_rules(6))[1] == [("/text", True)]
    (problem,) = problems_of(OLDER, NEWER, *make_rules(7))
    assert (problem.code, problem.where) == ("bad-rule", "mine.json#/rules/6")
    assert "Params has 7 different conditions" in problem.message


def test_action_with_a_condition_settles_no_other_member() -> None:
    entry = rule("Params.text", **when(IS_SIGNED, drop="harmless", settles=["level"]))
    with pytest.raises(ProblemError) as caught:
        read_step(rules_file(entry))
    assert {problem.pointer for problem in caught.value.problems} == {"/rules/0/down/settles"}


@pytest.mark.parametrize("action", [{"keep": True}, {"apply": "one_block"}])
def test_condition_is_for_members_that_go_move_or_come(action: Json) -> None:
    with pytest.raises(ProblemError) as caught:
        read_step(rules_file(rule("Params.text", **when(IS_SIGNED, **action))))
    assert {problem.pointer for problem in caught.value.problems} == {"/rules/0/down"}
