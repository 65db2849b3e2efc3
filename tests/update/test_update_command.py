"""`mcp-gen update` from the command line."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

import pytest
from mcp_protogen.base import resources
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.inputs.pins import load_pins
from support import formats, tables
from support.running import Run
from support.update.specifications import (
    NEWEST,
    OLDER,
    Spec,
    commit_folder,
    pages_of,
    reword,
    serving,
    with_an_owner,
    with_things,
)

NEXT = "2031-01-01"
HERE = ("--source", "spec", "--schema-folder", "schema-folder")


def contents(folder: Path) -> Mapping[str, str]:
    """Every file in a folder, by its digest."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}


def test_unchanged_source_is_reported(mcp_gen: Run, spec: Spec) -> None:
    ran = mcp_gen("update", *HERE)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"nothing has moved: {len(load_pins(spec.schema))} revisions at spec\n"


def test_report_can_be_written_to_file(mcp_gen: Run, spec: Spec) -> None:
    said = mcp_gen("update", *HERE).out
    assert mcp_gen("update", *HERE, "-o", "said.txt").out == ""
    assert Path("said.txt").read_text() == said
    ran = mcp_gen("update", *HERE, "--output", "no-such-folder/said.txt")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error[cannot-write]: ")


def test_the_published_files_are_what_is_pinned(
    mcp_gen: Run, published_bytes: Callable[[str], bytes], tmp_path: Path
) -> None:
    real = Spec(tmp_path / "real", schema_folder())
    for revision in load_pins():
        real.write(revision, published_bytes(revision))
    assert mcp_gen("update", "--source", "real").code == 0


def test_packages_are_searched_for_only_where_there_is_news(mcp_gen: Run, spec: Spec) -> None:
    Path("pkg").mkdir()
    Path("pkg", "mcp-gen.lock").write_text("no lock")
    assert mcp_gen("update", *HERE).err == ""
    spec.edit(OLDER, reword)
    assert mcp_gen("update", *HERE).err.startswith("warning[bad-lock]: ")


def test_changes_are_shown_without_writing(mcp_gen: Run, spec: Spec, tmp_path: Path) -> None:
    spec.edit(OLDER, with_an_owner)
    spec.edit(NEWEST, with_things, to=NEXT)
    before = contents(tmp_path)
    ran = mcp_gen("update", *HERE)
    assert (ran.code, ran.err) == (1, "")
    assert f"{OLDER} has moved\n  pinned   " in ran.out
    assert f"  found    {spec.digest(OLDER)[:12]}\n" in ran.out
    assert "Tool.owner" in ran.out
    assert f"{NEXT} is new\n  pinned   nothing yet; it is compared with {NEWEST}\n" in ran.out
    assert "things/list" in ran.out
    assert ran.out.endswith(f"2 of 6 revisions at spec: {OLDER}, {NEXT}\n")
    assert contents(tmp_path) == before


def test_the_comparison_is_that_of_what_is_pinned_with_what_was_found(
    mcp_gen: Run, spec: Spec
) -> None:
    spec.edit(OLDER, with_an_owner)
    document = json.loads(mcp_gen("update", *HERE, "--format", "json").out)
    (finding,) = [row["finding"] for row in document["revisions"] if row["finding"]]
    changed = {change["item"] for change in finding["comparison"]["changes"]}
    assert changed == {"Tool.owner"}
    assert finding["comparison"]["before"] == f"{OLDER} as pinned"
    assert finding["pointers"] == ["/$defs/Tool/properties/owner", "/$defs/Tool/required"]
    assert not finding["only_prose"]
    assert {patch["fit"] for patch in finding["patches"]} == {"fits"}


def test_prose_alone_is_no_change_of_meaning(mcp_gen: Run, spec: Spec) -> None:
    spec.edit(OLDER, reword)
    ran = mcp_gen("update", *HERE, "--format", "json")
    (finding,) = [row["finding"] for row in json.loads(ran.out)["revisions"] if row["finding"]]
    assert ran.code == 1
    assert finding["only_prose"]
    assert finding["comparison"]["changes"] == []


def test_a_patch_that_upstream_has_made_needless_is_named(mcp_gen: Run, spec: Spec) -> None:
    entries = json.loads((spec.schema / OLDER / "patches.json").read_text())["patches"]
    number, patch = next(
        (n, entry) for n, entry in enumerate(entries) if "ElicitResult" in entry["pointer"]
    )
    spec.edit(
        OLDER,
        lambda document: document["$defs"]["ElicitResult"]["properties"]["content"][
            "additionalProperties"
        ]["anyOf"][1].update(type=patch["now"]),
    )
    ran = mcp_gen("update", *HERE)
    assert f"patches: {len(entries) - 1} still needed, 1 fixed upstream\n" in ran.out
    assert "ElicitResult.content" in ran.out  # compared as published: mending it is a difference
    place = f"schema/{OLDER}/patches.json#/patches/{number}"
    assert f"{place}, {patch['pointer']}: upstream fixed this: drop the entry\n" in ran.out
    assert "it cannot be generated from" not in ran.out


