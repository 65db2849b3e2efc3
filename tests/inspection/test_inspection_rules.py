"""Each rule of an inspection: a session that breaks it, one that keeps it, and its table."""

import re
from typing import Any

from mcp_protogen.inspection.rules import SEVERITIES, judged, rules
from mcp_protogen.inspection.steps import REVISIONS
from support.folders import ROOT
from support.inspection.broken_rules import BROKEN_AND_KEPT, called, tool, tools
from support.inspection.sessions import codes, exchange, request, result, session
from support.tables import case

REQUIREMENTS = ROOT / "docs" / "requirements.md"


def test_each_rule_is_found_where_it_is_broken_and_nowhere_else() -> None:
    assert BROKEN_AND_KEPT.keys() == rules().keys()
    for code, (broken, kept) in BROKEN_AND_KEPT.items():
        with case(code):
            assert code in codes(broken)
            assert code not in codes(kept)


def test_a_rule_binds_only_the_revisions_that_have_it() -> None:
    listed = tools(tool(name="add two"))
    for revision in REVISIONS:
        with case(revision):
            found = "tool-name" in codes(session(listed, revision=revision))
            assert found is (revision in rules()["tool-name"].revisions)


def test_each_rule_has_severities_pages_and_requirements_that_exist() -> None:
    assert rules().keys() == SEVERITIES.keys()
    rows = set(re.findall(r"^\| (S\d-\d+) \|", REQUIREMENTS.read_text(), re.MULTILINE))
    for rule in rules().values():
        with case(rule.code):
            assert set(rule.rows) <= rows
            assert rule.text.endswith(".")
            for revision in rule.revisions:
                assert rule.page(revision).startswith(
                    f"https://modelcontextprotocol.io/specification/{revision}/"
                )


def test_what_several_sessions_show_is_one_finding() -> None:
    sessions = [session(tools(tool(), tool()), revision=one) for one in REVISIONS]
    (found,) = (one for one in judged(sessions) if one.rule.code == "tool-name-not-unique")
    assert found.sessions == ("2026-07-28 over stdio", "2025-11-25 over stdio")
    assert found.revision == "2026-07-28"


def test_a_misfit_has_the_place_in_the_message_and_in_terms_of_types() -> None:
    listed = tools(tool(), tool(description=7, annotations={"readOnlyHint": "yes"}))
    found = {one.example.item: one.example for one in judged([session(listed)])}
    wrong = found["ListToolsResult.tools.description"]
    assert wrong.pointer == "/result/tools/1/description"
    assert wrong.message == "is not of type string"
    assert wrong.got == "7"
    assert "ListToolsResult.tools.annotations.readOnlyHint" in found


def test_a_content_block_is_held_to_the_kind_that_it_says_it_is() -> None:
    block = {"type": "image", "data": 5, "mimeType": "image/png"}
    found = [
        one.example
        for one in judged([called({"content": [block], "structuredContent": {}})])
        if one.rule.code == "invalid-message"
    ]
    assert [(one.item, one.pointer) for one in found] == [
        ("CallToolResult.content.data", "/result/content/0/data")
    ]


def test_whatever_a_server_lists_and_returns_it_is_judged() -> None:
    deep: dict[str, Any] = {}
    for _ in range(400):
        deep = {"a": deep}
    schemas: tuple[Any, ...] = (
        {"$ref": "http://127.0.0.1:1/never-fetched"},
        {"$ref": "#"},
        {"$schema": ["x"]},
        {"$schema": "http://["},
        {"properties": {"a": {"pattern": "["}}},
        {"properties": deep},
    )
    call = request("tools/call", {"name": "add"})
    returned = exchange("tools/call", call, result({"content": [], "structuredContent": deep}))
    names: tuple[Any, ...] = ("add", [], None)
    for schema in schemas:
        for name in names:
            listed = tools(tool(name=name, inputSchema=schema, outputSchema=schema))
            for revision in REVISIONS[-2:]:
                with case(f"{schema} {name} {revision}"[:80]):
                    assert codes(session(listed, returned, revision=revision))
