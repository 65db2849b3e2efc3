"""The generator: a pure function from options to files.

Nothing outside `schema/` and `templates/` is read, nothing is written, and the result depends on
neither clock nor environment nor platform. Writing, checking and diffing consume it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from mcp_protogen.base.names import REVISION_HINT, is_revision, module_name
from mcp_protogen.base.problems import Level, Problem, ProblemError, raise_errors
from mcp_protogen.base.resources import runtime_files, runtime_folder, templates_folder
from mcp_protogen.config import GenerationOptions
from mcp_protogen.derive.model_modules import model_modules
from mcp_protogen.derive.revision import derive_revision
from mcp_protogen.emit import layout, models
from mcp_protogen.emit.layout import Module
from mcp_protogen.emit.parallel import executor
from mcp_protogen.emit.render import Renderer
from mcp_protogen.inputs import sources
from mcp_protogen.inputs.inputs import read_inputs
from mcp_protogen.ir import RevisionIR
from mcp_protogen.package import GeneratedFile, GenerationInputs, Package
from mcp_protogen.plans.tables import all_tables

_Made = TypeVar("_Made")


def generate(options: GenerationOptions) -> Package:
    """Return a whole package for `options.revisions`.

    Raise `ProblemError` with everything that is wrong.
    """
    raise_errors(tuple(_unsafe_names(options)))
    inputs = read_inputs(options)
    revisions, problems = _derived(options)
    if revisions:
        models.load_tool()  # once, before processes are forked
    with executor(len(revisions)) as pool:
        # The slowest are started first.
        complete = len(revisions) == len(options.revisions)
        shared = [pool.submit(_run, _shared, revisions, options)] if complete else []
        single = [
            pool.submit(_run, make, ir, options) for make in (_models, _modules) for ir in revisions
        ]
        outcomes = [done.result() for done in (*single, *shared)]
    problems = _once((*problems, *(one for outcome in outcomes for one in outcome.problems)))
    raise_errors(problems)
    modules = [_package_module(inputs, options), *(m for one in outcomes for m in one.modules)]
    files = [GeneratedFile(one.path, one.text.encode(), one.origin) for one in modules]
    copied = runtime_files() if options.runtime is None else []
    files += layout.fixed_files(runtime_folder(), copied, options.selection)
    return Package(tuple(sorted(files, key=lambda file: file.path)), inputs, problems)


def _unsafe_names(options: GenerationOptions) -> Iterator[Problem]:
    folders: dict[str, str] = {}
    for revision in sorted({*options.revisions, *options.kept}):
        if not is_revision(revision):
            message = f"{revision!r:.80} cannot be the name of a revision"
            yield Problem("unsafe-name", message, hint=REVISION_HINT)
            continue
        folder = module_name(revision)
        if folder in folders:
            message = f"revisions {folders[folder]} and {revision} would share the folder {folder}"
            yield Problem("name-collision", message, hint="name one of them differently")
        folders[folder] = revision


@dataclass(frozen=True, slots=True)
class _Outcome:
    modules: tuple[Module, ...] = ()
    problems: tuple[Problem, ...] = ()


def _derived(options: GenerationOptions) -> tuple[tuple[RevisionIR, ...], tuple[Problem, ...]]:
    """Return the revisions that can be derived, with what is wrong with the others."""
    revisions: list[RevisionIR] = []
    problems: list[Problem] = []
    for revision in options.revisions:
        try:
            source = sources.load(revision, options)
            derived = derive_revision(source)
        except ProblemError as error:
            problems += error.problems
        else:
            revisions.append(derived.ir)
            problems += (*sources.inherited_notice(source), *derived.warnings)
    return tuple(revisions), tuple(problems)


def _run(
    make: Callable[[_Made, GenerationOptions], Iterable[Module]],
    made_from: _Made,
    options: GenerationOptions,
) -> _Outcome:
    try:
        return _Outcome(tuple(make(made_from, options)))
    except ProblemError as error:
        return _Outcome(problems=error.problems)


def _models(ir: RevisionIR, options: GenerationOptions) -> Iterator[Module]:
    renderer = _renderer(options)
    runtime = renderer.runtime_in(f"{layout.models_folder(ir)}/__init__.py")
    sources = models.emit(ir, templates_folder(), runtime, model_modules(ir))
    return layout.models_modules(ir, tuple(sources), renderer)


def _modules(ir: RevisionIR, options: GenerationOptions) -> Iterator[Module]:
    return layout.revision_modules(ir, options.selection, _renderer(options))


def _shared(revisions: tuple[RevisionIR, ...], options: GenerationOptions) -> Iterator[Module]:
    tables = all_tables({ir.id: ir for ir in revisions}, options)
    return layout.shared_modules(tables, options.selection, _renderer(options))


def _package_module(inputs: GenerationInputs, options: GenerationOptions) -> Module:
    listed = tuple(
        layout.ListedRevision(revision, made_from.era or "handshake", module_name(revision))
        for revision, made_from in inputs.revisions.items()
    )
    return layout.package_module(listed, options.selection, _renderer(options))


def _renderer(options: GenerationOptions) -> Renderer:
    # Templates of the user may change from one run to the next.
    renderer = Renderer if options.templates else _cached_renderer
    return renderer(templates_folder(), options.templates, options.runtime)


_cached_renderer = cache(Renderer)


def _once(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return each problem once, errors first: modules of one template report the same ones."""
    return tuple(
        sorted(dict.fromkeys(problems), key=lambda problem: problem.level is not Level.ERROR)
    )
