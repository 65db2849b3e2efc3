"""What the README shows works as it stands there."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from support.docs.pages import anchors, beside_package, block_texts, page
from support.folders import ROOT

README = page("README.md")


def test_the_server_and_the_client_run_as_they_stand(tmp_path: Path) -> None:
    server, client = block_texts("README.md")
    assert server.count("\n") <= 10
    assert client.count("\n") <= 15
    beside_package(tmp_path, {"server.py": server, "client.py": client})
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["python", "client.py"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "2025-11-25 ['greet']",
        "Hello, Ada {'result': 'Hello, Ada'}",
    ]


def test_the_configuration_of_a_host_is_json() -> None:
    (configuration,) = block_texts("README.md", "json")
    (server,) = json.loads(configuration)["mcpServers"].values()
    assert server.keys() == {"command", "args", "env"}


def test_newcomers_are_told_how_to_install_it_and_what_it_needs() -> None:
    told = README.split("## Try it")[1].split("\n## ")[0]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"Python {project['requires-python'].removeprefix('>=')}+" in told
    for command in ("pip install .", "pipx install .", "uv tool install ."):
        assert f"\n    {command} " in told
    # By its name it cannot be installed: no registry has it.
    assert project["name"] not in told
    for command in re.findall(r"\n    (?:uvx|pipx run) .*", told):
        assert [*project["scripts"]] == [command.split()[-2]]


def test_links_lead_somewhere() -> None:
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        links = re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", path.read_text(encoding="utf-8"))
        for link, anchor in links:
            target = path.parent / link if link else path
            assert target.exists(), f"{path.name}: {link}"
            if anchor:
                found = anchors(target.read_text(encoding="utf-8"))
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
        "report",
        "bench",
        "site",
        "release",
        "workflows",
        "clean",
    }
