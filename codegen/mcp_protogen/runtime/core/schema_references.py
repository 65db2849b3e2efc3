"""The references of a JSON Schema, all of which have to lead into the schema: nothing is fetched.

2026-07-28, basic, "`$ref` Resolution".
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from .json import JSONObject, is_array, is_object

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
"""The keywords that refer to a schema."""

# Far more than any schema needs (2026-07-28, basic, "Composition-Keyword Resource Use").
_LARGEST: Final = 10_000


def parts_aside(schema: JSONObject, dialect: str, registry: Any, what: str) -> list[JSONObject]:
    """Return the subschemas that only references reach, in places where no keyword puts a schema.

    Raises `ValueError` for a reference that leads out of the schema, or to something that is not a
    schema. Raises it also for a dialect named below the root: other rules would apply there.
    """
    specification = import_module("referencing.jsonschema").specification_with(dialect)
    root = specification.create_resource(schema)
    left, targets = [(root, registry.resolver_with_root(root))], list[Any]()
    own, seen, aside = {id(one) for one in _objects_in(schema)}, set[int](), list[JSONObject]()
    while left or targets:
        if not left:
            target = targets.pop()
            if id(target.contents) in own - seen:
                aside.append(target.contents)
                left.append((specification.create_resource(target.contents), target.resolver))
            continue
        resource, resolver = left.pop()
        contents = resource.contents
        if not is_object(contents) or id(contents) in seen:
            continue
        seen.add(id(contents))
        if len(seen) > _LARGEST:
            raise ValueError(f"{what} has more than {_LARGEST:,} schemas in it")
        if "$schema" in contents and contents is not schema:
            raise ValueError(f"{what} has $schema below its root, which is not supported")
        targets += _targets(contents, resolver, what)
        left += [(inner, resolver.in_subresource(inner)) for inner in resource.subresources()]
    return aside


def _targets(contents: JSONObject, resolver: Any, what: str) -> Iterator[Any]:
    unresolvable: Any = import_module("referencing.exceptions").Unresolvable
    for reference in map(contents.get, REFERENCES):
        if not isinstance(reference, str):
            continue
        try:
            found = resolver.lookup(reference)
        except (unresolvable, ValueError):
            reason = "is not in the schema; references are never fetched"
            raise ValueError(f"{what} refers to {reference!r}, which {reason}") from None
        if not isinstance(found.contents, dict | bool):
            raise ValueError(f"{what} refers to {reference!r}, which is not a schema")
        yield found


def _objects_in(value: Any) -> Iterator[JSONObject]:
    left = [value]
    while left:
        one = left.pop()
        if is_object(one):
            yield one
            left += one.values()
        elif is_array(one):
            left += one
