"""The values that a run is made of: what the user gives, and the options of the generator."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from mcp_protogen.pipeline.package import ExtensionInputs, RevisionInputs
from mcp_protogen.pipeline.parts import DEFAULT, PartSelection
from mcp_protogen.pipeline.target import TargetOptions

COPY = "copy"
"""What says that a package has a copy of the runtime; no module of a runtime is called so."""

PROJECT = "pyproject.toml"


class GivenFile(NamedTuple):
    """A file that replaces one of ours: its name or URL, and its content."""

    name: str
    content: bytes


class Docstrings(StrEnum):
    """The texts about types and members, and about what is sent."""

    NONE = "none"
    OURS = "ours"
    SCHEMA = "schema"
    """Those of published schemas, which the user has to give."""


class FileOf(NamedTuple):
    """A file or URL, and the revision it is for; empty if none is named."""

    revision: str
    source: str


class GivenPatches(NamedTuple):
    """Corrections of the user, which come after ours, as entries of a `patches.json`.

    They are for one revision, or for each that is generated if `revision` is empty. `place` is the
    file that they are in, and `pointer` their place in it.
    """

    revision: str
    entries: tuple[Any, ...]
    place: str
    pointer: str


class GenerationOptions(NamedTuple):
    """All input of the generator.

    `revisions` are generated, sorted; each from its pin unless `schemas` has a file for it. `kept`
    are further revisions of the package whose files stay as they are: they are listed, not
    generated. `templates` is a folder whose templates take precedence over the built-in ones.
    `rules` are translation rules between a revision and the one before it, in place of ours.
    `runtime` is the module of an installed runtime to import; without one, the package has a copy.
    `parts` are what the package has beside messages. `extensions` are generated for the revisions
    that they extend, by name; each from its pin unless there is a file for it. `kept_extensions`
    stay as `kept` do. With a `target`, types and tables are generated alone, in its form;
    `distribution` is that of a target of others, with its version. `names` are those that the user
    gives to types. `patches` are applied to schemas after ours.
    """

    revisions: tuple[str, ...]
    schemas: Mapping[str, GivenFile] = MappingProxyType({})
    templates: Path | None = None
    kept: Mapping[str, RevisionInputs] = MappingProxyType({})
    rules: Mapping[str, GivenFile] = MappingProxyType({})
    runtime: str | None = None
    parts: tuple[str, ...] = DEFAULT
    extensions: Mapping[str, GivenFile | None] = MappingProxyType({})
    kept_extensions: Mapping[str, ExtensionInputs] = MappingProxyType({})
    target: TargetOptions | None = None
    distribution: str | None = None
    names: GivenFile | None = None
    docstrings: Docstrings = Docstrings.OURS
    patches: tuple[GivenPatches, ...] = ()

    def patches_of(self, revision: str) -> tuple[GivenPatches, ...]:
        """Return the patches of the user that are for a revision."""
        return tuple(patch for patch in self.patches if patch.revision in ("", revision))

    @property
    def selection(self) -> PartSelection:
        """The contents of the package, by its parts and extensions."""
        extensions = {*self.extensions, *self.kept_extensions}
        return PartSelection(self.parts, len({*self.revisions, *self.kept}) > 1, extensions)


class Format(StrEnum):
    """The forms of a report."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"


class ClientSettings(NamedTuple):
    """A typed client of a project: its server as on the command line, its module, and the rest."""

    name: str
    server: str
    out: Path
    package: str | None = None
    config: Path | None = None
    tools: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    auth: str = "auto"
