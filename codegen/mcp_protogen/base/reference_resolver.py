"""References in a JSON Schema, resolved by its dialect. Nothing is fetched."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from referencing import Registry, Specification
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, UnknownDialect, specification_with

Schema = Mapping[str, Any]

_UNREADABLE: Final = (AttributeError, LookupError, TypeError, ValueError, Unresolvable)
"""Errors of the library for broken schemas and references."""


@dataclass(frozen=True, slots=True)
class ReferenceResolver:
    """Resolves the references in a schema, with its base URI."""

    _resolver: Any
    _specification: Specification[Any]

    @classmethod
    def of(cls, schema: Schema) -> "ReferenceResolver":
        """Return the resolver of a whole schema."""
        try:
            specification: Specification[Any] = specification_with(str(schema.get("$schema")))
        except UnknownDialect:
            specification = DRAFT202012
        try:
            return cls._root(schema, specification)
        except _UNREADABLE:
            # Without specification: pointers are followed, base URIs and anchors are not.
            return cls._root(schema, Specification.OPAQUE)

    @classmethod
    def _root(cls, schema: Schema, specification: Specification[Any]) -> "ReferenceResolver":
        resource = specification.create_resource(schema)
        empty: Registry[Any] = Registry()
        # One crawl finds all resources, instead of a search at each reference.
        registry = empty.with_resource("", resource).crawl()
        return cls(registry.resolver(resource.id() or ""), specification)

    def inside(self, schema: Schema) -> "ReferenceResolver | None":
        """Return the resolver of an inner schema; None if its `$id` is not a URI."""
        if not isinstance(schema.get("$id"), str):
            return self
        try:
            resource = self._specification.create_resource(schema)
            return replace(self, _resolver=self._resolver.in_subresource(resource))
        except _UNREADABLE:
            return None

    def lookup(self, reference: str) -> "tuple[Any, ReferenceResolver] | None":
        """Return the schema that a reference leads to, with its resolver; None if there is none."""
        try:
            found = self._resolver.lookup(reference)
        except _UNREADABLE:
            return None
        return found.contents, replace(self, _resolver=found.resolver)
