"""`mcp-gen schema draft-facts`: filled in, left to people, and left alone."""

import copy
import json
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import compact, pretty
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.drafts.drafting import draft
from mcp_protogen.instep.schemas import check, write
from mcp_protogen.instep.update.adoption import Origin, add
from mcp_protogen.instep.update.undecided import SchemaFolder, find_open_decisions
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs import facts, sources
from mcp_protogen.pipeline.inputs.pins import load_pins, read_snapshot
from mcp_protogen.pipeline.inputs.todo import CHOICES, TODO, todos
from mcp_protogen.pipeline.inputs.translations import translation_of
from mcp_protogen.pipeline.plans.tables import find_unsettled
from support import missing
from support.running import Run

Json = dict[str, Any]
SCHEMA = schema_folder()
KNOWN, BEFORE = "2026-07-28", "2025-11-25"
"""A revision whose facts people have written, to hold drafts against, and the one before it."""
NEWEST, NEXT = max(load_pins()), "2099-01-01"
WRITTEN = ("facts", "patches", "translation")


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


def copy_schema(folder: Path, source: Path = SCHEMA) -> Path:
    return Path(shutil.copytree(source, folder / "schema"))


def bare(folder: Path) -> Path:
    """Return a schema folder without any decision about the known revision."""
    schema = copy_schema(folder)
    pins = read(schema / "pins.json")
    pins["revisions"] = {name: pin for name, pin in pins["revisions"].items() if name <= KNOWN}
    (schema / "pins.json").write_bytes(pretty(pins))
    for name in WRITTEN:
        (schema / KNOWN / f"{name}.json").unlink()
    for revision in ("2024-11-05", BEFORE):
        file = schema / revision / "facts.json"
        document = read(file)
        for fact in document["methods"].values():
            if fact is not None and fact.get("removed") == KNOWN:
                del fact["removed"]
        file.write_bytes(compact(document))
    return schema


@pytest.fixture(scope="module")
def draft_of_known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Draft the known revision from its schema alone, in a read-only folder."""
    schema = bare(tmp_path_factory.mktemp("known"))
    write(KNOWN, schema)
    return schema


def make_schema() -> Json:
    """Return a schema with a new request, capability, types and members."""
    document: Json = json.loads(read_snapshot(NEWEST))
    defs = document["$defs"]
    for name in ("ListToolsRequest", "ListToolsResult"):
        text = json.dumps(defs[name]).replace('"tools"', '"gadgets"')
        text = text.replace("$defs/Tool", "$defs/Gadget").replace("tools/list", "gadgets/list")
        defs[name.replace("Tools", "Gadgets")] = json.loads(text)
    defs["Gadget"] = {
        "type": "object",
        "properties": {"metal": {"type": "string", "enum": ["brass", "tin"], "deprecated": True}},
        "required": ["metal"],
    }
    defs["Gadget"]["properties"]["anything"] = True
    defs["ClientRequest"]["anyOf"].append({"$ref": "#/$defs/ListGadgetsRequest"})
    defs["ServerCapabilities"]["properties"]["gadgets"] = {"type": "object"}
    defs["Tool"]["properties"]["keeper"] = {"type": "string", "enum": ["nobody", "anybody"]}
    defs["Tool"]["required"].append("keeper")
    return document


@pytest.fixture(scope="module")
def pinned_schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a read-only schema folder in which a made-up revision has just been pinned."""
    schema = copy_schema(tmp_path_factory.mktemp("pinned"))
    add(NEXT, json.dumps(make_schema()).encode(), Origin(), "made-up.json", schema)
    return schema


@pytest.fixture
def schema(pinned_schema: Path, tmp_path: Path) -> Path:
    """Return a writable copy of it."""
    return copy_schema(tmp_path, pinned_schema)


