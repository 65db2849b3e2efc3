"""The pinned extensions, as far as somebody has to know them who chooses some.

Only their names, identifiers and revisions are read here; nothing is judged.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.inputs.pins import (
    EXTENSION,
    Pin,
    extensions_folder,
    load_extension_pins,
    pin_of,
    snapshot_file,
)


class PinnedExtension(NamedTuple):
    """An extension: its name on the command line, its identifier, and what it extends.

    `revisions` are those that it may be generated for. Without facts, it has neither these nor an
    identifier, and cannot be generated.
    """

    name: str
    pin: Pin
    identifier: str = ""
    revisions: tuple[str, ...] = ()

    @property
    def has_facts(self) -> bool:
        """Return whether anybody has written its facts."""
        return bool(self.identifier)


def pinned_extensions(folder: Path | None = None) -> Iterator[PinnedExtension]:
    """Yield every extension of a schema folder, sorted by name."""
    for name in load_extension_pins(folder):
        yield pinned_extension(name, folder)


def pinned_extension(name: str, folder: Path | None = None) -> PinnedExtension:
    """Return an extension; raise `ProblemError`: `unknown-extension`, `bad-form`, `bad-pins`."""
    pin = pin_of(name, load_extension_pins(folder), EXTENSION)
    file = snapshot_file(name, extensions_folder(folder)).with_name("facts.json")
    if not file.is_file():
        return PinnedExtension(name, pin)
    place = f"schema/extensions/{name}/facts.json"
    facts: Any = parse_json(file.read_bytes(), place)
    identifier, revisions = (
        (facts.get("identifier"), facts.get("revisions")) if is_object(facts) else (None, None)
    )
    if not isinstance(identifier, str) or not identifier or not is_array(revisions):
        message = "facts of an extension have its identifier, and the revisions that it extends"
        raise ProblemError(Problem("bad-form", message, place))
    return PinnedExtension(name, pin, identifier, tuple(sorted(map(str, revisions))))
