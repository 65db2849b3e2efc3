"""The parameters and results of generated calls, from the members of params.

Positional parameters are the required members, in the order of the schema or of the facts, then the
method's own optional members that the facts name, or its only one. All other members are keywords.
A call with another result, or another class of params, gets its own name from the facts. A member
whose name would be ambiguous is left out; `request` can send it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from mcp_protogen.base.names import ClassName, StubName
from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.derive.module_names import sender
from mcp_protogen.pipeline.ir import (
    AliasIR,
    FieldIR,
    LiteralOf,
    MethodIR,
    ObjectIR,
    OneOf,
    Ref,
    RevisionIR,
    TypeExpr,
    TypeIR,
)

OPTIONS = frozenset({"timeout", "max_timeout", "reset_on_progress", "on_progress"})
"""The options of a request; they are keywords, too."""
_OF_BODIES = frozenset({"self", "m", "methods", "OMITTED", "SUPPLIED", "present"})
_OF_REQUESTS = OPTIONS | _OF_BODIES | {"options"}
_OF_TOOL_CALLS = _OF_REQUESTS | {"as_", "check", "reader"}

Types = Mapping[str, TypeIR]


@dataclass(frozen=True, slots=True)
class CallSignature:
    """A call: its name, the class of its params, and their members by position and by keyword.

    Only a call that is made `once` may return something other than the plain result.
    """

    name: StubName
    params: ClassName
    positional: tuple[FieldIR, ...]
    keywords: tuple[FieldIR, ...]
    once: bool = False


def signatures_of(ir: RevisionIR) -> list[tuple[CallSignature, ...]]:
    """Return the calls of each method, the usual one first.

    A method has none if a required member has the name of something else in the call.
    """
    types = {str(type_.name): type_ for type_ in ir.types}
    shared = _common_members(ir.methods, types)
    return [tuple(_signatures(method, types, shared)) for method in ir.methods]


def is_tool_result(type_: TypeIR | None) -> bool:
    """Return whether a type is the result of a tool, without members like those of its base."""
    return (
        isinstance(type_, ObjectIR)
        and type_.places is not None
        and not {"text", "data"} & {str(member.name) for member in type_.fields}
    )


def _arms(name: str, types: Types) -> list[ObjectIR]:
    arms = recursion.arms_within(name, types, _arm_names)
    return [type_ for type_ in arms if isinstance(type_, ObjectIR)]


def _arm_names(type_: TypeIR) -> Iterator[str]:
    if not isinstance(type_, ObjectIR):
        yield from _references((type_.type,) if isinstance(type_, AliasIR) else type_.arms)


def _references(arms: Iterable[TypeExpr]) -> Iterator[str]:
    for arm in arms:
        if isinstance(arm, Ref):
            yield arm.name
        elif isinstance(arm, OneOf):
            yield from _references(arm.arms)


def _common_members(methods: Iterable[MethodIR], types: Types) -> Collection[tuple[str, TypeExpr]]:
    """Return the optional members that the params of several methods share."""
    owners = {method.params: list(_arms(method.params, types)) for method in methods}
    counts = Counter(
        member
        for arms in owners.values()
        for member in {(f.wire, f.type) for arm in arms for f in arm.fields if not f.required}
    )
    return {member for member, times in counts.items() if times > 1}


def _signatures(
    method: MethodIR, types: Types, shared: Collection[tuple[str, TypeExpr]]
) -> Iterator[CallSignature]:
    arms = {str(arm.name): arm for arm in _arms(method.params, types)}
    usual = next(iter(arms), "")
    for name, of in ((sender(method), usual), *method.variants) if arms else ():
        arm = arms.get(of) or arms[usual]
        fields = [field for field in arm.fields if not is_constant(field)]
        reserved = _reserved_names(method, types)
        if any(field.name in reserved and is_needed(field) for field in fields):
            if of == usual:
                return
            continue
        asking = [field for field in fields if _brings_another_result(field, method, types)]
        required = tuple(replace(field, required=True) for field in asking if field.wire == of)
        fields = [field for field in fields if field.name not in reserved and field not in asking]
        positional = tuple(_positional(method, fields, shared))
        others = [field for field in fields if field not in positional]
        keywords = (*required, *sorted(others, key=is_needed, reverse=True))
        yield CallSignature(name, arm.name, positional, keywords, once=bool(required))


def _reserved_names(method: MethodIR, types: Types) -> frozenset[str]:
    if method.kind == "notification":
        return _OF_BODIES
    return _OF_TOOL_CALLS if is_tool_call(method, types) else _OF_REQUESTS


def is_tool_call(method: MethodIR, types: Types) -> bool:
    """Return whether a client can read the result of a method as its own type."""
    plain = types.get(next(iter(method.results), ""))
    return method.senders == ("client",) and is_tool_result(plain)


def _brings_another_result(field: FieldIR, method: MethodIR, types: Types) -> bool:
    """Return whether an optional member asks for another result with the same member: a task."""
    return not field.required and any(
        _has(types.get(name), field.wire) for name in method.results[1:]
    )


def is_needed(field: FieldIR) -> bool:
    """Return whether a caller must give a member."""
    return field.required and field.default is None


def is_constant(field: FieldIR) -> bool:
    """Return whether a member has the same value in all params."""
    return field.required and _has_one_value(field)


def _has_one_value(field: FieldIR) -> bool:
    return isinstance(field.type, LiteralOf) and len(field.type.values) == 1


def _positional(
    method: MethodIR, fields: Collection[FieldIR], shared: Collection[tuple[str, TypeExpr]]
) -> Iterator[FieldIR]:
    order = {wire: place for place, wire in enumerate(method.order)}
    fields = sorted(fields, key=lambda one: order.get(one.wire, len(order)))
    optional = [
        field
        for field in fields
        if not field.required and not field.wire.startswith("_") and not _has_one_value(field)
    ]
    ordered = [field for field in optional if field.wire in order]
    unshared = [field for field in optional if (field.wire, field.type) not in shared]
    yield from (*filter(is_needed, fields), *(ordered or (unshared if len(unshared) == 1 else ())))


def _has(type_: TypeIR | None, member: str) -> bool:
    return isinstance(type_, ObjectIR) and any(
        field.wire == member and field.required for field in type_.fields
    )
