"""The files of a project beside its generated package, and their templates.

A pure function. Names are checked before templates print them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from mcp_protogen.base.names import module_name
from mcp_protogen.base.resources import templates_folder
from mcp_protogen.scaffold import requirements
from mcp_protogen.scaffold.choices import (
    ProjectChoices,
    ProjectEngine,
    ProjectKind,
    ProjectTransport,
)
from mcp_protogen.scaffold.extensions import server_mixins
from mcp_protogen.scaffold.revisions import features

if TYPE_CHECKING:
    from jinja2 import Environment

PROTOCOL = "src/{package}/protocol"
"""The folder of the generated package."""

_EVERY_KIND = frozenset(ProjectKind)
_EVERY_TRANSPORT = frozenset(ProjectTransport)
_STDIO = frozenset({ProjectTransport.STDIO, ProjectTransport.BOTH})
_HTTP = frozenset({ProjectTransport.HTTP, ProjectTransport.BOTH})
_SERVER, _CLIENT, _GATEWAY = (frozenset({kind}) for kind in ProjectKind)


@dataclass(frozen=True, slots=True)
class _File:
    """A file of some projects: its path, which may contain `{package}`, and its template."""

    path: str
    template: str
    kinds: frozenset[ProjectKind] = _EVERY_KIND
    transports: frozenset[ProjectTransport] = _EVERY_TRANSPORT
    shared: bool = False
    """Whether only projects with shared state have it."""


_FILES = (
    _File(".dockerignore", "dockerignore.jinja"),
    _File(".gitattributes", "gitattributes.jinja"),
    _File(".github/workflows/ci.yml", "ci.yml.jinja"),
    _File(".gitignore", "gitignore.jinja"),
    _File("Dockerfile", "Dockerfile.jinja"),
    _File("Makefile", "Makefile.jinja"),
    _File("compose.yaml", "server/compose.yaml.jinja", shared=True),
    _File("haproxy.cfg", "server/haproxy.cfg.jinja", shared=True),
    _File("README.md", "server/README.md.jinja", _SERVER),
    _File("README.md", "client/README.md.jinja", _CLIENT),
    _File("README.md", "gateway/README.md.jinja", _GATEWAY),
    _File("pyproject.toml", "pyproject.toml.jinja"),
    _File("src/{package}/__init__.py", "package.py.jinja"),
    _File("src/{package}/py.typed", "empty.jinja"),
    # Without it, tests are modules at the top, where a package may have the same name: test_server.
    _File("tests/__init__.py", "tests.py.jinja"),
    _File("src/{package}/__main__.py", "server/main.py.jinja", _SERVER | _GATEWAY),
    _File("src/{package}/server.py", "server/server.py.jinja", _SERVER),
    _File("tests/test_server.py", "server/test_server.py.jinja", _SERVER),
    _File("tests/test_stdio.py", "server/test_stdio.py.jinja", _SERVER | _GATEWAY, _STDIO),
    _File("tests/test_http.py", "server/test_http.py.jinja", _SERVER | _GATEWAY, _HTTP),
    _File("tests/test_shared.py", "server/test_shared.py.jinja", shared=True),
    _File("src/{package}/__main__.py", "client/main.py.jinja", _CLIENT),
    _File("src/{package}/client.py", "client/client.py.jinja", _CLIENT),
    _File("tests/example_server.py", "example_server.py.jinja", _CLIENT | _GATEWAY),
    _File("tests/test_client.py", "client/test_client.py.jinja", _CLIENT),
    _File("tests/test_program.py", "client/test_program.py.jinja", _CLIENT),
    _File("mcp.json", "gateway/mcp.json.jinja", _GATEWAY),
    _File("src/{package}/gateway.py", "gateway/gateway.py.jinja", _GATEWAY),
    _File("tests/test_gateway.py", "gateway/test_gateway.py.jinja", _GATEWAY),
)


# Values for templates; the variable has the URL of the engine.
_ENGINES: Mapping[ProjectEngine, Mapping[str, str]] = {
    ProjectEngine.POSTGRES: {
        "name": "postgres",
        "title": "PostgreSQL",
        "engine": "PostgresEngine",
        "variable": "DATABASE_URL",
    },
    ProjectEngine.REDIS: {
        "name": "redis",
        "title": "Redis",
        "engine": "RedisEngine",
        "variable": "REDIS_URL",
    },
}


def protocol_folder(choices: ProjectChoices) -> str:
    """Return the folder of the generated package, relative to the project."""
    return PROTOCOL.format(package=choices.name.package)


def project_files(choices: ProjectChoices) -> dict[str, bytes]:
    """Return the files of a project, except its generated package, by relative path."""
    context, template = _context(choices), _environment().get_template
    return {
        file.path.format(package=choices.name.package): template(file.template)
        .render(context)
        .encode()
        for file in _files_for(choices)
    }


@cache
def _environment() -> "Environment":
    # Slow to import.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(templates_folder() / "scaffold"),
        undefined=StrictUndefined,
        autoescape=False,  # nothing in them is HTML
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _files_for(choices: ProjectChoices) -> Iterator[_File]:
    for file in _FILES:
        wanted = choices.kind in file.kinds and choices.transport in file.transports
        if wanted and (choices.shared is not None or not file.shared):
            yield file


def _context(choices: ProjectChoices) -> Mapping[str, Any]:
    mixins = dict(server_mixins(choices.extensions, choices.revision))
    known = features(choices.revision)
    return {
        "name": choices.name.distribution,
        "package": choices.name.package,
        "kind": choices.kind.value,
        "stdio": choices.transport.stdio,
        "http": choices.transport.http,
        "shared": _ENGINES[choices.shared] if choices.shared else None,
        "revision": choices.revision,
        "module": module_name(choices.revision),
        "revisions": choices.revisions,
        "parts": choices.parts,
        "extensions": choices.extensions,
        "mixins": mixins,
        # A revision with built-in tasks has no class for the extension.
        "may_be_task": "tasks" in mixins or ("tasks" in choices.extensions and known["tasks"]),
        "protocol": protocol_folder(choices),
        **known,
        "dependencies": requirements.dependencies(choices),
        "development": requirements.development(choices),
    }
