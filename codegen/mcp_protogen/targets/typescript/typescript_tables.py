"""The tables of a TypeScript module, from IR, as data: types, methods and capabilities."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mcp_protogen.pipeline.ir import (
    EMITTERS,
    AliasIR,
    Anything,
    CapabilityIR,
    ConditionIR,
    ErrorIR,
    FieldIR,
    ListOf,
    LiteralOf,
    MapOf,
    MetaKeyIR,
    MethodIR,
    ObjectIR,
    OneOf,
    Ref,
    RequirementIR,
    RevisionIR,
    Scalar,
    TypeExpr,
    UnionIR,
)

Data = dict[str, Any]


class TableEntry(NamedTuple):
    """An entry of a table, with its description."""

    name: str
    value: object
    doc: str = ""
    deprecated: bool = False


def constants(ir: RevisionIR) -> Iterator[TableEntry]:
    """Yield the constants of the specification's `schema.ts`, and further error codes."""
    yield TableEntry("LATEST_PROTOCOL_VERSION", ir.id, "The revision of these types.")
    yield TableEntry("JSONRPC_VERSION", "2.0", "The version of JSON-RPC that each message names.")
    for error in ir.errors:
        yield TableEntry(error.name, error.code, error.doc)


def types(ir: RevisionIR) -> Iterator[TableEntry]:
    """Yield the shape of each type."""
    objects = {str(type_.name): type_ for type_ in ir.types if isinstance(type_, ObjectIR)}
    for type_ in ir.types:
        match type_:
            case ObjectIR():
                yield TableEntry(type_.name, _members(type_))
            case UnionIR():
                yield TableEntry(type_.name, _union(type_, objects))
            case AliasIR():
                shape = _shape(type_.type)
                # A type of any JSON value is used by name; this is its definition.
                yield TableEntry(type_.name, "any" if shape == {"ref": type_.name} else shape)


def _members(type_: ObjectIR) -> Data:
    return _without_none(
        members={field.wire: _of_member(field) for field in type_.fields},
        required=[field.wire for field in type_.fields if field.required],
        anyOfRequired=type_.any_of_required or None,
    )


def _of_member(field: FieldIR) -> object:
    shape = _shape(field.type)
    return {"of": shape, **dict(field.constraints)} if field.constraints else shape


def _union(union: UnionIR, objects: Mapping[str, ObjectIR]) -> Data:
    """Return the shape of a union: its arms by their constants if these are distinct."""
    constants = [
        (value, arm.name)
        for arm in union.arms
        if union.tag and isinstance(arm, Ref) and arm.name in objects
        for value in _constants(objects[arm.name], union.tag)
    ]
    named = {arm for _, arm in constants}
    arms = {value: arm for value, arm in constants if isinstance(value, str)}
    if union.tag and len(named) == len(union.arms) and len(arms) == len(constants):
        return {"tag": union.tag, "arms": arms}
    return {"anyOf": [_shape(arm) for arm in union.arms]}


def _constants(type_: ObjectIR, member: str) -> tuple[object, ...]:
    for field in type_.fields:
        if field.wire == member and field.required and isinstance(field.type, LiteralOf):
            return field.type.values
    return ()


def _shape(expr: TypeExpr) -> object:
    match expr:
        case Ref(name):
            return {"ref": name}
        case Scalar(kind):
            return kind
        case LiteralOf(values):
            return {"constants": values}
        case ListOf(item):
            return {"items": _shape(item)}
        case MapOf(value):
            return {"values": _shape(value)}
        case OneOf(arms):
            return {"anyOf": [_shape(arm) for arm in arms]}
        case Anything(name=name):
            return {"ref": name} if name else "any"


def methods(ir: RevisionIR) -> Iterator[TableEntry]:
    """Yield all methods."""
    for method in ir.methods:
        yield TableEntry(method.method, _method(method), method.doc, method.deprecated is not None)


def _method(method: MethodIR) -> Data:
    return _without_none(
        kind=method.kind,
        senders=method.senders,
        message=method.message,
        params=method.params,
        paramsRequired=method.params_required,
        results=method.results,
        phase=method.phase,
        traits=method.traits,
        since=method.since,
        removed=method.removed,
        deprecated=method.deprecated,
        source=method.source,
    )


def errors(ir: RevisionIR) -> Iterator[TableEntry]:
    """Yield all error codes."""
    for error in ir.errors:
        yield TableEntry(error.name, _error(error), error.doc)


def _error(error: ErrorIR) -> Data:
    senders = sorted(EMITTERS[error.emit])
    return _without_none(code=error.code, senders=senders, data=error.data, source=error.source)


def meta_keys(ir: RevisionIR) -> Iterator[TableEntry]:
    """Yield the defined keys of `_meta`."""
    for key in ir.meta_keys:
        yield TableEntry(key.constant.removeprefix("META_"), _meta_key(key))


def _meta_key(key: MetaKeyIR) -> Data:
    return _without_none(
        key=key.key,
        on=key.on,
        of=key.of or None,
        type=key.type,
        required=key.required,
        source=key.source,
    )


def capabilities(ir: RevisionIR) -> Iterator[TableEntry]:
    """Yield all capabilities."""
    for capability in ir.capabilities:
        yield TableEntry(capability.constant, _capability(capability), capability.doc)


def _capability(capability: CapabilityIR) -> Data:
    return _without_none(
        role=capability.role,
        path=capability.path,
        flag=capability.flag or None,
        implied=capability.implied or None,
        source=capability.source,
    )


def requirements(ir: RevisionIR) -> Iterator[TableEntry]:
    """Yield the capabilities that each method needs."""
    for method in ir.methods:
        if method.requires:
            yield TableEntry(method.method, list(map(_requirement, method.requires)))


def _requirement(requirement: RequirementIR) -> Data:
    return _without_none(
        capability=requirement.capability,
        level=requirement.level,
        sender=requirement.sender,
        when=list(map(_condition, requirement.when)) or None,
        source=requirement.source,
    )


def _condition(condition: ConditionIR) -> Data:
    return _without_none(
        member=condition.member, oneOf=condition.one_of, orAbsent=condition.or_absent or None
    )


def _without_none(**members: object) -> Data:
    """Return the members that are not None."""
    return {name: value for name, value in members.items() if value is not None}
