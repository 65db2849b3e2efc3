"""The order in which a module defines its types."""

from mcp_protogen.base.graph import dependencies_first
from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.ir import AliasIR, ObjectIR, RevisionIR, TypeIR, UnionIR


def order_types(ir: RevisionIR) -> tuple[TypeIR, ...]:
    """Return the types of a revision, each after the types that it names.

    In a cycle, a class comes before the aliases that it names: its annotations need not be
    evaluated at its definition. An alias comes before a type that it names only if it is `endless`.
    """
    types = {str(type_.name): type_ for type_ in ir.types}
    circular = recursion.circular(ir.types)
    graph = {
        name: [
            used_name
            for used_name in recursion.uses(type_)
            if not (isinstance(type_, ObjectIR) and name in circular and used_name in circular)
            or used_name == getattr(type_, "base", None)
        ]
        for name, type_ in types.items()
    }
    return tuple(types[name] for name in dependencies_first(graph))


def endless(ir: RevisionIR) -> frozenset[str]:
    """Return the aliases that contain themselves without a class in between."""
    return recursion.circular(type_ for type_ in ir.types if isinstance(type_, UnionIR | AliasIR))
