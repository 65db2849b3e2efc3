"""TypeScript modules, with programs beside them that `tsc` checks and Node runs."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from mcp_protogen.base.names import module_name
from mcp_protogen.pipeline.target import LAYERS, TargetOptions
from support.conformance.kit import kit
from support.peers.places import Command, node_modules
from support.programs import run_program
from support.targets import target_modules

RENAMED: Final = {"Annotated": "AnnotatedObject"}
"""Types whose names Python itself has."""
PROGRAMS: Final = Path(__file__).parent / "programs"

# The settings of a careful project, and those Node needs for stripping types.
_FLAGS: Final = (
    *("--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes"),
    *("--noUnusedLocals", "--noUnusedParameters", "--noImplicitReturns", "--isolatedModules"),
    *("--erasableSyntaxOnly", "--verbatimModuleSyntax"),
    *("--target", "es2022", "--lib", "es2022", "--pretty", "false"),
)
RESOLUTIONS: Final = {
    "node16": ("--module", "node16"),
    "nodenext": ("--module", "nodenext"),
    "bundler": ("--module", "esnext", "--moduleResolution", "bundler"),
}


@cache
def project(layout: Literal["single", "package"] = "single") -> Path:
    """Return a folder with all layers of all revisions, and the programs of tests."""
    return prepare(target_modules.folder(TargetOptions("typescript", LAYERS, layout)))


@cache
def compile_project(layout: Literal["single", "package"] = "single") -> Path:
    """Return the same folder, with JavaScript beside each module."""
    folder = project(layout)
    assert _tsc(folder, *modules(folder), *RESOLUTIONS["nodenext"]) == []
    return folder


def modules(folder: Path) -> list[str]:
    """The generated modules of a folder, without the programs beside them."""
    names = (str(path.relative_to(folder)) for path in folder.rglob("*.ts"))
    return sorted(name for name in names if re.match(r"v\d|wire|index", name))


def prepare(folder: Path) -> Path:
    """Make a folder of modules a package, with the programs of tests."""
    (folder / "package.json").write_text('{"type": "module"}\n')
    for program in PROGRAMS.iterdir():
        shutil.copy(program, folder)
    return folder


def write_program(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return name


def complaints(folder: Path, *files: str, resolution: str = "nodenext") -> list[str]:
    """Return a line for each error of `tsc` in files and their imports, with its place."""
    return _tsc(folder, *files, "--noEmit", *RESOLUTIONS[resolution])


def _tsc(folder: Path, *arguments: str) -> list[str]:
    wanted = "whether TypeScript modules are right in the eyes of tsc"
    tsc = node_modules("package-typescript.json", wanted) / "typescript" / "bin" / "tsc"
    command: Command = [kit().node, tsc, *_FLAGS, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert (done.returncode == 0) == (found == []), done.stdout + done.stderr
    return found


def run(folder: Path, program: str, *arguments: str | Path) -> str:
    """Run a program with Node, which strips its types; return the output."""
    command: Command = [kit().node, "--disable-warning=ExperimentalWarning", program, *arguments]
    return run_program(*command, cwd=folder)


def faults(revision: str, samples: Iterable[tuple[str, Any]], folder: Path) -> list[list[str]]:
    """Return the places of the faults in each sample, a type and a value; none if it is valid."""
    file = folder / f"{revision}.json"
    file.write_text(json.dumps(list(samples), allow_nan=False), encoding="utf-8")
    found: list[list[str]] = json.loads(
        run(compile_project(), "judge.mjs", module_name(revision), file)
    )
    return found
