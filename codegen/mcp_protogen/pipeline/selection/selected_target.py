"""The choice of the form in which types and tables are generated alone, if they are.

A folder keeps its form. Who names a target or layers says the whole form anew; who names neither
may change the rest of it.
"""

import re
from collections.abc import Iterable, Iterator
from keyword import iskeyword
from typing import Any

from mcp_protogen.base.problems import Problem, ProblemError, raise_errors, raising
from mcp_protogen.base.suggest import did_you_mean
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.options import BY_FIELD, FORMS, OPTIONS, is_whole
from mcp_protogen.pipeline.output.lock import Lock
from mcp_protogen.pipeline.parts import NONE
from mcp_protogen.pipeline.settings import Settings
from mcp_protogen.pipeline.target import LAYERS, Layer, TargetOptions

_CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Z]\w*", re.ASCII)


def target_of(settings: Settings, lock: Lock | None) -> TargetOptions | None:
    """Return the target of a run; None for our own package.

    Raise `ProblemError`: `conflicting-options`, `unknown-layer`, `unsafe-name`.
    """
    form: dict[str, Any] = {
        one.field: value
        for one in OPTIONS
        if one.of == "alone" and (value := getattr(settings, one.field)) is not None
    }
    _refuse_unsafe(settings.base_class)
    if not form:
        return None
    if form.keys().isdisjoint(FORMS):
        message = (
            f"{BY_FIELD[next(iter(form))].spelled} needs --target or --only: a whole package has"
        )
        raise ProblemError(Problem("conflicting-options", f"{message} one form"))
    if lock is not None and is_whole(lock.inputs.options):
        message = "the folder has a whole package, and keeps it"
        hint = "generate types and tables alone into another folder: --out FOLDER"
        raise ProblemError(Problem("conflicting-options", message, hint=hint))
    _refuse_package_options(settings)
    if settings.layers is not None:
        form["layers"] = _layers(settings.layers)
    return TargetOptions(**form)


def made_by(target: TargetOptions | None) -> str | None:
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
    for one in OPTIONS:
        value = getattr(settings, one.field)
        if one.of == "whole" and value and value != (NONE,):
            message = (
                f"{one.spelled} is for a whole package, and a target makes types and tables alone"
            )
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
