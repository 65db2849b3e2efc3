"""The installed targets, found by their entry points."""

from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points

from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean
from mcp_protogen.pipeline.ir import RevisionIR
from mcp_protogen.pipeline.target import CONTRACT, GROUP, Target, TargetFile, TargetOptions

_OURS = "mcp_protogen."
_HINT = "repair or update its package"


def target_names() -> tuple[str, ...]:
    """Return the names of all installed targets, sorted."""
    return tuple(sorted({found.name for found in entry_points(group=GROUP)}))


def find_target(name: str) -> Target:
    """Return a target; raise `ProblemError`: `unknown-target`, `bad-target`."""
    return _load(_entry(name))


def _entry(name: str) -> EntryPoint:
    found = tuple(entry_points(group=GROUP, name=name))
    if not found:
        known = target_names()
        installed = f"installed: {', '.join(known)}; others need a package"
        hint = did_you_mean(name, known, installed)
        raise ProblemError(Problem("unknown-target", f"there is no target {name!r}", hint=hint))
    if len(found) > 1:
        places = " and ".join(sorted(entry.value for entry in found))
        message = f"two targets are called {name!r}: {places}"
        raise ProblemError(Problem("bad-target", message, hint="uninstall one of them"))
    return next(iter(found))


def run_target(
    target: Target, revisions: Sequence[RevisionIR], options: TargetOptions
) -> tuple[TargetFile, ...]:
    """Run a target and return its files; raise `ProblemError` (`bad-target`) if it fails."""
    try:
        return tuple(target.files(revisions, options))
    except ProblemError:
        raise
    except Exception as error:  # third-party code may fail in any way
        message = f"target {options.target!r} failed: {type(error).__name__}: {error}"
        raise ProblemError(Problem("bad-target", message, hint=_HINT)) from error


def distribution_of(name: str) -> str | None:
    """Return the distribution and version of a third-party target; None for ours.

    Raise `ProblemError` as `find_target` does.
    """
    entry = _entry(name)
    if entry.value.startswith(_OURS):
        return None
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value


def _load(entry: EntryPoint) -> Target:
    try:
        target: Target = entry.load()
        contract = target.contract
    except Exception as error:  # third-party code may fail in any way
        message = f"target {entry.name!r} cannot be loaded: {type(error).__name__}: {error}"
        raise ProblemError(Problem("bad-target", message, entry.value, hint=_HINT)) from error
    if contract != CONTRACT:
        message = f"target {entry.name!r} is for contract {contract!r} of targets, not {CONTRACT}"
        raise ProblemError(Problem("bad-target", message, entry.value, hint=_HINT))
    return target
