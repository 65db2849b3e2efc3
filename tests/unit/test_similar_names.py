"""`mcp-gen schema draft-facts` asks what became of types, methods and members that went."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base import jsonpointer
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.drafts.drafting import draft
from mcp_protogen.instep.schemas import check, write
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.inputs.todo import CHOICES
from support import missing, tables
from support.generated.schema_folders import pin
from support.unit.pinned_next import NEXT, pin_changed, read_file, write_file

Json = dict[str, Any]


def draft_rules(schema: Path) -> Json:
    write(NEXT, schema)
    return read_file(schema, "translation")


def put_rules(schema: Path, document: Json) -> None:
    write_file(schema, "translation", document)


def open_rules(schema: Path) -> set[str]:
    """Return the places of open decisions about translation."""
    place = f"schema/{NEXT}/translation.json"
    return {todo.pointer for todo in draft(NEXT, schema).undecided if todo.place == place}


def rename(defs: Json) -> None:
    """Rename a type, a method, a notification without params, and a member that is required."""
    text = json.dumps(defs)
    for old, new in (
        ("ResourceLink", "LinkedResource"),
        ("tools/call", "tools/invoke"),
        ("notifications/tools/list_changed", "notifications/tools/changed"),
    ):
        text = text.replace(f'"{old}"', f'"{new}"').replace(f'$defs/{old}"', f'$defs/{new}"')
    defs |= json.loads(text)
    del defs["ResourceLink"]
    template = defs["ResourceTemplate"]
    template["properties"]["pattern"] = template["properties"].pop("uriTemplate")
    template["required"] = ["name", "pattern"]


@pytest.fixture(scope="module")
def renaming_schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a read-only schema folder with the draft of a revision that renames."""
    schema = pin_changed(tmp_path_factory.mktemp("renamed"), rename)
    write(NEXT, schema)
    return schema


def copy_schema(schema: Path, folder: Path) -> Path:
    return Path(shutil.copytree(schema, folder / "schema"))


def test_names_that_went_are_asked_about_where_similar_ones_came(renaming_schema: Path) -> None:
    document = draft_rules(renaming_schema)
    assert document["became"] == {
        old: {"difference": f"{NEXT} has no {old}: renamed, or removed?", CHOICES: [new, None]}
        for old, new in (
            ("ResourceLink", "LinkedResource"),
            ("notifications/tools/list_changed", "notifications/tools/changed"),
            ("tools/call", "tools/invoke"),
        )
    }
    drops: list[Json] = [{"drop": "lossy"}, {"drop": "harmless"}]
    asked = {
        (at, way): entry[way][CHOICES]
        for entry in document["rules"]
        for way in ("up", "down")
        if way in entry
        for at in entry["at"]
    }
    assert asked == {
        ("ResourceTemplate.uriTemplate", "up"): [{"move": "pattern"}, *drops],
        ("ResourceTemplate.pattern", "down"): [{"move": "uriTemplate"}, *drops],
    }
    names = {jsonpointer.join("became", old) for old in document["became"]}
    rules = {f"/rules/{number}" for number in range(2)}
    assert names < open_rules(renaming_schema)
    assert {pointer.rpartition("/")[0] for pointer in open_rules(renaming_schema) - names} == rules


def test_an_answer_ends_the_question(renaming_schema: Path, tmp_path: Path) -> None:
    schema = copy_schema(renaming_schema, tmp_path)
    document = draft_rules(schema)
    document["became"] = {
        "ResourceLink": "LinkedResource",
        "notifications/tools/list_changed": None,
        "tools/call": "tools/invoke",
    }
    for entry in document["rules"]:
        for way in entry.keys() & {"up", "down"}:
            entry[way] = entry[way][CHOICES][0]
        entry |= {"reason": "It is called so now.", "source": "server/tools"}
    put_rules(schema, document)
    assert draft_rules(schema) == document
    assert open_rules(schema) == set()


def test_a_question_goes_with_its_reason(renaming_schema: Path, tmp_path: Path) -> None:
    schema = copy_schema(renaming_schema, tmp_path)
    document = draft_rules(schema)
    document["became"]["Resource"] = document["became"]["ResourceLink"]
    put_rules(schema, document)
    assert "Resource" not in draft_rules(schema)["became"]


def test_a_wrong_answer_is_reported(renaming_schema: Path, tmp_path: Path) -> None:
    schema = copy_schema(renaming_schema, tmp_path)
    document = draft_rules(schema)
    document["became"]["tools/call"] = "tools/invok"
    put_rules(schema, document)
    place = f"schema/{NEXT}/translation.json#/became/tools~1call"
    (problem,) = (found for found in check(NEXT, schema).problems if found.code == "bad-rule")
    assert (problem.where, problem.hint) == (place, "did you mean tools/invoke or tools/list?")


def test_members_of_a_renamed_type_are_asked_about_under_its_new_name(tmp_path: Path) -> None:
    def change(defs: Json) -> None:
        rename(defs)
        members = defs["LinkedResource"]["properties"]
        members["bytes"] = members.pop("size")

    schema = pin_changed(tmp_path, change)
    document = draft_rules(schema)
    assert "LinkedResource.bytes" not in str(document["rules"])
    document["became"]["ResourceLink"] = "LinkedResource"
    put_rules(schema, document)
    asked = {at for entry in draft_rules(schema)["rules"] for at in entry["at"]}
    assert {"LinkedResource.size", "LinkedResource.bytes"} <= asked


def test_published_revisions_have_an_answer_to_each_question() -> None:
    for revision in load_pins():
        with tables.case(revision):
            made = draft(revision, schema_folder())
            assert f"{revision}/translation.json" not in made.changed
            assert not [todo for todo in made.undecided if "translation" in todo.place]


def test_renames_of_a_case_are_asked_about(tmp_path: Path) -> None:
    folder = missing.reference("cases/next-revision", "a renamed type and method")
    schema = pin(tmp_path, NEXT, (folder / "renamed-type-and-method.schema.json").read_bytes())
    names = draft_rules(schema)["became"]
    assert {old: asked[CHOICES] for old, asked in names.items()} == {
        "Implementation": ["PeerInfo", None],
        "tools/call": ["tools/invoke", None],
    }
