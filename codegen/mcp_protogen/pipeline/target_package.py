"""Types and tables alone, from the options of a run to the files of a target."""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from mcp_protogen.base.names import duplicates
from mcp_protogen.base.problems import Problem, raising
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.renaming import with_own_names
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.emit.layout import target_files
from mcp_protogen.pipeline.inputs import sources
from mcp_protogen.pipeline.inputs.inputs import read_inputs
from mcp_protogen.pipeline.ir import RevisionIR
from mcp_protogen.pipeline.options import BY_FIELD
from mcp_protogen.pipeline.package import Package
from mcp_protogen.pipeline.target import Setting, TargetOptions
from mcp_protogen.pipeline.target_registry import find_target, run_target


def target_package(options: GenerationOptions, target: TargetOptions) -> Package:
    """Return the package of a target for `options.revisions`; raise `ProblemError`."""
    chosen = find_target(target.target)
    _refuse_unknown_settings(chosen.settings, target)
    loaded = [sources.load(revision, options) for revision in options.revisions]
    given = [source.as_published() for source in loaded] if target.types_only else loaded
    derived = [derive_revision(source, for_target=True) for source in given]
    # Third-party targets may be older than this attribute.
    free = getattr(chosen, "file_names", False) is True
    irs = tuple(with_own_names(result.ir, options, file_names=free) for result in derived)
    _refuse_shared_modules(irs)
    files = target_files(run_target(chosen, irs, target), target.target)
    notices = chain.from_iterable(map(sources.inherited_notice, loaded))
    warnings = dict.fromkeys(
        (*notices, *chain.from_iterable(result.warnings for result in derived))
    )
    return Package(files, read_inputs(options), tuple(warnings))


@raising
def _refuse_unknown_settings(
    known: Collection[Setting], target: TargetOptions
) -> Iterator[Problem]:
    for setting in sorted(target.changed_settings - {*known}):
        message = f"target {target.target!r} does not support {BY_FIELD[setting].spelled}"
        names = ", ".join(BY_FIELD[known_setting].spelled for known_setting in sorted(known))
        hint = f"it supports {names or 'no such options'}"
        yield Problem("conflicting-options", message, hint=hint)


@raising
def _refuse_shared_modules(irs: Iterable[RevisionIR]) -> Iterator[Problem]:
    for name in duplicates(ir.module for ir in irs):
        message = f"two revisions would share the module {name}"
        yield Problem("name-collision", message, hint="name one of them differently with --names")
