"""The order in which a module defines its types."""

from mcp_protogen.base.graph import targets_first
from mcp_protogen.derive.recursion import graph_of
from mcp_protogen.ir import RevisionIR, TypeIR


def ordered(ir: RevisionIR) -> tuple[TypeIR, ...]:
    """Return the types of a revision, each after those that it names, but for cycles."""
    types = {str(one.name): one for one in ir.types}
    return tuple(types[name] for name in targets_first(graph_of(ir.types)))
