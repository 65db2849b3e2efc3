"""Several versions of one extension: how they agree, and which ones no revision tells apart.

Rules may translate between two of them, here those of a rehearsal.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.extension import derive_extension
from mcp_protogen.pipeline.derive.extension_versions import add_suffix, versions_of
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs import extensions, pinned_extensions, sources
from mcp_protogen.pipeline.inputs.extensions import ExtensionSource
from mcp_protogen.pipeline.inputs.pinned_extensions import extension_facts, pinned_extension
from mcp_protogen.pipeline.inputs.sources import RevisionSource
from mcp_protogen.pipeline.inputs.translations import translation_of
from mcp_protogen.pipeline.ir import StreamPlaceIR
from mcp_protogen.pipeline.plans.version_tables import VersionTables, version_tables
from mcp_protogen.runtime.client.request_stream import StreamClient, StreamingRuntime
from mcp_protogen.runtime.client.versions import VersionedClient, VersionedRuntime
from mcp_protogen.runtime.core.extension_versions import VersionRule
from mcp_revisions import v2026_07_28 as mcp
from support.folders import ROOT
from support.json_types import read_json
from support.rehearsals.proposals import publish_extension
from support.revisions import HANDSHAKE, NEWEST
from support.tables import case

Json = dict[str, Any]

SOURCE = {"source": "basic/index"}
STATED: Json = {
    "client": {"member": "version"},
    "server": {"member": "versions", "list": True},
    "agree": "major",
    **SOURCE,
}


def core(stated: Json | None, revision: str = NEWEST) -> RevisionSource:
    """Return a revision that tells versions apart as stated."""
    source = sources.load(revision, GenerationOptions((revision,)))
    document = {**source.facts.document, "extension_versions": stated}
    return replace(source, facts=replace(source.facts, document=document))


def version(name: str, facts: Json) -> ExtensionSource:
    """Return another version of the extension tasks."""
    tasks = extensions.load("tasks", schema_folder())
    place = f"schema/extensions/{name}/facts.json"
    return replace(tasks, name=name, facts={**tasks.facts, **facts}, facts_place=place)


def have_facts(monkeypatch: pytest.MonkeyPatch, **files: Json) -> None:
    """Let extensions have these facts."""

    def read(name: str, folder: Path | None) -> Json:
        return files.get(name, {})

    monkeypatch.setattr(pinned_extensions, "_read", read)


def stating(of: str, absent: str = "1.0.0", **facts: Any) -> Json:
    version = {"is": of, "absent": absent, **SOURCE}
    return {"inherits": "tasks", "version": version, "claims": [], **facts}


@pytest.mark.parametrize(
    ("agree", "needed", "versions", "agrees"),
    [
        ("major", "2", ["1.0.0", "2.4.1"], True),
        ("major", "2", ["1.0.0", "3.0.0"], False),
        ("major", "2.1.0", ["2.0.9"], False),
        ("major", "2.1.0", ["2.2.0"], True),
        # An unknown minor number counts as 0.
        ("major", "2.1.0", ["2"], False),
        ("major", "2", ["2"], True),
        ("major", "2", ["two", "", "9" * 5000], False),
        ("minor", "2.1.0", ["2.1.0"], True),
        ("minor", "2.1.0", ["3.5.0"], False),
        ("minor", "2", ["3.5.0"], True),
        ("same", "2026-12-01", ["2026-12-01"], True),
        ("same", "2026-12-01", ["2027-12-01"], False),
    ],
)
def test_versions_agree_as_the_revision_says(
    agree: Any, needed: str, versions: list[str], agrees: bool
) -> None:
    members: Any = {"client": "version", "server": "versions"}
    rule = VersionRule(members, listed=True, absent="1.0.0", agree=agree)
    assert rule.agrees(needed, versions) is agrees


@pytest.mark.parametrize(
    ("settings", "versions"),
    [
        ({"requires": {"protocolVersion": "2026-07-28"}}, ["1.0.0"]),
        ({"requires": {"protocolVersion": "2026-07-29"}}, []),
        ({"requires": {"protocolVersion": 2027}}, ["1.0.0"]),
        ({"requires": "2027"}, ["1.0.0"]),
    ],
)
def test_a_declaration_for_later_revisions_has_no_version(settings: Any, versions: Any) -> None:
    members: Any = {"client": "version", "server": "versions"}
    floors: Any = {"server": ("requires", "protocolVersion")}
    rule = VersionRule(members, True, "1.0.0", "major", floors=floors, revision="2026-07-28")
    assert rule.versions_in(settings, "server") == versions
    assert rule.versions_in(settings, "client") == ["1.0.0"]


def test_a_further_version_has_a_suffix_and_the_first_one_stays_as_it_is() -> None:
    both = (version("tasks", {}), version("tasks-v2", stating("2.1.0")))
    found = versions_of(both, core(STATED))
    assert [(ir.version, ir.base, ir.suffix) for ir in found.values()] == [
        ("1.0.0", "1", ""),
        ("2.1.0", "2", "@2"),
    ]
    assert versions_of(both[:1], core(STATED)) == {} == versions_of(both[:1], core(None))


@pytest.mark.parametrize(
    ("request_", "expected"),
    [("notes/watch", "notes/watch@2"), ("subscriptions/listen", "subscriptions/listen")],
)
def test_notification_of_a_further_version_is_on_its_stream(request_: str, expected: str) -> None:
    method, *_ = derive_revision(core(None)).ir.methods
    told = replace(method, stream=StreamPlaceIR(request_, "first", "", 0))
    stream = add_suffix(told, "@2", ["notes/watch"]).stream
    assert stream is not None and stream.request == expected


def test_versions_of_an_extension_that_a_part_runs_are_refused() -> None:
    both = (version("tasks", {}), version("tasks-v2", stating("2.1.0")))
    with pytest.raises(ProblemError, match="the part tasks runs only the first") as refused:
        versions_of(both, core(STATED), ["stdio", "tasks"])
    (problem,) = refused.value.problems
    assert (problem.code, problem.pointer) == ("conflicting-options", "/version")
    assert problem.place == both[1].facts_place
    assert versions_of(both[:1], core(STATED), ["tasks"]) == {}


def test_versions_that_a_revision_cannot_tell_apart_are_refused_with_their_place() -> None:
    first, later = version("tasks", {}), stating("2.1.0")
    stranger = {key: value for key, value in later.items() if key != "inherits"}
    method = extensions.load("tasks", schema_folder()).facts["methods"]["tasks/get"]
    newer = stating("2.1.0", methods={"tasks/get": {**method, "version": "2.2.0"}})
    claims = extensions.load("tasks", schema_folder()).facts["claims"]
    same = stating("2.1.0", claims=claims)
    unsaid: Json = {"inherits": "tasks", "claims": []}
    tells = "does not tell versions of extensions apart"
    table: list[tuple[str, RevisionSource, list[ExtensionSource], str]] = [
        ("/version", core(None), [first, version("two", later)], tells),
        ("/version", core(None), [version("two", later)], tells),
        ("/extension_versions", core(STATED, HANDSHAKE[-1]), [first, version("two", later)], "say"),
        ("", core(STATED), [first, version("two", unsaid)], "nothing says"),
        ("/identifier", core(STATED), [first, version("two", stranger)], "are both"),
        ("/version/is", core(STATED), [first, version("two", stating("second"))], "no major"),
        ("/version/is", core(STATED), [first, version("two", stating("1.5.0"))], "the same"),
        (
            "/version/absent",
            core(STATED),
            [version("two", later), version("three", stating("3.0.0", "2.1.0"))],
            "means 1.0.0",
        ),
        ("/claims/0", core(STATED), [first, version("two", same)], "also claims the result task"),
        ("/methods/tasks~1get/version", core(STATED), [version("two", newer)], "came in '2.2.0'"),
    ]
    for pointer, revision, together, said in table:
        with case(f"{pointer} {said}"):
            with pytest.raises(ProblemError, match=said) as refused:
                versions_of(together, revision)
            *_, problem = refused.value.problems
            assert problem.code == "facts-disagree" and problem.hint
            assert problem.pointer == pointer
            about = revision if pointer == "/extension_versions" else together[-1]
            assert problem.place == about.facts_place


@pytest.mark.parametrize(
    "bases", [(VersionedClient, StreamClient), (StreamClient, VersionedClient)]
)
def test_client_has_versions_and_streams_in_either_order(bases: tuple[type[Any], ...]) -> None:
    runtime = type("Host", (*bases, mcp.Client), {})().__mcp_runtime__
    assert isinstance(runtime, StreamingRuntime) and isinstance(runtime, VersionedRuntime)


@pytest.mark.parametrize("parent", ["two", "none"])
def test_facts_that_inherit_from_nothing_else_are_refused(
    parent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    have_facts(monkeypatch, two={"inherits": parent})
    with pytest.raises(ProblemError, match=f"inherits from '{parent}'") as refused:
        extension_facts("two")
    (problem,) = refused.value.problems
    assert (problem.place, problem.pointer) == ("schema/extensions/two/facts.json", "/inherits")


@pytest.mark.parametrize("fact", ["stage", "version"])
def test_list_of_extensions_names_the_place_of_a_wrong_fact(
    fact: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    have_facts(monkeypatch, two={"$defs": {}, "identifier": "two", "revisions": [], fact: "beta"})
    with pytest.raises(ProblemError, match=f"the {fact} must be an object") as refused:
        pinned_extension("two")
    (problem,) = refused.value.problems
    assert (problem.code, problem.pointer) == ("bad-form", f"/{fact}")


def test_inherited_facts_are_changed_by_member(monkeypatch: pytest.MonkeyPatch) -> None:
    one: Json = {"identifier": "one", "settings": {"client": {}}}
    have_facts(monkeypatch, one=one, two={"inherits": "one", "settings": {"server": {}}})
    assert extension_facts("two") == {
        "identifier": "one",
        "inherits": "one",
        "settings": {"client": {}, "server": {}},
    }


RULES = "schema/extensions/notes-v2/translation.json"


def compile_rules(change: Callable[[Json, Json], object]) -> tuple[VersionTables, ...]:
    """Return the tables between two versions after a change of the rules and the later facts."""
    changes = read_json(ROOT / "schema" / "rehearsals" / "extension-versions.json")["extensions"]
    rules = changes["notes-v2"]["translation"]
    change(rules, changes["notes-v2"]["facts"])
    together: list[ExtensionSource] = []
    for name, stated in changes.items():
        schema, facts = publish_extension(ROOT / "missing", stated)
        place = f"schema/extensions/{name}/facts.json"
        found = ExtensionSource(name, schema, {**facts, "revisions": [NEWEST]}, (), "", "", place)
        together.append(found)
    together[1] = replace(together[1], rules=translation_of(rules, "notes-v2", RULES))
    revision = core(STATED)
    versions, ir = versions_of(together, revision), derive_revision(revision).ir
    extended = [
        derive_extension(extension, revision, ir, versions[extension.name]).ir
        for extension in together
    ]
    return version_tables(together, extended)


def test_rules_make_tables_between_versions_by_the_names_on_the_wire() -> None:
    (step,) = compile_rules(lambda rules, facts: None)
    assert (step.older.name, step.newer.name) == ("notes", "notes-v2")
    for table in (step.tables.up, step.tables.down):
        assert table.methods.keys() == {"notes/add"}
        assert table.plans.keys() == {"AddNoteRequestParams", "AddNoteResult"}


def test_rules_that_leave_a_difference_undecided_are_refused_with_their_place() -> None:
    error = {
        "method": "notes/add",
        "down": {"was": -1, "becomes": -2},
        "reason": "It is another one.",
        "source": "basic/index",
    }
    table: list[tuple[str, str, str, Callable[[Json, Json], object]]] = [
        ("/rules", "undecided-difference", "noteId", lambda rules, _: rules["rules"].pop(1)),
        ("/rules", "undecided-difference", "tags", lambda rules, _: rules["rules"].pop(0)),
        (
            "/rules/0",
            "bad-rule",
            "does not exist",
            lambda rules, _: rules["rules"][0].update(at=["Note.tags"], down={"drop": "lossy"}),
        ),
        (
            "/became/Other",
            "bad-rule",
            "no type",
            lambda rules, _: rules["became"].update(Other="A"),
        ),
        ("/errors/0/down", "bad-rule", "errors", lambda rules, _: rules["errors"].append(error)),
        (
            "/rules",
            "bad-rule",
            "notes/add of notes-v2",
            lambda _, facts: facts["methods"]["notes/add"].update(principal=-32602),
        ),
    ]
    for pointer, code, said, change in table:
        with case(f"{pointer} {said}"):
            with pytest.raises(ProblemError, match=said) as refused:
                compile_rules(change)
            found = {
                (problem.place, problem.pointer, problem.code) for problem in refused.value.problems
            }
            assert (RULES, pointer, code) in found
            assert all(problem.hint for problem in refused.value.problems)


def test_rules_towards_another_version_than_the_inherited_one_are_refused(tmp_path: Path) -> None:
    shutil.copytree(schema_folder() / "extensions", tmp_path / "extensions")
    file = tmp_path / "extensions" / "tasks" / "translation.json"
    table: list[tuple[list[Json], str, str]] = [
        ([], "/older", "does not inherit"),
        ([{}], "/rules/0", "required"),
    ]
    for rules, pointer, said in table:
        document: Json = {"older": "notes", "became": {}, "rules": rules, "errors": []}
        file.write_text(json.dumps(document))
        with pytest.raises(ProblemError, match=said) as refused:
            extensions.load("tasks", tmp_path)
        problem = refused.value.problems[0]
        place = "schema/extensions/tasks/translation.json"
        assert (problem.code, problem.place, problem.pointer) == ("bad-rule", place, pointer)
