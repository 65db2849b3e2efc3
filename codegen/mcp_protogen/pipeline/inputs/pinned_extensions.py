"""Names, identifiers and revisions of the available extensions.

Extensions without a published schema have no pin: their facts have the types.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.jsonvalue import is_array, is_object, merge_patch
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.inputs.pins import (
    EXTENSION,
    Pin,
    extension_place,
    extensions_folder,
    load_extension_pins,
    load_pins,
    pin_of,
    snapshot_file,
)

TYPES: Final = "$defs"
"""The member of the facts with the types of an extension without a published schema."""


class PinnedExtension(NamedTuple):
    """An extension: its name on the command line, its identifier, and the revisions it extends.

    `pin` is None if its schema is not published. Without facts, it has neither revisions nor an
    identifier, and cannot be generated. `stage` and `version` are empty if the facts lack them.
    """

    name: str
    pin: Pin | None
    identifier: str = ""
    revisions: tuple[str, ...] = ()
    stage: str = ""
    version: str = ""

    @property
    def has_facts(self) -> bool:
        """Return whether the extension has facts."""
        return bool(self.identifier)


def pinned_extensions() -> Iterator[PinnedExtension]:
    """Yield every extension of the installed schema folder, sorted by name."""
    yield from map(pinned_extension, extension_names())


def extension_names(folder: Path | None = None) -> list[str]:
    """Return the names of all extensions of a schema folder, sorted."""
    names = (file.parent.name for file in extensions_folder(folder).glob("*/facts.json"))
    pinned = load_extension_pins(folder)
    return sorted({*pinned, *(name for name in names if TYPES in extension_facts(name, folder))})


def pinned_extension(name: str, folder: Path | None = None) -> PinnedExtension:
    """Return an extension; raise `ProblemError`: `unknown-extension`, `bad-form`, `bad-pins`."""
    facts, pins = extension_facts(name, folder), load_extension_pins(folder)
    pin = None if TYPES in facts and name not in pins else pin_of(name, pins, EXTENSION)
    if not facts:
        return PinnedExtension(name, pin)
    place = extension_place(name)
    identifier, revisions = facts.get("identifier"), facts.get("revisions")
    described = "schema/formats/extension-facts.schema.json describes the format"
    if not isinstance(identifier, str) or not identifier or not is_array(revisions):
        message = "facts of an extension must have its identifier and the revisions that it extends"
        raise ProblemError(Problem("bad-form", message, place, hint=described))
    if pin is not None and TYPES in facts:
        message = f"the schema of {name} is pinned, so its facts must not have types"
        hint = f"remove {TYPES} from the facts"
        raise ProblemError(Problem("facts-disagree", message, place, jsonpointer.join(TYPES), hint))
    said: list[str] = []
    for fact in ("stage", "version"):
        if not is_object(value := facts.get(fact, {})):
            message, pointer = f"the {fact} must be an object", jsonpointer.join(fact)
            raise ProblemError(Problem("bad-form", message, place, pointer, described))
        said.append(value.get("is", ""))
    bound = tuple(sorted(map(str, revisions)))
    return PinnedExtension(name, pin, identifier, bound, *said)


def absorbing_revision(name: str, folder: Path | None = None) -> str | None:
    """Return the first revision that has an extension in its core; None without one."""
    folder = folder or schema_folder()
    for revision in sorted(load_pins(folder)):
        file = folder / revision / "facts.json"
        facts: Any = parse_json(file.read_bytes(), file.name) if file.is_file() else None
        absorbs = facts.get("absorbs") if is_object(facts) else None
        if is_object(absorbs) and absorbs.get(name) is not None:
            return revision
    return None


def extension_facts(name: str, folder: Path | None = None) -> dict[str, Any]:
    """Return the facts of an extension with those that it inherits; empty without a file.

    Raise `ProblemError` for a file that is not JSON, or inherits from what has no facts.
    """
    facts, names = _read(name, folder), [name]
    above = facts
    while isinstance(inherited := above.get("inherits"), str):
        above = {} if inherited in names else _read(inherited, folder)
        if not above:
            message = f"it inherits from {inherited!r:.80}, which has no other facts"
            place, hint = extension_place(name), "name another version of this extension"
            raise ProblemError(Problem("missing-facts", message, place, "/inherits", hint))
        names.append(inherited)
        facts = merge_patch(above, facts)
    return facts


def first_version(name: str) -> str:
    """Return the extension from which another inherits, perhaps through others, or itself."""
    while (inherited := extension_facts(name).get("inherits")) is not None:
        name = inherited
    return name


def _read(name: str, folder: Path | None) -> dict[str, Any]:
    file = snapshot_file(name, extensions_folder(folder)).with_name("facts.json")
    if not file.is_file():
        return {}
    facts = parse_json(file.read_bytes(), extension_place(name))
    return facts if is_object(facts) else {"not an object": facts}
