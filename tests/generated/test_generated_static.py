"""The generated package under the strictest checks, alone in an empty folder.

Without this checkout's configuration, as for users.
"""

import shutil
import sys
import tomllib
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from mcp_protogen.base.names import module_name
from mcp_protogen.pipeline.emit.formatting import HEAD
from mcp_protogen.scaffold.choices import ProjectChoices
from mcp_protogen.scaffold.files import protocol_folder
from mcp_protogen.scaffold.project_name import project_name
from support import tables
from support.docs.pages import programs
from support.examples import ported
from support.generated import own_extension, user_programs
from support.generated.golden_package import PACKAGE
from support.generated.package_copy import copied_package
from support.generated.type_checkers import CHECKERS, find_objections, require_same
from support.generating import write_files
from support.programs import run_program
from support.scaffold import projects
from support.targets import type_checked as targets
from support.typed_clients import contracts

pytestmark = pytest.mark.long

PROGRAMS = {
    "stateless.py": user_programs.STATELESS,
    "calls.py": user_programs.CALLS,
    "connecting.py": user_programs.CONNECTING,
    "toolkit.py": user_programs.TOOLKIT,
    "tables.py": programs("asking.md")[0],
    "asking.py": user_programs.ASKING,
    "middleware.py": user_programs.MIDDLEWARE,
    "middleware_page.py": programs("middleware.md")[0],
    "greeter.py": programs("app.md")[0],
    "app.py": user_programs.APP,
    **{
        name: programs("testing.md")[place]
        for place, name in enumerate(("welcome.py", "calls_tests.py", "fixtures.py", "snapshot.py"))
    },
    "request_page.py": programs("http.md")[2],
    "routes_page.py": programs("http.md")[3],
    "workers_page.py": programs("http.md")[5],
    "mounting.py": user_programs.MOUNTING,
    "extended.py": user_programs.EXTENSIONS,
    "metadata_page.py": programs("authorization-servers.md")[1],
    "weather_client.py": contracts.text_of(
        *contracts.USUAL, prompts=[contracts.ASK], templates=[contracts.PLACE]
    ),
    "weather.py": contracts.USED,
    "weather_page.py": programs("typed-clients.md")[0],
    "travel.py": programs("mounting.md")[0],
    **{f"{name}.py": ported.source(name) for name in ported.SERVERS},
} | user_programs.of_pages(
    *(
        "client-calls.md",
        "extensions.md",
        "tasks.md",
        "from-fastmcp.md",
        "from-mcp-sdk.md",
        "models.md",
        "negotiation.md",
    ),
    *("sessions.md", "state.md", "toolkit.md", "translation.md"),
    *("deployment.md", "first-client.md", "first-server.md", "README.md", "security.md"),
)
# Its original is checked with our own code.
RUNTIME = "_runtime"
PROJECTS = tuple(
    replace(choices, name=project_name(projects.describe_choices(choices)))
    for choices in tables.some(projects.VARIETY, 6, "types of projects")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, the user programs and the projects, and nothing else."""
    place = tmp_path_factory.mktemp("static")
    hidden = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(copied_package(), place / PACKAGE.name, ignore=hidden)
    for name, program in PROGRAMS.items():
        (place / name).write_text(program)
    for wanted in PROJECTS:
        write_project(place, wanted)
    return place


def write_project(folder: Path, wanted: ProjectChoices) -> None:
    """Write a new project.

    Its generated package takes all names from the one beside it, which is checked once.
    """
    project = folder / wanted.name.package
    projects.write_project(project, wanted)
    settings = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["pyright"]
    assert settings["typeCheckingMode"] == "strict"
    assert settings["include"] == ["src", "tests"]
    protocol = project / protocol_folder(wanted)
    protocol.unlink()
    module = module_name(wanted.revision)
    for name in ("", f".{module}", f".{module}.models"):
        place = protocol.joinpath(*name.split(".")[1:])
        place.mkdir()
        (place / "__init__.py").write_text(f"from {PACKAGE.name}{name} import *\n")


def own_modules(folder: Path, wanted: ProjectChoices) -> list[str]:
    """Return the modules of a project that are not generated."""
    project = folder / wanted.name.package
    modules = (*project.glob("src/*/*.py"), *project.glob("tests/*.py"))
    return [path.relative_to(folder).as_posix() for path in sorted(modules)]


@pytest.fixture(scope="module")
def extension(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The modules of an extension of one's own, and a program that uses them."""
    package = own_extension.package_with_it(tmp_path_factory.mktemp("input"), others=("tasks",))
    write_files(package.files, folder / "with_folders")
    (folder / "own_extension.py").write_text(own_extension.PROGRAM)
    modules = folder.glob("with_folders/*/ext")
    return ["own_extension.py", *(path.relative_to(folder).as_posix() for path in modules)]


@pytest.mark.parametrize("checker", CHECKERS)
def test_checkers_object_to_wrong_lines_only(
    checker: str, folder: Path, extension: list[str]
) -> None:
    """All share one process, in which the package and Pydantic take most of the time.

    The package is read by each checker. The rest is shared out between them, but each reads all
    with `--all`.
    """
    targets.write_all(folder)
    place = CHECKERS.index(checker)
    names = tables.share([*PROGRAMS], place, "programs")
    names += tables.share([*targets.PROGRAMS], place, "programs of targets")
    chosen = tables.share(PROJECTS, place, "projects")
    checked = [
        *(PACKAGE.name, *names),
        *chain(*(own_modules(folder, wanted) for wanted in chosen)),
        *tables.share([*targets.PACKAGES], place, "packages that are checked"),
        *tables.share([*targets.MADE_UP], place, "made-up types"),
    ]
    if checker in tables.some(CHECKERS, 1, "type checkers of an extension of one's own"):
        checked += extension
    apart = [wanted.name.package for wanted in chosen]
    found = find_objections(checker, folder, checked, apart=apart, unchecked=[RUNTIME])
    programs = {**PROGRAMS, **targets.PROGRAMS}
    wrong = {(name, line) for name in names for line in user_programs.wrong_lines(programs[name])}
    require_same(found, wrong)


@pytest.mark.parametrize(
    "command",
    [
        "ruff check --isolated --select=ALL --exclude=_runtime",
        "ruff format --isolated --check --line-length=60 --exclude=_runtime",
        "black --check --quiet --line-length=60 --extend-exclude=/_runtime/",
        "isort --check --line-length=60 --skip=_runtime",
    ],
)
def test_linters_and_formatters_leave_it_alone_whatever_they_are_set_to(
    command: str, folder: Path
) -> None:
    run_program(sys.executable, "-m", *command.split(), PACKAGE.name, cwd=folder)


def test_imports_are_in_the_order_of_isort(tmp_path: Path) -> None:
    place = tmp_path / PACKAGE.name
    shutil.copytree(PACKAGE, place, ignore=shutil.ignore_patterns("__pycache__"))
    for path in place.rglob("*.py"):
        path.write_text(path.read_text().removeprefix(HEAD))
    for command in (
        ["isort", "--check", "--profile=black", "--line-length=100"],
        ["ruff", "check", "--isolated", "--select=I", "--line-length=100"],
    ):
        with tables.case(command[0]):
            run_program(sys.executable, "-m", *command, PACKAGE.name, cwd=tmp_path)


def test_every_module_says_what_it_is_for_and_no_line_is_too_long() -> None:
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith(f'{HEAD}"""'), path
        assert max(map(len, text.splitlines())) <= 100, path
