"""Base classes in extensions: they follow from the intersections in the schema.

An `allOf` of a `$ref` and an object is a subclass of the referenced type if it has all its members
unchanged; restricted members are its own. A class has one base, the largest: with several, members
would be in no definition's order.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mcp_protogen.base import names
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.ir import AliasIR, FieldIR, ObjectIR, Ref, TypeIR, UnionIR
from mcp_protogen.pipeline.normalise.references import definition_name

Json = dict[str, Any]


def add_bases(types: tuple[TypeIR, ...], definitions: Json) -> tuple[TypeIR, ...]:
    """Return `types` with the bases that follow from `definitions`, which may be incomplete."""
    by_name: Mapping[str, TypeIR] = {str(type_.name): type_ for type_ in types}
    joined: dict[str, set[str]] = {}
    for name, schema in definitions.items():
        for owner, ref in _intersections(names.type_name(name), schema):
            joined.setdefault(owner, set()).add(ref)
    for owner in list(joined):
        for arm in _objects(owner, by_name):
            joined.setdefault(str(arm.name), set()).update(joined[owner])
    circular = recursion.circular(types)
    return tuple(
        (
            _extending(type_, sorted(joined[type_.name]), by_name)
            if isinstance(type_, ObjectIR) and type_.name in joined and type_.name not in circular
            else type_
        )
        for type_ in types
    )


def _intersections(owner: str, schema: Any) -> Iterator[tuple[str, str]]:
    """Yield the types that intersections refer to, each after the type name of its place."""
    if not is_object(schema):
        return
    parts: list[Any] = schema.get("allOf", [])
    for part in parts:
        if is_object(part) and "$ref" in part:
            yield owner, names.type_name(definition_name(part["$ref"]))
        yield from _intersections(owner, part)
    for member, inner in schema.get("properties", {}).items():
        yield from _intersections(owner + names.pascal(member), inner)
    for keyword in ("items", "additionalProperties"):
        yield from _intersections(owner, schema.get(keyword))


def _objects(name: str, types: Mapping[str, TypeIR]) -> Iterator[ObjectIR]:
    """Yield the objects that a name stands for, including those of unions."""
    for type_ in recursion.arms_within(name, types, _arm_names):
        if isinstance(type_, ObjectIR):
            yield type_


def _arm_names(type_: TypeIR) -> Iterator[str]:
    match type_:
        case UnionIR(arms=arms):
            for arm in arms:
                yield from recursion.names_in(arm)
        case AliasIR(type=Ref(inner)):
            yield inner
        case _:
            pass


def _extending(type_: ObjectIR, refs: list[str], types: Mapping[str, TypeIR]) -> ObjectIR:
    fields = {field.name: field for field in type_.fields}
    candidates = [
        base
        for ref in refs
        for base in _objects(ref, types)
        if base is not type_
        and all(_is_kept(field, fields.get(field.name), types) for field in base.fields)
    ]
    if not candidates:
        return type_
    base = max(candidates, key=lambda one: len(one.fields))
    inherited = frozenset(field.name for field in base.fields)
    return replace(type_, base=base.name, inherited=inherited)


def _is_kept(field: FieldIR, own: FieldIR | None, types: Mapping[str, TypeIR]) -> bool:
    """Return whether a member is the same in a base, apart from its texts.

    An inline object of the base is also inline here, with the name of this place.
    """
    if own is None:
        return False
    match own.type, field.type:
        case Ref(mine), Ref(theirs) if _content(mine, types) == _content(theirs, types):
            own = replace(own, type=field.type)
        case _:
            pass
    return replace(own, doc=field.doc, known_values=field.known_values) == field


def _content(name: str, types: Mapping[str, TypeIR]) -> object:
    type_ = types[name]
    return (type_.fields, type_.any_of_required) if isinstance(type_, ObjectIR) else type_
