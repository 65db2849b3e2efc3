"""The options of a run, from settings and the lock of the package.

A package keeps its revisions and extensions, unless the user chooses the ones that stay. Pinned
ones are generated anew. One from a user's file is kept unchanged unless the file is named again,
because its schema is not available. A folder also keeps its options, but a named target or layers
replace all options of types and tables alone.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from keyword import iskeyword
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from mcp_protogen.base.names import REVISION_HINT, UnsafeName, installed_module, is_revision
from mcp_protogen.base.option_constraints import conflict, refuse_conflicts
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
from mcp_protogen.pipeline.options import BY_FIELD, MAIN_FIELDS, OPTIONS, is_whole, locked_options
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


class PackageRun(NamedTuple):
    """One run, with all its files read; `pruned_lock` is the lock without removed revisions."""

    out: Path
    lock: Lock | None
    pruned_lock: Lock | None
    options: GenerationOptions


def prepare(settings: Settings) -> PackageRun:
    """Read the lock and the named files, and return the run."""
    out = output_folder(settings)
    lock = read_lock(out)
    settings = with_locked(settings, lock)
    _refuse_conflicts(settings)
    target = target_of(settings, lock)
    pruned = _prune(settings, lock)
    options = _revision_options(settings, pruned)._replace(
        docstrings=settings.docstrings or Docstrings.OURS,
        parts=DEFAULT if settings.parts is None else settings.parts,
        runtime=installed_runtime(settings.runtime),
        templates=_check_templates(settings.templates),
        target=target,
        distribution=target_distribution(target),
        names=_read_optional(settings.names),
    )
    kept = None if settings.has_only("extensions") else pruned
    options = with_extensions(options, settings.extensions, kept, _read)
    if target is not None:
        refuse_kept(options)
    return PackageRun(out, lock, pruned, options)


def output_folder(settings: Settings) -> Path:
    """Return the folder of the package; raise `ProblemError` (`no-output`) without one."""
    if settings.out is None:
        hint = 'pass --out FOLDER, or set out = "FOLDER" in [tool.mcp-gen] of pyproject.toml'
        raise ProblemError(Problem("no-output", "no output folder is named", hint=hint))
    return settings.out


def _refuse_conflicts(settings: Settings) -> None:
    values = ((option, getattr(settings, option.field)) for option in OPTIONS)
    chosen = {option.spelled: value for option, value in values if value is not None}
    if settings.schema is not None:
        chosen["--schema"] = settings.schema
    elif len(settings.schemas or ()) != 1:  # --rules needs exactly one schema
        chosen.pop("--schema", None)
    refuse_conflicts(chosen, (option.constraint for option in OPTIONS if option.constraint))


def _prune(settings: Settings, lock: Lock | None) -> Lock | None:
    if settings.only == ():
        message = "--prune would remove all revisions"
        hint = "name those that stay with --revision"
        raise ProblemError(Problem("no-revision", message, hint=hint))
    return prune_lock(lock, settings.only, load_pins())


def _revision_options(settings: Settings, lock: Lock | None) -> GenerationOptions:
    schema, rules = _read_optional(settings.schema), _read_optional(settings.rules)
    schemas = {revision: _read(file) for revision, file in (settings.schemas or {}).items()}
    patches = read_patches(settings.patches or (), _read)
    pins = load_pins()
    requested = revision_names(settings.revisions or (), pins)
    options = select(requested, pins, lock, schema, schemas)
    refuse_unused(options, schemas, patches)
    if rules is not None:
        names = options.schemas.keys() - schemas.keys() or options.schemas
        options = options._replace(rules=dict.fromkeys(names, rules))
    return options._replace(patches=patches)


def _check_templates(folder: Path | None) -> Path | None:
    if folder is None:
        return None
    if not folder.is_dir():
        message = "this folder of templates does not exist"
        raise ProblemError(Problem("missing-templates", message, str(folder)))
    read_statement(folder)  # raises for templates of another contract
    return folder


def _read_optional(source: str | None) -> GivenFile | None:
    return None if source is None else _read(source)


def _read(source: str) -> GivenFile:
    from mcp_protogen.pipeline.sources.upstream import read_file_or_url

    return read_file_or_url(source)


def with_locked(settings: Settings, lock: Lock | None) -> Settings:
    """Return settings with the values of the lock for options that are not set.

    Parts are added to the existing ones, unless --prune removes these. A target or layers replace
    all options of types and tables alone. Raise `ProblemError`: `unknown-part`,
    `conflicting-options`.
    """
    locked = locked_options(lock.inputs.options) if lock else {}
    anew = any(getattr(settings, field) is not None for field in MAIN_FIELDS)
    locked_values = {
        field: value
        for field, value in locked.items()
        if getattr(settings, field) is None and not (anew and BY_FIELD[field].of == "alone")
    }
    if settings.parts is not None:
        existing = () if settings.has_only("parts") else locked.get("parts", ())
        locked_values["parts"] = tuple(sorted({*parse_parts(settings.parts), *existing}))
    return settings._replace(**locked_values)


_WITH_SCHEMA = "or name a published schema: --revision NAME --schema FILE"


def revision_names(requested: Iterable[str], pins: Pins) -> tuple[str, ...]:
    """Return revisions from names, lists with commas, and "all" for every pinned one; sorted."""
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
    """Return the options of a run for requested revisions in a folder with this lock.

    `schema` is for the only requested revision, or for the only one that is not pinned; `named` has
    schemas by revision. Raise `ProblemError`: `no-revision`, `ambiguous-schema`, `unsafe-name`,
    `unknown-revision`.
    """
    locked: Mapping[str, RevisionInputs] = lock.inputs.revisions if lock else {}
    _refuse_misuse(requested, pins, locked, schema, named)
    schemas = {name: file for name, file in named.items() if name in {*requested, *locked}}
    if schema:
        unnamed = tuple(name for name in requested if name not in named)
        schemas |= dict.fromkeys(_possible_revisions(unnamed, pins), schema)
    pinned = {name for name, inputs in locked.items() if inputs.source == PINNED}
    generated = {name for name in (*requested, *pinned) if name in pins} | schemas.keys()
    kept_inputs = {
        name: inputs
        for name, inputs in locked.items()
        if name not in generated and inputs.source != PINNED
    }
    return GenerationOptions(tuple(sorted(generated)), schemas, kept=kept_inputs)


def installed_runtime(name: str | None) -> str | None:
    """Return the module of the runtime to import; None for a copy.

    Raise `ProblemError` (`unsafe-name`) for an invalid name.
    """
    if name is None or name == COPY:
        return None
    try:
        return installed_module(str(name))
    except UnsafeName as error:
        message = f"{name!r:.80} cannot be the module of a runtime: it {error}"
        hint = f"name it as programs import it: mcp_protogen_runtime; or {COPY}, for a copy"
        raise ProblemError(Problem("unsafe-name", message, hint=hint)) from error


def prune_lock(lock: Lock | None, only: Iterable[str] | None, pins: Pins) -> Lock | None:
    """Return the lock with only the revisions in `only`, if given."""
    if lock is None or only is None:
        return lock
    names = revision_names(only, pins)
    stay = {name: inputs for name, inputs in lock.inputs.revisions.items() if name in names}
    return lock._replace(inputs=lock.inputs._replace(revisions=stay))


def refuse_downgrade(lock: Lock, inputs: GenerationInputs, place: str) -> None:
    """Raise `ProblemError` (`older-generator`) if a later version made the package."""
    was, now = lock.inputs.generator, inputs.generator
    if newer(was, now):
        message = f"{was} made this package; {now}, which you run, is older"
        hint = f"use {was} or a later version; to go back to what {now} makes, add --force"
        raise ProblemError(Problem("older-generator", message, place, hint=hint))


@raising
def refuse_missing_schemas(
    options: GenerationOptions, lock: Lock | None, inputs: GenerationInputs
) -> Iterator[Problem]:
    """Raise `ProblemError` for revisions and extensions that cannot be generated or kept.

    `needs-schema`: one from a user's file that no longer fits the rest of the package.
    `unknown-revision`, `unknown-extension`: one that is no longer pinned.
    """
    if lock is None:
        return
    same = _revisions_fit(lock.inputs, inputs)
    if not same:
        yield from _find_outdated(options)
    yield from _find_missing_extension_schemas(options, lock, inputs.revisions, same=same)
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
        hint = "name one with --revision NAME, or use --revision all"
        yield Problem("no-revision", "no revision is requested", hint=hint)
    unnamed = tuple(name for name in requested if name not in named)
    if schema and len(_possible_revisions(unnamed, pins)) != 1:
        message = "the revision of this schema is unclear"
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
            hint = did_you_mean(name, options.revisions, "add it with --revision")
            yield Problem("unused-file", message, place, hint=hint)


def _possible_revisions(requested: tuple[str, ...], pins: Container[str]) -> tuple[str, ...]:
    """Return the possible revisions of an unnamed schema."""
    if len(requested) == 1:
        return requested
    return tuple(name for name in requested if name not in pins)


def _revisions_fit(was: GenerationInputs, now: GenerationInputs) -> bool:
    """Return whether kept revisions fit the rest of the package."""
    roles = {"client", "server"}
    before, after = (
        (
            *(inputs.generator_digest, inputs.runtime_digest, inputs.templates_digest),
            *(runtime_in(inputs), PartSelection(inputs.parts).modules & roles),
            inputs.options.get("docstrings"),
        )
        for inputs in (was, now)
    )
    return before == after


def _find_outdated(options: GenerationOptions) -> Iterator[Problem]:
    for name, inputs in options.kept.items():
        made = f"revision {name!r} was made from {inputs.source}"
        message = f"{made} by another build of mcp-gen, or with other parts or docstrings"
        hint = f"generate it again: --revision {name} --schema {inputs.source}"
        yield Problem("needs-schema", message, hint=hint)


_ReadFile = Callable[[str], GivenFile]


def with_extensions(
    options: GenerationOptions,
    requested: tuple[str, ...] | None,
    lock: Lock | None,
    read: _ReadFile,
) -> GenerationOptions:
    """Return the options of a run with its requested extensions, and those of the lock.

    A requested name may have a file or URL (`NAME=FILE`), which `read` reads. Raise `ProblemError`:
    `unknown-extension`, `unbound-extension`, `missing-facts`, `unsafe-name`, `conflicting-options`,
    `unreadable-source`.
    """
    locked: Mapping[str, ExtensionInputs] = lock.inputs.extensions if lock else {}
    if not requested and not locked:
        return options
    pinned = {extension.name: extension for extension in pinned_extensions()}
    names = choose_extensions(requested or (), pinned, options.revisions)
    unnamed = locked.keys() - names.keys()
    user_extensions = {name for name in unnamed if locked[name].source != PINNED}
    kept_inputs = {
        name: locked[name] for name in user_extensions if _extends_any(locked[name], options)
    }
    again = (name for name in unnamed - user_extensions if name in pinned)
    generated: dict[str, GivenFile | None] = {
        name: None for name in again if {*pinned[name].revisions} & {*options.revisions}
    }
    generated |= {name: None if source is None else read(source) for name, source in names.items()}
    return options._replace(
        extensions=dict(sorted(generated.items())),
        kept_extensions=dict(sorted(kept_inputs.items())),
    )


def _find_missing_extension_schemas(
    options: GenerationOptions, lock: Lock, now: Mapping[str, object], *, same: bool
) -> Iterator[Problem]:
    """Yield a problem for each extension of a package that cannot be generated or kept.

    `now` are the current inputs of revisions; `same` says whether the rest of the package is
    unchanged.
    """
    for name, made in options.kept_extensions.items():
        if same and all(
            now.get(revision) == lock.inputs.revisions[revision] for revision in made.revisions
        ):
            continue
        message = f"extension {name!r} was made from {made.source}, and the package has changed"
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


def _extends_any(inputs: ExtensionInputs, options: GenerationOptions) -> bool:
    return not {*inputs.revisions}.isdisjoint({*options.revisions, *options.kept})


_CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Z]\w*", re.ASCII)


def target_of(settings: Settings, lock: Lock | None) -> TargetOptions | None:
    """Return the target of a run; None for a whole package.

    Raise `ProblemError`: `conflicting-options`, `unknown-layer`, `unsafe-name`.
    """
    values: dict[str, Any] = {
        option.field: value
        for option in OPTIONS
        if option.of == "alone" and (value := getattr(settings, option.field)) is not None
    }
    _refuse_bad_base_class(settings.base_class)
    if not values:
        return None
    if lock is not None and is_whole(lock.inputs.options):
        message = "the folder has a whole package, which types and tables alone cannot replace"
        hint = "generate types and tables alone into another folder: --out FOLDER"
        raise conflict(message, hint)
    _refuse_package_options(settings)
    if settings.layers is not None:
        values["layers"] = _parse_layers(settings.layers)
    return TargetOptions(**values)


def target_distribution(target: TargetOptions | None) -> str | None:
    """Return the distribution of a third-party target, with its version, or None.

    Raise `ProblemError`: `unknown-target`, `bad-target`.
    """
    if target is None:
        return None
    # Slow to import, and most packages have no target.
    from mcp_protogen.pipeline.target_registry import distribution_of

    return distribution_of(target.target)


@raising
def _refuse_package_options(settings: Settings) -> Iterator[Problem]:
    for option in OPTIONS:
        value = getattr(settings, option.field)
        if option.of == "whole" and value and value != (NONE,):
            message = f"{option.spelled} is for whole packages, not for --target or --only"
            hint = "leave it out, or leave out --target and --only"
            yield Problem("conflicting-options", message, hint=hint)


@raising
def refuse_kept(options: GenerationOptions) -> Iterator[Problem]:
    """Raise `ProblemError` (`needs-schema`) for revisions that would be kept unchanged."""
    for name, inputs in options.kept.items():
        message = f"revision {name!r} was made from {inputs.source}, which is not named"
        hint = f"name it again: --revision {name} --schema {inputs.source}; or remove it: --prune"
        yield Problem("needs-schema", message, hint=hint)


def _parse_layers(texts: Iterable[str]) -> tuple[Layer, ...]:
    names = {name.strip() for text in texts for name in text.split(",")} - {""}
    raise_errors(
        Problem("unknown-layer", f"there is no layer {name!r:.80}", hint=did_you_mean(name, LAYERS))
        for name in sorted(names - {*LAYERS})
    )
    if not names:
        hint = f"known: {', '.join(LAYERS)}"
        raise ProblemError(Problem("unknown-layer", "no layer is named", hint=hint))
    return tuple(layer for layer in LAYERS if layer in names)


@raising
def _refuse_bad_base_class(base_class: str | None) -> Iterator[Problem]:
    if base_class is None:
        return
    if not _CLASS.fullmatch(base_class) or any(map(iskeyword, re.split("[.:]", base_class))):
        message = f"{base_class!r:.80} cannot be the base class of models"
        hint = "name it as package.module:Class"
        yield Problem("unsafe-name", message, hint=hint)
