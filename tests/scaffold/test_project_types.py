"""The code of new projects has strict types: for pyright, as their settings say, and for mypy.

One environment and one run of pyright are shared, and one cache of mypy: most of the time would
otherwise go into looking at Pydantic, at the standard library and at the same generated package.
"""

import json
from itertools import chain
from pathlib import Path

import projects
import pytest
from projects import run

pytestmark = pytest.mark.xdist_group("types")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one project of each variety, and an environment for all of them."""
    folder = tmp_path_factory.mktemp("types")
    for wanted in projects.VARIETY:
        projects.made(folder / projects.described(wanted), wanted)
    projects.environment(folder / ".venv")
    return folder


def own_modules(project: Path) -> list[Path]:
    """The modules of a project that are not generated, relative to it."""
    found = chain(project.glob("src/*/*.py"), project.glob("tests/*.py"))
    return sorted(path.relative_to(project) for path in found)


def test_pyright_finds_nothing(place: Path) -> None:
    found = [path.parent for path in place.glob("*/pyproject.toml")]
    settings = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "include": ["."],
        # The generated package is checked as a whole elsewhere; it takes longest.
        "exclude": ["**/protocol", ".venv"],
        "venvPath": ".",
        "venv": ".venv",
        "executionEnvironments": [
            {"root": project.name, "extraPaths": [f"{project.name}/src"]} for project in found
        ],
    }
    (place / "pyrightconfig.json").write_text(json.dumps(settings))
    summary = json.loads(run(projects.tool("pyright"), "--outputjson", cwd=place))["summary"]
    assert summary["filesAnalyzed"] == sum(len(own_modules(project)) for project in found)


def test_mypy_finds_nothing(place: Path) -> None:
    mypy = (
        projects.tool("mypy"),
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
