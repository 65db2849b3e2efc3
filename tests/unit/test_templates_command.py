"""`mcp-gen templates`: the list, copies of templates, and the contract of a folder."""

import json
from pathlib import Path

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.base.resources import templates_folder
from mcp_protogen.cli import completion
from mcp_protogen.pipeline import templates
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.emit.template_contract import NAMES, idle
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.inputs import own_templates
from mcp_protogen.pipeline.inputs.own_templates import STATEMENT, TEMPLATE_CONTRACT, read_statement
from mcp_protogen.pipeline.parts import PARTS
from support import formats, tables
from support.running import Run
from support.unit.packages import contents

EXPORT = ("templates", "export", "--out", "mine")
FOLDER = templates_folder() / "package"
OURS = f"contract = {TEMPLATE_CONTRACT}"


def test_all_are_listed_with_what_they_print(mcp_gen: Run) -> None:
    ran = mcp_gen("templates")
    heading, *lines = ran.out.splitlines()
    assert (ran.code, ran.err) == (0, "") and f"contract {TEMPLATE_CONTRACT}" in heading
    assert [line.split()[0] for line in lines] == list(NAMES)
    text = mcp_gen("templates", "--format", "json").out
    assert formats.faults("report", text) == []
    assert [row["template"] for row in json.loads(text)["templates"]] == list(NAMES)


def test_names_complete_in_a_shell() -> None:
    assert completion.template("app") == ["apps.py.jinja", "app.py.jinja"]


def test_some_or_all_are_written_with_their_contract(mcp_gen: Run) -> None:
    ran = mcp_gen(*EXPORT, "app.py.jinja", "_macros.jinja")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-1] == f"mine: 3 files written, contract {TEMPLATE_CONTRACT}"
    assert set(contents(Path("mine"))) == {"app.py.jinja", "_macros.jinja", STATEMENT}
    assert mcp_gen(*EXPORT).code == 0
    found = contents(Path("mine"))
    assert {name: found[name] for name in NAMES} == {
        name: (FOLDER / name).read_bytes() for name in NAMES
    }
    assert set(read_statement(Path("mine")).exported) == set(NAMES)
    assert mcp_gen(*EXPORT, "--format", "json").code == 0
    assert mcp_gen(*EXPORT).out == f"mine: 0 files written, contract {TEMPLATE_CONTRACT}\n"


def test_edited_templates_are_overwritten_only_by_force(mcp_gen: Run) -> None:
    mcp_gen(*EXPORT, "app.py.jinja")
    mine = Path("mine", "app.py.jinja")
    mine.write_text("mine")
    before = contents(Path("mine"))
    ran = mcp_gen(*EXPORT)
    assert ran.code == 2 and f"error[edited-file]: {mine}" in ran.err
    assert contents(Path("mine")) == before
    assert mcp_gen(*EXPORT, "client.py.jinja").code == 0
    assert mine.read_text() == "mine"
    assert mcp_gen(*EXPORT, "--force").code == 0
    assert mine.read_bytes() == (FOLDER / mine.name).read_bytes()


