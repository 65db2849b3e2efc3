"""The types of answers: a union for each method with several result types."""

from collections.abc import Iterator
from dataclasses import replace

from mcp_protogen.base.names import ClassName, class_name
from mcp_protogen.base.problems import Problem, raising
from mcp_protogen.pipeline.ir import MethodIR, Ref, RevisionIR, UnionIR


def result_type(method: MethodIR) -> ClassName | None:
    """Return the type of all answers to a method; None for a notification.

    `AnyCallToolResult` is `CallToolResult` or a result in its place.
    """
    if not method.results:
        return None
    usual = method.results[0]
    return usual if len(method.results) == 1 else class_name(f"Any{usual}")


def with_result_unions(ir: RevisionIR) -> RevisionIR:
    """Return a revision with a union for each method with several result types.

    These have no `origin`, because the schema lacks them. Raise `ProblemError` (`name-collision`)
    if another type has the name.
    """
    unions = {str(union.name): union for union in _unions(ir)}
    _refuse_collisions(ir, unions)
    return replace(ir, types=(*ir.types, *unions.values()))


def _unions(ir: RevisionIR) -> Iterator[UnionIR]:
    for method in ir.methods:
        name = result_type(method)
        if name is not None and len(method.results) > 1:
            arms = tuple(Ref(result) for result in method.results)
            doc = f"An answer to `{method.method}`."
            yield UnionIR(name, arms, tag=None, open=False, origin="", doc=doc, deprecated=False)


@raising
def _refuse_collisions(ir: RevisionIR, unions: dict[str, UnionIR]) -> Iterator[Problem]:
    for type_ in ir.types:
        if type_.name in unions:
            message = f"the union of results {type_.name} would have the name of another type"
            hint = "give that type another name with --names"
            yield Problem("name-collision", message, ir.id, type_.origin, hint)
