"""Types as `TypedDict`s: for type checkers alone, without any dependency."""

from collections.abc import Iterator, Sequence

from mcp_protogen.emit.text import literal
from mcp_protogen.ir import (
    Anything,
    ListOf,
    LiteralOf,
    MapOf,
    ObjectIR,
    OneOf,
    Ref,
    RevisionIR,
    Scalar,
    TypeExpr,
    TypeIR,
    UnionIR,
)
from mcp_protogen.target import CONTRACT, Setting, TargetFile, TargetOptions
from mcp_protogen.targets.python.modules import Definitions, python_files
from mcp_protogen.targets.python.order import ordered

_SCALARS = {
    "string": "str",
    "boolean": "bool",
    "integer": "int",
    "number": "int | float",
    "null": "None",
}


class TypedDictTarget:
    """The target `typeddict`."""

    contract = CONTRACT
    settings: frozenset[Setting] = frozenset()

    def files(
        self, revisions: Sequence[RevisionIR], options: TargetOptions
    ) -> Iterator[TargetFile]:
        """Yield the modules of all revisions."""
        return python_files(revisions, options, _definitions)


TARGET = TypedDictTarget()


def _definitions(ir: RevisionIR, _: TargetOptions) -> Definitions:
    text = "\n\n".join(_definition(one) for one in ordered(ir))
    imports = {"typing": frozenset({"Any", "Literal", "NotRequired", "TypeAlias", "TypedDict"})}
    return Definitions(imports, text, tuple(str(one.name) for one in ir.types))


def _definition(type_: TypeIR) -> str:
    if isinstance(type_, ObjectIR):
        members = ", ".join(
            f"{literal(one.wire)}: {literal(_member(one.required, _hint(one.type)))}"
            for one in type_.fields
        )
        return f"{type_.name} = TypedDict({literal(type_.name)}, {{{members}}})"
    arms = type_.arms if isinstance(type_, UnionIR) else (type_.type,)
    hint = " | ".join(_hint(one) for one in arms)
    return f"{type_.name}: TypeAlias = {literal(hint)}"


def _member(required: bool, hint: str) -> str:
    return hint if required else f"NotRequired[{hint}]"


def _hint(expr: TypeExpr) -> str:
    match expr:
        case Ref(name):
            return str(name)
        case Scalar(kind):
            return _SCALARS[kind]
        case LiteralOf(values):
            return f"Literal[{', '.join(map(literal, values))}]"
        case ListOf(item):
            return f"list[{_hint(item)}]"
        case MapOf(value):
            return f"dict[str, {_hint(value)}]"
        case OneOf(arms):
            return " | ".join(_hint(arm) for arm in arms)
        case Anything():
            return "Any"
