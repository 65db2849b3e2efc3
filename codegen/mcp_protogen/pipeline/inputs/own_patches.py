"""The user's patches from files and pyproject.toml, read and checked.

They have the format of `schema/<revision>/patches.json`; `reason` and `source` are optional.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem, ProblemError, raising
from mcp_protogen.pipeline.config import FileOf, GivenFile, GivenPatches

_POINTER, _VALUES, _TEXTS = "pointer", ("was", "now"), ("reason", "source")
_MEMBERS = frozenset({_POINTER, *_VALUES, *_TEXTS})
_HINT = 'an entry is { "pointer": "/$defs/…", "was": …, "now": … }; see docs/command.md'


def read_patches(
    sources: Iterable[FileOf | GivenPatches], read: Callable[[str], GivenFile]
) -> tuple[GivenPatches, ...]:
    """Return all patches of the user; `read` reads a file or URL.

    Raise `ProblemError`: `unreadable-source`, `not-json`, or `bad-form` for each wrong entry.
    """
    user_patches = tuple(
        source if isinstance(source, GivenPatches) else _of_file(source, read) for source in sources
    )
    _refuse_misshapen(user_patches)
    return user_patches


def _of_file(source: FileOf, read: Callable[[str], GivenFile]) -> GivenPatches:
    file = read(source.source)
    place = file.name if "://" in source.source else source.source
    document: Any = parse_json(file.content, place)
    entries: Any = document.get("patches") if is_object(document) else None
    if not is_array(entries):
        message = 'this must be an object with a list of "patches"'
        raise ProblemError(Problem("bad-form", message, place, hint=_HINT))
    return GivenPatches(source.revision, tuple(entries), place, "/patches")


@raising
def _refuse_misshapen(user_patches: Iterable[GivenPatches]) -> Iterator[Problem]:
    for patches in user_patches:
        for number, entry in enumerate(patches.entries):
            pointer = patches.pointer + jsonpointer.join(number)
            for message in _faults(entry):
                yield Problem("bad-form", message, patches.place, pointer, _HINT)


def _faults(entry: object) -> Iterator[str]:
    if not is_object(entry):
        yield "this must be an object"
        return
    yield from (f"an entry has no member {name!r:.80}" for name in entry.keys() - _MEMBERS)
    pointer = entry.get(_POINTER)
    if not isinstance(pointer, str) or not pointer.startswith("/"):
        yield "pointer must be a JSON pointer, which begins with a slash"
    if not {*_VALUES} & entry.keys():
        yield "was, now or both are required"
    for name in _TEXTS:
        if not isinstance(entry.get(name, ""), str):
            yield f"{name} must be a string"
