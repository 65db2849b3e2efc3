"""The generator: a pure function from options to files.

Nothing outside `schema/` and `templates/` is read, nothing is written, and the result depends on
neither clock nor environment nor platform. Writing, checking and diffing consume it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from mcp_protogen.base.names import REVISION_HINT, is_revision, module_name
from mcp_protogen.base.problems import Level, Problem, ProblemError, raise_errors
from mcp_protogen.base.resources import runtime_files, runtime_folder, templates_folder
from mcp_protogen.config import GenerationOptions
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


def generate(options: GenerationOptions) -> Package:
    """Return a whole package for `options.revisions`.

    Raise `ProblemError` with everything that is wrong.
    """
    raise_errors(tuple(_unsafe_names(options)))
    inputs = read_inputs(options)
    jobs = [_Job(options.revisions[0], "translations", options)]
    jobs += [_Job(revision, part, options) for part in _PARTS for revision in options.revisions]
    with executor() as pool:
        running = [pool.submit(_run, job) for job in jobs]
        # Problems of a single revision come before those between two.
        outcomes = [done.result() for done in (*running[1:], running[0])]
        problems = _once(problem for outcome in outcomes for problem in outcome.problems)
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


_Part = Literal["models", "modules", "translations"]
# The slowest jobs are started first: translations, which need all revisions, and then models.
_PARTS: tuple[_Part, ...] = ("models", "modules")


@dataclass(frozen=True, slots=True)
class _Job:
    revision: str
    part: _Part
    options: GenerationOptions


@dataclass(frozen=True, slots=True)
class _JobResult:
    modules: tuple[Module, ...] = ()
    problems: tuple[Problem, ...] = ()


def _run(job: _Job) -> _JobResult:
    try:
        return _job_result(job)
    except ProblemError as error:
        return _JobResult(problems=error.problems)


def _job_result(job: _Job) -> _JobResult:
    if job.part == "translations":
        return _translations(job.options)
    source = sources.load(job.revision, job.options)
    if job.part == "modules" or job.options.schemas:
        sources.check(source)
    derived = derive_revision(source)
    renderer = _renderer(job.options)
    if job.part == "models":
        runtime = renderer.runtime_in(f"{derived.ir.module}/models.py")
        emitted = models.emit(derived.ir, templates_folder(), runtime)
        return _JobResult((layout.models_module(derived.ir, emitted, renderer),))
    warnings = (*sources.inherited_notice(source), *derived.warnings)
    return _JobResult(
        tuple(layout.revision_modules(derived.ir, job.options.selection, renderer)), warnings
    )


def _translations(options: GenerationOptions) -> _JobResult:
    derived: dict[str, RevisionIR] = {}
    # One revision alone has nothing to be translated to.
    for revision in options.revisions if len(options.revisions) > 1 else ():
        source = sources.load(revision, options)
        if options.schemas:
            sources.check(source)
        derived[revision] = derive_revision(source).ir
    tables = all_tables(derived, options)
    modules = layout.shared_modules(tables, options.selection, _renderer(options))
    return _JobResult(tuple(modules))


def _package_module(inputs: GenerationInputs, options: GenerationOptions) -> Module:
    listed = tuple(
        layout.ListedRevision(revision, made_from.era or "handshake", module_name(revision))
        for revision, made_from in inputs.revisions.items()
    )
    return layout.package_module(listed, options.selection, _renderer(options))


def _renderer(options: GenerationOptions) -> Renderer:
    return Renderer(templates_folder(), options.templates, options.runtime)


def _once(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return each problem once, errors first: both parts of a revision report the same ones."""
    return tuple(
        sorted(dict.fromkeys(problems), key=lambda problem: problem.level is not Level.ERROR)
    )
