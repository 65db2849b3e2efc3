"""The judge of the explorer, as served, under Node: compared with `jsonschema` and its rules."""

from typing import Any, Final

import pytest
from support import tables
from support.vectors.vector_sets import SETS, vectors
from support.website.explorer import data, explorer, judge_cases
from website.explorer.findings import is_valid

Json = dict[str, Any]
FEW: Final = 100
"""How many vectors of each revision and extension are tried, if not all."""


@pytest.fixture(scope="module", autouse=True)
def explorer_site() -> None:
    explorer("the verdicts of the explorer on messages")


def test_judge_agrees_with_jsonschema_on_test_vectors() -> None:
    chosen = [
        (name, vector) for name in SETS for vector in tables.some(vectors(name).vectors, FEW, name)
    ]
    cases: list[Json] = []
    for name, vector in chosen:
        subject = vector.subject
        about = {"kind": subject.kind or "type", "method": subject.method, "type": subject.type}
        method = subject.method if subject.kind == "result" else ""
        asked = {"sender": subject.sender, "method": method} if subject.method else None
        cases.append({"name": name, "subject": about, "value": vector.value, "asked": asked})
    shown: set[bool] = set()
    for (name, vector), case, answer in zip(chosen, cases, judge_cases(cases), strict=True):
        with tables.case(f"{name} {vector.id}"):
            assert answer["accepted"] == vector.valid
            if case["asked"]:
                # A whole message is recognised by its members, and judged by rules too.
                verdict = answer["verdict"]
                assert (verdict["status"] == "accepted") == vector.valid
                assert bool(verdict["faults"]) != vector.valid
            shown.add(vector.valid)
    assert shown == {True, False}


MADE: Final[tuple[Json, ...]] = (
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"type": "array", "maxItems": 1}]},
    {"anyOf": [{"properties": {"a": {"const": 1}}}, {"items": {"type": "integer"}}]},
    {"allOf": [{"type": "object"}, {"properties": {"a": {"$ref": "#/$defs/Made"}}}]},
    {"properties": {"a": True, "b": False}, "additionalProperties": {"type": "string"}},
    {"propertyNames": {"pattern": "^[ab]$"}, "not": {"required": ["b"]}, "minProperties": 1},
    {"items": {"enum": [1, "x", {"a": 1}]}, "uniqueItems": True},
    # Values without a schema of the protocol are left to the validator.
    {"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": False},
    {"prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
    {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"maxProperties": 0}},
    {"dependentRequired": {"a": ["b"]}, "unevaluatedProperties": False, "properties": {"a": True}},
)
VALUES: Final[tuple[Any, ...]] = (
    *(None, "x", 1, 1.5, [], [1], [1, "x"], [1, 1], ["x", "x"], [{"a": 1}, 1.5]),
    *({}, {"a": 1}, {"b": 1}, {"a": 1, "b": "x"}, {"a": {"a": 2}}, {"a": 2, "c": "x"}, {"c": 3}),
)


def test_judge_agrees_with_jsonschema_on_each_keyword() -> None:
    table = [(schema, value) for schema in MADE for value in VALUES]
    found = judge_cases({"schema": schema, "value": value} for schema, value in table)
    for (schema, value), answer in zip(table, found, strict=True):
        with tables.case(f"{schema} {value}"):
            assert answer["accepted"] == is_valid({"Made": schema}, "Made")(value)


def test_probes_are_accepted_by_what_we_read_if_the_published_schema_refuses_them() -> None:
    newest = {
        extension["name"]: f"{extension['revision']}+{extension['name']}"
        for extension in data("index")["extensions"]
    }
    probed = [
        (newest.get(of, of), finding)
        for of, findings in data("findings").items()
        for finding in findings
        if "probe" in finding
    ]
    cases = [
        {
            "name": name,
            "subject": {"kind": "type", "type": fault["probe"]["type"]},
            "value": fault["probe"]["value"],
        }
        for name, fault in probed
    ]
    assert len(cases) > 80
    for (name, fault), answer in zip(probed, judge_cases(cases), strict=True):
        with tables.case(f"{name} {fault['pointer']}"):
            assert answer["accepted"] != fault["probe"]["published"]


UNREAD: Final = (
    ("", 1, 1, "a value is missing"),
    ('{"a": 1,}', 1, 9, "the name of a member is expected, in quotes"),
    ('{"a": 1\n "b": 2}', 2, 2, "a comma or } is expected"),
    ("[1, 2", 1, 6, "a comma or ] is expected"),
    ('{"a" 1}', 1, 6, "a colon is expected after the name of a member"),
    ('{"a":\r\n  nul}', 2, 3, "this begins no JSON value"),
    ('"a\tb"', 1, 3, "a control character"),
    ('"abc', 1, 5, "a quote is missing"),
    (r'"\x"', 1, 2, "an unknown escape"),
    ("[01]", 1, 3, "a comma or ] is expected"),
    ("1e999", 1, 1, "a number that is too large"),
    ("{} {}", 1, 4, "text follows the value"),
    ("NaN", 1, 1, "this begins no JSON value"),
    ("[" * 500, 1, 402, "this is nested more than 400 deep"),
)


