"""The code of new projects has strict types: for pyright by their settings, and for mypy.

All share one environment, one run of pyright, and one cache of mypy, for which they have the same
name: most of the time would otherwise go into Pydantic, the standard library and the generated
package.
"""

import json
import sys
import tomllib
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from mcp_protogen.base.names import module_name
from mcp_protogen.scaffold.files import protocol_folder
from mcp_protogen.scaffold.project_name import project_name
from support import tables
from support.generated.golden_package import PACKAGE
from support.generated.package_copy import copy_folder
from support.scaffold import projects
from support.scaffold.projects import run

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("types")]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one project of each variety, and an environment for all of them."""
    folder = tmp_path_factory.mktemp("types")
    for wanted in tables.some(projects.VARIETY, 6, "types of projects"):
        named = replace(wanted, name=project_name("test-server"))
        project = folder / projects.describe_choices(wanted)
        projects.write_project(project, named)
        refer(project / protocol_folder(named), module_name(wanted.revision))
    projects.environment(folder / ".venv", copy_folder())
    return folder


def refer(protocol: Path, module: str) -> None:
    """Make a generated package take all names from the copied one, which is checked once."""
    protocol.unlink()
    for name in ("", f".{module}", f".{module}.models"):
        folder = protocol.joinpath(*name.split(".")[1:])
        folder.mkdir()
        (folder / "__init__.py").write_text(f"from {PACKAGE.name}{name} import *\n")


def own_modules(project: Path) -> list[Path]:
    """The modules of a project that are not generated, relative to it."""
    found = chain(project.glob("src/*/*.py"), project.glob("tests/*.py"))
    return sorted(path.relative_to(project) for path in found)


WRONG = 'x: int = "text"\n'


def test_pyright_finds_nothing_but_what_is_wrong(place: Path) -> None:
    found = [path.parent for path in place.glob("*/pyproject.toml")]
    settings = tomllib.loads((found[0] / "pyproject.toml").read_text())["tool"]["pyright"]
    assert settings.pop("include") == ["src", "tests"]
    settings |= {
        # The generated package is checked as a whole elsewhere.
        "exclude": ["**/protocol", ".venv"],
        "executionEnvironments": [
            {"root": project.name, "extraPaths": [f"{project.name}/src"]} for project in found
        ],
    }
    (place / "pyrightconfig.json").write_text(json.dumps(settings))
    (place / "wrong.py").write_text(WRONG)
    report = json.loads(run(projects.tool("pyright"), "--outputjson", cwd=place, wanted=1))
    assert [Path(diagnostic["file"]).name for diagnostic in report["generalDiagnostics"]] == [
        "wrong.py"
    ]
    files = sum(len(own_modules(project)) for project in found)
    assert report["summary"]["filesAnalyzed"] == files + 1


def test_mypy_finds_nothing(place: Path) -> None:
    mypy = (
        *(sys.executable, "-m", "mypy"),
        "--strict",
        "--config-file=",
        "--python-version=3.11",
        "--follow-imports=silent",
        f"--cache-dir={place / '.mypy_cache'}",
        f"--python-executable={place / '.venv' / 'bin' / 'python'}",
    )
    for file in sorted(place.glob("*/pyproject.toml")):
        modules = own_modules(file.parent)
        run(*mypy, *modules, cwd=file.parent, env={"MYPYPATH": "src"})
