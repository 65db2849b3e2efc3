"""Types as short text, for people: `[ContentBlock]`, `map<string>`, `integer|string`."""

from typing import Any

from mcp_protogen.base.canonical import on_one_line
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.pipeline.normalise.references import definition_name

Json = dict[str, Any]

ANY = "any"


def spell(schema: Json) -> str:
    """Return a schema as text, with the alternatives in alphabetical order and null left out."""
    return "|".join(sorted(_arms(schema) - {"null"})) or "null"


def value_text(value: Any) -> str:
    """Return a constant as text: a string as it is, unless it looks like another value."""
    text = on_one_line(value)
    looks_otherwise = isinstance(value, str) and value in ("false", "null", "true")
    return value if isinstance(value, str) and not looks_otherwise else text


def _inside(schema: Json) -> str:
    """Return a schema inside another one as text, with null if it is one of several."""
    return "|".join(sorted(_arms(schema)))


def _arms(schema: Json) -> set[str]:
    if "$ref" in schema:
        return {definition_name(schema["$ref"])}
    if "const" in schema:
        return {on_one_line(schema["const"])}
    if "enum" in schema:
        return {f"enum({'|'.join(sorted(map(value_text, schema['enum'])))})"}
    if "anyOf" in schema:
        return {arm for inner in schema["anyOf"] for arm in _arms(inner)}
    kind: Any = schema.get("type")
    if is_array(kind):
        return {arm for type_ in kind for arm in _arms({**schema, "type": type_})}
    if kind == "array":
        return {f"[{_inside(schema.get('items', {}))}]"}
    if kind == "object" or "properties" in schema:
        return {_object(schema)}
    return {str(kind) if kind else ANY}


def _object(schema: Json) -> str:
    values: Any = schema.get("additionalProperties")
    if schema.get("properties") or not is_object(values) or not values:
        return "object"
    return f"map<{_inside(values)}>"
