"""The proof on the official TypeScript SDK, on a checkout that is made up, and on a real one."""

import json
import os
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Final

import pytest
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.inputs.pins import read_snapshot
from support.folders import ROOT, environment
from support.missing import skip_untested

EXAMPLE: Final = ROOT / "examples" / "typescript-sdk"
PACKAGE: Final = Path("packages/core-internal")
REVISIONS: Final = ("2025-11-25", "2026-07-28")
TYPES_OF_2026: Final = {"SubscriptionsListenResultMetaObject": "SubscriptionsListenResultMeta"}
PARITY: Final = (
    "test/spec.types.2025-11-25.test.ts",
    "test/spec.types.2026-07-28.test.ts",
    "test/wire/registryDiffOracle.test.ts",
)
TSGO: Final = """\
#!/bin/sh
grep 'export interface Tool ' src/types/*.ts >/dev/null && exit
echo 'a.ts(1,1): error TS1: There is no Tool.'
exit 1
"""
VITEST: Final = """\
#!{python}
import json, pathlib, sys

def test(name, passed):
    return {{"fullName": name, "status": "passed" if passed else "failed"}}

text = pathlib.Path("src/types/spec.types.2025-11-25.ts").read_text()
found = [test("tools", "Tool" in text), test("never", False), test("names", {condition})]
result = {{"testResults": [{{"name": "/x/types.test.ts", "assertionResults": found}}]}}
(file,) = [word.partition("=")[2] for word in sys.argv if word.startswith("--outputFile=")]
pathlib.Path(file).write_text(json.dumps(result))
"""


def schema(revision: str) -> str:
    """The pinned schema of a revision, with the names that the copies of the SDK have."""
    text = read_snapshot(revision, schema_folder()).decode()
    for ours, theirs in TYPES_OF_2026.items():
        text = text.replace(f'"{ours}"', f'"{theirs}"').replace(f'/{ours}"', f'/{theirs}"')
    return text


def checkout(folder: Path, condition: str = "True") -> Path:
    """A checkout with the files of the SDK that the proof uses."""
    programs = PACKAGE / "node_modules" / ".bin"
    files = {
        "scripts/fetch-spec-types.ts": "one();\n\ntwo();\n",
        "node_modules/.keep": "",
        str(programs / "tsgo"): TSGO,
        str(programs / "vitest"): VITEST.format(python=sys.executable, condition=condition),
    }
    for revision in REVISIONS:
        types = PACKAGE / "src" / "types" / f"spec.types.{revision}.ts"
        files[str(types)] = "export interface Tool {}\n// by hand\n"
        twin = PACKAGE / "test" / "corpus" / "schema-twins" / f"{revision}.schema.json"
        files[str(twin)] = schema(revision)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for file in (folder / programs).iterdir():
        file.chmod(0o755)
    return folder


def prove(folder: Path, out: Path, *tests: str) -> tuple[int, Any]:
    """Run the proof, and return its exit code and report."""
    ran = run_program(folder, "--report", out / "report.json", *tests)
    assert "| after |" in ran.stdout, ran.stderr
    return ran.returncode, json.loads((out / "report.json").read_text())


def run_program(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the program with arguments."""
    command = [sys.executable, EXAMPLE / "prove.py", *arguments]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)


@pytest.mark.long
def test_proof_generates_types_and_finds_a_changed_schema(tmp_path: Path) -> None:
    code, report = prove(checkout(tmp_path / "sdk"), tmp_path)
    same = {"errors": 0, "tests": {"failed": 1, "passed": 2}}
    assert report["before"] == report["after"] == same
    assert (code, report["proved"], report["differing"]) == (0, True, [])
    assert report["lines"]["script"] == 2
    assert report["lines"]["configuration"] <= 20
    assert "2025-11-25" in report["check after a change"]["text"]


@pytest.fixture
def proof() -> Any:
    """The program as a module."""
    spec = spec_from_file_location("prove_typescript", EXAMPLE / "prove.py")
    assert spec is not None and spec.loader is not None
    proof = module_from_spec(spec)
    spec.loader.exec_module(proof)
    return proof


def test_proof_fails_with_a_test_that_ends_differently(
    tmp_path: Path, proof: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mcp_gen(copy: Path, *options: str) -> Any:
        for revision in REVISIONS:
            types = copy / PACKAGE / "src" / "types" / f"spec.types.{revision}.ts"
            types.write_text("export interface Tool {}\n")
        changed = "--diff" in options or options == ("--check",)
        return proof.Run(int(changed), "+  shelfLife?: string;")

    monkeypatch.setattr(proof, "mcp_gen", mcp_gen)
    sdk, file = checkout(tmp_path / "sdk", "'by hand' in text"), tmp_path / "report.json"
    monkeypatch.setattr("sys.argv", ["prove.py", str(sdk), "--report", str(file)])
    code, report = proof.main(), json.loads(file.read_text())
    assert (sdk / "scripts/fetch-spec-types.ts").exists()
    assert report["differing"] == ["types.test.ts: names: passed, then failed"]
    assert (code, report["proved"]) == (1, False)


@pytest.mark.long
def test_configuration_generates_the_files_and_types_of_the_sdk(tmp_path: Path, proof: Any) -> None:
    sdk = checkout(tmp_path / "sdk")
    proof.replace_types(sdk)
    assert proof.mcp_gen(sdk).code == 0
    for revision in REVISIONS:
        text = (sdk / PACKAGE / "src" / "types" / f"spec.types.{revision}.ts").read_text()
        exported = re.findall(r"export\s+(?:interface|class|type)\s+(\w+)\b", text)
        assert sorted(exported) == sorted(json.loads(schema(revision))["$defs"])
        assert "method: 'tools/call';" in text and "import " not in text
        assert f"LATEST_PROTOCOL_VERSION = '{revision}'" in text


def test_folder_without_the_sdk_is_one_clear_error(tmp_path: Path) -> None:
    ran = run_program(tmp_path)
    assert ran.returncode == 2
    assert "has no scripts/fetch-spec-types.ts: clone the SDK" in ran.stderr


@pytest.mark.long
def test_parity_tests_of_the_sdk_pass_with_generated_types(tmp_path: Path) -> None:
    given = os.environ.get("MCP_TYPESCRIPT_SDK")
    if given is None:
        wanted = "a checkout of the official TypeScript SDK in MCP_TYPESCRIPT_SDK"
        skip_untested(wanted, "that its parity tests pass with generated types")
    code, report = prove(Path(given), tmp_path, *PARITY)
    assert (code, report["differing"]) == (0, [])
    assert report["before"] == report["after"] == {"errors": 0, "tests": {"passed": 24}}
