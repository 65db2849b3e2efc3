"""A revision with an extension as one revision, for comparisons, test vectors and audits."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from mcp_protogen.base.names import ClassName, class_name
from mcp_protogen.pipeline.derive.extension import DerivedExtension, derive_extension
from mcp_protogen.pipeline.derive.revision import DerivedRevision, derive_revision
from mcp_protogen.pipeline.inputs.extensions import ExtensionSource
from mcp_protogen.pipeline.inputs.sources import RevisionSource
from mcp_protogen.pipeline.ir import RevisionIR


@dataclass(frozen=True, slots=True)
class ExtendedRevision:
    """A revision with an extension: its inputs, its IR, and the additions of the extension.

    `core` is the revision without it. `types` are the definitions of the extension. `methods` are
    its own methods, and `claimed` those of the revision that get one more result.
    """

    name: str
    core: RevisionIR
    source: RevisionSource
    derived: DerivedRevision
    types: frozenset[str]
    methods: frozenset[str]
    claimed: frozenset[str]


def extend_revision(
    extension: ExtensionSource, core: RevisionSource, ir: RevisionIR | None = None
) -> ExtendedRevision:
    """Return a revision with an extension; raise `ProblemError` with all problems.

    `ir` is that of `core`, if it is derived already.
    """
    derived = derive_extension(extension, core, ir or derive_revision(core).ir)
    return ExtendedRevision(
        name=extension.name,
        core=derived.ir.core,
        source=derived.merged,
        derived=replace(derived.derived, ir=_merge_ir(derived, extension)),
        types=derived.own,
        methods=frozenset(method.method for method in derived.ir.ir.methods),
        claimed=frozenset(claim.method for claim in derived.ir.claims),
    )


def _merge_ir(derived: DerivedExtension, extension: ExtensionSource) -> RevisionIR:
    """Return the IR of both, with the requirements and claimed results of the extension."""
    by_method = {method.method: method for method in derived.ir.ir.methods}
    results = {
        name: fact.get("results", ())
        for name, fact in extension.facts_of(derived.ir.core.id).methods.items()
    }
    for claim in derived.ir.claims:
        results[claim.method] = (*results.get(claim.method, ()), claim.type)
    ir = derived.derived.ir
    methods = (
        (
            replace(by_method[method.method], results=_names(results[method.method]))
            if method.method in by_method
            else replace(method, results=(*method.results, *_names(results.get(method.method, ()))))
        )
        for method in ir.methods
    )
    capabilities = (*ir.capabilities, *derived.ir.ir.capabilities)
    return replace(ir, methods=tuple(methods), capabilities=capabilities)


def _names(types: Iterable[str]) -> tuple[ClassName, ...]:
    # A definition, even if it is a union whose arms are the results in generated code.
    return tuple(map(class_name, types))
