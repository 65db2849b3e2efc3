"""The check of hand-written files against the formats in `schema/formats`."""

from collections.abc import Iterator
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.problems import Problem
from mcp_protogen.base.resources import schema_folder


def _path(error: Any) -> list[str]:
    return [str(step) for step in error.absolute_path]


def check_format(document: Any, format: str, place: str) -> Iterator[Problem]:
    """Yield a problem for each part of a file that does not match a format."""
    from jsonschema import Draft202012Validator

    name = f"{format}.schema.json"
    described = parse_json((schema_folder() / "formats" / name).read_bytes(), name)
    validator: Any = Draft202012Validator(described)
    hint = f"schema/formats/{name} describes the format"
    for error in sorted(validator.iter_errors(document), key=_path):
        pointer = jsonpointer.join(*error.absolute_path)
        yield Problem("bad-form", f"{error.message:.200}", place, pointer, hint)
