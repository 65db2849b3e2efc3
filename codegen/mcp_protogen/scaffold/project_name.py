"""Names of projects: each must also work as a distribution, a package and a program.

A distribution is called `word-clock`, its package `word_clock`. A name that would hide a module of
the project's imports is refused.
"""

import keyword
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from mcp_protogen.base.problems import Problem, ProblemError

# The longest line of a project that has its name in it still fits into its line length.
LONGEST = 40

_SHAPE = re.compile(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*")
_OTHERS = re.compile(r"[^A-Za-z0-9]+")

# Packages that are installed beside a project, with their own dependencies: the names of imports,
# of distributions and of programs, because a project uses its name as each of the three.
_DEPENDENCIES = (
    *("annotated_types", "anyio", "async_timeout", "click", "colorama", "h11", "httpcore2"),
    *("httpx2", "idna", "psycopg", "psycopg_binary", "pydantic", "pydantic_core", "redis"),
    *("truststore", "typing_extensions", "typing_inspection", "tzdata", "uvicorn"),
)
_CHECKING = (
    *("iniconfig", "mypy", "mypyc", "nodeenv", "packaging", "pluggy", "py", "pygments", "pyright"),
    *("pygmentize", "pyright_langserver", "pyright_python", "pyright_python_langserver", "pytest"),
    *("pytest_asyncio", "ruff"),
)
_GENERATING = (
    *("activate_global_python_argcomplete", "annotated_doc", "argcomplete", "attr", "attrs"),
    *("black", "blackd", "blib2to3"),
    *("datamodel_code_generator", "datamodel_codegen", "genson", "inflect", "isort"),
    *("isort_identify_imports", "jaraco", "jaraco_functools", "jinja2", "jsonschema"),
    *("jsonschema_specifications", "markdown_it", "markdown_it_py", "markupsafe", "mdurl"),
    *("more_itertools", "mypy_extensions", "pathspec", "platformdirs", "pytokens", "pyyaml"),
    *("referencing", "register_python_argcomplete", "rich", "rpds", "rpds_py", "shellingham"),
    *("tomli", "typeguard", "typer", "yaml"),
)

# Package → what it is already. Projects import these, or are imported beside them.
_TAKEN: Mapping[str, str] = {
    **dict.fromkeys(_DEPENDENCIES, "a dependency"),
    **dict.fromkeys(_CHECKING, "a tool that checks the project"),
    **dict.fromkeys(_GENERATING, "a tool used to generate the package"),
    **dict.fromkeys(("hatchling", "pip", "setuptools"), "a tool that builds or installs it"),
    **dict.fromkeys(("activate", "python", "python3", "pythonw"), "a program of its environment"),
    "fastmcp": "another package of the Model Context Protocol",
    "mcp": "the official Python SDK",
    "mcp_gen": "the program that keeps it in step",
    "mcp_protogen": "the program that keeps it in step",
    "mcp_types": "the official Python SDK",
    "protocol": "the folder of its generated package",
    "src": "the folder of its code",
    "test": "a module of Python's standard library",
    "tests": "the folder of its tests",
    # "Naming Files, Paths, and Namespaces" of Windows: no folder can have such a name there.
    **dict.fromkeys(("aux", "con", "nul", "prn"), "a device on Windows"),
    **{
        f"{port}{digit}": "a device on Windows" for port in ("com", "lpt") for digit in range(1, 10)
    },
}


@dataclass(frozen=True, slots=True)
class ProjectName:
    """The name of a project in both its forms."""

    distribution: str
    package: str


def project_name(text: str) -> ProjectName:
    """Return `text` as the name of a project; raise `ProblemError` (`unusable-name`)."""
    if fault := _fault(text):
        message = f"{text!r:.80} cannot be the name of a project: {fault}"
        better = _OTHERS.sub("-", text).strip("-")
        hint = "choose another name" if _fault(better) else f"{better!r} is possible"
        raise ProblemError(Problem("unusable-name", message, hint=hint))
    return ProjectName(text, _package(text))


def _fault(text: str) -> str:
    """Return the fault of a name; empty if it is valid."""
    package = _package(text)
    if not _SHAPE.fullmatch(text):
        return "it may have letters and digits, with single hyphens between them"
    if len(text) > LONGEST:
        return f"it has {len(text)} characters, and at most {LONGEST} are allowed"
    if not package.isidentifier():
        return f"no package can be imported as {package}, which begins with a digit"
    if keyword.iskeyword(package):
        return f"{package} is a keyword of Python"
    if package in sys.stdlib_module_names:
        return f"{package} is a module of Python's standard library"
    return f"{package} is {_TAKEN[package]}" if package in _TAKEN else ""


def _package(text: str) -> str:
    return text.replace("-", "_").lower()
