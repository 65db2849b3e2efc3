"""The schemas inside a JSON Schema, and references to them as pointers."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote, urldefrag

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_array, is_object

if TYPE_CHECKING:
    from mcp_protogen.base.reference_resolver import ReferenceResolver

Json = dict[str, Any]

MAPS: Final = frozenset(
    {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)
"""The keywords whose members are all schemas."""
NAMED: Final = MAPS | {"dependencies", "dependentRequired"}
"""The keywords whose members have free names."""
LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
"""The keywords with a list of schemas."""
SINGLE: Final = frozenset(
    {"additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"}
    | {"propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
)
"""The keywords with one schema; up to draft 2019-09, `items` may have a list."""
UNORDERED: Final = frozenset({"allOf", "anyOf", "enum", "oneOf", "required", "type"})
"""The keywords with a list whose order has no meaning."""
PROSE: Final = frozenset({"$comment", "description", "examples", "title"})
"""The keywords with texts for people."""
VALUES: Final = frozenset({"const", "default", "enum", "examples"})
"""The keywords whose values are not schemas, even if they look like one."""
_BASES: Final = frozenset({"$anchor", "$dynamicAnchor", "$id"})
"""The keywords that decide where references lead that are not pointers from the root."""


def map_schemas(value: Any, change: Callable[[Json], Json]) -> Any:
    """Return a value with `change` applied to all schemas in it, inner ones first."""
    if is_array(value):
        return [map_schemas(item, change) for item in value]
    if not is_object(value):
        return value
    return change({key: _map_keyword(key, inner, change) for key, inner in value.items()})


def _map_keyword(key: str, value: Any, change: Callable[[Json], Json]) -> Any:
    if key in NAMED and is_object(value):
        return {name: map_schemas(schema, change) for name, schema in value.items()}
    return value if key in VALUES else map_schemas(value, change)


def subschemas(value: Any) -> Iterator[Json]:
    """Yield all schemas in a value, outer ones first."""
    if is_array(value):
        for item in value:
            yield from subschemas(item)
    elif is_object(value):
        yield value
        for key, inner in value.items():
            if key in NAMED and is_object(inner):
                yield from subschemas([*inner.values()])
            elif key not in VALUES:
                yield from subschemas(inner)


def with_pointers(schema: Json) -> Json:
    """Return a schema whose references into itself are pointers from its root.

    `$id` and anchors of inner schemas are dropped.
    """
    # The library is slow to import, and published revisions use only pointers.
    if all(map(_has_pointer, subschemas(schema))) and not any(
        inner.keys() & _BASES for inner in islice(subschemas(schema), 1, None)
    ):
        return schema
    from mcp_protogen.base.reference_resolver import ReferenceResolver

    pointers = {id(value): pointer for pointer, value in jsonpointer.walk(schema)}

    def change(value: Any, resolver: ReferenceResolver) -> Any:
        if is_array(value):
            return [change(element, resolver) for element in value]
        if not is_object(value):
            return value
        is_root = value is schema
        resolver = resolver if is_root else resolver.inside(value) or resolver
        done: Json = {}
        for key, inner in value.items():
            if key in NAMED and is_object(inner):
                done[key] = {name: change(item, resolver) for name, item in inner.items()}
            elif key == "$ref" and isinstance(inner, str):
                pointer = _pointer(inner, resolver, pointers)
                done[key] = inner if pointer is None else f"#{quote(pointer, safe='/~$')}"
            elif is_root or key not in _BASES:
                done[key] = inner if key in VALUES else change(inner, resolver)
        return done

    found: Json = change(schema, ReferenceResolver.of(schema))
    return found


def _has_pointer(schema: Json) -> bool:
    return str(schema.get("$ref", "#/")).startswith("#/")


def _pointer(
    reference: str, resolver: "ReferenceResolver", pointers: Mapping[int, str]
) -> str | None:
    """Return the pointer that a reference stands for; None if it does not lead into the schema."""
    base, fragment = urldefrag(reference)
    found = resolver.lookup(reference)
    if found is None or not fragment.startswith("/"):
        return None if found is None else pointers.get(id(found[0]))
    # Booleans have no identity: the pointer is appended to that of its resource.
    resource = resolver.lookup(base)
    outer = None if resource is None else pointers.get(id(resource[0]))
    return None if outer is None else outer + unquote(fragment)