def test_exported_template_without_edits_is_updated(
    mcp_gen: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mcp_gen(*EXPORT, "app.py.jinja")
    newer = tmp_path / "package" / "app.py.jinja"
    newer.parent.mkdir()
    newer.write_bytes(b"later")
    monkeypatch.setattr("mcp_protogen.pipeline.templates.templates_folder", lambda: tmp_path)
    assert mcp_gen(*EXPORT, "app.py.jinja").code == 0
    assert Path("mine", "app.py.jinja").read_bytes() == b"later"


def test_unknown_names_are_answered_with_the_nearest(mcp_gen: Run) -> None:
    ran = mcp_gen(*EXPORT, "server.py", "app.py.jinja", "xyz")
    assert ran.code == 2 and not Path("mine").exists()
    assert "error[unknown-template]: there is no template 'server.py'" in ran.err
    assert "did you mean server.py.jinja" in ran.err
    assert "mcp-gen templates lists them" in ran.err


def test_links_and_files_in_the_way_are_left_alone(mcp_gen: Run) -> None:
    Path("elsewhere").write_text("other")
    Path("mine").mkdir()
    Path("mine", STATEMENT).write_text(OURS)
    Path("mine", "app.py.jinja").symlink_to(Path("elsewhere").resolve())
    Path("mine", "client.py.jinja").mkdir()
    ran = mcp_gen(*EXPORT, "--force")
    assert ran.code == 2 and ran.err.count("error[foreign-file]") == 2
    assert Path("elsewhere").read_text() == "other"
    ran = mcp_gen("templates", "export", "--out", "elsewhere")
    assert ran.code == 2 and "error[not-a-folder]: elsewhere" in ran.err


def test_a_folder_that_cannot_be_written_is_named(mcp_gen: Run) -> None:
    Path("file").touch()
    ran = mcp_gen("templates", "export", "--out", "file/mine")
    assert ran.code == 2 and "error[cannot-write]: file" in ran.err


@pytest.mark.long
def test_a_template_that_would_do_nothing_is_refused(mcp_gen: Run) -> None:
    one = ("--revision", "2025-11-25", "--out", "pkg", "--templates", "mine")
    Path("mine").mkdir()
    Path("mine", STATEMENT).write_text(OURS)
    Path("mine", "clinet.py.jinja").write_text("x = 1")
    ran = mcp_gen(*one)
    assert ran.code == 2 and not Path("pkg").exists()
    assert f"error[unknown-template]: {Path('mine', 'clinet.py.jinja')}: " in ran.err
    assert "did you mean client.py.jinja" in ran.err
    own = '{% include "clinet.py.jinja" %}\n' + (FOLDER / "package.py.jinja").read_text()
    Path("mine", "package.py.jinja").write_text(own)
    assert [*idle(Path("mine"))] == [], "another template includes it"


@pytest.mark.usefixtures("little")
def test_a_folder_of_another_contract_stops_every_command(mcp_gen: Run) -> None:
    one = ("--revision", "2025-11-25", "--out", "pkg", "--templates", "mine")
    Path("mine").mkdir()
    statement = Path("mine", STATEMENT)
    assert "are for contract 1" in mcp_gen(*one).err, "a folder that says nothing"
    for text, message, hint in (
        ("contract = 99", "these templates are for contract 99", "use a later mcp-gen"),
        ("contract = 0", "these templates are for contract 0", "docs/templates.md"),
        ("contract = true", "contract is not a whole number", OURS),
        ("contract", "this cannot be read", OURS),
        (f"{OURS}\nexported = 1", "exported is not a table", OURS),
    ):
        statement.write_text(text)
        for command in (one, (*one, "--check"), EXPORT):
            with tables.case((text, command)):
                ran = mcp_gen(*command)
                assert ran.code == 2 and f"error[template-contract]: {statement}: " in ran.err
                assert message in ran.err and hint in ran.err
    statement.write_text(OURS)
    assert mcp_gen(*one).code == 0


def test_a_later_contract_leaves_no_doubt_about_older_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (own_templates, templates):
        monkeypatch.setattr(module, "TEMPLATE_CONTRACT", 3)
    with pytest.raises(ProblemError, match="for contract 1"):
        read_statement(tmp_path)
    # A new folder has this contract.
    templates.export((), tmp_path)
    assert read_statement(tmp_path).contract == 3
    (tmp_path / STATEMENT).unlink()
    with pytest.raises(ProblemError, match="for contract 1"):
        templates.export((), tmp_path)


@pytest.mark.long
def test_exported_templates_make_the_same_package(mcp_gen: Run) -> None:
    assert mcp_gen(*EXPORT).code == 0
    revisions = ("2024-11-05", "2026-07-28")
    options = GenerationOptions(revisions, parts=tuple(PARTS), extensions={"tasks": None})
    usual, own = generate(options), generate(options._replace(templates=Path("mine")))
    assert usual.files == own.files
    assert usual.inputs.templates_digest != own.inputs.templates_digest
