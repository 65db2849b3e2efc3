"""Possible names of a project, and the errors for others."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.metadata import Distribution, distributions

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.scaffold.choices import ProjectEngine, ProjectKind, ProjectTransport
from mcp_protogen.scaffold.project_name import LONGEST, ProjectName, project_name
from mcp_protogen.scaffold.requirements import dependencies, development
from support import tables
from support.scaffold import projects

REFUSED = {
    "": "letters and digits",
    "my server": "letters and digits",
    "my_server": "letters and digits",
    "../up": "letters and digits",
    "-x": "letters and digits",
    "x-": "letters and digits",
    "a--b": "letters and digits",
    "naïve": "letters and digits",
    'x"; import os': "letters and digits",
    "x\n": "letters and digits",
    "3d-tools": "begins with a digit",
    "2025": "begins with a digit",
    "class": "keyword",
    "Class": "keyword",
    "async": "keyword",
    "json": "standard library",
    "Logging": "standard library",
    "test": "standard library",
    "mcp": "official Python SDK",
    "MCP": "official Python SDK",
    "mcp-protogen": "keeps it in step",
    "pydantic": "a dependency",
    "pydantic-core": "a dependency",
    "uvicorn": "a dependency",
    "pytest": "a tool that checks the project",
    "typing-extensions": "a dependency",
    "python": "a program of its environment",
    "black": "used to generate",
    "tests": "tests",
    "src": "code",
    "con": "Windows",
    "COM1": "Windows",
    "a" * (LONGEST + 1): f"at most {LONGEST}",
}


def test_a_name_that_would_make_trouble_is_refused_with_the_reason() -> None:
    for name in REFUSED:
        with tables.case(name):
            with pytest.raises(ProblemError) as refused:
                project_name(name)
            (problem,) = refused.value.problems
            assert problem.code == "unusable-name"
            assert REFUSED[name] in problem.message
            assert problem.hint


def test_a_name_is_written_with_underscores_in_python() -> None:
    assert project_name("word-clock-2") == ProjectName("word-clock-2", "word_clock_2")
    assert project_name("Weather") == ProjectName("Weather", "weather")
    assert project_name("a" * LONGEST).package == "a" * LONGEST


def test_the_hint_is_a_name_that_would_do() -> None:
    for name, hint in (
        ("my_server", "'my-server' is possible"),
        ("a--b", "'a-b' is possible"),
        ("json_", "choose another name"),
    ):
        with tables.case(name):
            with pytest.raises(ProblemError) as refused:
                project_name(name)
            assert refused.value.problems[0].hint == hint


def test_a_name_that_makes_no_trouble_is_not_refused() -> None:
    for name in ("test-server", "test-stdio", "example-server", "server", "a"):
        with tables.case(name):
            assert project_name(name).distribution == name


def plain(name: str) -> str:
    """A name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(roots: Iterable[str], path: Sequence[str]) -> dict[str, Distribution]:
    """Return the installed distributions in `path` that some need, themselves included."""
    installed = {
        plain(distribution.name): distribution for distribution in distributions(path=[*path])
    }
    found: dict[str, Distribution] = {}
    waiting = {plain(name) for name in roots}
    while waiting:
        name = waiting.pop()
        if name in installed and name not in found:
            found[name] = installed[name]
            needed = (
                requirement
                for requirement in found[name].requires or ()
                if "extra ==" not in requirement
            )
            waiting |= {plain(re.split(r"[^\w.-]", requirement)[0]) for requirement in needed}
    return found


def names_of(installed: Distribution) -> Iterator[str]:
    """Return the names of a project that is installed, imported or run like a distribution."""
    yield plain(installed.name)
    for file in installed.files or ():
        yield file.parts[0].removesuffix(".py").replace("_", "-")
    yield from (
        entry_point.name
        for entry_point in installed.entry_points
        if entry_point.group == "console_scripts"
    )


def possible_names(distributions: Iterable[Distribution]) -> set[str]:
    """Return the names of distributions that a project could have, too."""
    found: set[str] = set()
    for name in {name for distribution in distributions for name in names_of(distribution)}:
        with suppress(ProblemError):
            found.add(project_name(name).distribution)
    return found


def test_no_project_can_be_called_like_what_generates_its_package() -> None:
    installed = closure(["mcp-protogen"], sys.path)
    assert {"jinja2", "pyyaml"} <= {*installed}
    assert possible_names(installed.values()) == set()


def test_no_project_can_be_called_like_what_it_is_installed_beside() -> None:
    everything = [
        *(projects.choices(kind, ProjectTransport.BOTH) for kind in ProjectKind),
        *map(projects.sharing, ProjectEngine),
    ]
    asked = {
        requirement
        for project in everything
        for requirement in (*dependencies(project), *development(project))
    }
    # Only these extras are requested.
    roots = {*(re.split(r"[\[<>=]", requirement)[0] for requirement in asked), "psycopg-binary"}
    installed = closure(roots, [str(projects.others())])
    assert {"h11", "pluggy", "psycopg-binary", "redis"} <= {*installed}
    assert possible_names(installed.values()) == set()
