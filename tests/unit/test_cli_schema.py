"""`mcp-gen schema`: adding and verifying from the command line."""

from pathlib import Path

from mcp_protogen.pipeline.inputs.pins import load_pins
from support.running import Run
from support.tables import case

FOLDER = ("--schema-folder", "schema")


def test_schema_verify_refuses_empty_name(mcp_gen: Run) -> None:
    for named, kind in (((), "revision"), (("--extension",), "extension")):
        with case(kind):
            ran = mcp_gen("schema", "verify", *named, "")
            assert ran.code == 2
            assert f"error[unknown-{kind}]" in ran.err


def test_schema_add_stores_facts_of_publication(mcp_gen: Run) -> None:
    Path("one.json").write_text('{"$defs": {}}')
    known = ("--commit", "abcdef1", "--spec-path", "draft.json", "--note", "A note.")
    mcp_gen("schema", "add", "draft", "--from", "one.json", *known, *FOLDER)
    pin = load_pins(Path("schema"))["draft"]
    assert (pin.published.spec_commit, pin.spec_path) == ("abcdef1", "draft.json")
    assert pin.published.note == "A note."


def test_a_date_or_commit_that_is_none_is_refused(mcp_gen: Run) -> None:
    Path("one.json").write_text('{"$defs": {}}')
    wrong = ("--date", "2030-02-30", "--commit", "HEAD")
    ran = mcp_gen("schema", "add", "draft", "--from", "one.json", *wrong, *FOLDER)
    assert ran.code == 2
    assert ran.err.count("error[bad-origin]") == 2
    assert not Path("schema").exists()


def test_a_page_that_is_no_schema_is_refused(mcp_gen: Run) -> None:
    Path("page.html").write_text("<html>")
    ran = mcp_gen("schema", "add", "draft", "--from", "page.html", *FOLDER)
    assert ran.code == 2
    assert "error[not-json]: page.html" in ran.err
    assert not Path("schema").exists()
