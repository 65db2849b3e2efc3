"""The README's programs and commands work as shown, and its figures are the recorded ones."""

import json
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from support.docs.pages import anchors, beside_package, block_texts, indented_block, page
from support.folders import ROOT
from support.programs import run_program
from support.tables import case

README = page("README.md")
PROGRAMS = Path(sys.executable).parent


def run_beside_package(folder: Path, *command: str) -> str:
    """Run a command in a folder with the README's server, client and package."""
    server, client = block_texts("README.md")
    beside_package(folder, {"server.py": server, "client.py": client})
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    return run_program(*command, cwd=folder, env={**os.environ, "PATH": path})


def record(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "docs" / "records" / f"{name}.json").read_bytes())
    return found


def test_server_and_client_run_as_they_stand(tmp_path: Path) -> None:
    server, client = block_texts("README.md")
    assert len(server.split("\n\n")) <= 4 and server.count("\n") <= 10
    assert client.count("\n") <= 15
    assert run_beside_package(tmp_path, "python", "client.py").splitlines() == [
        "2025-11-25 ['greet']",
        "Hello, Ada {'result': 'Hello, Ada'}",
    ]


def test_first_command_prints_what_the_readme_shows(tmp_path: Path) -> None:
    command, _, printed = indented_block("README.md", "$ mcp-gen call").partition("\n")
    _, *words = command.split()
    assert run_beside_package(tmp_path, str(PROGRAMS / words[0]), *words[1:]) == printed


def test_newcomers_learn_how_to_install_it_and_what_it_needs() -> None:
    install = README.split("## Install")[1].split("\n## ")[0]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"Python {project['requires-python'].removeprefix('>=')}+" in install
    assert "PyPI has an unrelated package" in install
    for command in (
        "pip install .",
        "pipx install .",
        "uv tool install .",
        "pip install git+https:",
    ):
        assert command in install
    assert '".[http]"' in install and "http" in project["optional-dependencies"]
    # No registry has it, so its name alone does not install it.
    assert project["name"] not in install
    for command in re.findall(r"\n    (uvx|pipx run) --(?:from|spec) \. (\S+)", install):
        assert [*project["scripts"]] == [command[1]]


def test_no_page_installs_the_unrelated_package_of_a_registry() -> None:
    folders = (ROOT / name for name in ("docs", "templates", "codegen", "benchmarks"))
    texts = (*ROOT.glob("*.md"), *(file for folder in folders for file in folder.rglob("*")))
    bare = re.compile(
        r"(?:pip|pipx|uv tool) install (?:-\S+ )*mcp-gen\b|(?:uvx|pipx run) mcp-gen\b"
    )
    for file in (path for path in texts if path.suffix in (".jinja", ".md", ".py", ".yml")):
        with case(str(file)):
            found = bare.findall(file.read_text(encoding="utf-8"))
            assert found == []


def test_test_command_is_what_ci_runs() -> None:
    assert re.findall(r"^    (make test) ", README, re.MULTILINE) == ["make test"]
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").rstrip().endswith("\nmake test")


def test_readme_and_contributing_are_short() -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        with case(name):
            assert len((ROOT / name).read_bytes()) <= 8 * 1024


def test_readme_begins_with_why_and_install_and_its_commands_fit_80_columns() -> None:
    assert re.findall(r"^## (.+)$", README, re.MULTILINE)[:2] == ["Why", "Install"]
    commands = re.findall(r"^    (\S.*)$", README, re.MULTILINE)
    assert commands and [line for line in commands if len(line) > 80] == []


def test_figures_are_the_recorded_ones() -> None:
    text = " ".join(README.split())
    legs = record("conformance")["legs"]
    whole = [leg for leg in legs if leg["side"] == "server" and not (leg["topic"] or leg["speaks"])]
    for some, words in ((whole, "scenarios]"), (legs, "scenarios of the official suite")):
        passed, possible = (sum(leg[member] for leg in some) for member in ("passed", "possible"))
        with case(words):
            assert f"{passed} of {possible} {words}" in text
    found = record("differential")["verdicts"].values()
    assert f"{sum(sum(counts.values()) for counts in found):,} values" in text
    mutants = record("mutants")
    assert f"of {mutants['counted']} small faults put into the code, the tests find" in text
    assert f"find {mutants['killed']} " in text
    topics = record("benchmarks")["topics"]
    for topic, what, labels in (
        ("import", "import, load 2025-11-25, first tools/call, net of python", ("import mcp",)),
        ("toolkit", "stdio, 1 at a time, a coroutine function", ("mcp 2.3, ", "fastmcp 4.2")),
    ):
        rows = [row for row in topics[topic]["rows"] if row["what"] == what]
        for label in labels:
            with case(label):
                (row,) = (
                    line
                    for line in rows
                    if f"{line['peer']}, ".startswith(f"{label.rstrip(', ')}, ")
                )
                factor = {"ms": 1e3, "µs": 1e6}[row["unit"]]
                assert f"takes {row['ours'] * factor:.0f} {row['unit']}" in text
                assert f"{row['theirs'] * factor:,.0f} {row['unit']}" in text
    # A row without a goal, or with one below its floor, has no verdict.
    verdicts = [row["met"] for topic in topics.values() for row in topic["rows"]]
    missed, met = verdicts.count(False), verdicts.count(True)
    assert f"Of {missed + met} goals, {missed} are missed" in text


def test_links_lead_somewhere() -> None:
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        links = re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", path.read_text(encoding="utf-8"))
        for link, anchor in links:
            linked_file = path.parent / link if link else path
            assert linked_file.exists(), f"{path.name}: {link}"
            if anchor:
                found = anchors(linked_file.read_text(encoding="utf-8"))
                assert anchor in found, f"{path.name}: {link}#{anchor}"


def test_the_table_of_habits_is_what_make_offers() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    offered = set(re.findall(r"^([a-z]+):.*##", makefile, re.MULTILINE))
    assert offered == {
        "help",
        "setup",
        "quick",
        "demo",
        "test",
        "mutants",
        "check",
        "golden",
        "conformance",
        "records",
        "rehearse",
        "report",
        "bench",
        "site",
        "release",
        "workflows",
        "clean",
    }
