"""The choice of the revisions that a run generates, and of their inputs.

A package keeps the revisions that it has, unless somebody says which ones are to stay. Pinned
revisions are generated anew. A revision that came from a user's file is kept as it is, because its
schema is not at hand.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from types import MappingProxyType

from mcp_protogen.base.names import REVISION_HINT, UnsafeName, installed_module, is_revision
from mcp_protogen.base.problems import Problem, ProblemError, raising
from mcp_protogen.base.suggest import did_you_mean
from mcp_protogen.pipeline.config import COPY, GenerationOptions, GivenFile, GivenPatches
from mcp_protogen.pipeline.inputs.pins import Pins
from mcp_protogen.pipeline.output.lock import Lock
from mcp_protogen.pipeline.package import (
    PINNED,
    GenerationInputs,
    RevisionInputs,
    newer,
    runtime_in,
)
from mcp_protogen.pipeline.parts import ALL, PartSelection
from mcp_protogen.pipeline.selection.selected_extensions import unmakeable

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


def pruned(lock: Lock | None, only: Iterable[str] | None, pins: Pins) -> Lock | None:
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
        yield from _outdated(options)
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
    named += [(one.revision, one.place) for one in patches if one.revision]
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


def _outdated(options: GenerationOptions) -> Iterator[Problem]:
    for name, inputs in options.kept.items():
        made = f"revision {name!r} was made from {inputs.source}"
        message = f"{made} by another build of mcp-gen, or with other parts or docstrings"
        hint = f"generate it again: --revision {name} --schema {inputs.source}"
        yield Problem("needs-schema", message, hint=hint)
