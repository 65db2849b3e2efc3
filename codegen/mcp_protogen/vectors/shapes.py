"""A schema read as shapes: which kinds of value, which members, which arms, which bounds.

A place in a schema may be ruled by several schemas at once (`allOf`, what stands beside a `$ref`),
so a node is a list of them, each with the pointer to where it is written. This module knows JSON
Schema and nothing of MCP.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mcp_protogen import jsonpointer
from mcp_protogen.jsonvalue import is_array, is_object

Json = dict[str, Any]

KINDS = ("object", "array", "string", "integer", "number", "boolean", "null")
_DEFINITION = "#/$defs/"
_UNION = ("anyOf", "oneOf")


@dataclass(frozen=True, slots=True)
class Part:
    """One schema and the pointer to it."""

    pointer: str
    schema: Any

    def at(self, *tokens: str | int) -> "Part":
        """The schema below this one."""
        inner = self.schema
        for token in tokens:
            inner = inner[token]
        return Part(self.pointer + jsonpointer.join(*tokens), inner)


@dataclass(frozen=True, slots=True)
class Node:
    """A place in the schema: all of its parts hold."""

    parts: tuple[Part, ...]

    @property
    def reference(self) -> str | None:
        """The definition this place refers to, where it says no more than that."""
        if len(self.parts) == 1 and is_object(schema := self.parts[0].schema):
            target = schema.get("$ref")
            if isinstance(target, str) and len(schema) == 1:
                return target.removeprefix(_DEFINITION)
        return None


@dataclass(frozen=True, slots=True)
class Rule:
    """A keyword: what it says, and the pointer to it."""

    value: Any
    pointer: str


@dataclass(frozen=True)
class Shape:
    """What a node says, references followed and all parts taken together.

    `names` are the definitions passed on the way. `parts` are plain: without `$ref` and `allOf`.
    """

    parts: tuple[Part, ...]
    names: frozenset[str]

    @cached_property
    def arms(self) -> tuple[Node, ...]:
        """The alternatives, each together with what holds for all of them; empty without any."""
        if self._united is None:
            return ()
        part, keyword = self._united
        arms = range(len(part.schema[keyword]))
        return tuple(Node((*self.common.parts, part.at(keyword, arm))) for arm in arms)

    @cached_property
    def common(self) -> Node:
        """What holds for all of the alternatives; without parts where that is nothing."""
        if self._united is None:
            return Node(self.parts)
        united, keyword = self._united
        rest = {key: value for key, value in united.schema.items() if key != keyword}
        others = (part for part in self.parts if part is not united)
        return Node(tuple(part for part in (Part(united.pointer, rest), *others) if part.schema))

    @cached_property
    def _united(self) -> tuple[Part, str] | None:
        """The first part that has alternatives, and the keyword that has them."""
        for part in self.parts:
            for keyword in _UNION:
                if keyword in part.schema:
                    return part, keyword
        return None

    @cached_property
    def union(self) -> Rule | None:
        """The keyword that has the alternatives."""
        return self.rule(*_UNION)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of JSON value that may stand here, as far as the schema says."""
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
        """Whether nothing is said that could refuse a value."""
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
        """The members an object must have, with the pointer that says so."""
        return {
            name: f"{part.pointer}/required"
            for part in self.parts
            for name in part.schema.get("required", ())
        }

    @cached_property
    def others(self) -> Node | None:
        """What undeclared members must be; None where none is allowed."""
        parts = [part.at("additionalProperties") for part in self.parts if _limits(part)]
        return None if any(part.schema is False for part in parts) else Node(tuple(parts))

    @cached_property
    def items(self) -> Node:
        """What the items of an array must be."""
        return Node(tuple(part.at("items") for part in self.parts if "items" in part.schema))

    def rule(self, *keywords: str) -> Rule | None:
        """The first of some keywords that is given."""
        for keyword in keywords:
            for part in self.parts:
                if keyword in part.schema:
                    return Rule(part.schema[keyword], f"{part.pointer}/{keyword}")
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


def _limits(part: Part) -> bool:
    return "additionalProperties" in part.schema and part.schema["additionalProperties"] is not True


@dataclass(frozen=True)
class Shapes:
    """Shapes of the nodes of one document, each worked out once."""

    document: Json
    _known: dict[tuple[str, ...], Shape] = field(default_factory=dict[tuple[str, ...], Shape])

    def of(self, node: Node) -> Shape:
        """The shape of a node."""
        names: dict[str, None] = {}
        return Shape(tuple(self._plain(node.parts, names)), frozenset(names))

    def definition(self, name: str) -> Node:
        """The node that refers to a definition."""
        return Node((Part("", {"$ref": _DEFINITION + name}),))

    def _plain(self, parts: Iterable[Part], names: dict[str, None]) -> Iterator[Part]:
        for part in parts:
            schema = part.schema
            if not is_object(schema):
                continue
            if "$ref" in schema:
                name = schema["$ref"].removeprefix(_DEFINITION)
                if name in names:
                    continue
                names[name] = None
                target = Part(jsonpointer.join("$defs", name), self.document["$defs"][name])
                yield from self._plain((target,), names)
            for number in range(len(schema.get("allOf", ()))):
                yield from self._plain((part.at("allOf", number),), names)
            rest = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
            if rest or len(schema) == 0:
                yield Part(part.pointer, rest)
