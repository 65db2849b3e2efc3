"""What targets for Python make is clean under the strictest checks of types, with all layers."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.target import LAYERS, TargetOptions
from mcp_protogen.targets.registry import target_names
from support.targets.made import folder

pytestmark = pytest.mark.long

TARGETS = tuple(name for name in target_names() if name != "typescript")
FORMS = (
    *(TargetOptions(name, LAYERS, layout="single") for name in TARGETS),
    *(TargetOptions(name, LAYERS, layout="package") for name in TARGETS),
    TargetOptions("pydantic", LAYERS, extra="ignore", root_models=True),
    TargetOptions("pydantic", ("methods", "capabilities")),
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what targets make in each form, and nothing else."""
    place = tmp_path_factory.mktemp("forms")
    for number, form in enumerate(FORMS):
        (place / f"form_{number}").symlink_to(folder(form), target_is_directory=True)
        made = list((place / f"form_{number}").rglob("*.py"))
        assert made, form
    return place


def _run(where: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=where, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def test_pyright_strict_finds_nothing(programs: Path) -> None:
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "include": ["."]}
    (programs / "pyrightconfig.json").write_text(json.dumps(settings))
    report: Any = json.loads(
        _run(programs, "pyright", "--outputjson", "--pythonpath", sys.executable)
    )
    assert report["summary"]["filesAnalyzed"] >= 5 * len(FORMS)
    found = [
        (one["file"], one["range"]["start"], one["message"]) for one in report["generalDiagnostics"]
    ]
    assert found == []


def test_mypy_strict_finds_nothing(programs: Path) -> None:
    options = ("--strict", "--config-file=", "--python-version=3.11", "--no-error-summary")
    packages = [f"form_{number}" for number in range(len(FORMS))]
    assert _run(programs, "mypy", *options, f"--cache-dir={programs / 'cache'}", *packages) == ""
