"""The files of new projects, for every kind, transport and revision."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from mcp_protogen.base.names import module_name
from mcp_protogen.pipeline.output.tree import Tree
from mcp_protogen.pipeline.parts import PartSelection, missing_names
from mcp_protogen.scaffold import requirements
from mcp_protogen.scaffold.choices import (
    ProjectChoices,
    ProjectEngine,
    ProjectKind,
    ProjectTransport,
)
from mcp_protogen.scaffold.files import project_files, protocol_folder
from mcp_protogen.scaffold.project_name import LONGEST, project_name
from support import tables
from support.folders import ROOT
from support.scaffold import projects

SHORTEST, LONGEST_NAME = "x", "a" * 20 + "-" + "b" * (LONGEST - 21)
OVER_HTTP = (ProjectTransport.HTTP, ProjectTransport.BOTH)
EVERY_KIND = [
    *(projects.choices(*combination) for combination in product(ProjectKind, ProjectTransport)),
    *(projects.sharing(*combination) for combination in product(ProjectEngine, OVER_HTTP)),
]
EVERYTHING = [
    *(
        projects.sharing(engine, transport, [revision], name)
        for engine, transport, revision, name in product(
            ProjectEngine, OVER_HTTP, projects.ALL_REVISIONS, (SHORTEST, LONGEST_NAME)
        )
    ),
    *(
        projects.choices(kind, transport, [revision], name)
        for kind, transport, revision, name in product(
            ProjectKind, ProjectTransport, projects.ALL_REVISIONS, (SHORTEST, LONGEST_NAME)
        )
    ),
]


THROUGH_MOUNTS = {"Bridge", "open_http", "stdio_client"}
"""Names that mounts of remote servers use."""


def text(choices: ProjectChoices, path: str) -> str:
    return project_files(choices)[path].decode()


def choices_label(choices: ProjectChoices) -> str:
    return f"{choices.kind}-{choices.transport}-{choices.shared}"


def examples_in(readme: str) -> list[Any]:
    return [json.loads(found) for found in re.findall(r"```json\n(.*?)```", readme, re.DOTALL)]


@pytest.fixture(scope="module")
def every_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write every possible project into its own folder, with an empty generated package.

    A file that is the same in several projects of one name is written only for the first.
    """
    place = tmp_path_factory.mktemp("written")
    seen: set[tuple[str, str, bytes]] = set()
    for number, choices in enumerate(EVERYTHING):
        package = f"{protocol_folder(choices)}/{module_name(choices.revision)}"
        empty = dict.fromkeys((f"{package}/__init__.py", f"{package}/models.py"), b"")
        for path, content in {**project_files(choices), **empty}.items():
            file = place / str(number) / path
            known = (choices.name.package, path, content)
            # By these, ruff knows its settings, and which packages are the project's own.
            if known not in seen or path.endswith(("pyproject.toml", "__init__.py", "models.py")):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
                seen.add(known)
    return place


