"""Schemas and values in a few words, for reports."""

from typing import Any

from mcp_protogen.base.canonical import on_one_line
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.servers.clients.keywords import UNIONS, values_of

Json = dict[str, Any]


def short_text(value: object) -> str:
    """Return a value as short text; a text stays as it is."""
    text = value if isinstance(value, str) else on_one_line(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def schema_text(schema: Any) -> str:
    """Return a schema in a few words."""
    if not is_object(schema):
        return "anything" if schema is not False else "nothing"
    if (values := values_of(schema)) is not None:
        return short_text(" | ".join(on_one_line(value) for value in values))
    if isinstance(schema.get("$ref"), str):
        return short_text(str(schema["$ref"]).rpartition("/")[2])
    for keyword in UNIONS:
        if is_array(schema.get(keyword)):
            return short_text(" | ".join(schema_text(arm) for arm in schema[keyword]))
    kinds = schema.get("type")
    if kinds == "array":
        return f"array of {schema_text(schema.get('items', True))}"
    return short_text(" | ".join(map(str, kinds)) if is_array(kinds) else str(kinds or "anything"))


def spelled_keyword(schema: Json, keyword: str) -> str:
    """Return a keyword with its value, as short text."""
    return f"{keyword} {on_one_line(schema[keyword])}" if keyword in schema else f"no {keyword}"
