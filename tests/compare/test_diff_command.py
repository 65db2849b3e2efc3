"""`mcp-gen diff`: what its arguments name, what its options leave out, and how it ends."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.canonical import sha256
from mcp_protogen.instep.compare import naming
from mcp_protogen.pipeline.inputs.pins import Pin, Publication, load_pins, read_snapshot
from support import formats
from support.missing import skip_untested
from support.running import Ran, Run

Json = dict[str, Any]
Command = Run

PAIR = ("2025-11-25", "2026-07-28")
SAME = ("2026-07-28", "2026-07-28")


SIZE = {"code": "field-added-optional", "item": "Tool.size"}


def changes(ran: Ran) -> list[Json]:
    found: list[Json] = json.loads(ran.out)["changes"]
    return found


def schema(**edits: Any) -> bytes:
    """The newest snapshot with members of `Tool` added."""
    document = json.loads(read_snapshot("2026-07-28"))
    document["$defs"]["Tool"]["properties"].update(edits)
    return json.dumps(document).encode()


# How it ends.


def test_differences_alone_are_no_failure(mcp_gen: Command) -> None:
    ran = mcp_gen("diff", *PAIR)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("2025-11-25 -> 2026-07-28\n")


def test_a_revision_does_not_differ_from_itself(mcp_gen: Command) -> None:
    ran = mcp_gen("diff", *SAME, "--fail-on", "any")
    assert (ran.code, ran.out, ran.err) == (0, "2026-07-28 -> 2026-07-28\n\nno changes\n", "")


@pytest.mark.parametrize(
    ("member", "severity", "code"),
    [
        ({"size": {"type": "integer"}}, "breaking", 0),
        ({"size": {"type": "integer"}}, "warning", 1),
        ({"size": {"type": "integer"}}, "any", 1),
        ({"title": {"type": "integer"}}, "breaking", 1),
    ],
)
def test_fail_on_sets_exit_code_from_its_severity(
    mcp_gen: Command, tmp_path: Path, member: Json, severity: str, code: int
) -> None:
    (tmp_path / "draft.json").write_bytes(schema(**member))
    assert mcp_gen("diff", "2026-07-28", "draft.json", "--fail-on", severity).code == code


def test_fail_on_uses_severity_for_named_reader(mcp_gen: Command, tmp_path: Path) -> None:
    # Servers send tools: a new limit for them breaks servers, but not clients.
    (tmp_path / "draft.json").write_bytes(schema(name={"type": "string", "maxLength": 9}))
    arguments = ("diff", "2026-07-28", "draft.json", "--fail-on", "breaking", "--for")
    assert mcp_gen(*arguments, "server").code == 1
    assert mcp_gen(*arguments, "client").code == 0


def test_changes_left_out_still_fail(mcp_gen: Command, tmp_path: Path) -> None:
    (tmp_path / "draft.json").write_bytes(schema(size={"type": "integer"}))
    ran = mcp_gen(
        *("diff", "2026-07-28", "draft.json", "--only", "breaking", "--fail-on", "any"),
        *("--format", "json"),
    )
    assert (ran.code, changes(ran)) == (1, [])


# What is shown.


def test_severe_changes_for_the_reader_are_shown(mcp_gen: Command) -> None:
    ran = mcp_gen("diff", *PAIR, "--for", "server", "--only", "warning", "--format", "json")
    levels = [change["severity"]["server"] for change in changes(ran)]
    assert {*levels} == {"breaking", "warning"} and levels == sorted(levels)


def test_a_page_has_a_column_for_each_side_and_each_pinned_revision(
    mcp_gen: Command, tmp_path: Path
) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "schema.json").write_bytes(schema(**{name: {"type": "string"}}))
    ran = mcp_gen("diff", "old/schema.json", "new/schema.json", "--format", "html")
    matrix = ran.out.partition('<section id="matrix"')[2]
    titles = re.findall(r'<th scope="col"[^>]*>([^<]+)</th>', matrix)
    assert [*titles[-len(load_pins()) - 2 :]] == [
        *sorted(load_pins()),
        "old/schema.json",
        "new/schema.json",
    ]


def test_text_of_others_cannot_steer_a_terminal(mcp_gen: Command, tmp_path: Path) -> None:
    evil = "x\x1b[2J\n::error::y"
    (tmp_path / "draft.json").write_bytes(schema(title={"type": "string", "default": evil}))
    for format in ("text", "github", "markdown"):
        ran = mcp_gen("diff", "2026-07-28", "draft.json", "--format", format)
        assert ran.code == 0
        assert "\x1b" not in ran.out
        assert "\n::error::y" not in ran.out


# What is known.


def test_known_changes_do_not_fail_and_new_ones_do(mcp_gen: Command, tmp_path: Path) -> None:
    compare = ("diff", "2026-07-28", "draft.json", "--baseline", "known.json", "--fail-on", "any")
    (tmp_path / "draft.json").write_bytes(schema(size={"type": "integer"}))
    ran = mcp_gen(*compare, "--write-baseline")
    assert (ran.code, ran.out, ran.err) == (0, "known.json: 1 change written\n", "")
    document = json.loads((tmp_path / "known.json").read_bytes())
    assert formats.faults("baseline", document) == []
    assert (document["revision"], document["findings"]) == ("2026-07-28", [SIZE])
    ran = mcp_gen(*compare)
    assert ran.code == 0
    assert ran.out.endswith("1 change, left out\n1 change known from the baseline\n")
    (tmp_path / "draft.json").write_bytes(schema(weight={"type": "integer"}))
    ran = mcp_gen(*compare, "--format", "json")
    document = json.loads(ran.out)
    assert formats.faults("comparison", document) == []
    assert (ran.code, document["known"], document["fixed"]) == (1, [], [SIZE])
    assert [change["item"] for change in document["changes"]] == ["Tool.weight"]
    assert "fixed: field-added-optional: Tool.size\n" in mcp_gen(*compare).out


def test_a_baseline_is_of_what_comes_first(mcp_gen: Command, tmp_path: Path) -> None:
    assert mcp_gen("diff", *PAIR, "--baseline", "known.json", "--write-baseline").code == 0
    assert mcp_gen("diff", *PAIR, "--baseline", "known.json", "--fail-on", "any").code == 0
    ran = mcp_gen("diff", "2025-06-18", "2026-07-28", "--baseline", "known.json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error[bad-baseline]: known.json: this is a baseline of 2025-11-25")
    assert mcp_gen("diff", *PAIR, "--write-baseline").err.startswith("error[conflicting-options]")


def test_ignored_changes_are_left_out_and_do_not_fail(mcp_gen: Command, tmp_path: Path) -> None:
    more: Json = {"size": {"type": "array", "items": {"type": "object", "properties": {"a": {}}}}}
    (tmp_path / "draft.json").write_bytes(schema(**more))
    left = {
        "field-added-optional": ["Tool.size[].a"],
        "field-*": [],
        "*:Tool.size[].a": ["Tool.size"],
        "*:Tool.s*": [],
        "field-added-inside:Tool.size": ["Tool.size", "Tool.size[].a"],
    }
    for entry, items in left.items():
        compare = ("diff", "2026-07-28", "draft.json", "--ignore", entry)
        ran = mcp_gen(*compare, "--fail-on", "any", "--format", "json")
        assert [change["item"] for change in changes(ran)] == items, entry
        assert ran.code == (1 if items else 0)
        said = mcp_gen(*compare).out.endswith(f"{2 - len(items)} changes ignored\n")
        assert said == (not items)
    ran = mcp_gen("diff", *PAIR, "--ignore", "field-add-optional")
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean field-added-optional" in ran.err


# Output.


def test_a_report_is_put_into_a_file(mcp_gen: Command, tmp_path: Path) -> None:
    printed = mcp_gen("diff", *PAIR, "--format", "markdown").out
    ran = mcp_gen("diff", *PAIR, "--format", "markdown", "--output", "changes.md")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert (tmp_path / "changes.md").read_text(encoding="utf-8") == printed


@pytest.mark.parametrize("place", ["nowhere/changes.md", "."])
def test_a_file_that_cannot_be_written_is_named(
    mcp_gen: Command, tmp_path: Path, place: str
) -> None:
    ran = mcp_gen("diff", *PAIR, "--output", place)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error[cannot-write]: {place}: ")
    assert [*tmp_path.iterdir()] == []


def test_failed_diff_keeps_old_output(mcp_gen: Command, tmp_path: Path) -> None:
    (tmp_path / "changes.md").write_text("old")
    assert mcp_gen("diff", "2025-11-25", "nothing.json", "--output", "changes.md").code == 2
    assert (tmp_path / "changes.md").read_text() == "old"


# What is named.


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("2025-11-26", "unknown-revision"),
        ("2025-11-26@1234", "unknown-revision"),
        ("2025-11-25@zzzz", "unknown-publication"),
        ("2025-11-25@", "unknown-publication"),
        ("2025-11-25@1", "unknown-publication"),
        ("2025-11-25@1ff", "unknown-publication"),
        ("2025-11-25@1ffe", "no-source"),
        ("2025-11-25@1ffe4c55", "no-source"),
        ("nothing.json", "unreadable-source"),
        ("2025-11-25=nothing.json", "unreadable-source"),
        ("2025-11-25=", "unknown-revision"),
        ("2025-11-26=draft.json", "unreadable-source"),
        (".", "unreadable-source"),
        ("http://127.0.0.1:1/schema.json", "unreadable-source"),
        ("ftp://example.org/schema.json", "unreadable-source"),
        ("empty.json", "not-json"),
        ("list.json", "not-a-schema"),
        ("", "unknown-revision"),
    ],
)
def test_incomparable_input_is_named(
    mcp_gen: Command, tmp_path: Path, name: str, code: str
) -> None:
    (tmp_path / "empty.json").touch()
    (tmp_path / "list.json").write_text("[]")
    for arguments in (("2025-11-25", name), (name, "2025-11-25")):
        ran = mcp_gen("diff", *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"error[{code}]: ")
        assert ran.err.count("error[") == 1


def test_a_revision_that_was_nearly_named_is_suggested(mcp_gen: Command) -> None:
    assert "did you mean 2025-11-25" in mcp_gen("diff", "2025-11-24", "2026-07-28").err


@pytest.mark.parametrize("format", ["json", "github"])
def test_programs_get_problems_in_their_format(mcp_gen: Command, format: str) -> None:
    ran = mcp_gen("diff", "2025-11-25", "nothing.json", "--format", format)
    assert (ran.code, ran.err) == (2, "")
    if format == "json":
        (problem,) = json.loads(ran.out)["problems"]
        assert problem["code"] == "unreadable-source"
    else:
        assert ran.out.startswith("::error ")


def edit_schema(content: bytes, *, size: Json | None = None) -> bytes:
    """A schema with other prose, and with a member of `Tool` more if one is given."""
    document = json.loads(content)
    tool = document.get("$defs", document.get("definitions"))["Tool"]
    tool["description"] = "Something to call."
    if size is not None:
        tool["properties"]["size"] = size
    return json.dumps(document).encode()


def test_a_file_takes_the_facts_of_the_other_side(
    mcp_gen: Command, tmp_path: Path, published_bytes: Callable[[str], bytes]
) -> None:
    for revision in load_pins():
        (tmp_path / "prose.json").write_bytes(edit_schema(published_bytes(revision)))
        (tmp_path / "more.json").write_bytes(
            edit_schema(published_bytes(revision), size={"type": "integer"})
        )
        ran = mcp_gen("diff", revision, "prose.json")
        assert (ran.code, ran.out, ran.err) == (0, f"{revision} -> prose.json\n\nno changes\n", "")
        for pair in ((revision, "more.json"), ("more.json", revision)):
            ran = mcp_gen("diff", *pair, "--format", "json")
            assert [change["item"] for change in changes(ran)] == ["Tool.size"], revision


def test_two_files_have_the_same_facts(
    mcp_gen: Command, tmp_path: Path, published_bytes: Callable[[str], bytes]
) -> None:
    for name, size in (("old", {"type": "integer"}), ("new", {"type": "number"})):
        (tmp_path / f"{name}.json").write_bytes(
            edit_schema(published_bytes("2025-03-26"), size=size)
        )
    for pair in (
        ("old.json", "new.json"),
        ("2025-03-26=old.json", "new.json"),
        ("old.json", "2025-03-26=new.json"),
    ):
        ran = mcp_gen("diff", *pair, "--format", "json")
        (change,) = changes(ran)
        assert (change["code"], change["item"]) == ("field-type-widened", "Tool.size")
        said = [note["message"] for note in json.loads(ran.out)["notes"]]
        assert any("both files" in line for line in said) == ("=" not in "".join(pair))


def test_a_file_that_differs_from_a_revision_in_prose_alone_has_its_facts(
    mcp_gen: Command, tmp_path: Path, published_bytes: Callable[[str], bytes]
) -> None:
    (tmp_path / "prose.json").write_bytes(edit_schema(published_bytes("2026-07-28")))
    ran = mcp_gen("diff", "2025-11-25", "prose.json", "--format", "json")
    pinned = mcp_gen("diff", *PAIR, "--format", "json")
    assert changes(ran) == changes(pinned)


def test_how_sessions_open_is_read_off_the_file_whoevers_facts_it_has(
    mcp_gen: Command, tmp_path: Path, published_bytes: Callable[[str], bytes]
) -> None:
    for before, after in (PAIR, PAIR[::-1]):
        (tmp_path / "other.json").write_bytes(published_bytes(after))
        ran = mcp_gen("diff", before, f"{before}=other.json", "--format", "json")
        (era,) = (change for change in changes(ran) if change["code"] == "era-changed")
        assert (era["before"] == "handshake") == (before == "2025-11-25")


def test_a_file_takes_the_facts_of_the_revision_before_its_name(
    mcp_gen: Command, tmp_path: Path
) -> None:
    (tmp_path / "mine.json").write_bytes(read_snapshot("2025-11-25"))
    ran = mcp_gen("diff", "2025-11-25", "2025-11-25=mine.json")
    assert (ran.code, ran.out, ran.err) == (0, "2025-11-25 -> mine.json\n\nno changes\n", "")


def test_a_publication_is_known_by_its_bytes(
    mcp_gen: Command, tmp_path: Path, published_bytes: Callable[[str], bytes]
) -> None:
    (tmp_path / "found.json").write_bytes(published_bytes("2025-03-26"))
    ran = mcp_gen("diff", "2025-03-26", "found.json")
    assert (ran.code, ran.out, ran.err) == (0, "2025-03-26 -> found.json\n\nno changes\n", "")


def test_notes_about_a_file_go_to_the_error_stream(mcp_gen: Command, tmp_path: Path) -> None:
    document = json.loads(schema())
    del document["$defs"]["ClientRequest"]["anyOf"][0]
    (tmp_path / "draft.json").write_text(json.dumps(document))
    ran = mcp_gen("diff", "2026-07-28", "draft.json")
    assert ran.code == 0
    assert ran.err.startswith("warning[facts-disagree]: ")


# Earlier publications.


@pytest.fixture
def earlier(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Publication:
    """Return an earlier publication of 2026-07-28, and a clone that has both."""
    if shutil.which("git") is None:
        skip_untested("git", "how clones are read")
    first, second = schema(), schema(size={"type": "integer"})
    clone = tmp_path / "clone"
    file = clone / "schema" / "2026-07-28" / "schema.json"
    file.parent.mkdir(parents=True)
    git("init", "-q", str(clone))
    commits: list[str] = []
    for content in (first, second):
        file.write_bytes(content)
        git("-C", str(clone), "add", ".")
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        git("-C", str(clone), *identity, "commit", "-q", "-m", "x")
        commits.append(git("-C", str(clone), "rev-parse", "HEAD").strip())
    publication = Publication(sha256(first), commits[0], "2026-07-28")
    pins = dict(load_pins())
    pins["2026-07-28"] = with_history(pins["2026-07-28"], publication)
    monkeypatch.setattr(naming, "load_pins", lambda: pins)
    return publication


def with_history(pin: Pin, publication: Publication) -> Pin:
    return pin._replace(history=(*pin.history, publication))


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.parametrize("by", ["sha256", "spec_commit"])
def test_an_earlier_publication_comes_out_of_a_clone(
    mcp_gen: Command, earlier: Publication, by: str
) -> None:
    name = getattr(earlier, by)[:10]
    ran = mcp_gen("diff", f"2026-07-28@{name}", "clone/schema/2026-07-28/schema.json",
                  "--source", "clone", "--format", "json")  # fmt: skip
    assert ran.code == 0
    assert json.loads(ran.out)["before"] == f"2026-07-28@{earlier.sha256[:8]}"
    assert [(change["code"], change["item"]) for change in changes(ran)] == [
        ("field-added-optional", "Tool.size")
    ]


def test_a_clone_without_the_commit_is_named(
    mcp_gen: Command, earlier: Publication, tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "clone" / ".git")
    git("init", "-q", str(tmp_path / "clone"))
    ran = mcp_gen("diff", f"2026-07-28@{earlier.sha256[:10]}", "2026-07-28", "--source", "clone")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error[unknown-ref]: clone: ")


def test_folder_with_another_publication_is_refused(
    mcp_gen: Command, earlier: Publication, tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "clone" / ".git")
    ran = mcp_gen("diff", f"2026-07-28@{earlier.sha256[:10]}", "2026-07-28", "--source", "clone")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error[unknown-publication]: clone: ")


def test_folder_with_the_publication_is_accepted(
    mcp_gen: Command, earlier: Publication, tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "clone" / ".git")
    (tmp_path / "clone" / "schema" / "2026-07-28" / "schema.json").write_bytes(schema())
    ran = mcp_gen("diff", f"2026-07-28@{earlier.sha256[:10]}", "2026-07-28", "--source", "clone")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "no changes")


def test_the_pinned_publication_needs_no_source(mcp_gen: Command) -> None:
    digest = load_pins()["2026-07-28"].published.sha256[:8]
    ran = mcp_gen("diff", "2026-07-28", f"2026-07-28@{digest}")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "no changes")


def test_without_patches_what_we_mend_is_a_difference(mcp_gen: Command) -> None:
    as_published = changes(mcp_gen("diff", *PAIR, "--as-published", "--format", "json"))
    mended = changes(mcp_gen("diff", *PAIR, "--format", "json"))
    assert as_published != mended


# What it costs.


def test_two_revisions_are_compared_without_the_libraries_that_generate() -> None:
    program = (
        "import sys; from mcp_protogen.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'black', 'datamodel_code_generator', 'jinja2', 'jsonschema'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    for format in ("text", "json", "markdown", "github"):
        done = subprocess.run(
            [sys.executable, "-c", program, "diff", *PAIR, "--format", format],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.splitlines()[-1] == "[]"