def test_invalid_json_has_line_and_column() -> None:
    found = judge_cases({"text": text} for text, *_ in UNREAD)
    for (text, line, column, message), fault in zip(UNREAD, found, strict=True):
        with tables.case(repr(text[:20])):
            assert fault == {"message": message, "line": line, "column": column}


def test_json_is_read_as_python_reads_it() -> None:
    texts = (r'{"é😀": [1e3, -0.5, 0, true, false, null, "\u00e9\n\"\\\/", {}, []]}', ' "a" ')
    read = judge_cases({"text": text} for text in texts)
    assert [result["value"] for result in read] == [
        {"é😀": [1000.0, -0.5, 0, True, False, None, 'é\n"\\/', {}, []]},
        "a",
    ]


_META: Final[Json] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def _call(method: str, **members: Any) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": method, **members}


def _verdict(name: str, value: Any, sender: str = "", method: str = "") -> Json:
    asked = {"sender": sender, "method": method}
    (answer,) = judge_cases([{"name": name, "value": value, "asked": asked}])
    verdict: Json = answer["verdict"]
    return verdict


def _faults_of(verdict: Json) -> list[tuple[str, str]]:
    return [(fault["pointer"], fault["message"]) for fault in verdict["faults"]]


RULES: Final[dict[str, tuple[tuple[Any, str, str, str, str | None], ...]]] = {
    # the message, its sender, the verdict, the place of the fault, and what is said of it
    "2025-03-26": (
        ([_call("ping")], "", "accepted", "", None),
        ([], "", "refused", "", "is an empty batch"),
        ([_call("ping"), 3], "", "refused", "/1", None),
        ([[_call("ping")]], "", "refused", "/0", None),
        (
            [_call("ping"), {"jsonrpc": "2.0", "id": 1, "result": {}}],
            *("", "refused", "", "has requests and answers, which need separate batches"),
        ),
        (
            [_call("initialize")],
            *("", "refused", "/0/method", "must not be in a batch: it is the first message"),
        ),
    ),
    "2025-06-18": (
        ([_call("ping")], "", "refused", "", "is an array, and 2025-06-18 has no batches"),
    ),
    "2025-11-25": (
        (_call("ping"), "client", "accepted", "", None),
        (
            _call("tools/list"),
            *("server", "refused", "/method", "is not sent by a server, but by a client"),
        ),
        (
            _call("notifications/initialized"),
            *("", "refused", "/id"),
            "is not allowed: notifications/initialized is a notification, which has no answer",
        ),
        ({"jsonrpc": "2.0", "method": "tools/list"}, "", "refused", "", "lacks “id”"),
        (
            _call("ping", result={}),
            *("", "refused", "/result", "must not be in a message with a method"),
        ),
        (_call("constructor"), "", "unknown", "/method", None),
        (_call("__proto__"), "", "unknown", "/method", None),
        ("text", "", "refused", "", None),
        (
            {"jsonrpc": "2.0", "id": 1, "method": 1},
            *("", "refused", "/method", "must be the name of a method, a string"),
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": ""}},
            *("", "refused", "/error", "must not be in a response with a result"),
        ),
        (
            _call("tools/call", params={"name": 3}),
            *("", "refused", "/params/name", "must be string, not number"),
        ),
        (
            {"jsonrpc": "1.0", "id": 1, "result": {"tools": []}},
            *("server", "refused", "/jsonrpc", 'must be "2.0"'),
        ),
    ),
    "2026-07-28": (
        (_call("ping"), "", "unknown", "/method", "is not a method of 2026-07-28"),
        (
            _call("roots/list", params={"_meta": _META}),
            *("", "refused", "/method", "is not a message here: it is sent inside a result"),
        ),
    ),
}


def test_the_rules_that_no_schema_has_are_kept() -> None:
    rows = [(name, *row) for name, rows_of_it in RULES.items() for row in rows_of_it]
    cases = [
        {"name": name, "value": value, "asked": {"sender": sender, "method": ""}}
        for name, value, sender, *_ in rows
    ]
    for row, answer in zip(rows, judge_cases(cases), strict=True):
        name, value, _, status, pointer, message = row
        with tables.case(f"{name} {value}"):
            assert answer["verdict"]["status"] == status
            told = _faults_of(answer["verdict"])
            said = [text for at, text in told if at == pointer]
            assert not told if status == "accepted" else said
            assert message is None or message in said


