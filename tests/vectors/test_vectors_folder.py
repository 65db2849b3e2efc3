"""A folder of vectors is written whole or not at all, and can be checked."""

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from mcp_protogen.instep.vectors.vector import Validity, VectorFilter
from mcp_protogen.instep.vectors.writing import document, lines
from support import formats, tables
from support.revisions import NEWEST, REVISIONS
from support.running import Run
from support.vectors.vector_sets import vectors


def test_a_document_has_the_published_format() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            value = json.loads(document(vectors(revision)))
            assert formats.faults("vectors", value) == []
            assert [v["id"] for v in value["vectors"]] == [v.id for v in vectors(revision).vectors]


def test_lines_are_the_same_vectors_with_their_revision() -> None:
    one = {"$ref": "#/$defs/vector", "$defs": formats.published_schema("vectors")["$defs"]}
    validator: Any = Draft202012Validator(one)
    rows = [json.loads(line) for line in lines(vectors(REVISIONS[0]))]
    assert all(validator.is_valid(row) and row["revision"] == REVISIONS[0] for row in rows)
    assert len(rows) == len(vectors(REVISIONS[0]).vectors)


def test_the_format_is_closed_and_knows_no_code_that_does_not_occur() -> None:
    """A draft may have keywords that no revision has, and those come in pairs of bounds."""
    known = set(formats.published_schema("vectors")["$defs"]["code"]["enum"])
    used = {vector.code for revision in REVISIONS for vector in vectors(revision).vectors}
    only_in_drafts = {
        "additional",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxLength",
        "minItems",
        "minLength",
        "pattern",
        "uniqueItems",
    }
    assert known - used == only_in_drafts
    assert used <= known


def test_a_folder_holds_a_file_for_each_revision_and_their_schema(mcp_gen: Run) -> None:
    ran = mcp_gen("vectors", "--revision", f"{REVISIONS[0]},{NEWEST}", "--out", "v")
    assert ran.code == 0, ran.err
    names = {path.name for path in Path("v").iterdir()}
    assert names == {f"{REVISIONS[0]}.json", f"{NEWEST}.json", "vectors.schema.json"}
    assert Path("v", f"{NEWEST}.json").read_bytes() == document(vectors(NEWEST))
    assert not list(Path().glob(".v*"))


def test_a_second_run_adds_a_revision_and_keeps_other_files(mcp_gen: Run) -> None:
    mcp_gen("vectors", "--revision", REVISIONS[0], "--out", "v")
    Path("v", "notes.txt").write_text("mine")
    Path("v", "inner").mkdir()
    Path("v", "inner", "x").write_text("mine too")
    before = Path("v", f"{REVISIONS[0]}.json").stat().st_mtime_ns
    ran = mcp_gen("vectors", "--revision", NEWEST, "--out", "v")
    assert ran.code == 0, ran.err
    assert Path("v", "notes.txt").read_text() == "mine"
    assert Path("v", "inner", "x").read_text() == "mine too"
    assert Path("v", f"{REVISIONS[0]}.json").stat().st_mtime_ns == before
    assert f"create: {NEWEST}.json" in ran.out


def test_check_says_what_would_change_and_writes_nothing(mcp_gen: Run) -> None:
    assert mcp_gen("vectors", "--revision", REVISIONS[0], "--out", "v", "--check").code == 1
    assert not Path("v").exists()
    mcp_gen("vectors", "--revision", REVISIONS[0], "--out", "v")
    assert mcp_gen("vectors", "--revision", REVISIONS[0], "--out", "v", "--check").code == 0
    file = Path("v", f"{REVISIONS[0]}.json")
    file.write_bytes(
        file.read_bytes().replace(b"Annotated/valid/minimal", b"Annotated/valid/least")
    )
    ran = mcp_gen("vectors", "--revision", REVISIONS[0], "--out", "v", "--check")
    assert ran.code == 1
    assert f"change: {REVISIONS[0]}.json" in ran.out
    assert b"Annotated/valid/least" in file.read_bytes()
    assert mcp_gen("vectors", "--revision", REVISIONS[0], "--out", "v").code == 0
    assert b"Annotated/valid/least" not in file.read_bytes()


def test_a_file_that_is_no_vectors_is_not_overwritten_without_force(mcp_gen: Run) -> None:
    Path("v").mkdir()
    mine = Path("v", f"{REVISIONS[0]}.json")
    mine.write_text('{"mine": true}')
    ran = mcp_gen("vectors", "--revision", REVISIONS[0], "--out", "v")
    assert ran.code == 2
    assert "foreign-file" in ran.err
    assert [path.name for path in Path("v").iterdir()] == [mine.name]
    assert mine.read_text() == '{"mine": true}'
    assert mcp_gen("vectors", "--revision", REVISIONS[0], "--out", "v", "--force").code == 0
    assert "vectors" in json.loads(mine.read_bytes())


def test_a_generated_package_is_no_folder_for_vectors(mcp_gen: Run) -> None:
    Path("pkg").mkdir()
    Path("pkg", "mcp-gen.lock").write_text("{}")
    ran = mcp_gen("vectors", "--revision", REVISIONS[0], "--out", "pkg", "--force")
    assert ran.code == 2
    assert "this folder contains a generated package" in ran.err
    assert [path.name for path in Path("pkg").iterdir()] == ["mcp-gen.lock"]


def test_a_file_in_place_of_the_folder_is_refused(mcp_gen: Run) -> None:
    Path("v").write_text("mine")
    for more in ([], ["--check"]):
        ran = mcp_gen("vectors", "--revision", REVISIONS[0], "--out", "v", *more)
        assert ran.code == 2
        assert "not-a-folder" in ran.err
    assert Path("v").read_text() == "mine"


def test_the_working_directory_cannot_be_the_folder(mcp_gen: Run) -> None:
    ran = mcp_gen("vectors", "--revision", REVISIONS[0], "--out", ".")
    assert ran.code == 2
    assert "inside-output" in ran.err
    assert not list(Path().iterdir())


def test_vectors_can_be_chosen_by_type_method_and_verdict() -> None:
    all_ = vectors(NEWEST)
    tools = VectorFilter(types=("Tool",), only=Validity.INVALID).of(all_).vectors
    assert {vector.subject.type for vector in tools} == {"Tool"}
    assert not any(vector.valid for vector in tools)
    both = VectorFilter(types=("Tool",), methods=("tools/list",)).of(all_).vectors
    assert {v.subject.type or v.subject.method for v in both} == {"Tool", "tools/list"}
    assert VectorFilter().of(all_) == all_
