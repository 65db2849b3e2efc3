"""The names that a project gives to generated types: a file, read and checked for its form."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem, did_you_mean, raise_errors
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.inputs.pins import load_pins

KINDS: Final = ("modules", "types", "members", "open")
"""What a file may have: the first by revision, the others by revision and by our names."""


class OwnNames(NamedTuple):
    """The names of one revision, by ours; `place` is their file.

    `module` is empty if it stays as it is. `members` are keyed by type and member on the wire:
    "Tool.inputSchema". `open` are the types that keep undeclared members, by their new names; None
    for those that the specification leaves open.
    """

    place: str
    revision: str
    module: str = ""
    types: Mapping[str, str] = {}
    members: Mapping[str, str] = {}
    open: tuple[str, ...] | None = None

    def pointer(self, kind: str, *more: str | int) -> str:
        """Return the place of an entry in the file."""
        return jsonpointer.join(kind, self.revision, *more)


def names_for(revision: str, options: GenerationOptions) -> OwnNames | None:
    """Return the names of a revision; None if the file has none for it, or there is no file.

    It may have names for all pinned revisions, too. Raise `ProblemError` (`bad-names`, `not-json`)
    for what is wrong anywhere in it.
    """
    given, known = options.names, {*options.revisions, *load_pins()}
    if given is None:
        return None
    document = parse_json(given.content, given.name)
    raise_errors(one._replace(place=given.name) for one in _wrong(document, known))
    found = {kind: document.get(kind, {}).get(revision) for kind in KINDS}
    if all(one is None for one in found.values()):
        return None
    return OwnNames(
        place=given.name,
        revision=revision,
        module=found["modules"] or "",
        types=found["types"] or {},
        members=found["members"] or {},
        open=None if found["open"] is None else tuple(found["open"]),
    )


def _wrong(document: Any, known: set[str]) -> Iterator[Problem]:
    if not is_object(document):
        yield _problem("names are an object", "", f"with the members {', '.join(KINDS)}")
        return
    for kind, entries in document.items():
        pointer = jsonpointer.join(kind)
        if kind not in KINDS:
            hint = did_you_mean(kind, KINDS)
            yield _problem(f"there is no {kind!r:.80} in such a file", pointer, hint)
        elif not is_object(entries):
            yield _problem("this is an object, by revision", pointer)
        else:
            for revision, value in entries.items():
                pointer = jsonpointer.join(kind, revision)
                if revision not in known:
                    hint = did_you_mean(revision, known)
                    message = f"{revision!r:.80} is no revision that is generated"
                    yield _problem(message, pointer, hint)
                else:
                    yield from _wrong_value(kind, value, pointer)


def _wrong_value(kind: str, value: Any, pointer: str) -> Iterator[Problem]:
    if kind == "modules":
        if not isinstance(value, str):
            yield _problem("the name of a module is a text", pointer)
    elif kind == "open":
        if not is_array(value) or not all(isinstance(one, str) for one in value):
            yield _problem("open types are an array of names", pointer)
    elif not is_object(value):
        yield _problem("this is an object, from our names to yours", pointer)
    else:
        for name, one in value.items():
            if not isinstance(one, str):
                yield _problem("a name is a text", pointer + jsonpointer.join(name))


def _problem(message: str, pointer: str, hint: str = "") -> Problem:
    return Problem("bad-names", message, pointer=pointer, hint=hint)
