"""What a JSON Schema refers to: all of it has to be in the schema, because nothing is fetched.

2026-07-28, basic, "`$ref` Resolution".
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from ..jsonvalue import JSONObject, is_array, is_object

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
"""The keywords that refer to a schema."""

# Far more than any schema needs (2026-07-28, basic, "Composition-Keyword Resource Use").
_LARGEST: Final = 10_000


def parts_aside(schema: JSONObject, dialect: str, registry: Any, what: str) -> list[JSONObject]:
    """What a schema refers to in places of which no keyword says that a schema is there.

    Raises `ValueError` for a reference that leads out of the schema, or to no schema; and for a
    dialect that is named further inside, because what stands there would have rules of its own.
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
            raise ValueError(f"{what} names a dialect further inside, and not at its root alone")
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
            reason = "is not found in it, and nothing is fetched"
            raise ValueError(f"{what} refers to {reference!r}, which {reason}") from None
        if not isinstance(found.contents, dict | bool):
            raise ValueError(f"{what} refers to {reference!r}, where there is no schema")
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
