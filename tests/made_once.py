"""What takes long to make, for tests of what is done with it: made once in a process."""

from typing import Final

import pytest
from mcp_protogen.config import Options
from mcp_protogen.generate import generate
from mcp_protogen.output.package import Package
from mcp_protogen.output.trial import require_importable
from mcp_protogen.store.inputs import read_inputs
from mcp_protogen.vectors.making import make
from mcp_protogen.vectors.vector import VectorSet

_packages: Final[dict[str, Package]] = {}
_importable: Final[set[int]] = set()
_vectors: Final[dict[str, VectorSet]] = {}


def generated_once(options: Options) -> Package:
    """The package for options, and for what the files they name hold now."""
    key = _told(options)
    if key not in _packages:
        _packages[key] = generate(options)
    return _packages[key]


def required_once(package: Package) -> None:
    """Whether a package can be imported, asked once of each that was generated once."""
    if id(package) not in _importable:
        require_importable(package)
    if any(package is one for one in _packages.values()):
        _importable.add(id(package))


def vectors_once(revision: str, options: Options | None = None) -> VectorSet:
    """The vectors of a revision, likewise."""
    key = f"{revision} {_told(options or Options((revision,)))}"
    if key not in _vectors:
        _vectors[key] = make(revision, options)
    return _vectors[key]


def _told(options: Options) -> str:
    return f"{options} {read_inputs(options)}"


def put_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the command line use these."""
    monkeypatch.setattr("mcp_protogen.generate.generate", generated_once)
    monkeypatch.setattr("mcp_protogen.output.trial.require_importable", required_once)
    for user in ("vectors.making", "vectors.writing", "audit.behaviour"):
        monkeypatch.setattr(f"mcp_protogen.{user}.make", vectors_once)
