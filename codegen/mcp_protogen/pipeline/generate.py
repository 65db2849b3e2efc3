"""The generator: a pure function from options to files.

It reads only `schema/` and `templates/`, writes nothing, and does not depend on clock, environment
or platform.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any

from mcp_protogen.base.names import REVISION_HINT, extension_module, is_revision, module_name
from mcp_protogen.base.problems import Level, Problem, ProblemError, raise_errors, raising
from mcp_protogen.base.resources import (
    runtime_files,
    runtime_folder,
    schema_folder,
    templates_folder,
)
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.extension import derive_extension
from mcp_protogen.pipeline.derive.extension_versions import versions_of
from mcp_protogen.pipeline.derive.model_modules import model_modules
from mcp_protogen.pipeline.derive.renaming import with_own_names
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.emit import layout
from mcp_protogen.pipeline.emit.layout import Module
from mcp_protogen.pipeline.emit.models import Modules, TypeDefiner, emit
from mcp_protogen.pipeline.emit.render import Renderer
from mcp_protogen.pipeline.emit.template_contexts import ListedRevision
from mcp_protogen.pipeline.emit.template_contract import idle
from mcp_protogen.pipeline.extension_ir import ExtensionIR
from mcp_protogen.pipeline.inputs import extensions, sources
from mcp_protogen.pipeline.inputs.facts import package_transports
from mcp_protogen.pipeline.inputs.inputs import read_inputs
from mcp_protogen.pipeline.inputs.pinned_extensions import extension_facts
from mcp_protogen.pipeline.inputs.translations import all_steps
from mcp_protogen.pipeline.ir import RevisionIR
from mcp_protogen.pipeline.package import GeneratedFile, GenerationInputs, Package
from mcp_protogen.pipeline.part_contents import (
    BY_FACTS,
    CONDITIONAL,
    DOCUMENTED,
    GATED,
    PARTED,
    REQUESTED,
    RULED,
    RULED_VERSIONS,
    STREAMS,
    VERSIONED,
)
from mcp_protogen.pipeline.parts import PartSelection
from mcp_protogen.pipeline.plans.tables import all_tables
from mcp_protogen.pipeline.plans.version_tables import VersionTables, version_tables


def generate(options: GenerationOptions) -> Package:
    """Return a whole package for `options.revisions`; raise `ProblemError` with all problems."""
    _refuse_names(options)
    if options.target is not None:
        from mcp_protogen.pipeline.target_package import target_package

        return target_package(options, options.target)
    derived = tuple(_derive_revisions(options))
    works = tuple(revision.work for revision in derived if revision.work)
    definer = TypeDefiner(templates_folder())
    outcomes = [_collect(_models(work, options, definer)) for work in works]
    outcomes += [_collect(_modules(work, options)) for work in works]
    irs = tuple(work.ir for work in works)
    if len(irs) == len(options.revisions):
        outcomes.append(_collect(_shared_modules(irs, options)))
    problem_lists = [revision.problems for revision in derived]
    problem_lists += [outcome.problems for outcome in outcomes]
    problems = _deduplicate(chain.from_iterable(problem_lists))
    raise_errors(problems)
    files = [file for outcome in outcomes for file in outcome.files]
    copied = runtime_files() if options.runtime is None else []
    selection = options.selection._replace(
        by_facts=_conditions(works, options),
        transports=package_transports(schema_folder(), sorted({*options.revisions, *options.kept})),
    )
    files += layout.fixed_files(runtime_folder(), copied, selection)
    # Read last, to show changes of files that were read before.
    inputs = read_inputs(options)
    outcome = _collect(_package_modules(inputs, selection, options))
    raise_errors(outcome.problems)
    files += outcome.files
    return Package(tuple(sorted(files, key=lambda file: file.path)), inputs, problems)


def _conditions(works: Iterable["_Work"], options: GenerationOptions) -> frozenset[str]:
    """Return the conditions that facts meet; those of a kept revision are unknown here."""
    met = {*(BY_FACTS if options.kept else ())}
    for work in works:
        met |= _conditions_of(work)
    for name in (*options.kept_extensions, *(options.extensions if options.kept else ())):
        met |= _conditions_of_extension(extension_facts(name))
        met |= {RULED_VERSIONS} if extensions.has_rules(name, schema_folder()) else set()
    return frozenset(met)


def _conditions_of_extension(facts: Mapping[str, Any]) -> frozenset[str]:
    """Return the conditions that an extension meets by its facts alone; some are kept."""
    methods: Mapping[str, Any] = facts.get("methods", {})
    conditions = {
        VERSIONED: "version" in facts,
        DOCUMENTED: "documents" in facts,
        STREAMS: any(
            "principal" in fact or fact.get("stream", {}).get("request") in methods
            for fact in methods.values()
        ),
    }
    return frozenset(condition for condition, is_met in conditions.items() if is_met)


def _conditions_of(work: "_Work") -> frozenset[str]:
    """Return the conditions that the facts of a revision and its extensions meet."""
    ir = work.ir
    conditions = {
        VERSIONED: any(extension.version for extension in work.extensions),
        RULED_VERSIONS: bool(work.steps),
        DOCUMENTED: any(extension.documents for extension in work.extensions),
        STREAMS: any(extension.has_streams for extension in work.extensions),
        REQUESTED: ir.places.requested_outputs is not None,
        GATED: ir.gate is not None,
        PARTED: ir.parts is not None,
        RULED: ir.caches_by_rules,
        CONDITIONAL: any(error.only_with for error in ir.errors),
    }
    return frozenset(condition for condition, is_met in conditions.items() if is_met)


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
    steps: tuple[VersionTables, ...] = ()


@dataclass(frozen=True, slots=True)
class _DerivedRevision:
    """The work for one revision, if it can be derived, and the problems of deriving it."""

    work: _Work | None = None
    problems: tuple[Problem, ...] = ()


def _derive_revisions(options: GenerationOptions) -> Iterator[_DerivedRevision]:
    loaded = extensions.load_all(options) if options.extensions else ()
    for revision in options.revisions:
        try:
            source = sources.load(revision, options)
            derived = derive_revision(source)
            derived = replace(derived, ir=with_own_names(derived.ir, options))
            bound = [extension for extension in loaded if revision in extension.revisions]
            versions = versions_of(bound, source, options.selection.parts)
            extended = tuple(
                derive_extension(extension, source, derived.ir, versions.get(extension.name))
                for extension in bound
            )
            steps = version_tables(bound, [extension.ir for extension in extended])
        except ProblemError as error:
            yield _DerivedRevision(problems=error.problems)
        else:
            warnings = (warning for extension in extended for warning in extension.warnings)
            problems = (*sources.inherited_notice(source), *derived.warnings, *warnings)
            work = _Work(derived.ir, tuple(extension.ir for extension in extended), steps)
            yield _DerivedRevision(work, problems)


def _collect(modules: Iterator[Module]) -> _Outcome:
    try:
        files = tuple(
            GeneratedFile(module.path, module.text.encode(), module.origin) for module in modules
        )
    except ProblemError as error:
        return _Outcome(problems=error.problems)
    return _Outcome(files)


def _models(work: _Work, options: GenerationOptions, definer: TypeDefiner) -> Iterator[Module]:
    renderer, core = _renderer(options), model_modules(work.ir)
    runtime = renderer.runtime_in(f"{layout.models_folder(work.ir)}/__init__.py")
    models = emit(work.ir, definer, runtime, core)
    yield from layout.models_modules(work.ir, tuple(models), renderer)
    for extension in work.extensions:
        runtime = renderer.runtime_in(f"{layout.extension_folder(extension)}/models/__init__.py")
        own: Modules = {extension.module: extension.ir.types}
        models = emit(extension.ir, definer, runtime, own, core)
        yield from layout.extension_models_modules(extension, tuple(models), core, renderer)


def _modules(work: _Work, options: GenerationOptions) -> Iterator[Module]:
    renderer = _renderer(options)
    kept = [name for name, made in options.kept_extensions.items() if work.ir.id in made.revisions]
    modules = {*map(extension_module, kept), *(extension.module for extension in work.extensions)}
    yield from layout.revision_modules(
        work.ir, sorted(map(str, modules)), options.selection, renderer
    )
    for extension in work.extensions:
        yield from layout.extension_modules(extension, work.steps, options.selection, renderer)
    if modules:
        yield layout.extensions_module(work.ir, renderer)


def _shared_modules(
    revisions: tuple[RevisionIR, ...], options: GenerationOptions
) -> Iterator[Module]:
    tables = all_tables({ir.id: ir for ir in revisions}, options)
    yield from layout.shared_modules(tables, options.selection, _renderer(options))


def _package_modules(
    inputs: GenerationInputs, selection: PartSelection, options: GenerationOptions
) -> Iterator[Module]:
    exports = tuple(
        ListedRevision(revision, revision_inputs.era or "handshake", module_name(revision))
        for revision, revision_inputs in inputs.revisions.items()
    )
    newer = {step.newer for step in all_steps(schema_folder(), options)}
    # Kept revisions have their tables from an earlier run.
    newer.update([*inputs.revisions][1:])
    steps = [module_name(revision) for revision in sorted(newer)]
    yield from layout.package_modules(exports, steps, selection, _renderer(options))


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
