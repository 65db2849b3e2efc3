"""The published formats of the JSON that commands and people write, `schema/formats`."""

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.resources import schema_folder

Json = dict[str, Any]


@cache
def published_schema(name: str) -> Json:
    """Return the schema of a format; callers must not change it."""
    file = schema_folder() / "formats" / f"{name}.schema.json"
    schema: Json = parse_json(file.read_bytes(), file.name)
    return schema


def faults(name: str, document: object) -> list[str]:
    """Return the faults of a document in a format; text is read as strict JSON first."""
    if isinstance(document, str | bytes):
        text = document.encode() if isinstance(document, str) else document
        document = parse_json(text, name)
    validator: Any = Draft202012Validator(published_schema(name))
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]
