"""The IR of types, from a normalised schema and facts."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_protogen.base import jsonpointer, names
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem, raising
from mcp_protogen.pipeline.derive.fillings import BOUNDS, Filling, fillings
from mcp_protogen.pipeline.inputs.descriptions import Descriptions, add_deprecation
from mcp_protogen.pipeline.inputs.facts import Facts
from mcp_protogen.pipeline.ir import (
    NOTHING,
    AliasIR,
    Anything,
    FieldIR,
    Filled,
    ListOf,
    LiteralOf,
    MapOf,
    ObjectIR,
    OneOf,
    Ref,
    Scalar,
    TypeExpr,
    TypeIR,
    UnionIR,
)
from mcp_protogen.pipeline.ir import Json as JsonScalar
from mcp_protogen.pipeline.normalise.references import definition_name, dependencies_first

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Context:
    """The data for deriving one revision besides its schema."""

    facts: Facts
    descriptions: Descriptions
    place: str

    def doc(self, text: str, deprecated: bool) -> str:
        """Return a text about a type or member; only our texts mention deprecation."""
        return add_deprecation(text, deprecated) if self.descriptions.has_own_texts else text


def types(definitions: Json, context: Context) -> tuple[TypeIR, ...]:
    """Return the types of a normalised schema, sorted by name.

    Raise `ProblemError` for names that cannot be Python names, or that become equal.
    """
    _refuse_unsafe_names(definitions, context.place)
    surroundings = _Surroundings(
        context, nullable_names(definitions), fillings(definitions, context.facts)
    )
    return tuple(_type(name, schema, surroundings) for name, schema in sorted(definitions.items()))


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """The data for reading all types of one schema."""

    context: Context
    nulls: Container[str]
    filled: Sequence[Filling]


@raising
def _refuse_unsafe_names(definitions: Json, place: str) -> Iterator[Problem]:
    for name, schema in definitions.items():
        pointer = jsonpointer.join("$defs", name)
        try:
            names.class_name(name)
        except names.UnsafeName:
            yield _unsafe(name, "type", place, pointer)
        owners: dict[str, str] = {}
        for member in schema.get("properties", {}):
            try:
                field = names.field_name(member)
            except names.UnsafeName:
                yield _unsafe(
                    member, "member", place, pointer + jsonpointer.join("properties", member)
                )
                continue
            if field in owners:
                message = (
                    f"members {owners[field]!r:.80} and {member!r:.80} would both be called {field}"
                )
                hint = "rename one of them in the schema"
                yield Problem("name-collision", message, place, f"{pointer}/properties", hint)
            owners[field] = member


def _unsafe(name: str, noun: str, place: str, pointer: str) -> Problem:
    hint = "use ASCII letters, digits and underscores"
    return Problem("unsafe-name", f"{name!r:.80} cannot name a Python {noun}", place, pointer, hint)


def _type(name: str, schema: Json, around: _Surroundings) -> TypeIR:
    context = around.context
    class_name = names.class_name(name)
    origin = jsonpointer.join("$defs", name)
    deprecated = name in context.facts.deprecated
    doc = context.doc(context.descriptions.type(name), deprecated)
    is_inline: bool = schema.get("x-inline", False)
    if "properties" in schema:
        return ObjectIR(
            name=class_name,
            fields=tuple(_fields(name, schema, around)),
            any_of_required=tuple(schema.get("x-any-of-required", ())),
            open=name in context.facts.open_types or schema.get("x-open", False),
            origin=origin,
            doc=doc,
            deprecated=deprecated,
            inline=is_inline,
        )
    if "anyOf" in schema and all("$ref" in arm for arm in schema["anyOf"]):
        return UnionIR(
            name=class_name,
            arms=tuple(expression(arm) for arm in schema["anyOf"]),
            tag=schema.get("discriminator", {}).get("propertyName"),
            open=schema.get("x-open", False),
            origin=origin,
            doc=doc,
            deprecated=deprecated,
            inline=is_inline,
        )
    return AliasIR(class_name, expression(schema), origin, doc, deprecated, is_inline)


def _fields(owner: str, schema: Json, around: _Surroundings) -> Iterator[FieldIR]:
    context = around.context
    required = frozenset(schema.get("required", ()))
    # They are part of our text about a member.
    open_strings: Mapping[str, tuple[str, ...]] = (
        context.facts.open_strings if context.descriptions.has_own_texts else {}
    )
    for wire, value in schema["properties"].items():
        expr = expression(value)
        deprecated = f"{owner}.{wire}" in context.facts.deprecated
        yield FieldIR(
            wire=wire,
            name=names.field_name(wire),
            type=expr,
            required=wire in required,
            default=_default(wire, value, around) if wire in required else None,
            nullable=nullable(expr, around.nulls),
            constraints=tuple((key, value[key]) for key in BOUNDS if key in value),
            known_values=open_strings.get(f"{owner}.{wire}", ()),
            doc=context.doc(context.descriptions.member(owner, wire), deprecated),
            deprecated=deprecated,
        )


def _default(wire: str, schema: Json, around: _Surroundings) -> JsonScalar | Filled:
    """Return the value of a required member that Python code may leave out, or None."""
    for filling in around.filled:
        if filling.member == wire and filling.schema == schema:
            return filling.value
    result_type: Json = around.context.facts.document["rules"].get("result_type", {})
    usual: JsonScalar = result_type["absent"] if wire == result_type.get("member") else None
    constant: JsonScalar = schema.get("const", usual)
    return constant


def nullable_names(definitions: Json) -> frozenset[str]:
    """Return the definitions that accept null, also through other definitions."""
    aliases = {
        name: definition
        for name, definition in definitions.items()
        if "properties" not in definition
    }
    names: set[str] = set()
    for name in dependencies_first(aliases):
        if nullable(expression(aliases[name]), names):
            names.add(name)
    return frozenset(names)


def nullable(expr: TypeExpr, nulls: Container[str]) -> bool:
    match expr:
        case Anything() | Scalar("null"):
            return True
        case Ref(name):
            return name in nulls
        case OneOf(arms):
            return any(nullable(arm, nulls) for arm in arms)
        case _:
            return False


def expression(schema: Json) -> TypeExpr:
    """Return the type of a schema inside a definition."""
    match schema:
        case {"$ref": str(ref)}:
            return Ref(names.class_name(definition_name(ref)))
        case {"anyOf": arms}:
            return OneOf(tuple(expression(arm) for arm in arms))
        case {"const": value}:
            return LiteralOf((value,))
        case {"enum": values}:
            return LiteralOf(tuple(values)) if values else NOTHING
        case {"type": kinds} if is_array(kinds):
            return OneOf(tuple(expression({**schema, "type": kind}) for kind in kinds))
        case {"type": "array"}:
            return ListOf(expression(schema.get("items", {})))
        case {"type": "object"}:
            value = schema.get("additionalProperties", {})
            inner = expression(value) if is_object(value) else Anything()
            return MapOf(inner, schema.get("x-bare", False))
        case {"type": "string" | "boolean" | "integer" | "number" | "null" as kind}:
            return Scalar(kind)
        case _:
            return Anything(name=schema.get("x-value", ""))
