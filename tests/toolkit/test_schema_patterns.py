"""Patterns of schemas: none blocks the program, and unchecked ones are reported."""

from typing import Any

from mcp_protogen.runtime.core.schema_validation import checker
from support.tables import case

ENDLESS = r"^(a+)+$"
AHEAD = r"^(?=.*\d)"
VICTIM = "a" * 40 + "!"
TEXT = {"type": "string"}
Case = tuple[dict[str, Any], Any, list[str]]


def check_value(schema: Any, value: Any) -> tuple[list[str], list[str]]:
    """Return the faults of a value by a foreign schema, and the unchecked keywords."""
    said: list[str] = []
    check = checker(schema, "the schema", of_objects=False, report=said.append)
    return [problem.pointer for problem in check(value)], said


def test_no_pattern_takes_longer_than_its_text() -> None:
    cases: tuple[Case, ...] = (
        ({"pattern": ENDLESS}, VICTIM, [""]),
        ({"patternProperties": {ENDLESS: TEXT}}, {VICTIM: 1, "aa": 1}, ["/aa"]),
        (
            {"patternProperties": {ENDLESS: {}}, "additionalProperties": False},
            {VICTIM: 1, "aa": 1},
            [""],
        ),
        ({"properties": {"x": {"$ref": "#/a"}}, "a": {"pattern": ENDLESS}}, {"x": VICTIM}, ["/x"]),
        ({"not": {"pattern": ENDLESS}}, "aaa", [""]),
    )
    for schema, value, wrong in cases:
        with case(schema):
            assert check_value(schema, value) == (wrong, [])


def test_a_pattern_that_is_not_checked_refuses_nothing_and_is_named() -> None:
    also = {"type": "object", "required": ["y"]}
    cases: tuple[Case, ...] = (
        ({"pattern": AHEAD}, "x", []),
        ({"pattern": r"(a)\1"}, "x", []),
        ({"pattern": "["}, "x", []),
        ({"pattern": "[a&&b]"}, "x", []),
        ({"pattern": "a{99999999999}"}, "x", []),
        ({"pattern": "^(?i)a"}, "x", []),
        ({"pattern": "[]"}, "x", []),
        ({"pattern": "(?:(?:[a-x]?){100}){100}y"}, "x", []),
        ({"pattern": "(x|" + "y" * 1_000 + ")"}, "z", []),
        ({**also, "properties": {"x": {"pattern": AHEAD}}}, {"x": "x"}, [""]),
        ({"patternProperties": {AHEAD: False}}, {"x": 1}, []),
        ({"patternProperties": {AHEAD: {}}, "additionalProperties": False}, {"x": 1}, []),
        ({"not": {"pattern": AHEAD}}, "x", []),
        ({"oneOf": [{"pattern": AHEAD}, {"type": "string"}]}, "x", []),
    )
    for schema, value, wrong in cases:
        with case(schema):
            found, said = check_value(schema, value)
            assert (found, "is not checked: it cannot" in said[0]) == (wrong, True)


def test_patterns_mean_what_they_mean_in_ecma_262() -> None:
    for pattern, right, wrong in (
        (r"^\d+$", "42", "٤٢"),
        (r"^[^\d]$", "٤", "4"),
        (r"^\W$", "é", "e"),
        (r"^\s$", "\ufeff", "\x85"),
        (r"^a.c$", "abc", "a\u2028c"),
        (r"^[.]$", ".", "a"),
        (r"é\ba", "éa", "é a"),
        (r"^a$", "a", "a\n"),
        (r"\<a\>", "<a>", "a"),
        (r"^(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}$", "0:1:2:3:4:5:6:7", "0:1"),
    ):
        with case(pattern):
            assert check_value({"pattern": pattern}, right) == ([], [])
            assert check_value({"pattern": pattern}, wrong) == ([""], [])


def test_escapes_and_classes_are_no_reason_to_check_nothing() -> None:
    for pattern, right, wrong in (
        (r"^[\[\]]$", "[", "x"),
        (r"^\p{L}+$", "é", "1"),
        (r"^[\w-]{2,}$", "a-", "!!"),
        (r"^\/x", "/x", "x"),
    ):
        with case(pattern):
            assert check_value({"pattern": pattern}, right) == ([], [])
            assert check_value({"pattern": pattern}, wrong) == ([""], [])


def test_long_texts_are_not_matched_without_end() -> None:
    schema = {"items": {"pattern": "^a*$"}}
    assert check_value(schema, ["a" * 30_000, "b"]) == (["/1"], [])
    assert check_value(schema, ["a" * 30_000, "b" * 30_000]) == (
        [],
        ["patterns are not checked beyond 50,000 characters"],
    )


def test_unevaluated_members_are_not_judged_by_patterns() -> None:
    schema: Any = {"patternProperties": {ENDLESS: {}}, "unevaluatedProperties": False}
    found, said = check_value(schema, {VICTIM: 1})
    assert (found, said) == ([], ["unevaluatedProperties is not checked beside patternProperties"])


def test_our_own_patterns_are_all_checked() -> None:
    check = checker({"pattern": AHEAD}, "the schema", of_objects=False)
    assert [[problem.pointer for problem in check(text)] for text in ("x1", "x")] == [[], [""]]
    check = checker({"pattern": r"^\p{L}$"}, "the schema", of_objects=False)
    assert [[problem.pointer for problem in check(text)] for text in ("é", "1")] == [[], [""]]
