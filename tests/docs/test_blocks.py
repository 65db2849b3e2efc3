"""A test runs, checks or compares every block on a page."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Final

import pytest
import yaml
from mcp_protogen.pipeline.settings import load_settings
from support.docs.accounting import PAGES, all_taken_blocks, blocks_taken_by
from support.docs.commands import faults, is_shell
from support.docs.pages import Block, blocks, indented_block, page
from support.folders import ROOT
from support.generated.package_copy import copied_package
from support.running import Run
from support.tables import case
from website.drawings.drawn import DRAWN
from website.drawings.graphs import mermaid

ARCHITECTURE: Final = "docs/contributing/architecture.md"
# Blocks without a kind that are not commands, by page and beginning: the test that compares each,
# or the reason why none can.
COMPARED: Final[Mapping[tuple[str, str], str]] = {
    ("CONTRIBUTING.md", "base "): "tests/unit/test_architecture.py",
    ("CONTRIBUTING.md", "core "): "tests/unit/test_architecture.py",
    ("README.md", "$ mcp-gen call server.py greet"): "tests/docs/test_readme.py",
    ("README.md", "pkg/\n"): "tests/docs/test_blocks.py",
    ("asking.md", "book: Booking.address"): "tests/docs/test_asking.py",
    ("command-call.md", "$ mcp-gen call server.py greet"): "tests/call/test_call_page.py",
    ("command.md", "error[wrong-usage]"): "tests/docs/test_blocks.py",
    ("connecting.md", "mcp.json#/mcpServers/maps"): "tests/docs/test_connecting_page.py",
    ("dev.md", "dev: watching"): "tests/bridge/test_dev_command.py",
    (ARCHITECTURE, "a revision: schema, patches"): "a drawing",
    (ARCHITECTURE, "auth "): "tests/unit/test_architecture.py",
    (ARCHITECTURE, "connect "): "tests/unit/test_architecture.py",
    (ARCHITECTURE, "drafts "): "tests/unit/test_architecture.py",
    (ARCHITECTURE, "ir "): "tests/unit/test_architecture.py",
    (ARCHITECTURE, "schema/<revision>"): "a drawing",
    (ARCHITECTURE, "settings "): "tests/unit/test_architecture.py",
    (ARCHITECTURE, "transports/"): "a drawing",
    ("diff.md", "2026-07-28 against"): "tests/docs/test_blocks.py",
    ("extensions.md", "$ mcp-gen extensions"): "tests/docs/test_blocks.py",
    ("extensions.md", "mcp-gen --revision 2026-07-28"): "tests/docs/test_blocks.py",
    ("first-gateway.md", "$ mcp-gen call"): "tests/docs/test_first_gateway_page.py",
    ("first-gateway.md", "tables: tables 0"): "tests/docs/test_first_gateway_page.py",
    ("new.md", "pyproject.toml "): "tests/scaffold/test_new_page.py",
    ("skills.md", "---\nname: refunds"): "tests/docs/test_skills_page.py",
    ("targets.md", '{\n  "modules"'): "tests/docs/test_blocks.py",
    ("toolkit.md", "Invalid arguments for forecast"): "tests/toolkit/test_toolkit_page.py",
    ("vectors.md", "→ {"): "tests/vectors/test_vectors_docs.py",
}
# Output that tests cannot reproduce: of foreign programs, of other releases, or on a terminal.
RECORDED: Final = {
    ("bridge.md", "2026-11-23 20:11:49"),
    ("command-call.md", "$ mcp-gen list server.py"),
    ("command-call.md", "$ mcp-gen call server.py choose"),
    ("examples/python-sdk/README.md", "schema-moved"),
    ("releasing.md", "$ git clone"),
    ("typed-clients.md", "arguments\n  get_forecast(city)"),
}


def parse_toml(text: str) -> None:
    """Parse TOML; settings for `mcp-gen` must exist."""
    if "mcp-gen" in tomllib.loads(text).get("tool", {}):
        Path("pyproject.toml").write_text(text)
        load_settings(Path("pyproject.toml"))


def check_commands(text: str) -> None:
    """Check that all lines are valid commands."""
    assert list(faults(text)) == []


def values(text: str) -> None:
    """Read JSON; a record of traffic has a value on each line."""
    for line in text.splitlines() if text.startswith('{"traffic"') else [text]:
        json.loads(line)


def drawn(text: str) -> None:
    """Check that a drawing is one of those made from the rules."""
    assert text in {mermaid(drawing()) for drawing in DRAWN.values()}


# Kinds whose blocks are all checked here.
CHECKS: Final[Mapping[str, Callable[[str], object]]] = {
    "json": values,
    "mermaid": drawn,
    "sh": check_commands,
    "toml": parse_toml,
    "yaml": yaml.safe_load,
}


def table_entries(block: Block) -> list[tuple[str, str]]:
    """Return the entries of both tables for a block."""
    known = (*COMPARED, *RECORDED)
    return [entry for entry in known if entry[0] == block.page and block.text.startswith(entry[1])]


def test_every_block_is_run_or_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = all_taken_blocks()
    unused = {*COMPARED, *RECORDED}
    for block in chain(*map(blocks, PAGES)):
        with case(block.place):
            if check := CHECKS.get(block.kind):
                check(block.text)
            elif not block.kind and (places := table_entries(block)):
                unused.difference_update(places)
            elif not block.kind and is_shell(block.text):
                check_commands(block.text)
            else:
                assert block in run, "no test takes this block from support.docs.pages"
    assert unused == set()
    for file in {reason for reason in COMPARED.values() if reason != "a drawing"}:
        assert (ROOT / file).exists()


def test_commands_in_sentences_have_the_options_that_there_are() -> None:
    for name in PAGES:
        spans = re.findall(r"`((?:mcp-gen|make) [^`]+)`", re.sub(r"```(?s:.*?)```", "", page(name)))
        with case(name):
            found = (faults(" ".join(span.split()), in_part=True) for span in spans)
            assert list(chain(*found)) == []


def test_a_block_that_nobody_takes_is_found() -> None:
    some = list(blocks_taken_by('PAGE: Final = "http.md"\nexample(PAGE, "routes")'))
    assert [(block.kind, block.label) for block in some] == [("python", "routes")]
    assert list(blocks_taken_by("for name in PAGES: programs(name)")) == []
    assert len(list(blocks_taken_by('run_page("http.md")'))) > 3
    (config,) = blocks_taken_by('block_texts("connecting.md", "json")')
    assert config.kind == "json"
    with pytest.raises(ValueError, match="does not say which"):
        list(blocks_taken_by('example("http.md", name)'))


def test_commands_that_cannot_be_typed_are_found() -> None:
    rows = {
        "mcp-gen --revison all": "mcp-gen generate has no --revison",
        "mcp-gen dif a b": "mcp-gen has no dif",
        "mcp-gen new": "MissingParameter: ",
        "mcp-gen new a --kind sever": "is not one of",
        "mcp-gen audit SDK [--revison R]": "mcp-gen audit has no --revison",
        "mcp-gen new NAME    a project\n        --kind K --knd L": "mcp-gen new has no --knd",
        "cd x && make gold": "there is no make gold",
        ".venv/bin/python examples/no.py": "there is no examples/no.py",
    }
    for line, fault in rows.items():
        with case(line):
            assert is_shell(line)
            assert [
                found_fault.partition(": ")[2]
                for found_fault in faults(line)
                if fault in found_fault
            ]
    assert not is_shell("What comes\nof it")


def test_shown_output_of_commands_is_real(mcp_gen: Run) -> None:
    command, _, listed = indented_block("extensions.md", "$ mcp-gen ext").partition("\n")
    assert mcp_gen(*command.split()[2:]).out == listed
    assert mcp_gen("new").err == indented_block("command.md", "error[")
    printed = " ".join(mcp_gen("diff", "2025-11-25", "2026-07-28").out.split())
    headline = indented_block("diff.md", "2026-07-28 against").partition("\n\n")[0]
    for part in " ".join(headline.split()).split(" … and "):
        assert part in printed


def test_the_names_that_are_shown_are_read(mcp_gen: Run) -> None:
    Path("names.json").write_text(indented_block("targets.md", "{"))
    said = ("--revision", "2025-11-25", "--only", "models", "--names", "names.json")
    assert mcp_gen(*said, "--out", "types").code == 0
    assert "class Argument" in Path("types/_v2025_11_25.py").read_text()


def paths(tree: str) -> Iterator[str]:
    """Yield the paths of a tree of files, whose depth is that of its lines; remarks are apart."""
    above: list[str] = []
    for line in tree.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        *others, last = re.split(r" {3,}", line.strip())[0].split("  ")
        for name in (*others, last):
            yield "".join((*above[:depth], name))
        above[depth:] = [last]


def test_the_files_that_are_shown_are_in_a_package() -> None:
    command, _, tree = indented_block("extensions.md", "mcp-gen --rev").partition("\n\n")
    assert list(faults(command)) == []
    for shown in (tree, indented_block("README.md", "pkg/\n")):
        found = [path.removeprefix("pkg/") for path in paths(shown)]
        assert len(found) > 5
        for path in found:
            with case(path):
                assert (copied_package() / path).exists()
                assert (copied_package() / path).is_dir() == path.endswith("/") or not path
