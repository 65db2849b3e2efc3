"""The result of one generation, and its inputs, as plain values.

The generator returns a `Package`; publishing, the lock and drift use it.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from mcp_protogen import __version__
from mcp_protogen.base.names import Era
from mcp_protogen.base.problems import Problem
from mcp_protogen.pipeline.parts import read_parts

GENERATOR = f"mcp-gen {__version__}"
"""The name and version of this generator."""


PINNED = "pinned"
"""The source of a schema that is pinned, in a lock."""

RUNTIME_FOLDER = "_runtime"
"""The folder of a package with its copy of the runtime."""


class GeneratedFile(NamedTuple):
    """One file of a generated package.

    `path` is a POSIX path relative to the output folder; `origin` is the source of the file, such
    as "template methods.py.jinja", "datamodel-code-generator" or "runtime".
    """

    path: str
    content: bytes
    origin: str


class RevisionInputs(NamedTuple):
    """Digests of the inputs of one revision.

    `source` is "pinned", or the file name or URL given in its place; `published` is the sha256 of
    the published bytes. The others are sha256 digests in hexadecimal of canonical contents, empty
    without content. `era` is the way to open its sessions, for a package that keeps the revision;
    it is empty if the lock is too old to have it.
    """

    source: str
    published: str
    spec_commit: str | None
    schema: str
    patches: str
    facts: str
    descriptions: str
    rules: str = ""
    era: Era | Literal[""] = ""


class ExtensionInputs(NamedTuple):
    """Digests of the inputs of one extension, and the revisions of the package that it extends."""

    source: str
    published: str
    spec_commit: str | None
    schema: str
    patches: str
    facts: str
    revisions: tuple[str, ...]


class GenerationInputs(NamedTuple):
    """All inputs of a generation, with those of its revisions and extensions.

    `options` has only those that change the output, as JSON values.
    """

    generator: str
    generator_digest: str
    runtime_digest: str
    templates_digest: str
    options: Mapping[str, Any]
    revisions: Mapping[str, RevisionInputs]
    extensions: Mapping[str, ExtensionInputs] = MappingProxyType({})

    def as_json(self) -> dict[str, Any]:
        """Return them as the JSON object of a lock; `extensions` only if there are some."""
        values = self._asdict()
        values["revisions"] = {name: made._asdict() for name, made in self.revisions.items()}
        values["extensions"] = {name: made._asdict() for name, made in self.extensions.items()}
        if not self.extensions:
            del values["extensions"]
        return values

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the package beside messages."""
        return read_parts(self.options.get("with"))

    @property
    def beside_others(self) -> bool:
        """Return whether the files are single modules in a user's own package."""
        return self.options.get("layout") == "single"


class Package(NamedTuple):
    """A generated package: its files sorted by path (the lock is not among them)."""

    files: tuple[GeneratedFile, ...]
    inputs: GenerationInputs
    warnings: tuple[Problem, ...] = ()


def runtime_in(inputs: GenerationInputs) -> str | None:
    """Return the module of the runtime that a package imports; None if it has a copy."""
    return inputs.options.get("runtime")


def newer(generator: str, than: str = GENERATOR) -> bool:
    """Return whether a generator is a later release than another; pre-releases do not count."""
    return _release(generator) > _release(than)


def _release(generator: str) -> tuple[int, ...]:
    found = re.match(r"mcp-gen (\d{1,9}(?:\.\d{1,9})*)", generator, re.ASCII)
    numbers = [int(number) for number in found[1].split(".")] if found else []
    while numbers and not numbers[-1]:
        del numbers[-1]
    return tuple(numbers)