@pytest.fixture(scope="module")
def drafted_schema(pinned_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a read-only schema folder with the draft of the made-up revision."""
    schema = copy_schema(tmp_path_factory.mktemp("made"), pinned_schema)
    assert len(write(NEXT, schema).files) == 4
    return schema


def draft_document(schema: Path, name: str = "facts", revision: str = NEXT) -> Json:
    write(revision, schema)
    found: Json = read(schema / revision / f"{name}.json")
    return found


def put(schema: Path, name: str, document: Json) -> None:
    (schema / NEXT / f"{name}.json").write_bytes(compact(document))


def contents(schema: Path) -> Mapping[Path, bytes]:
    return {file: file.read_bytes() for file in schema.rglob("*.json") if file.is_file()}


# A known revision.


def test_facts_that_contradict_schema_are_drafted(draft_of_known: Path, tmp_path: Path) -> None:
    structure = json.loads(read_snapshot(KNOWN))

    def about_facts(folder: Path) -> int:
        judged = SchemaFolder(load_pins(folder), folder)
        found = (*(result := find_open_decisions(KNOWN, structure, judged)).open, *result.wrong)
        of_facts = {"derived-facts", "facts-disagree", "unknown-type"}
        return sum(problem.code in of_facts for problem in found)

    assert about_facts(bare(tmp_path)) > 80
    assert about_facts(draft_of_known) == 0


def test_questions_in_results_are_drafted_without_errors(draft_of_known: Path) -> None:
    methods = facts.load(draft_of_known, KNOWN).document["methods"].values()
    embedded = [method for method in methods if method["kind"] == "embedded"]
    assert embedded and not any("errors" in method for method in embedded)


def test_methods_that_are_gone_are_said_to_be_where_they_were_brought(
    draft_of_known: Path,
) -> None:
    for revision in ("2024-11-05", BEFORE):
        file = f"{revision}/facts.json"
        assert (draft_of_known / file).read_bytes() == (SCHEMA / file).read_bytes()


def test_finished_revisions_have_nothing_to_decide() -> None:
    made = draft(NEWEST, SCHEMA)
    assert (made.changed, made.undecided, made.contradictions) == ({}, (), ())
    for revision in load_pins():
        for name in WRITTEN:
            file = SCHEMA / revision / f"{name}.json"
            if file.is_file():
                assert list(todos(read(file))) == [], file
                assert compact(read(file)) == file.read_bytes(), file
    assert list(todos(read(SCHEMA / "descriptions.json"))) == []


# An unknown revision.


def test_a_new_method_is_drafted_with_its_gate_and_everything_around_it(
    drafted_schema: Path,
) -> None:
    file = read(drafted_schema / NEXT / "facts.json")
    assert file["inherits"] == NEWEST
    assert file["methods"] == {
        "gadgets/list": {
            "message": "ListGadgetsRequest",
            "kind": "request",
            "senders": ["client"],
            "params": "PaginatedRequestParams",
            "params_required": True,
            "results": ["ListGadgetsResult"],
            "requires": {"server.gadgets": {"level": "MUST", "source": TODO}},
            "phase": "any",
            "traits": ["cacheable", "cancellable", "paginated"],
            "since": NEXT,
            "source": TODO,
        }
    }
    assert file["capabilities"] == {"server": {"gadgets": {"kind": "presence", "source": TODO}}}
    assert file["enums"] == {
        "ListGadgetsResult.cacheScope": {"values": ["public", "private"], "source": "schema.ts"},
        "Tool.keeper": {"values": ["nobody", "anybody"], "source": TODO},
        "Gadget.metal": {"values": ["brass", "tin"], "source": TODO},
    }
    assert file["types"] == {
        "open": {"ListGadgetsResult": {"source": TODO}},
        "deprecated": {"Gadget.metal": {"source": TODO}},
    }
    assert list(file["open_strings"]) == ["ListGadgetsResult.resultType"]
    assert file["unions"]["ClientRequest"]["arms"][-1] == "ListGadgetsRequest"


def test_texts_that_are_missing_are_named_and_not_shown(drafted_schema: Path) -> None:
    before = read(SCHEMA / "descriptions.json")
    texts = read(drafted_schema / "descriptions.json")
    new = {f"{kind}.{key}" for kind in texts for key in texts[kind].keys() - before[kind].keys()}
    assert new == {
        "capabilities.server.gadgets",
        "fields.ListGadgetsResult.gadgets",
        "fields.ServerCapabilities.gadgets",
        "fields.Tool.keeper",
        "fields.Gadget.anything",
        "fields.Gadget.metal",
        "methods.gadgets/list",
        "types.ListGadgetsRequest",
        "types.ListGadgetsResult",
        "types.Gadget",
    }
    ir = derive_revision(sources.load_pinned(NEXT, drafted_schema)).ir
    assert [type_.doc for type_ in ir.types if type_.name == "Gadget"] == [""]


def test_written_facts_survive_redraft(schema: Path) -> None:
    own: Json = {
        "inherits": NEWEST,
        "methods": {
            "gadgets/list": {"source": "server/gadgets#listing", "traits": ["long_lived"]},
            "tools/call": {"errors": {"-32603": {"when": "it broke", "level": "MAY"}}},
        },
        "capabilities": {"server": {"gadgets": {"kind": "presence", "source": "server/gadgets"}}},
        "unions": {"ClientRequest": {"arms": ["ListGadgetsRequest"], "source": "schema.ts"}},
        "enums": {"Gadget.metal": None},
    }
    put(schema, "facts", own)
    made = draft_document(schema)
    method = made["methods"]["gadgets/list"]
    assert (method["source"], method["traits"]) == ("server/gadgets#listing", ["long_lived"])
    assert method["message"] == "ListGadgetsRequest"
    for section, name in (("methods", "tools/call"), ("unions", "ClientRequest")):
        assert made[section][name] == own[section][name]
    assert made["capabilities"] == own["capabilities"]
    assert made["enums"]["Gadget.metal"] is None


# Patches.


def test_each_patch_of_the_revision_before_is_an_entry_or_is_named(
    draft_of_known: Path,
) -> None:
    made = read(draft_of_known / KNOWN / "patches.json")
    before = {
        entry["pointer"]: entry for entry in read(SCHEMA / BEFORE / "patches.json")["patches"]
    }
    states = {patch["pointer"]: patch["state"] for patch in made["left_out"]}
    assert before.keys() == states.keys() | {entry["pointer"] for entry in made["patches"]}
    assert [before[entry["pointer"]] for entry in made["patches"]] == made["patches"]
    assert Counter(states.values()) == {"gone": 4, "done": 2, TODO: 4}
    tool = "/$defs/Tool/properties/inputSchema"
    assert states["/$defs/GetTaskRequest/properties/params/properties/_meta"] == "gone"
    assert states[f"{tool}/additionalProperties"] == "done"
    assert states[f"{tool}/properties/properties/additionalProperties"] == TODO


# Translation rules.


def open_places(schema: Path, document: Json, newer: str, older: str) -> set[tuple[str, str]]:
    irs = [derive_revision(sources.load_pinned(name, schema)).ir for name in (older, newer)]
    return set(find_unsettled(irs[0], irs[1], translation_of(document, newer, "")))


def test_each_choice_decides_its_difference(draft_of_known: Path) -> None:
    made = read(draft_of_known / KNOWN / "translation.json")
    named = {
        (way, at)
        for rule in made["rules"]
        for way in ("up", "down")
        if way in rule
        for at in rule["at"]
    }
    assert open_places(draft_of_known, made, KNOWN, BEFORE) == named
    for number in range(2):  # the first choice of each, and the last
        chosen = copy.deepcopy(made)
        for rule in chosen["rules"]:
            for way in rule.keys() & {"up", "down"}:
                rule[way] = rule[way][CHOICES][-number]
        assert open_places(draft_of_known, chosen, KNOWN, BEFORE) == set()


def test_a_value_that_may_be_added_is_one_of_the_schema(drafted_schema: Path) -> None:
    (rule,) = read(drafted_schema / NEXT / "translation.json")["rules"]
    assert rule["at"] == ["Tool.keeper"]
    assert rule["up"] == {
        "difference": f"is required in {NEXT}",
        CHOICES: [{"add": "nobody"}, {"add": "anybody"}],
    }


def test_decided_rules_stay_and_moot_rules_go(drafted_schema: Path, tmp_path: Path) -> None:
    schema = copy_schema(tmp_path, drafted_schema)
    (rule,) = read(schema / NEXT / "translation.json")["rules"]
    decided = {**rule, "up": {"add": "nobody"}, "reason": "Before, none had one.", "source": "x"}
    moot = {**rule, "at": ["Gadget.metal"]}
    touched = {**moot, "reason": "I am at it."}
    document = read(schema / NEXT / "translation.json")
    put(schema, "translation", {**document, "rules": [moot, decided, touched]})
    assert draft_document(schema, "translation")["rules"] == [decided, touched]


def test_an_open_choice_is_no_rule_and_generation_leads_to_it(drafted_schema: Path) -> None:
    judged = SchemaFolder(load_pins(drafted_schema), drafted_schema)
    (found,) = (
        problem
        for problem in find_open_decisions(NEXT, make_schema(), judged).open
        if problem.code == "undecided-difference"
    )
    assert f"{found.place}#{found.pointer}" == f"schema/{NEXT}/translation.json#/rules/0/up"
    assert "choices" in found.hint


# Failures.


def test_each_decision_that_is_left_is_named_where_it_is_until_there_is_none(
    schema: Path, mcp_gen: Run
) -> None:
    arguments = ("schema", "draft-facts", NEXT, "--schema-folder", str(schema))
    ran = mcp_gen(*arguments)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"create: {NEXT}/facts.json",
        f"create: {NEXT}/patches.json",
        f"create: {NEXT}/translation.json",
        "change: descriptions.json",
        f"{NEXT}: 21 left to decide",
    ]
    before = contents(schema)
    ran = mcp_gen(*arguments, "--check")
    assert ran.code == 1
    assert ran.err.count("error[to-decide]") == 21
    assert f"schema/{NEXT}/facts.json#/methods/gadgets~1list/source: " in ran.err
    assert f"schema/{NEXT}/translation.json#/rules/0/up: " in ran.err
    assert "schema/descriptions.json#/types/Gadget: " in ran.err
    assert contents(schema) == before
    decide(schema)
    assert mcp_gen(*arguments, "--check").code == 0
    # A place that can be filled in must exist.
    facts = read(schema / NEXT / "facts.json")
    del facts["methods"]["gadgets/list"]["traits"]
    put(schema, "facts", facts)
    ran = mcp_gen(*arguments, "--check")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out == f"change: {NEXT}/facts.json\n{NEXT}: nothing is left to decide\n"


def decide(schema: Path) -> None:
    """Replace each TODO."""
    words = {"source": "schema.ts", "reason": "So it is.", "state": "dropped"}
    for name in (*(f"{NEXT}/{name}.json" for name in WRITTEN), "descriptions.json"):
        document = read(schema / name)
        for pointer in list(todos(document)):
            *above, last = jsonpointer.split(pointer)
            parent = jsonpointer.get(document, jsonpointer.join(*above))
            if last == "up":
                parent[last] = parent[last][CHOICES][0]
            else:
                page = "server/tools" if "rules" in above else words.get(last, "A text.")
                parent[last] = page if last == "source" else words.get(last, "A text.")
        (schema / name).write_bytes(compact(document))


def test_check_reads_the_pinned_schemas_without_a_folder() -> None:
    assert check(KNOWN).problems == check(KNOWN, SCHEMA).problems == ()


def test_missing_files_fail_check(pinned_schema: Path) -> None:
    report = check(NEXT, pinned_schema)
    assert report.status.exit_code == 1
    assert len(report.files) == 4
    assert not (pinned_schema / NEXT / "facts.json").exists()


def test_generation_warns_of_each_file_that_is_not_decided(drafted_schema: Path) -> None:
    found = derive_revision(sources.load_pinned(NEXT, drafted_schema)).warnings
    assert [(problem.code, problem.place) for problem in found] == [
        ("to-decide", f"schema/{NEXT}/facts.json"),
        ("to-decide", f"schema/{NEXT}/translation.json"),
    ]
    assert f"mcp-gen schema draft-facts {NEXT} --check" in found[0].hint


def test_a_warning_about_facts_names_the_file_to_write_and_what_writes_it(
    pinned_schema: Path,
) -> None:
    warnings = derive_revision(sources.load_pinned(NEXT, pinned_schema)).warnings
    about_facts = [warning for warning in warnings if warning.code == "derived-facts"]
    assert {problem.place for problem in about_facts} == {f"schema/{NEXT}/facts.json"}
    hint = f"mcp-gen schema draft-facts {NEXT} writes what follows from the schema"
    assert {problem.hint for problem in about_facts} == {hint}


def problems(revision: str, schema: Path) -> tuple[Problem, ...]:
    before = contents(schema)
    with pytest.raises(ProblemError) as caught:
        write(revision, schema)
    assert contents(schema) == before
    return caught.value.problems


def test_a_revision_that_is_not_pinned_is_refused(schema: Path, tmp_path: Path) -> None:
    assert [problem.code for problem in problems("2027-01-02", schema)] == ["unknown-revision"]
    assert [problem.code for problem in problems(NEXT, tmp_path)] == ["bad-pins"]


def test_a_file_of_another_format_is_refused_with_the_place(schema: Path) -> None:
    put(schema, "facts", {"inherits": NEWEST, "methods": {"gadgets/list": {"knid": "request"}}})
    put(schema, "translation", {"older": NEWEST, "became": {}, "rules": [{}], "errors": []})
    (found,) = problems(NEXT, schema)
    assert (found.code, found.place) == ("bad-form", f"schema/{NEXT}/facts.json")
    assert found.pointer == "/methods/gadgets~1list"
    put(schema, "facts", {"inherits": NEWEST})
    assert {problem.code for problem in problems(NEXT, schema)} == {"bad-form"}


def test_contradicting_facts_are_reported_and_rest_is_drafted(schema: Path) -> None:
    put(schema, "facts", {"inherits": NEWEST, "methods": {"tools/call": {"kind": "notification"}}})
    report = write(NEXT, schema)
    (found,) = report.problems
    assert (found.code, found.pointer) == ("facts-disagree", "/methods/tools~1call/kind")
    assert "gadgets/list" in read(schema / NEXT / "facts.json")["methods"]
    assert check(NEXT, schema).problems[0] == found


def test_a_method_that_the_schema_has_is_gone_nowhere(schema: Path) -> None:
    put(schema, "facts", {"inherits": NEWEST, "methods": {"tools/list": None}})
    report = write(NEXT, schema)
    ours = {f"{NEXT}/{name}.json" for name in WRITTEN} | {"descriptions.json"}
    assert {file.path for file in report.files} == ours
    assert [problem.pointer for problem in report.problems] == ["/methods/tools~1list"]
    assert report.summary_lines[0].endswith(", but see the warnings")


def test_a_folder_that_cannot_be_written_is_left_as_it_is(schema: Path) -> None:
    (schema / NEXT / "facts.json").mkdir()
    assert [problem.code for problem in problems(NEXT, schema)] == ["cannot-write"]


def test_a_draft_without_a_revision_before_has_no_patches_or_rules() -> None:
    made = draft("2024-11-05", SCHEMA)
    assert made.changed == {}
    assert "2024-11-05/translation.json" not in made.after


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", range(8))
def test_states_of_the_draft_lead_to_facts_that_agree_with_them(
    tmp_path: Path, number: int
) -> None:
    folder = missing.reference("published/drafts", "facts of states of the draft")
    file = sorted(folder.glob("*.json"))[number]
    schema = copy_schema(tmp_path)
    add(NEXT, file.read_bytes(), Origin(), file.name, schema)
    try:
        derive_revision(sources.load_pinned(NEXT, schema))
    except ProblemError as refused:  # it has no code, with or without facts
        assert {problem.code for problem in problems(NEXT, schema)} <= {
            problem.code for problem in refused.problems
        }
        return
    stray = [
        problem.message.endswith("is in no message union")
        for problem in write(NEXT, schema).problems
    ]
    assert all(stray)  # which only a patch can mend
    assert write(NEXT, schema).files == ()
    if not stray:
        warnings = derive_revision(sources.load_pinned(NEXT, schema)).warnings
        assert {warning.code for warning in warnings} <= {"to-decide"}


def test_content_is_what_stands_beside_several_kinds_of_it(tmp_path: Path) -> None:
    document, schema = make_schema(), copy_schema(tmp_path)
    for name in ("Sketch", "Sticker"):
        members = {"type": {"const": name.lower()}}
        document["$defs"][name] = {"type": "object", "properties": members, "required": ["type"]}
    for name, arms in (
        ("Drawn", ("TextContent", "ImageContent", "Sketch")),
        ("Noted", ("TextContent", "Sticker")),
    ):
        document["$defs"][name] = {"anyOf": [{"$ref": f"#/$defs/{arm}"} for arm in arms]}
    add(NEXT, json.dumps(document).encode(), Origin(), "made-up.json", schema)
    found = draft_document(schema)["content_blocks"]
    assert "Sketch" in found["types"] and "Sticker" not in found["types"]
    assert found["source"] == TODO


def test_names_of_codes_are_those_of_their_types_without_error(tmp_path: Path) -> None:
    document, schema = make_schema(), copy_schema(tmp_path)
    for name, code in (("GadgetMissingError", -32091), ("TinError", -32092)):
        members = {"code": {"const": code}, "message": {"type": "string"}}
        document["$defs"][name] = {"type": "object", "properties": members, "required": [*members]}
    add(NEXT, json.dumps(document).encode(), Origin(), "made-up.json", schema)
    codes = draft_document(schema)["errors"]
    assert codes["-32091"]["name"] == "GADGET_MISSING"
    assert codes["-32092"]["name"] == "TIN"
