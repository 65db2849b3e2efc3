"""Targets of others, installed beside the generator: the example of the page, and bad ones."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mcp_protogen.pipeline.target import CONTRACT
from support.docs.pages import block_texts, page
from support.running import Run
from support.tables import case

(PROGRAM,) = block_texts("targets.md")
ONE = ("--revision", "2025-06-18", "--out", "pkg", "--target", "outline")
BAD = {
    "raise ValueError(1)": "cannot be loaded: ValueError",
    "TARGET = 3": "cannot be loaded: AttributeError",
    "class TARGET: contract = 1": "is for contract 1",
    "class TARGET: contract = 2; settings = (); files = lambda *_: 1 / 0": "ZeroDivisionError",
    "class TARGET: contract = 2; settings = (); files = lambda *_: [('../x', '')]": "'../x'",
    "class TARGET: contract = 2; settings = (); files = lambda *_: [('x', '')] * 2": "two files",
}


def _install(folder: Path, program: str, version: str = "1.0") -> None:
    """Install a module with a target as pip does, with its metadata."""
    for old in folder.glob("*.dist-info"):
        for file in old.iterdir():
            file.unlink()
        old.rmdir()
    (folder / "mcp_outline.py").write_text(program)
    metadata = folder / f"mcp_outline-{version}.dist-info"
    metadata.mkdir(parents=True)
    about = ("Metadata-Version: 2.1", "Name: mcp-outline", f"Version: {version}\n")
    (metadata / "METADATA").write_text("\n".join(about))
    ((group, point),) = re.findall(r'entry-points\."(.*)"\]\n(.*)', page("targets.md"))
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{point.replace(chr(34), '')}\n")
    sys.modules.pop("mcp_outline", None)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))  # pyright: ignore[reportUnknownMemberType]
    return folder


def test_the_target_of_the_page_works_once_it_is_installed(site: Path, mcp_gen: Run) -> None:
    assert f"contract = {CONTRACT}\n" in PROGRAM
    _install(site, PROGRAM)
    assert mcp_gen(*ONE).code == 0
    lines = Path("pkg/v2025_06_18.txt").read_text().splitlines()
    assert "PingRequest method params" in [" ".join(line.split()[:3]) for line in lines]
    assert mcp_gen("--out", "pkg", "--check").code == 0
    _install(site, PROGRAM, "1.1")
    checked = mcp_gen("--out", "pkg", "--check")
    assert checked.code == 1
    assert "target-version was 'mcp-outline 1.0' and is 'mcp-outline 1.1'" in checked.out


def test_a_package_of_such_a_target_is_never_taken_from_an_earlier_run(
    site: Path, tmp_path: Path
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-m", "mcp_protogen", *ONE]
    for start in ("# ", "## "):
        _install(site, PROGRAM.replace("{lines}", f"{start}{{lines}}"))
        subprocess.run([*command, "--force"], cwd=tmp_path, env=environment, check=True)
        made = (tmp_path / "pkg/v2025_06_18.txt").read_text()
        assert made.startswith(f"{start}Annotations")


def test_a_target_that_fails_is_one_clear_error(site: Path, mcp_gen: Run) -> None:
    for number, (program, said) in enumerate(BAD.items()):
        with case(program):
            _install(site, program, f"2.{number}")
            ran = mcp_gen(*ONE)
            assert (ran.code, ran.err.count("error[")) == (2, 1)
            assert "error[bad-target]" in ran.err and said in ran.err
    assert not Path("pkg").exists()


def test_a_target_that_is_gone_is_one_clear_error(site: Path, mcp_gen: Run) -> None:
    _install(site, PROGRAM)
    assert mcp_gen(*ONE).code == 0
    sys.path.remove(str(site))
    ran = mcp_gen("--out", "pkg", "--check")
    assert (ran.code, "error[unknown-target]" in ran.err) == (2, True)