def test_an_answer_is_judged_as_one_to_the_method_that_is_named_or_that_it_fits_best() -> None:
    answer: Json = {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}
    guessed = _verdict("2025-11-25", answer)
    assert guessed["status"] == "accepted"
    assert guessed["subject"] == {"kind": "result", "method": "tools/list"}
    named = _verdict("2025-11-25", answer, method="prompts/list")
    assert _faults_of(named) == [("/result", "lacks “prompts”")]
    gone = _verdict("2026-07-28", answer, method="ping")
    assert gone["status"] == "unknown"
    # Questions to users are answered with a member of the same name, which is an object.
    nearly = {**answer, "result": {"content": [{"type": "text"}] * 9}}
    assert _verdict("2025-11-25", nearly)["subject"]["method"] == "tools/call"


def test_an_answer_that_tells_no_method_is_held_to_what_all_results_have() -> None:
    answer: Json = {"jsonrpc": "2.0", "id": 1, "result": {}}
    verdict = _verdict("2026-07-28", answer)
    assert verdict["subject"] == {"kind": "result"}
    assert _faults_of(verdict) == [("/result", "lacks “resultType”")]
    assert _faults_of(_verdict("2025-11-25", {"jsonrpc": "2.0", "result": {}})) == [
        ("", "lacks “id”")
    ]


def test_capability_needed_by_several_messages_is_listed_once() -> None:
    verdict = _verdict("2025-03-26", [_call("tools/list"), _call("tools/list")])
    assert [gate["path"] for gate in verdict["gates"]] == [["tools"]]


def test_a_message_that_says_it_is_of_another_revision_is_noted() -> None:
    meta = {**_META, "io.modelcontextprotocol/protocolVersion": "2026-01-01"}
    verdict = _verdict("2026-07-28", _call("tools/list", params={"_meta": meta}))
    assert [note["text"] for note in verdict["notes"]] == [
        "Its _meta names 2026-01-01, not 2026-07-28."
    ]


def test_the_alternative_that_was_meant_is_explained() -> None:
    block = {"type": "text", "txt": "12 °C"}
    answer: Json = {"jsonrpc": "2.0", "id": 1, "result": {"content": [block], "isError": "no"}}
    assert _faults_of(_verdict("2026-07-28", answer)) == [
        ("/result", "lacks “resultType”"),
        ("/result/content/0", "lacks “text”"),
        ("/result/isError", "must be boolean, not string"),
    ]
    answer["result"] = {"content": [{"type": "smell"}]}
    (fault,) = _verdict("2024-11-05", answer, method="tools/call")["faults"]
    assert fault == {
        "pointer": "/result/content/0/type",
        "message": 'must be one of "text", "image", "resource"',
        "rule": "/$defs/CallToolResult/properties/content/items/anyOf",
        "type": "CallToolResult",
    }


def test_members_that_a_revision_does_not_know_are_told_and_harmless() -> None:
    params = {"name": "a", "task": {"ttl": 1}, "arguments": {"b": 1}, "_meta": {"c": 1}}
    old = _verdict("2025-06-18", _call("tools/call", params=params))
    assert old["status"] == "accepted"
    assert old["unknown"] == [{"pointer": "/params/task", "type": "CallToolRequest"}]
    assert _verdict("2025-11-25", _call("tools/call", params=params))["unknown"] == []


def test_gates_are_those_whose_condition_is_true() -> None:
    params = {"mode": "url", "message": "a", "url": "https://a.example", "elicitationId": "1"}
    verdict = _verdict("2025-11-25", _call("elicitation/create", params=params))
    needed = [".".join(gate["path"]) for gate in verdict["gates"] if gate["applies"]]
    assert needed == ["elicitation", "elicitation.url"]


def test_a_verdict_says_where_the_published_schema_differs_and_by_which_finding() -> None:
    content = {"answer": 0.5}
    answer: Json = {"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": content}}
    verdict = _verdict("2025-11-25", answer, method="elicitation/create")
    assert verdict["status"] == "accepted"
    assert verdict["published"]["accepted"] is False
    (finding,) = verdict["published"]["findings"]
    assert finding in data("findings")["2025-11-25"] and finding["type"] == "ElicitResult"
    assert _verdict("2025-11-25", _call("ping"))["published"] is None


def test_extension_message_is_judged_with_extension() -> None:
    message = _call("tasks/get", params={"taskId": "1", "_meta": _META})
    assert _verdict("2026-07-28", message)["status"] == "unknown"
    verdict = _verdict("2026-07-28+tasks", message)
    assert (verdict["status"], verdict["extension"]) == ("accepted", "tasks")
    assert any("io.modelcontextprotocol/tasks" in gate["path"] for gate in verdict["gates"])


def test_toleration_by_receiver_is_noted() -> None:
    answer: Json = {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
    verdict = _verdict("2026-07-28", answer, method="tools/call")
    assert verdict["notes"] == _verdict("2026-07-28", answer)["notes"][1:]
    assert [note["text"] for note in verdict["notes"]] == [
        'A receiver reads a result without “resultType” as one with "complete".'
    ]
