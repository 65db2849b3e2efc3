"""The proof on the official Python SDK, on a checkout that is made up."""

import json
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest
from mcp_protogen.base import jsonpointer
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.inputs.pins import read_snapshot
from support.folders import ROOT, environment

EXAMPLE: Final = ROOT / "examples" / "python-sdk"
TYPES: Final = Path("src/mcp-types/mcp_types")
WIRE_BASE: Final = """\
from pydantic import BaseModel, ConfigDict

class WireModel(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
"""
TESTS: Final = """\
from mcp_types import _v2025_11_25 as v2025

def test_a_tool_has_a_name():
    assert "name" in v2025.Tool.model_fields

def test_that_never_passes():
    assert not v2025
"""
OF_A_TOOL: Final = "class Tool:\n    model_fields = ['name']\n"
OF_A_PACKAGE: Final = """
def test_the_types_are_a_package():
    assert hasattr(v2025, "__path__")
"""


def checkout(folder: Path, tests: str = TESTS) -> Path:
    """A checkout with what the proof uses of the SDK."""
    files = {
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src/mcp-types"]\n',
        "scripts/gen_surface_types.py": "first = 1\n\nsecond = 2\n",
        "tests/test_types.py": tests,
        str(TYPES / "__init__.py"): "",
        str(TYPES / "_wire_base.py"): WIRE_BASE,
        str(TYPES / "_v2025_11_25/__init__.py"): OF_A_TOOL,
        str(TYPES / "_v2026_07_28/__init__.py"): "",
        **{f"schema/{revision}.json": json.dumps(older(revision)) for revision in read_patches()},
        **{f".venv/bin/{name}": program(name) for name in ("python", "pyright", "ruff")},
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for file in (folder / ".venv/bin").iterdir():
        file.chmod(0o755)
    return folder


def program(name: str) -> str:
    if name != "python":
        return "#!/bin/sh\n"
    # Workers and the plug-ins that are installed here begin later than the few tests end.
    few = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 exec"
    return f'#!/bin/sh\n{few} {sys.executable} "$@" -p xdist.plugin -n 0\n'


def read_patches() -> dict[str, Any]:
    """The patches of the configuration, by revision."""
    table = tomllib.loads((EXAMPLE / "mcp-gen.toml").read_text())
    patches: dict[str, Any] = table["tool"]["mcp-gen"]["patches"]
    return {revision: patches[revision] for revision in ("2025-11-25", "2026-07-28")}


def older(revision: str) -> Any:
    """The pinned schema of a revision, in the form that the copies of the SDK have."""
    schema = json.loads(read_snapshot(revision, schema_folder()))
    for patch in reversed(read_patches()[revision]):
        *above, last = jsonpointer.split(patch["pointer"])
        if "NumberSchema" in above or "SubscriptionsListenResult" in patch["pointer"]:
            parent = jsonpointer.get(schema, jsonpointer.join(*above))
            parent.pop(last, None)
            if "was" in patch:
                parent[last] = patch["was"]
    return schema


def prove(folder: Path, out: Path, *tests: str) -> tuple[int, Any]:
    ran = subprocess.run(
        [sys.executable, EXAMPLE / "prove.py", folder, "--report", out, *tests],
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (out / "report.md").read_text() in ran.stdout, ran.stderr
    return ran.returncode, json.loads((out / "report.json").read_text())


@pytest.mark.long
def test_a_proof_reports_what_stays_and_finds_a_changed_schema(tmp_path: Path) -> None:
    code, report = prove(checkout(tmp_path / "sdk"), tmp_path, "tests/test_types.py")
    assert report["differing"] == []
    assert report["before"]["tests"] == report["after"]["tests"] == {"failure": 1, "passed": 1}
    assert report["lines"]["script"] == 2
    assert report["lines"]["configuration"] <= 60
    assert "2025-11-25" in report["check after a change"]["text"]
    assert "+    shelf_life" in report["diff after a change"]["text"]
    assert (code, report["proved"]) == (0, True)


@pytest.fixture
def proof(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program as a module, with a generator that does at once what the other test sees."""
    monkeypatch.syspath_prepend(str(EXAMPLE))  # pyright: ignore[reportUnknownMemberType]
    proof: Any = import_module("prove")

    def mcp_gen(copy: Path, *options: str) -> Any:
        (copy / TYPES / "_v2025_11_25.py").write_text(OF_A_TOOL)
        changed = "shelfLife" in (copy / "schema/2025-11-25.json").read_text()
        return proof.Run(int(changed), "shelfLife", 0.0)

    monkeypatch.setattr(proof, "mcp_gen", mcp_gen)
    return proof


@pytest.mark.long
def test_a_proof_fails_with_a_test_that_ends_differently(tmp_path: Path, proof: Any) -> None:
    sdk = checkout(tmp_path / "sdk", TESTS + OF_A_PACKAGE)
    report = proof.prove(proof.copy_checkout(sdk, tmp_path / "copy"), ())
    assert (sdk / "scripts/gen_surface_types.py").exists()
    assert report["differing"] == [
        {
            "test": "tests.test_types::test_the_types_are_a_package",
            "before": "passed",
            "after": "failure",
        }
    ]
    assert not report["proved"]


@pytest.mark.long
def test_a_proof_does_not_take_the_results_from_before_for_those_from_after(
    tmp_path: Path, proof: Any
) -> None:
    sdk = checkout(tmp_path / "sdk")
    (sdk / "conftest.py").write_text("from mcp_types import _v2025_11_25 as v\n\nv.__path__\n")
    with pytest.raises(SystemExit, match=r"(?s)pytest ended with 4 .*__path__"):
        proof.prove(sdk, ())


def test_invalid_checkout_is_single_clear_error(
    tmp_path: Path, proof: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["prove.py", str(tmp_path)])
    with pytest.raises(SystemExit):
        proof.main()
    assert "has no scripts/gen_surface_types.py" in capsys.readouterr().err
