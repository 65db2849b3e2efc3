"""The check of hand-written files against the formats in `schema/formats`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.jsonvalue import is_deeper
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.inputs.metacheck import DEEPEST

_FORMATS: Final[Mapping[str, str]] = {
    "pins.json": "pins",
    "descriptions.json": "descriptions",
    "*/facts.json": "facts",
    "*/patches.json": "patches",
    "*/translation.json": "translation",
    "*/wires.json": "wires",
    "extensions/pins.json": "pins",
    "extensions/*/facts.json": "extension-facts",
    "extensions/*/patches.json": "patches",
    "extensions/*/translation.json": "translation",
}
"""The formats of the files in a schema folder."""


def check_folder(folder: Path) -> Iterator[Problem]:
    """Yield a problem for each part of a schema folder's files that does not match its format."""
    for pattern, format in _FORMATS.items():
        for file in sorted(folder.glob(pattern)):
            place = f"schema/{file.relative_to(folder).as_posix()}"
            try:
                document = parse_json(file.read_bytes(), place)
            except ProblemError as error:
                yield from error.problems
            except OSError as error:
                yield Problem("unreadable-source", f"it cannot be read: {error.strerror}", place)
            else:
                yield from check_format(document, format, place)


def _path(error: Any) -> list[str]:
    return [str(step) for step in error.absolute_path]


def check_format(
    document: Any, format: str, place: str, deepest: int = DEEPEST
) -> Iterator[Problem]:
    """Yield a problem for each part of a file that does not match a format."""
    from jsonschema import Draft202012Validator

    if is_deeper(document, deepest):
        yield Problem("bad-form", f"it is nested more than {deepest} levels deep", place)
        return
    name = f"{format}.schema.json"
    described = parse_json((schema_folder() / "formats" / name).read_bytes(), name)
    validator: Any = Draft202012Validator(described)
    hint = f"schema/formats/{name} describes the format"
    for error in sorted(validator.iter_errors(document), key=_path):
        pointer = jsonpointer.join(*error.absolute_path)
        yield Problem("bad-form", f"{error.message:.200}", place, pointer, hint)
