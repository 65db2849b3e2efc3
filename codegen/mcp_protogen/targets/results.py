"""The types of answers: a method whose result may be of several types gets a union of these."""

from collections.abc import Iterator
from dataclasses import replace

from mcp_protogen.base.names import ClassName, class_name
from mcp_protogen.base.problems import Problem, raising
from mcp_protogen.pipeline.ir import MethodIR, Ref, RevisionIR, UnionIR


def result_type(method: MethodIR) -> ClassName | None:
    """Return the type of everything that may answer a method; None for a notification.

    `AnyCallToolResult` is `CallToolResult` or what else may come in its place.
    """
    if not method.results:
        return None
    usual = method.results[0]
    return usual if len(method.results) == 1 else class_name(f"Any{usual}")


def with_result_unions(ir: RevisionIR) -> RevisionIR:
    """Return a revision with a type for the results of each method that has several.

    These have no `origin`, as no schema has them. Raise `ProblemError` (`name-collision`) if
    another type has the name.
    """
    unions = {str(union.name): union for union in _unions(ir)}
    _refuse_collisions(ir, unions)
    return replace(ir, types=(*ir.types, *unions.values()))


def _unions(ir: RevisionIR) -> Iterator[UnionIR]:
    for method in ir.methods:
        name = result_type(method)
        if name is not None and len(method.results) > 1:
            arms = tuple(Ref(result) for result in method.results)
            doc = f"What may answer `{method.method}`."
            yield UnionIR(name, arms, tag=None, open=False, origin="", doc=doc, deprecated=False)


@raising
def _refuse_collisions(ir: RevisionIR, unions: dict[str, UnionIR]) -> Iterator[Problem]:
    for type_ in ir.types:
        if type_.name in unions:
            message = f"the union of results {type_.name} would be called like another type"
            hint = "give that type another name with --names"
            yield Problem("name-collision", message, ir.id, type_.origin, hint)