def test_code_is_formatted_whatever_the_name_is(every_project: Path) -> None:
    """ruff, which writes what black would, checks all files; black checks a sample."""
    folders = tables.some(sorted(folder.name for folder in every_project.iterdir()), 9, "black")
    for command in (
        ("black", "--check", "--quiet", "--line-length=100", "--target-version=py311", *folders),
        ("ruff", "format", "--no-cache", "--check", "."),
        ("ruff", "check", "--no-cache", "."),
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=every_project, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_module_and_function_says_what_it_is_for() -> None:
    for choices in EVERY_KIND:
        with tables.case(choices_label(choices)):
            for path, content in project_files(choices).items():
                if not path.endswith(".py"):
                    continue
                tree = ast.parse(content)
                assert ast.get_docstring(tree), path
                if path.startswith("src/"):
                    silent = [
                        node.name
                        for node in ast.walk(tree)
                        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
                        and not node.name.startswith("_")
                        and not ast.get_docstring(node)
                    ]
                    assert silent == [], path


def test_the_readme_shows_how_a_host_is_configured() -> None:
    for choices in EVERY_KIND:
        with tables.case(choices_label(choices)):
            examples = examples_in(text(choices, "README.md"))
            servers = [entry for example in examples for entry in example["mcpServers"].values()]
            started, reached = ([s for s in servers if key in s] for key in ("command", "url"))
            if choices.kind is not ProjectKind.CLIENT:
                assert bool(started) == choices.transport.stdio
                assert bool(reached) == choices.transport.http
            else:
                assert started or not choices.transport.stdio


def test_the_readme_names_every_file_of_the_package() -> None:
    for choices in EVERY_KIND:
        with tables.case(choices_label(choices)):
            readme = text(choices, "README.md")
            files = (Path(path) for path in project_files(choices) if path.startswith("src/"))
            shown = [
                path.as_posix() for path in files if path.name not in ("__init__.py", "py.typed")
            ]
            assert shown
            assert [path for path in (*shown, protocol_folder(choices)) if path not in readme] == []


def test_texts_for_people_have_no_marks_of_templates_and_no_gaps() -> None:
    for choices in EVERY_KIND:
        with tables.case(choices_label(choices)):
            for path, content in project_files(choices).items():
                plain = re.sub(r"\$\{\{ [\w.]+ \}\}", "said by the workflow", content.decode())
                assert not re.search(r"\{\{|\{%|%\}", plain), path
                assert "\n\n\n" not in plain or path.endswith(".py"), path
                assert " \n" not in plain, path
                assert plain == "" or plain.endswith("\n"), path
                assert not plain.endswith("\n\n"), path


def test_the_image_copies_what_is_there_and_installing_needs_no_more() -> None:
    for choices in EVERY_KIND:
        with tables.case(choices_label(choices)):
            files = project_files(choices)
            lines = files["Dockerfile"].decode().splitlines()
            copied = {
                source
                for line in lines
                if line.startswith("COPY ")
                for source in line.removeprefix("COPY ").split()[:-1]
            }
            there = {path.split("/")[0] for path in files}
            assert copied <= there
            project = tomllib.loads(files["pyproject.toml"].decode())
            needed = {"pyproject.toml", project["project"]["readme"], "src"}
            assert copied == needed
            allowed = {
                line.removeprefix("!")
                for line in files[".dockerignore"].decode().splitlines()
                if line[0] == "!"
            }
            assert allowed == copied
            (entry,) = (line for line in lines if line.startswith("ENTRYPOINT "))
            assert json.loads(entry.removeprefix("ENTRYPOINT ")) == [*project["project"]["scripts"]]


def test_the_workflow_runs_what_the_makefile_has() -> None:
    for choices in EVERY_KIND:
        with tables.case(choices_label(choices)):
            steps = projects.workflow_steps(text(choices, ".github/workflows/ci.yml"))
            make_targets = set(re.findall(r"^([a-z]+):", text(choices, "Makefile"), re.MULTILINE))
            assert {step.split()[1] for step in steps if step.startswith("make ")} <= make_targets
            assert {"setup", "lint", "test"} <= {word for step in steps for word in step.split()}
            assert {"help", "setup", "test", "lint", "check", "run", "sync"} == make_targets
            assert any("mcp-gen --check --regenerate --format github" in step for step in steps)


def test_a_checkout_does_not_change_what_is_generated(tmp_path: Path) -> None:
    wanted = EVERY_KIND[0]
    (tmp_path / ".git").mkdir()
    line = Tree({}, frozenset(), folder=tmp_path / protocol_folder(wanted)).attributes
    assert line in text(wanted, ".gitattributes").splitlines()


def test_a_project_depends_on_what_it_imports_and_no_more() -> None:
    for choices in EVERY_KIND:
        with tables.case(choices_label(choices)):
            project = tomllib.loads(text(choices, "pyproject.toml"))
            needed = {
                re.split(r"[\[<>=]", requirement)[0]
                for requirement in project["project"]["dependencies"]
            }
            engines = {ProjectEngine.POSTGRES: "psycopg", ProjectEngine.REDIS: "redis"}
            engine = {
                name for engine_name, name in engines.items() if engine_name is choices.shared
            }
            http = "httpx2" if choices.kind is ProjectKind.CLIENT else "uvicorn"
            # A gateway calls URLs, whatever the transport of its clients is.
            called = {"httpx2"} if choices.kind is ProjectKind.GATEWAY else set[str]()
            assert {"pydantic", *called} <= needed
            assert (http in needed) == choices.transport.http
            assert needed - {"pydantic", "tzdata", http} - called == engine
            # Installers resolve all named packages, even if no index has the generator.
            assert "mcp-protogen" not in text(choices, "pyproject.toml")


def test_pydantic_is_asked_for_in_the_range_that_generated_packages_are_tested_with() -> None:
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert requirements.PYDANTIC in ours


def test_settings_say_where_the_generated_package_is_and_what_it_speaks() -> None:
    choices = projects.choices(ProjectKind.SERVER, ProjectTransport.BOTH)
    settings = tomllib.loads(text(choices, "pyproject.toml"))["tool"]["mcp-gen"]
    assert settings == {
        "out": protocol_folder(choices),
        "revisions": [*choices.revisions],
        "with": [*choices.parts],
    }


def test_tests_of_a_transport_are_there_where_it_is_used() -> None:
    for transport in ProjectTransport:
        files = project_files(projects.choices(ProjectKind.SERVER, transport))
        assert ("tests/test_stdio.py" in files) == transport.stdio
        assert ("tests/test_http.py" in files) == transport.http


def test_workers_read_variables_set_by_compose() -> None:
    for choices in EVERY_KIND:
        with tables.case(choices_label(choices)):
            files = project_files(choices)
            assert ("compose.yaml" in files) == (choices.shared is not None)
            if choices.shared is None:
                continue
            services: dict[str, Any] = yaml.safe_load(files["compose.yaml"])["services"]
            assert {*services} == {choices.shared.value, "worker", "balancer"}
            program = text(choices, f"src/{choices.name.package}/__main__.py")
            given = services["worker"]["environment"]
            assert {*given} == set(re.findall(r'environ\.get\("(\w+)"', program))
            assert all(f"`{name}`" in text(choices, "README.md") for name in given)
            asked = set(re.findall(r"\$\{(\w+)", text(choices, "compose.yaml")))
            said = set(re.findall(r'echo "(\w+)=', text(choices, "README.md")))
            assert asked == said
            assert ".env" in text(choices, ".gitignore").splitlines()
            url: str = next(url for name, url in given.items() if name.endswith("_URL"))
            assert urlsplit(url).hostname in services
            assert services["worker"]["deploy"]["replicas"] == 2
            assert " worker:8000 " in text(choices, "haproxy.cfg")


def test_a_name_is_used_in_both_spellings() -> None:
    files = project_files(
        projects.choices(ProjectKind.SERVER, ProjectTransport.STDIO, name="Word-Clock")
    )
    assert "src/word_clock/server.py" in files
    assert tomllib.loads(files["pyproject.toml"].decode())["project"]["name"] == "Word-Clock"
    assert project_name("Word-Clock").package == "word_clock"


def test_a_project_has_the_parts_that_it_uses_and_no_others() -> None:
    for choices in EVERY_KIND:
        used = {
            alias.name
            for path, content in project_files(choices).items()
            if path.endswith(".py")
            for node in ast.walk(ast.parse(content))
            if isinstance(node, ast.ImportFrom)
            and node.module in ("protocol", f"{choices.name.package}.protocol")
            for alias in node.names
        } - {module_name(choices.revision), "REVISIONS"}
        if choices.kind is ProjectKind.GATEWAY:
            used |= THROUGH_MOUNTS
        with tables.case(choices_label(choices)):
            assert used.isdisjoint(missing_names(PartSelection(choices.parts)))
            for part in choices.parts:
                fewer = PartSelection({*choices.parts} - {part})
                assert used & missing_names(fewer).keys(), f"nothing needs {part}"
