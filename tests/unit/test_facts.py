"""Facts: merged as RFC 7396 says, along a chain of revisions."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.jsonvalue import merge_patch
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.update.adoption import Origin, add
from mcp_protogen.pipeline.inputs import facts
from support import tables
from support.revisions import NEWEST, REVISIONS


def test_merge_patches_by_the_examples_of_the_standard() -> None:
    rows: list[tuple[Any, Any, Any]] = [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ]
    for target, patch, merged in rows:
        with tables.case((target, patch, merged)):
            before = json.dumps([target, patch])
            assert merge_patch(target, patch) == merged
            assert json.dumps([target, patch]) == before


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "1", {"inherits": None, "methods": {"a": {"phase": "any"}, "b": {}}})
    write(tmp_path, "2", {"inherits": "1", "methods": {"a": {"phase": "ready"}, "b": None}})
    write(tmp_path, "3", {"inherits": "2", "methods": {"c": {}}})
    return tmp_path


def write(folder: Path, revision: str, document: Any) -> None:
    (folder / revision).mkdir()
    (folder / revision / "facts.json").write_text(json.dumps(document))


def refusal_code(folder: Path, revision: str) -> str:
    with pytest.raises(ProblemError) as caught:
        facts.load(folder, revision)
    (problem,) = caught.value.problems
    return problem.code


def test_a_revision_has_what_its_chain_says(folder: Path) -> None:
    assert [path.parent.name for path in facts.chain(folder, "3")] == ["1", "2", "3"]
    loaded = facts.load(folder, "3")
    assert loaded.methods == {"a": {"phase": "ready"}, "c": {}}
    assert not loaded.inherited


@pytest.mark.parametrize(
    ("revision", "origin"), [("draft", "3"), ("25", "2"), ("2", "2"), ("28", "2"), ("0", "1")]
)
def test_a_revision_without_facts_lives_on_those_of_the_nearest_that_has_any(
    folder: Path, revision: str, origin: str
) -> None:
    for pinned in ("1", "2", "25", "3", "draft"):
        content = b'{"$defs": {}}'
        add(pinned, content, Origin(), "a.json", folder)
    found = facts.facts_for(folder, revision, {"$defs": {}})
    assert (found.revision, found.origin) == (revision, origin)
    assert found.inherited == (revision != origin)
    assert found.methods == facts.load(folder, origin).methods


def test_without_any_facts_there_is_nothing_to_live_on(tmp_path: Path) -> None:
    add("1", b'{"$defs": {}}', Origin(), "a.json", tmp_path)
    with pytest.raises(ProblemError, match="missing-facts"):
        facts.facts_for(tmp_path, "2", {"$defs": {}})


def test_chain_that_leads_nowhere_or_in_a_circle_is_refused(folder: Path) -> None:
    for revision, inherited in (("4", "9"), ("5", "6"), ("6", "5")):
        write(folder, revision, {"inherits": inherited})
    assert [refusal_code(folder, revision) for revision in "45"] == ["missing-facts"] * 2
    (folder / "4" / "facts.json").write_text("{")
    assert refusal_code(folder, "4") == "not-json"


def test_unstated_facts_are_empty() -> None:
    nothing = facts.Facts("x", {}, "x")
    for said in (nothing.methods, nothing.unions, nothing.enums, nothing.open_strings):
        assert said == {}
    for named in (nothing.content_kinds, nothing.open_types, nothing.json_schemas):
        assert named == frozenset()
    assert nothing.deprecated == frozenset()


def test_resource_not_found_code_is_error_of_resources_read() -> None:
    for revision in REVISIONS:
        document = facts.load(schema_folder(), revision).document
        code = document["rules"]["resource_not_found"]["value"]
        assert str(code) in document["methods"]["resources/read"]["errors"], revision
        assert document["errors"][str(code)]["emit"] != "never", revision


def test_transport_that_no_revision_states_whole_is_refused_with_its_place(folder: Path) -> None:
    whole = {
        "address": "program",
        "names": ["b"],
        "framing": "lines",
        "client": "transports.subprocess.stdio_client",
    }
    write(folder, "4", {"inherits": "3", "transports": {"a": whole, "b/c": {"address": "url"}}})
    with pytest.raises(ProblemError, match="bad-form") as refused:
        _ = facts.load(folder, "4").transports
    (problem,) = refused.value.problems
    assert (problem.place, problem.pointer) == ("schema/4/facts.json", "/transports/b~1c")
    assert "has no names" in problem.message


@pytest.mark.parametrize("function", ["transports.gone.stdio_client", "transports.subprocess.gone"])
def test_transport_without_its_function_is_refused_with_its_place(
    folder: Path, function: str
) -> None:
    stated = {"address": "program", "names": ["a"], "framing": "lines", "client": function}
    write(folder, "4", {"inherits": "3", "transports": {"a": stated}})
    with pytest.raises(ProblemError, match=f"no function {function}") as refused:
        _ = facts.load(folder, "4").transports
    (problem,) = refused.value.problems
    assert (problem.place, problem.pointer) == ("schema/4/facts.json", "/transports/a/client")


def test_package_has_transports_of_all_its_revisions_as_newest_states_them() -> None:
    of = {name: facts.package_transports(schema_folder(), [name]) for name in REVISIONS}
    newest = [transport.name for transport in of[NEWEST]]
    assert newest[:2] == ["stdio", "Streamable HTTP"] and "HTTP+SSE" not in newest
    assert all(transport.later for transport in of[REVISIONS[0]] if transport.framing == "http")
    both = facts.package_transports(schema_folder(), [REVISIONS[0], NEWEST])
    assert {*both} > {*of[NEWEST]}
    # A revision of the user has no facts.
    assert facts.package_transports(schema_folder(), ["9999-01-01"]) == of[NEWEST]


def test_new_projects_speak_what_is_pinned_until_another_revision_says_otherwise() -> None:
    chosen = facts.load(schema_folder(), NEWEST).document["projects"]["revisions"]
    assert {*chosen} <= {*REVISIONS}
    later = facts.facts_for(schema_folder(), "9999-01-01", {})
    assert later.document["projects"]["revisions"] == chosen
