"""The choice of what a run generates: from settings and the lock of the package to options.

A package keeps the revisions and extensions that it has, unless somebody says which ones are to
stay. Pinned ones are generated anew. One that came from a user's file is kept as it is where that
file is not named again, because its schema is not at hand. A folder keeps its form, too: who names
a target or layers says the whole form anew; who names neither may change the rest of it.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from keyword import iskeyword
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from mcp_protogen.base.names import REVISION_HINT, UnsafeName, installed_module, is_revision
from mcp_protogen.base.option_rules import refuse_conflicts
from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean, raise_errors, raising
from mcp_protogen.pipeline.config import (
    COPY,
    Docstrings,
    GenerationOptions,
    GivenFile,
    GivenPatches,
)
from mcp_protogen.pipeline.inputs.named_extensions import choose_extensions
from mcp_protogen.pipeline.inputs.own_patches import read_patches
from mcp_protogen.pipeline.inputs.own_templates import read_statement
from mcp_protogen.pipeline.inputs.pinned_extensions import extension_names, pinned_extensions
from mcp_protogen.pipeline.inputs.pins import Pins, load_pins
from mcp_protogen.pipeline.options import BY_FIELD, FORMS, OPTIONS, is_whole, locked_options
from mcp_protogen.pipeline.output.lock import Lock, read_lock
from mcp_protogen.pipeline.package import (
    PINNED,
    ExtensionInputs,
    GenerationInputs,
    RevisionInputs,
    newer,
    runtime_in,
)
from mcp_protogen.pipeline.parts import ALL, DEFAULT, NONE, PartSelection, parse_parts
from mcp_protogen.pipeline.settings import Settings
from mcp_protogen.pipeline.target import LAYERS, Layer, TargetOptions


class PackageTask(NamedTuple):
    """One run, with everything it needs already read.

    `staying` is the lock without the revisions that are removed.
    """

    out: Path
    lock: Lock | None
    staying: Lock | None
    options: GenerationOptions


def prepare(settings: Settings) -> PackageTask:
    """Read the lock and the named files, and choose what is generated."""
    out = output_folder(settings)
    lock = read_lock(out)
    settings = with_locked(settings, lock)
    _refuse_conflicts(settings)
    target = target_of(settings, lock)
    staying = _staying(settings, lock)
    options = _of_revisions(settings, staying)._replace(
        docstrings=settings.docstrings or Docstrings.OURS,
        parts=DEFAULT if settings.parts is None else settings.parts,
        runtime=installed_runtime(settings.runtime),
        templates=_templates(settings.templates),
        target=target,
        distribution=target_distribution(target),
        names=_read_optional(settings.names),
    )
    kept = None if settings.has_only("extensions") else staying
    options = with_extensions(options, settings.extensions, kept, _read)
    if target is not None:
        refuse_kept(options)
    return PackageTask(out, lock, staying, options)


def output_folder(settings: Settings) -> Path:
    """Return the folder of the package; raise `ProblemError` (`no-output`) without one."""
    if settings.out is None:
        hint = 'pass --out FOLDER, or set out = "FOLDER" in [tool.mcp-gen] of pyproject.toml'
        raise ProblemError(Problem("no-output", "no output folder is named", hint=hint))
    return settings.out


def _refuse_conflicts(settings: Settings) -> None:
    said = ((option, getattr(settings, option.field)) for option in OPTIONS)
    given = {option.spelled: value for option, value in said if value is not None}
    if settings.schema is not None:
        given["--schema"] = settings.schema
    elif len(settings.schemas or ()) != 1:  # --rules needs exactly one schema
        given.pop("--schema", None)
    refuse_conflicts(given, (option.rule for option in OPTIONS if option.rule))


def _staying(settings: Settings, lock: Lock | None) -> Lock | None:
    if settings.only == ():
        message = "no revision is named that stays in the package"
        raise ProblemError(Problem("no-revision", message, hint="name them with --revision"))
    return prune_lock(lock, settings.only, load_pins())


def _of_revisions(settings: Settings, staying: Lock | None) -> GenerationOptions:
    schema, rules = _read_optional(settings.schema), _read_optional(settings.rules)
    schemas = {revision: _read(file) for revision, file in (settings.schemas or {}).items()}
    patches = read_patches(settings.patches or (), _read)
    pins = load_pins()
    requested = revision_names(settings.revisions or (), pins)
    options = select(requested, pins, staying, schema, schemas)
    refuse_unused(options, schemas, patches)
    if rules is not None:
        of = options.schemas.keys() - schemas.keys() or options.schemas
        options = options._replace(rules=dict.fromkeys(of, rules))
    return options._replace(patches=patches)


def _templates(folder: Path | None) -> Path | None:
    if folder is None:
        return None
    if not folder.is_dir():
        message = "there is no folder of templates here"
        raise ProblemError(Problem("missing-templates", message, str(folder)))
    read_statement(folder)  # raises for templates of another contract
    return folder


def _read_optional(source: str | None) -> GivenFile | None:
    return None if source is None else _read(source)


def _read(source: str) -> GivenFile:
    from mcp_protogen.pipeline.sources.upstream import read_file_or_url

    return read_file_or_url(source)


def with_locked(settings: Settings, lock: Lock | None) -> Settings:
    """Return settings with what the lock has of options that stay as they were.

    Parts are added to those that are there, unless these are to be removed. Who names a target or
    layers says the whole form anew. Raise `ProblemError`: `unknown-part`, `conflicting-options`.
    """
    locked = locked_options(lock.inputs.options) if lock else {}
    anew = any(getattr(settings, field) is not None for field in FORMS)
    kept = {
        field: value
        for field, value in locked.items()
        if getattr(settings, field) is None and not (anew and BY_FIELD[field].of == "alone")
    }
    if settings.parts is not None:
        there = () if settings.has_only("parts") else locked.get("parts", ())
        kept["parts"] = tuple(sorted({*parse_parts(settings.parts), *there}))
    return settings._replace(**kept)


_WITH_SCHEMA = "or name a published schema: --revision NAME --schema FILE"


def revision_names(requested: Iterable[str], pins: Pins) -> tuple[str, ...]:
    """Return the revisions that flags or settings name, sorted.

    Lists with commas are split, and "all" stands for every pinned one.
    """
    names = {name.strip() for text in requested for name in text.split(",")} - {""}
    if ALL in names:
        names = (names - {ALL}) | set(pins)
    return tuple(sorted(names))


def select(
    requested: tuple[str, ...],
    pins: Pins,
    lock: Lock | None,
    schema: GivenFile | None = None,
    named: Mapping[str, GivenFile] = MappingProxyType({}),
) -> GenerationOptions:
    """Return the options of a run that asks for revisions in a folder whose lock is `lock`.

    `schema` is for the one revision asked for, or for the only one among several that is not
    pinned; those of `named` are for revisions by their names. Raise `ProblemError`: `no-revision`,
    `ambiguous-schema`, `unsafe-name`, `unknown-revision`.
    """
    locked: Mapping[str, RevisionInputs] = lock.inputs.revisions if lock else {}
    _refuse_misuse(requested, pins, locked, schema, named)
    schemas = {name: file for name, file in named.items() if name in {*requested, *locked}}
    if schema:
        unnamed = tuple(name for name in requested if name not in named)
        schemas |= dict.fromkeys(_stands_for(unnamed, pins), schema)
    pinned = {name for name, inputs in locked.items() if inputs.source == PINNED}
    made = {name for name in (*requested, *pinned) if name in pins} | schemas.keys()
    kept = {
        name: inputs
        for name, inputs in locked.items()
        if name not in made and inputs.source != PINNED
    }
    return GenerationOptions(tuple(sorted(made)), schemas, kept=kept)


def installed_runtime(said: str | None) -> str | None:
    """Return the module of the runtime to import; None for a copy.

    Raise `ProblemError` (`unsafe-name`) for what cannot be the name of a module.
    """
    if said is None or said == COPY:
        return None
    try:
        return installed_module(str(said))
    except UnsafeName as error:
        message = f"{said!r:.80} cannot be the module of a runtime: it {error}"
        hint = f"name it as programs import it: mcp_protogen_runtime; or {COPY}, for a copy"
        raise ProblemError(Problem("unsafe-name", message, hint=hint)) from error


def prune_lock(lock: Lock | None, only: Iterable[str] | None, pins: Pins) -> Lock | None:
    """Return the lock with only the revisions that are to stay, if these are named."""
    if lock is None or only is None:
        return lock
    names = revision_names(only, pins)
    stay = {name: inputs for name, inputs in lock.inputs.revisions.items() if name in names}
    return lock._replace(inputs=lock.inputs._replace(revisions=stay))


def refuse_going_back(lock: Lock, inputs: GenerationInputs, place: str) -> None:
    """Raise `ProblemError` (`older-generator`) if a later version made the package."""
    was, now = lock.inputs.generator, inputs.generator
    if newer(was, now):
        message = f"{was} made this package; {now}, which you run, is older"
        hint = f"use {was} or a later version; to go back to what {now} makes, add --force"
        raise ProblemError(Problem("older-generator", message, place, hint=hint))


@raising
def refuse_unmakeable(
    options: GenerationOptions, lock: Lock | None, inputs: GenerationInputs
) -> Iterator[Problem]:
    """Raise `ProblemError` for revisions and extensions that cannot be made or kept.

    `needs-schema`: one from a user's file that no longer fits the rest of the package.
    `unknown-revision`, `unknown-extension`: one that an earlier version of the tool had pinned.
    """
    if lock is None:
        return
    same = _same_stubs(lock.inputs, inputs)
    if not same:
        yield from _find_outdated(options)
    yield from unmakeable(options, lock, inputs.revisions, same=same)
    for name in lock.inputs.revisions.keys() - inputs.revisions.keys():
        message = f"revision {name!r} of the package is not pinned in {inputs.generator}"
        hint = f"remove it with --prune, {_WITH_SCHEMA}"
        yield Problem("unknown-revision", message, hint=hint)


@raising
def _refuse_misuse(
    requested: tuple[str, ...],
    pins: Pins,
    locked: Iterable[str],
    schema: GivenFile | None,
    named: Container[str],
) -> Iterator[Problem]:
    known = {*pins, *locked}
    if not requested and not known & set(locked):
        hint = "name one with --revision NAME, or say --revision all"
        yield Problem("no-revision", "no revision is asked for", hint=hint)
    unnamed = tuple(name for name in requested if name not in named)
    if schema and len(_stands_for(unnamed, pins)) != 1:
        message = "it is not clear which revision this schema is for"
        hint = "name it: --schema REVISION=FILE, or --revision NAME"
        yield Problem("ambiguous-schema", message, schema.name, hint=hint)
    for name in requested:
        if not is_revision(name):
            message = f"{name!r} cannot be the name of a revision"
            yield Problem("unsafe-name", message, hint=REVISION_HINT)
        elif name not in known and name not in named and not schema:
            hint = f"{did_you_mean(name, known)} {_WITH_SCHEMA}"
            yield Problem("unknown-revision", f"no schema is pinned for {name!r}", hint=hint)


@raising
def refuse_unused(
    options: GenerationOptions, schemas: Mapping[str, GivenFile], patches: Iterable[GivenPatches]
) -> Iterator[Problem]:
    """Raise `ProblemError` (`unused-file`) for files of revisions that are not generated."""
    named = [(name, file.name) for name, file in schemas.items()]
    named += [(patch.revision, patch.place) for patch in patches if patch.revision]
    for name, place in named:
        if name not in options.revisions:
            message = f"this is for revision {name!r:.80}, which is not generated"
            hint = did_you_mean(name, options.revisions, "ask for it with --revision")
            yield Problem("unused-file", message, place, hint=hint)


def _stands_for(requested: tuple[str, ...], pins: Container[str]) -> tuple[str, ...]:
    """Return the revisions that a schema may be for."""
    return (
        requested if len(requested) == 1 else tuple(name for name in requested if name not in pins)
    )


def _same_stubs(was: GenerationInputs, now: GenerationInputs) -> bool:
    """Return whether a revision that is kept fits the rest of the package."""
    roles = {"client", "server"}
    before, after = (
        (
            *(made.generator_digest, made.runtime_digest, made.templates_digest),
            *(runtime_in(made), PartSelection(made.parts).modules & roles),
            made.options.get("docstrings"),
        )
        for made in (was, now)
    )
    return before == after


def _find_outdated(options: GenerationOptions) -> Iterator[Problem]:
    for name, inputs in options.kept.items():
        made = f"revision {name!r} was made from {inputs.source}"
        message = f"{made} by another build of mcp-gen, or with other parts or docstrings"
        hint = f"generate it again: --revision {name} --schema {inputs.source}"
        yield Problem("needs-schema", message, hint=hint)


_Read = Callable[[str], GivenFile]


def with_extensions(
    options: GenerationOptions, said: tuple[str, ...] | None, lock: Lock | None, read: _Read
) -> GenerationOptions:
    """Return the options of a run, with the extensions that it names, and those of the lock.

    `said` are names, each with a file or URL if there is one; `read` reads a file or URL. Raise
    `ProblemError`: `unknown-extension`, `unbound-extension`, `missing-facts`, `unsafe-name`,
    `conflicting-options`, `unreadable-source`.
    """
    locked: Mapping[str, ExtensionInputs] = lock.inputs.extensions if lock else {}
    if not said and not locked:
        return options
    pinned = {extension.name: extension for extension in pinned_extensions()}
    named = choose_extensions(said or (), pinned, options.revisions)
    there = {name for name, made in locked.items() if name not in named and made.source != PINNED}
    kept = {name: locked[name] for name in there if _extends_any(locked[name], options)}
    again = (name for name in locked.keys() - named.keys() - there if name in pinned)
    made: dict[str, GivenFile | None] = {
        name: None for name in again if {*pinned[name].revisions} & {*options.revisions}
    }
    made |= {name: None if source is None else read(source) for name, source in named.items()}
    return options._replace(
        extensions=dict(sorted(made.items())), kept_extensions=dict(sorted(kept.items()))
    )


def unmakeable(
    options: GenerationOptions, lock: Lock, now: Mapping[str, object], *, same: bool
) -> Iterator[Problem]:
    """Yield a problem for each extension of a package that cannot be made or kept.

    `now` are the inputs of today's revisions, and `same` says whether the rest of the package is
    as it was.
    """
    for name, made in options.kept_extensions.items():
        if same and all(
            now.get(revision) == lock.inputs.revisions[revision] for revision in made.revisions
        ):
            continue
        message = f"extension {name!r} was made from {made.source}, for what the package was then"
        hint = f"generate it again: --extension {name}={made.source}"
        yield Problem("needs-schema", message, hint=hint)
    if not lock.inputs.extensions:
        return
    known = extension_names()
    for name, was in lock.inputs.extensions.items():
        if was.source == PINNED and name not in known:
            message = f"extension {name!r} of the package is not pinned any more"
            hint = "remove it: --prune, with the extensions that stay, or --extension none"
            yield Problem("unknown-extension", message, hint=hint)


def _extends_any(made: ExtensionInputs, options: GenerationOptions) -> bool:
    return not {*made.revisions}.isdisjoint({*options.revisions, *options.kept})


_CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Z]\w*", re.ASCII)


def target_of(settings: Settings, lock: Lock | None) -> TargetOptions | None:
    """Return the target of a run; None for our own package.

    Raise `ProblemError`: `conflicting-options`, `unknown-layer`, `unsafe-name`.
    """
    form: dict[str, Any] = {
        option.field: value
        for option in OPTIONS
        if option.of == "alone" and (value := getattr(settings, option.field)) is not None
    }
    _refuse_unsafe(settings.base_class)
    if not form:
        return None
    if lock is not None and is_whole(lock.inputs.options):
        message = "the folder has a whole package, and keeps it"
        hint = "generate types and tables alone into another folder: --out FOLDER"
        raise ProblemError(Problem("conflicting-options", message, hint=hint))
    _refuse_package_options(settings)
    if settings.layers is not None:
        form["layers"] = _layers(settings.layers)
    return TargetOptions(**form)


def target_distribution(target: TargetOptions | None) -> str | None:
    """Return the distribution of a target of others, with its version; None for one of ours.

    Raise `ProblemError`: `unknown-target`, `bad-target`.
    """
    if target is None:
        return None
    # The search for what is installed is slow to import, and most packages have no target.
    from mcp_protogen.pipeline.target_registry import distribution_of

    return distribution_of(target.target)


@raising
def _refuse_package_options(settings: Settings) -> Iterator[Problem]:
    for option in OPTIONS:
        value = getattr(settings, option.field)
        if option.of == "whole" and value and value != (NONE,):
            message = f"{option.spelled} is for a whole package, and a target makes types and tables alone"
            hint = "leave it out, or leave out --target and --only"
            yield Problem("conflicting-options", message, hint=hint)


@raising
def refuse_kept(options: GenerationOptions) -> Iterator[Problem]:
    """Raise `ProblemError` (`needs-schema`) for revisions that would be kept as they are."""
    for name, inputs in options.kept.items():
        message = f"revision {name!r} was made from {inputs.source}, which is not named"
        hint = f"name it again: --revision {name} --schema {inputs.source}; or remove it: --prune"
        yield Problem("needs-schema", message, hint=hint)


def _layers(said: Iterable[str]) -> tuple[Layer, ...]:
    named = {name.strip() for text in said for name in text.split(",")} - {""}
    raise_errors(
        Problem("unknown-layer", f"there is no layer {name!r:.80}", hint=did_you_mean(name, LAYERS))
        for name in sorted(named - {*LAYERS})
    )
    if not named:
        hint = f"known: {', '.join(LAYERS)}"
        raise ProblemError(Problem("unknown-layer", "no layer is named", hint=hint))
    return tuple(layer for layer in LAYERS if layer in named)


@raising
def _refuse_unsafe(base_class: str | None) -> Iterator[Problem]:
    if base_class is None:
        return
    if not _CLASS.fullmatch(base_class) or any(map(iskeyword, re.split("[.:]", base_class))):
        message = f"{base_class!r:.80} cannot be the base class of models"
        hint = "name it as package.module:Class"
        yield Problem("unsafe-name", message, hint=hint)