def test_accepted_change_is_not_reported_again(mcp_gen: Run, spec: Spec) -> None:
    spec.edit(OLDER, with_an_owner)
    digest = spec.digest(OLDER)
    ran = mcp_gen("update", *HERE, "--accept", digest[:12], "--note", "Tools are owned.")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"{OLDER} is pinned to {digest[:12]}\n")
    assert "Tool.owner: is required" in ran.out  # open decisions
    pin = load_pins(spec.schema)[OLDER]
    assert (pin.published.sha256, pin.published.note) == (digest, "Tools are owned.")
    assert mcp_gen("update", *HERE).code == 0
    assert mcp_gen("schema", "verify", "--schema-folder", "schema-folder").code == 0


def test_a_clone_tells_commit_and_day(mcp_gen: Run, spec: Spec) -> None:
    spec.edit(NEWEST, with_things, to=NEXT)
    commit = commit_folder(spec.folder)
    ran = mcp_gen("update", *HERE)
    found = f"{spec.digest(NEXT)[:12]}, published 2031-05-06 in commit {commit[:12]}"
    assert f"  found    {found}\n" in ran.out
    assert f"revisions at spec at {commit[:12]}: {NEXT}\n" in ran.out
    mcp_gen("update", *HERE, "--accept", spec.digest(NEXT))
    published = load_pins(spec.schema)[NEXT].published
    assert (published.spec_commit, published.date) == (commit, "2031-05-06")


def test_a_server_is_looked_at_with_a_cache(mcp_gen: Run, spec: Spec) -> None:
    with serving(pages_of(spec)) as site:
        where = ("--source", site.url, "--schema-folder", "schema-folder", "--cache", "kept")
        for _ in range(2):
            ran = mcp_gen("update", *where)
            assert ran.code == 0
            assert ran.err.startswith("warning[not-looked-for]: ")
        path = f"/schema/{OLDER}/schema.json"
        assert site.statuses(path) == [200, 304]
        site.pages[path] = spec.edit(OLDER, reword)
        assert mcp_gen("update", *where).code == 1


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"<html>not found</html>", "not-json"),
        (b"", "not-json"),
        (b"[]", "not-a-schema"),
        (b'{"type": "object"}', "not-a-schema"),
        (b'{"$defs": {"A": {"type": "thing"}}}', "not-a-schema"),
        (b'{"$defs": []}', "not-a-schema"),
    ],
)
@pytest.mark.parametrize("accepting", [False, True])
def test_a_file_that_is_no_schema_is_one_error_that_names_it(
    mcp_gen: Run, spec: Spec, tmp_path: Path, content: bytes, code: str, accepting: bool
) -> None:
    spec.write(OLDER, content)
    before = contents(tmp_path)
    accept = ("--accept", sha256(content).hexdigest()) if accepting else ()
    ran = mcp_gen("update", *HERE, *accept)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error[{code}]: spec/schema/{OLDER}/schema.json")
    assert ran.err.count("error[") == 1
    assert contents(tmp_path) == before


def test_a_schema_of_something_else_is_shown_with_what_is_wrong(mcp_gen: Run, spec: Spec) -> None:
    spec.write(OLDER, b'{"$defs": {"A": {"type": "object"}}}')
    ran = mcp_gen("update", *HERE)
    assert ran.code == 1
    assert "with unknown effects" in ran.out
    assert "nothing can be generated from this schema:\n" in ran.out
    assert "the schema does not define ClientRequest" in ran.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--source", "nowhere"), "not-a-source"),
        (("--source", ""), "not-a-source"),
        (("../x", "--source", "spec"), "unsafe-name"),
        (("--source", "http://127.0.0.1:9/x"), "unreadable-source"),
        (("--source", "spec", "--ref", "main"), "conflicting-options"),
        (("--source", "spec", "--schema-folder", "nowhere"), "bad-pins"),
        (("--source", "spec", "--package", "nowhere"), "no-lock"),
        (("--source", "spec", "--cache", "file"), "bad-cache"),
        (("--source", "spec", "--accept", "123"), "bad-digest"),
        (("--source", "spec", "--accept", "0" * 12), "unknown-candidate"),
        (("--source", "spec", "--note", "A note."), "conflicting-options"),
        (("draft", "--source", "spec"), "unknown-revision"),
        (("draft", "--source", "spec", "--ignore", "draft"), "conflicting-options"),
    ],
)
def test_wrong_use_is_one_error_and_nothing_is_written(
    mcp_gen: Run, spec: Spec, tmp_path: Path, arguments: tuple[str, ...], code: str
) -> None:
    Path("file").write_text("")
    before = contents(tmp_path)
    folder = () if "--schema-folder" in arguments else ("--schema-folder", str(spec.schema))
    ran = mcp_gen("update", *arguments, *folder)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error[{code}]: ")
    assert ran.err.count("error[") == 1
    assert contents(tmp_path) == before


