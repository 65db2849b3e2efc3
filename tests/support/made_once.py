"""Slow results for tests of their use: made once in a run.

The processes of a run share them in a folder, which `conftest` names in `MADE_ONCE`.
"""

import os
import pickle
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest
from mcp_protogen.base.canonical import digest
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Problem
from mcp_protogen.instep.compare.revisions import ComparedRevision, compared_file
from mcp_protogen.instep.vectors.making import make
from mcp_protogen.instep.vectors.vector import VectorSet, title
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.inputs.inputs import read_inputs
from mcp_protogen.pipeline.inputs.metacheck import check
from mcp_protogen.pipeline.output.trial import find_untried, import_package
from mcp_protogen.pipeline.package import Package
from typer.main import get_command

from support.folders import alone

_commands: Final = cache(get_command)
_made: Final[dict[str, Any]] = {}
_valid: Final = set[str]()
_names: Final[dict[int, str]] = {}
"""What the packages here were made from, by identity."""


def generated_once(options: GenerationOptions) -> Package:
    """Return the package for options and for the present content of their files."""
    inputs = _inputs(options)
    package: Package = once(f"package {inputs}", lambda: generate(options))
    _names[id(package)] = inputs
    return package


def trying_once(package: Package, options: GenerationOptions) -> tuple[Problem, ...]:
    """Import each package that was generated once, once."""
    untried = find_untried(package.inputs, options)

    def require() -> tuple[Problem, ...]:
        return import_package(package, options, untried)

    name = f"trial of {_names.get(id(package))} {sorted(untried)}"
    return once(name, require) if id(package) in _names else require()


def vectors_once(
    revision: str, options: GenerationOptions | None = None, extension: str = ""
) -> VectorSet:
    extensions = {extension: None} if extension else {}
    inputs = _inputs(options or GenerationOptions((revision,), extensions=extensions))
    vectors: VectorSet = once(
        f"vectors {title(revision, extension)} {inputs}", lambda: make(revision, options, extension)
    )
    return vectors


@cache
def compared_once(
    revision: str, given: GivenFile | None, *, title: str, as_published: bool
) -> ComparedRevision:
    """Return a revision or a file to compare; callers must not change it."""
    return compared_file(revision, given, title=title, as_published=as_published)


def checked_once(schema: dict[str, Any], place: str) -> None:
    """Check a schema, without its definitions that are already known to be valid."""
    dialect = schema.get("$schema")
    rest, checked = dict(schema), set[str]()
    for keyword in {"$defs", "definitions"} & schema.keys():
        if is_object(definitions := schema[keyword]):
            digests = {name: digest([dialect, inner]) for name, inner in definitions.items()}
            rest[keyword] = {
                name: definitions[name] for name in digests if digests[name] not in _valid
            }
            checked |= {*digests.values()}

    def is_valid() -> bool:
        check(rest, place)
        return True

    once(f"valid {digest(schema)}", is_valid)
    _valid.update(checked)


def _inputs(options: GenerationOptions) -> str:
    return f"{options} {read_inputs(options)}"


def once(name: str, make: Callable[[], Any]) -> Any:
    """Return the object of a name, made by the first process of the run that needs it."""
    if name not in _made:
        file = Path(os.environ["MADE_ONCE"]) / sha256(name.encode()).hexdigest()
        with alone(file):
            if not file.exists():
                file.write_bytes(pickle.dumps(make()))
            _made[name] = pickle.loads(file.read_bytes())
    return _made[name]


def put_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the command line use these."""
    monkeypatch.setattr("mcp_protogen.pipeline.generate.generate", generated_once)
    monkeypatch.setattr("mcp_protogen.pipeline.output.trial.try_package", trying_once)
    monkeypatch.setattr("mcp_protogen.instep.compare.naming.compared_file", compared_once)
    monkeypatch.setattr("typer.main.get_command", _commands)
    for user in ("instep.vectors.making", "instep.vectors.writing", "instep.audit.behaviour"):
        monkeypatch.setattr(f"mcp_protogen.{user}.make", vectors_once)
