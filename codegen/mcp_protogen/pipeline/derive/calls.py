"""The members of params that a call may give one by one, and what then comes back.

A call gives the required members first, in the order of the schema or of the facts; after them the
method's own optional members that the facts name, or else the only one that there is. All other
members are keywords: those that differ from one call to the next belong together with their names.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from mcp_protogen.base.names import ClassName
from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.ir import (
    AliasIR,
    Anything,
    FieldIR,
    ListOf,
    LiteralOf,
    MethodIR,
    ObjectIR,
    OneOf,
    Ref,
    RevisionIR,
    Scalar,
    TypeExpr,
    TypeIR,
)

OPTIONS = frozenset({"timeout", "max_timeout", "reset_on_progress", "on_progress"})
"""The options of a request, which are keywords too."""
_TASK = "task"
"""The member that asks for another result."""
_OF_SIGNATURES = frozenset({"self", "params", "options"})
_OF_REQUESTS = OPTIONS | _OF_SIGNATURES | {"as_", "check"}

Types = Mapping[str, TypeIR]


@dataclass(frozen=True, slots=True)
class Form:
    """A way to give the members of params: some by position, the others by keyword."""

    positional: tuple[FieldIR, ...]
    keywords: tuple[FieldIR, ...]
    results: tuple[ClassName, ...]


def forms_of(ir: RevisionIR) -> list[tuple[Form, ...]]:
    """Return the forms of each method.

    There are none if a required member has the name of an option, or if a constant that nobody has
    to give is all that tells two of them apart.
    """
    types = {str(type_.name): type_ for type_ in ir.types}
    shared = _shared(ir.methods, types)
    found = [tuple(_forms(method, types, shared)) for method in ir.methods]
    return [forms if len({*map(_members, forms)}) == len(forms) else () for forms in found]


def _members(form: Form) -> frozenset[tuple[str, str]]:
    """Return the members of a form, each with how its type is written."""
    return frozenset((str(one.name), repr(one.type)) for one in (*form.positional, *form.keywords))


def is_tool_result(type_: TypeIR | None) -> bool:
    """Return whether a type is the result of a tool: content, and a flag that it has failed.

    A block of content may have both too; a constant tells it from other blocks.
    """
    if not isinstance(type_, ObjectIR):
        return False
    fields = {field.wire: field for field in type_.fields}
    content, failed = fields.get("content"), fields.get("isError")
    return (
        content is not None
        and content.required
        and isinstance(content.type, ListOf)
        and failed is not None
        and failed.type == Scalar("boolean")
        and not any(map(_is_constant, type_.fields))
        and not {"text", "data"} & {str(field.name) for field in type_.fields}
    )


def _arms(name: str, types: Types) -> list[ObjectIR]:
    """Return the objects that params may be."""
    found = recursion.arms_within(name, types, _referred)
    return [type_ for type_ in found if isinstance(type_, ObjectIR)]


def _referred(type_: TypeIR) -> Iterator[str]:
    if not isinstance(type_, ObjectIR):
        yield from _references((type_.type,) if isinstance(type_, AliasIR) else type_.arms)


def _references(arms: Iterable[TypeExpr]) -> Iterator[str]:
    for arm in arms:
        if isinstance(arm, Ref):
            yield arm.name
        elif isinstance(arm, OneOf):
            yield from _references(arm.arms)


def _shared(methods: Iterable[MethodIR], types: Types) -> Collection[tuple[str, TypeExpr]]:
    """Return the optional members that the params of several methods have in common."""
    owners = {one.params: list(_arms(one.params, types)) for one in methods}
    found = Counter(
        member
        for arms in owners.values()
        for member in {(f.wire, f.type) for arm in arms for f in arm.fields if not f.required}
    )
    return {member for member, times in found.items() if times > 1}


def _forms(
    method: MethodIR, types: Types, shared: Collection[tuple[str, TypeExpr]]
) -> Iterator[Form]:
    first: tuple[FieldIR, ...] | None = None
    taken = _OF_SIGNATURES if method.kind == "notification" else _OF_REQUESTS
    for arm in _arms(method.params, types):
        fields = [field for field in arm.fields if not _is_constant(field)]
        if any(field.name in taken and is_needed(field) for field in fields):
            continue
        fields = [field for field in fields if field.name not in taken]
        positional = tuple(_positional(method, fields, types, shared))
        # What stands at one place means the same in all forms.
        positional = positional if first is None else _alike(first, positional)
        first = positional if first is None else first
        rest = [field for field in fields if field not in positional]
        keywords = (*filter(is_needed, rest), *_without_needed(rest))
        # What asks for input is answered by the runtime.
        results = method.results[: 1 if "may_require_input" in method.traits else None]
        yield from _by_result(Form(positional, keywords, results), types)


def is_needed(field: FieldIR) -> bool:
    """Return whether a caller has to give a member."""
    return field.required and field.default is None


def _is_constant(field: FieldIR) -> bool:
    return field.required and _has_one_value(field)


def _has_one_value(field: FieldIR) -> bool:
    return isinstance(field.type, LiteralOf) and len(field.type.values) == 1


def _without_needed(fields: Iterable[FieldIR]) -> Iterator[FieldIR]:
    return (field for field in fields if not is_needed(field))


def _positional(
    method: MethodIR,
    fields: Collection[FieldIR],
    types: Types,
    shared: Collection[tuple[str, TypeExpr]],
) -> Iterator[FieldIR]:
    order = {wire: place for place, wire in enumerate(method.order)}
    fields = sorted(fields, key=lambda one: order.get(one.wire, len(order)))
    optional = [
        one
        for one in fields
        if not one.required
        and not one.wire.startswith("_")
        and one.wire != _TASK
        and not _has_one_value(one)
    ]
    stated = [one for one in optional if one.wire in order]
    own = [one for one in optional if (one.wire, one.type) not in shared]
    found = [*filter(is_needed, fields), *(stated or (own if len(own) == 1 else ()))]
    # The params themselves stand at the first place too.
    if found and not _may_be_params(found[0].type, method, types):
        yield from found


def _may_be_params(expr: TypeExpr, method: MethodIR, types: Types) -> bool:
    params = {arm.name for arm in _arms(method.params, types)}
    match expr:
        case Anything():
            return True
        case Ref(name):
            type_ = types.get(name)
            if isinstance(type_, AliasIR) and isinstance(type_.type, Anything):
                return True
            return any(arm.name in params for arm in _arms(name, types))
        case OneOf(arms):
            return any(_may_be_params(arm, method, types) for arm in arms)
        case _:
            return False


def _alike(first: tuple[FieldIR, ...], other: tuple[FieldIR, ...]) -> tuple[FieldIR, ...]:
    """Return the first fields of `other` that stand where they stand in `first`."""
    for place, (left, right) in enumerate(zip(first, other, strict=False)):
        if left.wire != right.wire:
            return other[:place]
    return other[: len(first)]


def _by_result(form: Form, types: Types) -> Iterator[Form]:
    """Yield a form for each result that a member brings about: a task, if one is asked for."""
    for field in form.keywords:
        brought = {name for name in form.results if _has(types.get(name), field.wire)}
        rest = tuple(one for one in form.keywords if one is not field)
        plain = tuple(name for name in form.results if name not in brought)
        if field.wire == _TASK and not field.required and brought and plain:
            yield replace(form, keywords=rest, results=plain)
            given = replace(field, required=True, type=OneOf((field.type, Scalar("null"))))
            yield replace(form, keywords=(given, *rest))
            return
    yield form


def _has(type_: TypeIR | None, member: str) -> bool:
    return isinstance(type_, ObjectIR) and any(
        field.wire == member and field.required for field in type_.fields
    )
