"""The parts of tools' schemas that help users: members, types, choices, defaults.

Schemas come from servers. Nothing is fetched, references are followed within the schema alone, and
unknown parts mean "anything".
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, TypeAlias

from mcp_protogen.base.canonical import on_one_line
from mcp_protogen.base.jsonvalue import is_array, is_object, json_type
from mcp_protogen.base.reference_resolver import ReferenceResolver

Schema: TypeAlias = Mapping[str, Any]
Types: TypeAlias = frozenset[str]

NULL: Final = "null"
ANY: Final = "any"
"""Stands among types for an unknown type."""
_NONE: Final[Schema] = {}
_JSON_TYPES: Final = frozenset(
    {"array", "boolean", "integer", "null", "number", "object", "string"}
)
# Their names in signatures.
_WORDS: Final[Mapping[str, str]] = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "object": "dict",
    NULL: "None",
}
_MOST_CHOICES: Final = 4
_DEEPEST: Final = 100
"""The most nested alternatives and references to search for one value."""
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_ALTERNATIVES: Final = ("anyOf", "oneOf")
_OTHERS: Final = ("additionalProperties", "unevaluatedProperties")
_CONDITIONAL: Final = ("then", "else")
_DEPENDENT: Final = ("dependentSchemas", "dependencies")
_IMPLIED: Final = {"properties": "object", "items": "array", "prefixItems": "array"}
"""The types that keywords imply, where a schema has no type."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A schema, and the document of its references.

    `is_certain` is false within alternatives and conditions, which need not apply.
    """

    schema: Schema
    resolver: ReferenceResolver
    is_certain: bool = True

    def inner(self, value: object, *, is_certain: bool = True) -> Iterator["_Node"]:
        """Yield a schema within this one; nothing if no value is valid there."""
        if value is False:
            return
        schema = value if is_object(value) else _NONE
        resolver = self.resolver.inside(schema)
        yield _Node(
            _NONE if resolver is None else schema,
            resolver or self.resolver,
            is_certain=self.is_certain and is_certain,
        )

    def lookups(self) -> Iterator["_Node | None"]:
        """Yield the schemas that references name; None for a reference without one."""
        for reference in map(self.schema.get, _REFERENCES):
            if isinstance(reference, str):
                found, resolver = self.resolver.lookup(reference) or (None, self.resolver)
                schema: Any = _NONE if found is True else found
                yield replace(self, schema=schema, resolver=resolver) if is_object(schema) else None

    def groups(self) -> Iterator[list["_Node"]]:
        """Yield groups of schemas for the same value; one schema of each group applies."""
        for lookup in self.lookups():
            if lookup is not None:
                yield [lookup]
        for value in as_array(self.schema.get("allOf")):
            yield [*self.inner(value)]
        for keyword in _ALTERNATIVES:
            arms = as_array(self.schema.get(keyword))
            found = [node for arm in arms for node in self.inner(arm, is_certain=False)]
            if found:
                yield found

    def conditional(self) -> Iterator["_Node"]:
        """Yield the schemas that apply to the same value under a condition."""
        found = [self.schema[keyword] for keyword in _CONDITIONAL if keyword in self.schema]
        for keyword in _DEPENDENT:
            dependent = self.schema.get(keyword)
            found += dependent.values() if is_object(dependent) else ()
        for value in found:
            if not is_array(value):
                yield from self.inner(value, is_certain=False)

    def types(self, known: "_Known") -> Types:
        key = id(self.schema)
        if key not in known.types:
            if not known.enter(key):
                return frozenset({ANY})
            found = _stated_types(self.schema)
            for group in self.groups():
                found = _common(found, _union(node.types(known) for node in group))
            known.leave(key)
            known.types[key] = found
        return known.types[key]

    def find_required(self, known: "_Known") -> dict[str, None]:
        """Return the names of required members, in their order."""
        key = id(self.schema)
        if key not in known.required:
            if not known.enter(key):
                return {}
            found = dict.fromkeys(strings(self.schema.get("required")))
            for group in self.groups():
                objects = [node for node in group if node.types(known) & {"object", ANY}]
                needed = [node.find_required(known) for node in objects]
                found |= dict.fromkeys(
                    name for name in (needed or [{}])[0] if all(name in names for names in needed)
                )
            known.leave(key)
            known.required[key] = found
        return known.required[key]


@dataclass(frozen=True, slots=True)
class _Known:
    """Types and required names of schemas, by the identity of the schemas."""

    types: dict[int, Types] = field(default_factory=dict[int, Types])
    required: dict[int, dict[str, None]] = field(default_factory=dict[int, dict[str, None]])
    _inside: set[int] = field(default_factory=set[int])

    def enter(self, key: int) -> bool:
        """Enter a schema; return false if it is within itself or too deep."""
        if key in self._inside or len(self._inside) >= _DEEPEST:
            return False
        self._inside.add(key)
        return True

    def leave(self, key: int) -> None:
        self._inside.discard(key)


@dataclass(frozen=True)
class Part:
    """The schemas of one value, with references followed."""

    nodes: tuple[_Node, ...] = ()

    @cached_property
    def _all(self) -> list[_Node]:
        """The schemas of the value, each once, outer ones first."""
        found: dict[int, _Node] = {}
        left = [*reversed(self.nodes)]
        while left:
            node = left.pop()
            if id(node.schema) not in found:
                found[id(node.schema)] = node
                inner = [inner for group in node.groups() for inner in group]
                left += reversed([*inner, *node.conditional()])
        return [*found.values()]

    @cached_property
    def types(self) -> Types:
        """The JSON types that the value may have; `ANY` if the schema does not say."""
        known = _Known()
        return _union(node.types(known) for node in self.nodes) or frozenset({ANY})

    @cached_property
    def choices(self) -> list[Any]:
        """The values that enumerations list; empty without an enumeration."""
        found = {_identity(value): value for node in self._all for value in _constants(node.schema)}
        return [*found.values()]

    @cached_property
    def members(self) -> "Mapping[str, Part]":
        """The members that the schema declares or mentions, by name."""
        found: dict[str, list[_Node]] = {}
        for node in self._all:
            for name, value in _object(node.schema.get("properties")).items():
                found.setdefault(name, []).extend(node.inner(value))
        for node in self._all:
            for name in _mentioned_members(node.schema):
                found.setdefault(name, [])
        return {name: Part(tuple(nodes)) for name, nodes in found.items()}

    def member(self, name: str) -> "Part":
        """Return a member; if it is not declared, the schema of undeclared members."""
        if name in self.members:
            return self.members[name]
        others = (
            inner
            for node in self._all
            for keyword in _OTHERS
            for inner in node.inner(node.schema.get(keyword))
            if "patternProperties" not in node.schema
        )
        return Part(tuple(others))

    @cached_property
    def required(self) -> list[str]:
        """The names of required members."""
        known = _Known()
        return [*dict.fromkeys(name for node in self.nodes for name in node.find_required(known))]

    @cached_property
    def has_alternatives(self) -> bool:
        """Return whether some schemas apply only in alternatives or under conditions."""
        return not all(node.is_certain for node in self._all)

    def schemas(self, *, certain: bool) -> list[Schema]:
        """Return the schemas that always apply, or those that may not."""
        found = [node.schema for node in self.nodes if node.is_certain is certain]
        return [*{_identity(schema): schema for schema in found}.values()]

    @cached_property
    def is_closed(self) -> bool:
        """Return whether the schema means only the declared members.

        JSON Schema allows others unless they are forbidden. Tools seldom mean that, so others count
        only where the schema mentions them.
        """
        declares = any(is_object(node.schema.get("properties")) for node in self._all)
        return declares and not any(map(_speaks_of_others, self._all))

    def items(self, index: int | None = None) -> "Part":
        """Return the item of an array at an index; without an index, the schema of all items."""
        found: list[_Node] = []
        for node in self._all:
            first, others = positions(node.schema)
            if index is None:
                schemas = [*first, others]
            else:
                schemas = [first[index] if index < len(first) else others]
            found += [
                inner
                for schema in schemas
                if schema not in (True, _NONE)
                for inner in node.inner(schema)
            ]
        return Part(tuple(found))

    def inner(self, value: object) -> "Part":
        """Return a schema within this one."""
        return Part(tuple(inner for node in self.nodes for inner in node.inner(value)))

    def find(self, keyword: str, *, certain: bool = False) -> Iterator[Any]:
        """Yield the values of a keyword, with `certain` only those outside of alternatives."""
        for node in self._all:
            if keyword in node.schema and (node.is_certain or not certain):
                yield node.schema[keyword]

    def words(self) -> str:
        """Return the type of the value in a few words: `str`, `list[int]`, `"a" | "b"`."""
        if self.choices:
            shown = [on_one_line(value) for value in self.choices[:_MOST_CHOICES]]
            return " | ".join([*shown, *(["…"] if len(self.choices) > _MOST_CHOICES else [])])
        if ANY in self.types:
            return "Any"
        types = self.types - {"integer"} if "number" in self.types else self.types
        words = [self._items_words()] if "array" in types else []
        return " | ".join([*words, *(word for name, word in _WORDS.items() if name in types)])

    def _items_words(self) -> str:
        items = self.items()
        return f"list[{items.words()}]" if items.nodes and "array" not in items.types else "list"


def read_schema(schema: Schema) -> Part:
    """Return the reader of a schema."""
    return Part((_Node(schema, ReferenceResolver.of(schema)),))


def positions(schema: Schema) -> tuple[list[Any], Any]:
    """Return the schemas of the first items of an array, and of all others."""
    items = schema.get("items", True)
    if is_array(items):  # as up to draft 2019-09
        return items, schema.get("additionalItems", True)
    return as_array(schema.get("prefixItems")), items


def signature(tool: Schema) -> str:
    """Return a tool with its arguments, as a signature: `greet(name: str = "world")`."""
    root = read_schema(tool.get("inputSchema") or _NONE)
    needed = set(root.required)
    declared = [name for name, part in root.members.items() if part.nodes]
    ordered = sorted(declared, key=lambda name: name not in needed)
    parts = [_parameter(name, root.members[name], name in needed) for name in ordered]
    return f"{tool.get('name', '')}({', '.join(parts)})"


def _parameter(name: str, part: Part, needed: bool) -> str:
    text = f"{name}: {part.words()}"
    for default in part.find("default", certain=True):
        return f"{text} = {on_one_line(default)}"
    return text if needed else f"{text} = …"


def _stated_types(schema: Schema) -> Types:
    said = schema.get("type")
    names = [said] if isinstance(said, str) else strings(said)
    if not names:
        names = [*map(json_type, _constants(schema))] or [
            ANY,
            *(kind for keyword, kind in _IMPLIED.items() if keyword in schema),
        ]
    found = {name if name in _JSON_TYPES else ANY for name in names}
    return frozenset(found | ({"integer"} if "number" in found else set()))


def _common(ours: Types, theirs: Types) -> Types:
    """Return the types that two schemas have in common; either may have `ANY`."""
    if (ANY in ours) == (ANY in theirs):
        return ours | theirs if ANY in ours else (ours & theirs or ours | theirs)
    return theirs if ANY in ours else ours


def _union(found: Iterable[Types]) -> Types:
    return frozenset[str]().union(*found)


def _constants(schema: Schema) -> Sequence[Any]:
    return [schema["const"]] if "const" in schema else as_array(schema.get("enum"))


def _speaks_of_others(node: _Node) -> bool:
    """Return whether a schema has rules for undeclared members."""
    others = (node.schema.get(key) for key in _OTHERS)
    return (
        any(schema not in (None, False) for schema in others)
        or any(key in node.schema for key in ("patternProperties", "propertyNames"))
        or None in node.lookups()
    )


def _mentioned_members(schema: Schema) -> Iterator[str]:
    """Yield the names of members that a schema requires or has a condition on."""
    yield from strings(schema.get("required"))
    yield from _object(_object(schema.get("if")).get("properties"))
    for keyword in ("dependentRequired", *_DEPENDENT):
        for name, needed in _object(schema.get(keyword)).items():
            yield from (name, *strings(needed))


def _identity(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _object(value: Any) -> Mapping[str, Any]:
    return value if is_object(value) else {}


def as_array(value: Any) -> list[Any]:
    """Return an array; an empty one for anything else."""
    return value if is_array(value) else []


def strings(value: Any) -> list[str]:
    """Return the strings of an array."""
    return [name for name in as_array(value) if isinstance(name, str)]