def test_a_failure_has_the_requested_format(mcp_gen: Run, spec: Spec) -> None:
    wrong = ("update", "--source", "nowhere", "--format")
    ran = mcp_gen(*wrong, "json")
    assert (ran.code, ran.err) == (2, "")
    assert formats.faults("update", ran.out) == []
    assert json.loads(ran.out)["problems"][0]["code"] == "not-a-source"
    ran = mcp_gen(*wrong, "github")
    assert (ran.code, ran.err) == (2, "")
    assert ran.out.startswith("::error file=nowhere,title=not-a-source::")
    ran = mcp_gen(*wrong, "markdown")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error[not-a-source]")


def test_conflicting_options_are_reported_in_the_requested_format(
    mcp_gen: Run,
) -> None:
    for given in (("--note", "A note."), ("draft", "--extension", "x")):
        with tables.case(given):
            ran = mcp_gen("update", *given, "--format", "json")
            assert (ran.code, ran.err) == (2, "")
            assert json.loads(ran.out)["problems"][0]["code"] == "conflicting-options"


def test_the_repository_of_the_pins_is_looked_at_by_default(
    mcp_gen: Run, spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcp_protogen.pipeline.sources import github_source

    spec.edit(OLDER, reword)
    repository = "/modelcontextprotocol/modelcontextprotocol"
    with serving(pages_of(spec, f"{repository}/HEAD")) as site:
        monkeypatch.setattr(github_source, "RAW", site.url)
        monkeypatch.setattr(github_source, "API", site.url)
        ran = mcp_gen("update", "--schema-folder", "schema-folder")
    assert ran.code == 1
    assert f"at https://github.com{repository}: {OLDER}\n" in ran.out
    monkeypatch.setattr(github_source, "RAW", "http://127.0.0.1:9")
    ran = mcp_gen("update", "--schema-folder", "schema-folder")
    assert ran.code == 2
    assert "hint: if it cannot be reached, name a clone" in ran.err
    ran = mcp_gen("update", "--source", "http://127.0.0.1:9", *HERE[2:])
    assert "hint:" not in ran.err


def test_pins_of_several_repositories_ask_for_a_source(mcp_gen: Run, spec: Spec) -> None:
    pins = json.loads((spec.schema / "pins.json").read_text())
    pins["revisions"][OLDER]["repository"] = "https://github.com/some/spec"
    (spec.schema / "pins.json").write_text(json.dumps(pins))
    ran = mcp_gen("update", "--schema-folder", "schema-folder")
    assert ran.code == 2
    assert ran.err.startswith("error[ambiguous-source]")
    assert mcp_gen("update", *HERE).code == 0


@pytest.mark.usefixtures("little")
def test_a_package_is_out_of_date_once_its_pin_has_moved(
    mcp_gen: Run, spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = resources.folder

    def folder(name: str) -> Path:
        return spec.schema if name == "schema" else usual(name)

    monkeypatch.setattr(resources, "folder", folder)
    assert mcp_gen("--revision", OLDER, "--out", "pkg").code == 0
    spec.edit(OLDER, with_an_owner)
    ran = mcp_gen("update", "--source", "spec")
    assert ran.code == 1 and "pkg: made from the pinned file; its code may change" in ran.out
    assert mcp_gen("--check", "--out", "pkg").code == 0
    assert mcp_gen("update", "--source", "spec", "--accept", spec.digest(OLDER)).code == 0
    ran = mcp_gen("--check", "--out", "pkg")
    assert ran.code == 1
    assert ran.out.startswith(f"schema-moved: {OLDER}: its published schema changed (")
    assert mcp_gen("--out", "pkg").code == mcp_gen("--check", "--out", "pkg").code == 0


def test_a_look_that_finds_nothing_loads_no_library_that_generates(spec: Spec) -> None:
    program = (
        "import sys; from mcp_protogen.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'black', 'datamodel_code_generator', 'jinja2', 'jsonschema'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "update", *HERE],
        cwd=spec.folder.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
