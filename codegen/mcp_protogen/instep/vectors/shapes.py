"""A schema read as shapes: kinds of values, members, arms, bounds.

Several schemas may apply to one place (`allOf`, keywords beside a `$ref`). So a node is a list of
them, each with its pointer. This module knows JSON Schema and nothing of MCP.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_array, is_object

Json = dict[str, Any]

KINDS = ("object", "array", "string", "integer", "number", "boolean", "null")
_DEFINITION = "#/$defs/"
_UNION = ("anyOf", "oneOf")


@dataclass(frozen=True, slots=True)
class PlacedSchema:
    """One schema and the pointer to it."""

    pointer: str
    schema: Any

    def at(self, *tokens: str | int) -> "PlacedSchema":
        """Return the schema below this one."""
        inner = self.schema
        for token in tokens:
            inner = inner[token]
        return PlacedSchema(self.pointer + jsonpointer.join(*tokens), inner)


@dataclass(frozen=True, slots=True)
class Node:
    """A place in the schema: all of its parts apply."""

    parts: tuple[PlacedSchema, ...]

    @property
    def reference(self) -> str | None:
        """The definition that this place refers to, if the place contains only a reference."""
        if len(self.parts) == 1 and is_object(schema := self.parts[0].schema):
            ref = schema.get("$ref")
            if isinstance(ref, str) and len(schema) == 1:
                return ref.removeprefix(_DEFINITION)
        return None


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword: its value, and the pointer to it."""

    value: Any
    pointer: str


@dataclass(frozen=True)
class ResolvedSchema:
    """The content of a node, with references followed and all parts combined.

    `names` are the definitions on the way. `parts` are plain: without `$ref` and `allOf`.
    """

    parts: tuple[PlacedSchema, ...]
    names: frozenset[str]

    @cached_property
    def arms(self) -> tuple[Node, ...]:
        """The alternatives, each with the parts common to all; empty without alternatives."""
        if self._union_part is None:
            return ()
        part, keyword = self._union_part
        arms = range(len(part.schema[keyword]))
        return tuple(Node((*self.common.parts, part.at(keyword, arm))) for arm in arms)

    @cached_property
    def common(self) -> Node:
        """The parts that apply to all alternatives; may be empty."""
        if self._union_part is None:
            return Node(self.parts)
        united, keyword = self._union_part
        rest = {key: value for key, value in united.schema.items() if key != keyword}
        others = (part for part in self.parts if part is not united)
        return Node(
            tuple(part for part in (PlacedSchema(united.pointer, rest), *others) if part.schema)
        )

    @cached_property
    def _union_part(self) -> tuple[PlacedSchema, str] | None:
        """The first part that has alternatives, and the keyword that has them."""
        for part in self.parts:
            for keyword in _UNION:
                if keyword in part.schema:
                    return part, keyword
        return None

    @cached_property
    def union(self) -> Keyword | None:
        """The keyword that has the alternatives."""
        return self.first_keyword(*_UNION)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of JSON values that the schema allows here."""
        kinds: tuple[str, ...] = KINDS
        for part in self.parts:
            stated: Any = part.schema.get("type", list(KINDS))
            allowed: set[str] = set(stated if is_array(stated) else [stated])
            if "number" in allowed:
                allowed.add("integer")
            kinds = tuple(kind for kind in kinds if kind in allowed)
        return kinds

    @cached_property
    def anything(self) -> bool:
        """Return whether no keyword could refuse a value."""
        return not any(part.schema.keys() - _SAYS_NOTHING for part in self.parts)

    @cached_property
    def members(self) -> Mapping[str, Node]:
        """The declared members of an object, in the order of their declaration."""
        names = dict.fromkeys(
            name for part in self.parts for name in part.schema.get("properties", ())
        )
        return {name: self._member(name) for name in names}

    @cached_property
    def required(self) -> Mapping[str, str]:
        """The required members of an object, each with the pointer to the rule."""
        return {
            name: f"{part.pointer}/required"
            for part in self.parts
            for name in part.schema.get("required", ())
        }

    @cached_property
    def other_members(self) -> Node | None:
        """The schema of undeclared members; None if they are not allowed."""
        parts = [part.at("additionalProperties") for part in self.parts if _limits(part)]
        return None if any(part.schema is False for part in parts) else Node(tuple(parts))

    @cached_property
    def items(self) -> Node:
        """The schema of the items of an array."""
        return Node(tuple(part.at("items") for part in self.parts if "items" in part.schema))

    def first_keyword(self, *keywords: str) -> Keyword | None:
        """Return the first of some keywords that is present."""
        for keyword in keywords:
            for part in self.parts:
                if keyword in part.schema:
                    return Keyword(part.schema[keyword], f"{part.pointer}/{keyword}")
        return None

    def _member(self, name: str) -> Node:
        return Node(
            tuple(
                part.at("properties", name)
                for part in self.parts
                if name in part.schema.get("properties", ())
            )
        )


_SAYS_NOTHING = frozenset({"title", "description", "default", "examples", "format", "deprecated"})


def _limits(part: PlacedSchema) -> bool:
    return "additionalProperties" in part.schema and part.schema["additionalProperties"] is not True


@dataclass(frozen=True)
class Shapes:
    """The shapes of the nodes of one document."""

    document: Json
    _known: dict[tuple[str, ...], ResolvedSchema] = field(
        default_factory=dict[tuple[str, ...], ResolvedSchema]
    )

    def of(self, node: Node) -> ResolvedSchema:
        """Return the shape of a node."""
        names: dict[str, None] = {}
        return ResolvedSchema(tuple(self._plain(node.parts, names)), frozenset(names))

    def definition(self, name: str) -> Node:
        """Return the node that refers to a definition."""
        return Node((PlacedSchema("", {"$ref": _DEFINITION + name}),))

    def _plain(
        self, parts: Iterable[PlacedSchema], names: dict[str, None]
    ) -> Iterator[PlacedSchema]:
        for part in parts:
            schema = part.schema
            if not is_object(schema):
                continue
            if "$ref" in schema:
                name = schema["$ref"].removeprefix(_DEFINITION)
                if name in names:
                    continue
                names[name] = None
                definition = PlacedSchema(
                    jsonpointer.join("$defs", name), self.document["$defs"][name]
                )
                yield from self._plain((definition,), names)
            for number in range(len(schema.get("allOf", ()))):
                yield from self._plain((part.at("allOf", number),), names)
            rest = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
            if rest or len(schema) == 0:
                yield PlacedSchema(part.pointer, rest)
