"""Patches of the user: their sources, their places, and their faults."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.config import FileOf, GenerationOptions, GivenFile, GivenPatches
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs import sources
from mcp_protogen.pipeline.inputs.inputs import read_inputs
from mcp_protogen.pipeline.inputs.own_patches import read_patches
from mcp_protogen.pipeline.ir import ObjectIR
from mcp_protogen.pipeline.settings import load_settings
from support import tables
from support.running import Run

REVISION = "2025-11-25"
DEFAULT = "/$defs/NumberSchema/properties/default/type"
WIDER = {"pointer": DEFAULT, "was": "number", "now": ["integer", "number"]}


def own(*entries: Any, revision: str = REVISION) -> GivenPatches:
    return GivenPatches(revision, entries, "mine.json", "/patches")


def with_patches(*given: GivenPatches) -> GenerationOptions:
    return GenerationOptions((REVISION,), patches=given)


def member(options: GenerationOptions) -> str:
    """Return the derived type of the default of a number field."""
    ir = derive_revision(sources.load(REVISION, options)).ir
    found = next(type_ for type_ in ir.types if type_.name == "NumberSchema")
    assert isinstance(found, ObjectIR)
    return repr(next(field.type for field in found.fields if field.wire == "default"))


def test_those_of_another_revision_are_left_alone() -> None:
    assert "integer" not in member(with_patches(own(WIDER, revision="2026-07-28")))


def test_unfitting_patch_names_its_file_and_place() -> None:
    for given, place in (
        (own(WIDER, WIDER), "mine.json#/patches/1"),
        (GivenPatches("", (WIDER, WIDER), "pyproject.toml", "/tool/x"), "pyproject.toml#/tool/x/1"),
    ):
        with tables.case(place), pytest.raises(ProblemError) as caught:
            member(with_patches(given))
        (problem,) = caught.value.problems
        assert (problem.code, problem.place) == ("stale-patch", place)
        assert problem.message.startswith(DEFAULT)


def test_own_patches_change_digest_of_their_revision_only() -> None:
    def digests(*given: GivenPatches) -> dict[str, str]:
        options = GenerationOptions((REVISION, "2026-07-28"), patches=given)
        revisions = read_inputs(options).revisions
        return {name: found.patches for name, found in revisions.items()}

    before, after = digests(), digests(own(WIDER))
    assert before[REVISION] != after[REVISION]
    assert before["2026-07-28"] == after["2026-07-28"]
    assert digests(own()) == before
    # A patch has text for readers, like our own.
    assert digests(own({**WIDER, "reason": "Why."})) != after


def test_an_entry_of_the_wrong_format_is_named() -> None:
    for entry, said in (
        ("x", "must be an object"),
        ({"now": 1}, "pointer must be"),
        ({"pointer": "$defs/A", "now": 1}, "begins with a slash"),
        ({"pointer": "/$defs/A"}, "was, now or both"),
        ({"pointer": "/$defs/A", "now": 1, "wass": 1}, "no member 'wass'"),
        ({"pointer": "/$defs/A", "now": 1, "reason": 1}, "reason must be a string"),
    ):
        with tables.case(entry), pytest.raises(ProblemError, match=said) as caught:
            read_patches([own(WIDER, entry)], lambda _: GivenFile("", b""))
        (problem,) = caught.value.problems
        assert (problem.code, problem.place) == ("bad-form", "mine.json")
        assert problem.pointer == "/patches/1"


def test_a_file_is_read_and_one_without_patches_is_refused() -> None:
    def read(content: str) -> tuple[GivenPatches, ...]:
        named = [FileOf(REVISION, "a/mine.json")]
        return read_patches(named, lambda name: GivenFile(Path(name).name, content.encode()))

    (found,) = read(json.dumps({"patches": [WIDER]}))
    assert found == GivenPatches(REVISION, (WIDER,), "a/mine.json", "/patches")
    for content, code in (("[]", "bad-form"), ("{}", "bad-form"), ("{", "not-json")):
        with tables.case(content), pytest.raises(ProblemError, match=code):
            read(content)


def test_pyproject_has_files_or_entries(tmp_path: Path) -> None:
    listed = '"*" = [\n  { pointer = "/a", was = "b" },\n]'
    table = f'[tool.mcp-gen.patches]\n{listed}\n"2025-11-25" = "b.json"\n'
    place = str(tmp_path / "pyproject.toml")
    inline = GivenPatches("", ({"pointer": "/a", "was": "b"},), place, "/tool/mcp-gen/patches/*")
    for text, expected in (
        ('patches = "a.json"', (FileOf("", str(tmp_path / "a.json")),)),
        ('patches = ["2025-11-25=a.json"]', (FileOf(REVISION, str(tmp_path / "a.json")),)),
        (table, (inline, FileOf(REVISION, str(tmp_path / "b.json")))),
    ):
        (tmp_path / "pyproject.toml").write_text(f"[tool.mcp-gen]\n{text}")
        with tables.case(text):
            assert load_settings(tmp_path).patches == expected
    for text, code in (
        ('patches = "../a.json"', "outside-project"),
        ('patches = { "2025-11-25" = "http://a/b" }', "outside-project"),
        ('patches = { "2025-11-25" = [{ pointer = "/a", now = 1979-05-27 }] }', "bad-config"),
        ("patches = 1", "bad-config"),
    ):
        (tmp_path / "pyproject.toml").write_text(f"[tool.mcp-gen]\n{text}")
        with tables.case(text), pytest.raises(ProblemError, match=f"{code}.*patches"):
            load_settings(tmp_path)


@pytest.mark.usefixtures("little")
def test_the_command_takes_files_for_revisions_that_it_generates(mcp_gen: Run) -> None:
    Path("mine.json").write_text(json.dumps({"patches": [WIDER]}))
    one = ("--revision", REVISION, "--out", "pkg")
    assert mcp_gen(*one, "--patches", f"{REVISION}=mine.json").code == 0
    assert mcp_gen(*one, "--patches", "mine.json", "--check").code == 0
    assert "patches-moved: 2025-11-25" in mcp_gen(*one, "--check").out
    ran = mcp_gen(*one, "--patches", "2025-11-26=mine.json")
    assert ran.code == 2
    assert "error[unused-file]: mine.json: this is for revision '2025-11-26'" in ran.err
    assert "did you mean 2025-11-25?" in ran.err


@pytest.mark.usefixtures("little")
def test_a_revision_on_the_command_line_leaves_out_patches_and_schemas_of_others(
    mcp_gen: Run,
) -> None:
    Path("draft.json").write_text('{"$defs": {}}')
    Path("pyproject.toml").write_text(
        '[tool.mcp-gen]\nout = "pkg"\nschemas = { draft = "draft.json" }\n'
        'patches = { draft = [{ pointer = "/a", now = 1 }] }'
    )
    assert mcp_gen("--revision", REVISION).code == 0
    assert mcp_gen("--revision", f"{REVISION},draft").code == 0
    ran = mcp_gen("--revision", "all")
    assert ran.code == 0, "draft is in the package"
    assert "unused-file" in mcp_gen("--revision", "all", "--out", "other").err
