"""Digests of inputs: exactly the relevant changes move them."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.canonical import digest_files, sha256
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.inputs.inputs import read_inputs
from mcp_protogen.pipeline.package import RevisionInputs
from support.tables import case

REVISION = "2025-11-25"
# Importing `dataclasses` and defining twenty classes takes a quarter of a check's time.
HEAVY = {
    "black",
    "dataclasses",
    "datamodel_code_generator",
    "jinja2",
    "jsonschema",
    "pydantic",
    "typer",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(schema_folder(), tmp_path / "schema"))


def inputs(folder: Path, revision: str = REVISION) -> RevisionInputs:
    return read_inputs(GenerationOptions((revision,)), folder).revisions[revision]


def change(file: Path, **members: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **members}))


def moved_fields(before: RevisionInputs, after: RevisionInputs) -> set[str]:
    names = RevisionInputs._fields
    return {name for name in names if getattr(before, name) != getattr(after, name)}


def test_digest_of_files_depends_on_their_paths_and_contents(tmp_path: Path) -> None:
    for place, content in (("1/a", b"x"), ("2/a", b"y"), ("3/b", b"x"), ("4/b/a", b"x")):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(content)
    shutil.copytree(tmp_path / "1", tmp_path / "5")
    folders = [tmp_path / name for name in "12345"]
    digests = [
        digest_files(folder, (file for file in folder.rglob("*") if file.is_file()))
        for folder in folders
    ]
    assert digests[0] == digests[4]
    assert len(set(digests)) == 4


def test_a_pinned_revision_is_known_by_its_pin(folder: Path) -> None:
    found = inputs(folder)
    assert found.source == "pinned"
    assert found.published.startswith("268a5f82")
    assert (found.spec_commit or "").startswith("c4c367f9f582")


def test_rules_include_all_that_the_way_from_the_older_revision_needs(folder: Path) -> None:
    def of_way() -> list[str]:
        ways = (("2025-06-18", "2026-07-28"), (REVISION, "2026-07-28"), ("2026-07-28",))
        found = (read_inputs(GenerationOptions(way), folder) for way in ways)
        return [inputs.revisions["2026-07-28"].rules for inputs in found]

    before = of_way()
    change(folder / REVISION / "translation.json", extra=1)
    after = of_way()
    assert before[0] != after[0]
    assert before[1:] == after[1:]


def test_a_changed_file_moves_the_digest_that_it_is_part_of_alone(folder: Path) -> None:
    (folder / REVISION / "wires.json").write_text("{}")
    for file, members, moved in (
        (f"{REVISION}/facts.json", {"extra": 1}, "facts"),
        (f"{REVISION}/wires.json", {"extra": 1}, "schema"),
        (f"{REVISION}/patches.json", {"extra": 1}, "patches"),
        # Facts are inherited, and rules follow names that earlier revisions changed.
        ("2024-11-05/facts.json", {"more": 1}, "facts"),
        ("2025-06-18/translation.json", {"became": {"tools/call": "tools/run"}}, "rules"),
    ):
        with case(file):
            before = inputs(folder)
            change(folder / file, **members)
            assert moved_fields(before, inputs(folder)) == {moved}


def test_descriptions_of_another_revision_move_nothing(folder: Path) -> None:
    before = inputs(folder)
    change(folder / "descriptions.json", overrides={"2026-07-28": {"types": {"A": "x"}}})
    first = inputs(folder)
    change(folder / "descriptions.json", overrides={"2026-07-28": {"types": {"A": "y"}}})
    assert moved_fields(first, inputs(folder)) == set()
    change(folder / "descriptions.json", overrides={REVISION: {"types": {"A": "x"}}})
    assert moved_fields(before, inputs(folder)) == {"descriptions"}


def test_an_unpinned_revision_lives_on_the_files_of_another(folder: Path) -> None:
    content = b'{"$defs": {"A": {"description": "words"}}}'
    options = GenerationOptions(("2025-12-01",), {"2025-12-01": GivenFile("draft.json", content)})
    found = read_inputs(options, folder).revisions["2025-12-01"]
    assert (found.source, found.published) == ("draft.json", sha256(content))
    assert found.schema == sha256(b'{"$defs": {"A": {}}}\n')
    assert (found.facts, found.patches) == (inputs(folder).facts, inputs(folder).patches)
    (folder / REVISION / "wires.json").write_text('{"wires": {}}')
    joined = read_inputs(options, folder).revisions["2025-12-01"]
    assert moved_fields(found, joined) == {"schema"}


def test_kept_revisions_are_listed_as_they_were(folder: Path) -> None:
    kept = {"draft": inputs(folder)}
    found = read_inputs(GenerationOptions((REVISION,), kept=kept), folder)
    assert list(found.revisions) == [REVISION, "draft"]


def test_neither_reading_nor_comparing_imports_anything_heavy() -> None:
    reading = "mcp_protogen.pipeline.commands", "mcp_protogen.cli"
    comparing = "mcp_protogen.instep.compare.compare_revisions", "mcp_protogen.servers.clients.lock"
    for modules, heavy in {reading: HEAVY, comparing: HEAVY - {"dataclasses"}}.items():
        with case(modules):
            code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
            command = [sys.executable, "-c", code]
            ran = subprocess.run(command, capture_output=True, text=True, check=True)
            assert heavy & set(ran.stdout.split()) == set()
