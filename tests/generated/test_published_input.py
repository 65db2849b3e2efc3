"""Packages made from the published files themselves, under the strictest checks there are."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from golden_package import REVISIONS, SHARED
from mcp_protogen.config import GivenFile, Options
from mcp_protogen.generate import generate


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package `pkg`, made from the five published files, and nothing else."""
    if not SHARED.is_dir():
        pytest.skip("NOT TESTED: the published schemas in ../shared are not beside this checkout")
    names = {revision: f"{revision}.schema.json" for revision in REVISIONS}
    schemas = {
        revision: GivenFile(name, (SHARED / "published" / name).read_bytes())
        for revision, name in names.items()
    }
    place = tmp_path_factory.mktemp("published")
    for file in generate(Options(REVISIONS, schemas)).files:
        path = place / "pkg" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "include": ["pkg"]}
    (place / "pyrightconfig.json").write_text(json.dumps(settings))
    return place


COMMANDS = {
    "black": ("black", "--check", "--quiet", "-l", "100", "-t", "py311", "pkg"),
    "mypy": ("mypy", "--strict", "pkg"),
    "pyright": ("pyright", "--pythonpath", sys.executable),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
@pytest.mark.xdist_group("published_input")
def test_it_finds_nothing(folder: Path, command: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.xdist_group("published_input")
def test_published_descriptions_are_used(folder: Path) -> None:
    published = json.loads((SHARED / "published" / "2025-11-25.schema.json").read_bytes())
    first = published["$defs"]["Tool"]["description"].split(".")[0]
    assert first in (folder / "pkg" / "v2025_11_25" / "models.py").read_text(encoding="utf-8")
