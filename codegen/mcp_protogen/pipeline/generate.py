"""The generator: a pure function from options to files.

It reads only `schema/` and `templates/`, writes nothing, and does not depend on clock, environment
or platform.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import TypeVar

from mcp_protogen.base.names import REVISION_HINT, is_revision, module_name
from mcp_protogen.base.problems import Level, Problem, ProblemError, raise_errors, raising
from mcp_protogen.base.resources import (
    runtime_files,
    runtime_folder,
    schema_folder,
    templates_folder,
)
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.model_modules import model_modules
from mcp_protogen.pipeline.emit import layout, models
from mcp_protogen.pipeline.emit.layout import Module
from mcp_protogen.pipeline.emit.parallel import prefetch
from mcp_protogen.pipeline.emit.render import Renderer
from mcp_protogen.pipeline.emit.template_contexts import ListedRevision
from mcp_protogen.pipeline.emit.template_contract import idle
from mcp_protogen.pipeline.inputs.inputs import read_inputs
from mcp_protogen.pipeline.inputs.translations import all_steps
from mcp_protogen.pipeline.ir import ExtensionIR, RevisionIR
from mcp_protogen.pipeline.package import GeneratedFile, GenerationInputs, Package
from mcp_protogen.pipeline.plans.tables import all_tables

_Input = TypeVar("_Input")
_OnReady = Callable[[Iterable[GeneratedFile]], object]


def generate(options: GenerationOptions, on_ready: _OnReady = tuple) -> Package:
    """Return a whole package for `options.revisions`.

    Call `on_ready` with modules as soon as they and their imports are complete. Raise
    `ProblemError` with all problems.
    """
    _refuse_names(options)
    if options.target is not None:
        from mcp_protogen.pipeline.target_package import target_package

        return target_package(options, options.target)
    with ExitStack() as stack:
        # Only models need the tool, which is slow to import; another process makes the rest.
        prepared = stack.enter_context(prefetch(_prepare_revisions(options)))
        inputs = read_inputs(options)
        shared = _run(_package_modules, inputs, options)
        on_ready(shared.files)
        if options.revisions:
            models.load_tool()
        revisions: list[_PreparedModules] = []
        for revision in _with_models(prepared, options, stack):
            revisions.append(revision)
            if not (revision.models.problems or revision.others.problems):
                on_ready((*revision.models.files, *revision.others.files))
    outcomes = [revision.models for revision in revisions]
    outcomes += [revision.others for revision in revisions]
    problem_lists = [revision.problems for revision in revisions]
    problem_lists += [outcome.problems for outcome in outcomes]
    problems = _deduplicate(chain.from_iterable(problem_lists))
    raise_errors(problems)
    raise_errors(shared.problems)
    files = [file for outcome in (shared, *outcomes) for file in outcome.files]
    copied = runtime_files() if options.runtime is None else []
    irs = [revision.work.ir for revision in revisions if revision.work]
    # The facts of a kept revision are unknown here.
    requested = bool(options.kept) or any(ir.places.requested_outputs for ir in irs)
    selection = options.selection._replace(requested_outputs=requested)
    files += layout.fixed_files(runtime_folder(), copied, selection)
    return Package(tuple(sorted(files, key=lambda file: file.path)), inputs, problems)


@raising
def _refuse_names(options: GenerationOptions) -> Iterator[Problem]:
    folders: dict[str, str] = {}
    revisions = sorted({*options.revisions, *options.kept})
    for revision in revisions:
        if not is_revision(revision):
            message = f"{revision!r:.80} cannot be the name of a revision"
            yield Problem("unsafe-name", message, hint=REVISION_HINT)
            continue
        folder = module_name(revision)
        if folder in folders:
            message = f"revisions {folders[folder]} and {revision} would share the folder {folder}"
            yield Problem("name-collision", message, hint="name one of them differently")
        folders[folder] = revision
    if options.names and options.target is None and (len(revisions) > 1 or options.extensions):
        message = "a whole package with --names can have only one revision and no extensions"
        hint = "translation between revisions needs our names; use --target for types alone"
        yield Problem("conflicting-options", message, options.names.name, hint=hint)


@dataclass(frozen=True, slots=True)
class _Outcome:
    files: tuple[GeneratedFile, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class _Work:
    ir: RevisionIR
    extensions: tuple[ExtensionIR, ...] = ()


@dataclass(frozen=True, slots=True)
class _PreparedModules:
    """The modules of one revision, or those that all share, and the problems of deriving it."""

    work: _Work | None = None
    problems: tuple[Problem, ...] = ()
    others: _Outcome = _Outcome()
    models: _Outcome = _Outcome()


def _prepare_revisions(options: GenerationOptions) -> Iterator[_PreparedModules]:
    """Yield each revision without its models, then the shared modules if all can be derived."""
    # The process that imports the tool does not need these.
    from mcp_protogen.pipeline.derive.extension import derive_extension
    from mcp_protogen.pipeline.derive.renaming import with_own_names
    from mcp_protogen.pipeline.derive.revision import derive_revision
    from mcp_protogen.pipeline.inputs import extensions, sources

    try:
        loaded = extensions.load_all(options) if options.extensions else ()
    except ProblemError as error:
        yield _PreparedModules(problems=error.problems)
        return
    revisions: list[RevisionIR] = []
    for revision in options.revisions:
        try:
            source = sources.load(revision, options)
            derived = derive_revision(source)
            derived = replace(derived, ir=with_own_names(derived.ir, options))
            extended = tuple(
                derive_extension(extension, source, derived.ir)
                for extension in loaded
                if revision in extension.revisions
            )
        except ProblemError as error:
            yield _PreparedModules(problems=error.problems)
        else:
            revisions.append(derived.ir)
            warnings = (warning for extension in extended for warning in extension.warnings)
            problems = (*sources.inherited_notice(source), *derived.warnings, *warnings)
            work = _Work(derived.ir, tuple(extension.ir for extension in extended))
            yield _PreparedModules(work, problems, _run(_modules, work, options))
    if len(revisions) == len(options.revisions):
        yield _PreparedModules(others=_run(_shared_modules, tuple(revisions), options))


def _with_models(
    prepared: Iterator[_PreparedModules], options: GenerationOptions, stack: ExitStack
) -> Iterator[_PreparedModules]:
    """Yield revisions with models; another process makes the models of every second one."""
    for first in prepared:
        second = next(prepared, _PreparedModules())
        completed = map(_add_models, [second], [options])
        following = stack.enter_context(prefetch(completed)) if second.work else completed
        yield _add_models(first, options)
        yield from following


def _add_models(revision: _PreparedModules, options: GenerationOptions) -> _PreparedModules:
    if revision.work is None:
        return revision
    return replace(revision, models=_run(_models, revision.work, options))


def _run(
    make: Callable[[_Input, GenerationOptions], Iterable[Module]],
    source: _Input,
    options: GenerationOptions,
) -> _Outcome:
    try:
        modules = tuple(make(source, options))
    except ProblemError as error:
        return _Outcome(problems=error.problems)
    return _Outcome(tuple(GeneratedFile(m.path, m.text.encode(), m.origin) for m in modules))


def _models(work: _Work, options: GenerationOptions) -> Iterator[Module]:
    renderer, core = _renderer(options), model_modules(work.ir)
    runtime = renderer.runtime_in(f"{layout.models_folder(work.ir)}/__init__.py")
    sources = models.emit(work.ir, templates_folder(), runtime, core)
    yield from layout.models_modules(work.ir, tuple(sources), renderer)
    for extension in work.extensions:
        runtime = renderer.runtime_in(f"{layout.extension_folder(extension)}/models/__init__.py")
        sources = models.emit(
            extension.ir, templates_folder(), runtime, {extension.module: extension.ir.types}, core
        )
        yield from layout.extension_models_modules(extension, tuple(sources), core, renderer)


def _modules(work: _Work, options: GenerationOptions) -> Iterator[Module]:
    renderer = _renderer(options)
    yield from layout.revision_modules(work.ir, work.extensions, options.selection, renderer)
    for extension in work.extensions:
        yield from layout.extension_modules(extension, options.selection, renderer)
    if work.extensions:
        yield layout.extensions_module(work.extensions, renderer)


def _shared_modules(
    revisions: tuple[RevisionIR, ...], options: GenerationOptions
) -> Iterator[Module]:
    tables = all_tables({ir.id: ir for ir in revisions}, options)
    return layout.shared_modules(tables, options.selection, _renderer(options))


def _package_modules(inputs: GenerationInputs, options: GenerationOptions) -> Iterator[Module]:
    exports = tuple(
        ListedRevision(revision, revision_inputs.era or "handshake", module_name(revision))
        for revision, revision_inputs in inputs.revisions.items()
    )
    newer = {step.newer for step in all_steps(schema_folder(), options)}
    # Kept revisions have their tables from an earlier run.
    newer.update([*inputs.revisions][1:])
    steps = [module_name(revision) for revision in sorted(newer)]
    return layout.package_modules(exports, steps, options.selection, _renderer(options))


def _renderer(options: GenerationOptions) -> Renderer:
    if options.templates is None:
        return _cached_renderer(templates_folder(), None, options.runtime)
    raise_errors(idle(options.templates))
    # The user's templates may change between runs.
    return Renderer(templates_folder(), options.templates, options.runtime)


_cached_renderer = cache(Renderer)


def _deduplicate(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return each problem once, errors first; modules of one template repeat problems."""
    return tuple(
        sorted(dict.fromkeys(problems), key=lambda problem: problem.level is not Level.ERROR)
    )
