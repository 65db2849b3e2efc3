"""The values of a run: the user's files and settings, and the options of the generator."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from mcp_protogen.pipeline.package import ExtensionInputs, RevisionInputs
from mcp_protogen.pipeline.parts import DEFAULT, PartSelection
from mcp_protogen.pipeline.target import TargetOptions

COPY = "copy"
"""The value of `--runtime` for a copy; no runtime module has this name."""

PROJECT = "pyproject.toml"


class GivenFile(NamedTuple):
    """A user's file in place of a built-in one: its name or URL, and its content."""

    name: str
    content: bytes


class Docstrings(StrEnum):
    """The texts about types, members and messages."""

    NONE = "none"
    OURS = "ours"
    SCHEMA = "schema"
    """Texts of published schemas, which the user must pass."""


class FileOf(NamedTuple):
    """A file or URL, and its revision; empty if it names none."""

    revision: str
    source: str


class GivenPatches(NamedTuple):
    """The user's corrections, applied after ours, as entries of a `patches.json`.

    They are for one revision, or for all if `revision` is empty. `place` is their file, and
    `pointer` their place in it.
    """

    revision: str
    entries: tuple[Any, ...]
    place: str
    pointer: str


class GenerationOptions(NamedTuple):
    """All input of the generator.

    `revisions` are generated, sorted; each from its pin unless `schemas` has a file for it. `kept`
    are further revisions of the package: they are listed, not generated, and their files stay.
    `templates` is a folder whose templates take precedence over the built-in ones. `rules` are
    translation rules between a revision and the one before it, in place of ours. `runtime` is the
    module of an installed runtime to import; without one, the package has a copy. `parts` are the
    parts of the package beside messages. `extensions` are generated for the revisions that they
    extend, by name; each from its pin unless there is a file for it. `kept_extensions` stay as
    `kept` do. A `target` generates only types and tables of its kind; `distribution` is the name
    and version of a third-party target. `names` are the user's names for types. `patches` are
    applied to schemas after ours.
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
        """Return the user's patches for a revision."""
        return tuple(patch for patch in self.patches if patch.revision in ("", revision))

    @property
    def selection(self) -> PartSelection:
        """The parts and extensions of the package."""
        extensions = {*self.extensions, *self.kept_extensions}
        return PartSelection(self.parts, len({*self.revisions, *self.kept}) > 1, extensions)


class Format(StrEnum):
    """The formats of a report."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"


class ClientSettings(NamedTuple):
    """A typed client of a project: its server as on the command line, its module, and options.

    `place` and `pointer` are those of its table.
    """

    place: str
    pointer: str
    server: str
    out: Path
    package: str | None = None
    config: Path | None = None
    tools: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    auth: str = "auto"
