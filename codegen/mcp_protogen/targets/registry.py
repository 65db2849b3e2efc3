"""The targets that are installed, found by their entry points."""

from importlib.metadata import EntryPoint, entry_points

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.suggest import did_you_mean
from mcp_protogen.target import CONTRACT, GROUP, Target


def target_names() -> tuple[str, ...]:
    """Return the names of all installed targets, sorted."""
    return tuple(sorted({found.name for found in entry_points(group=GROUP)}))


def target_named(name: str) -> Target:
    """Return a target; raise `ProblemError`: `unknown-target`, `bad-target`."""
    found = tuple(entry_points(group=GROUP, name=name))
    if not found:
        hint = f"{did_you_mean(name, target_names())} installed: {', '.join(target_names())}"
        raise ProblemError(Problem("unknown-target", f"there is no target {name!r}", hint=hint))
    if len(found) > 1:
        places = " and ".join(sorted(entry.value for entry in found))
        message = f"two targets are called {name!r}: {places}"
        raise ProblemError(Problem("bad-target", message, hint="uninstall one of them"))
    return _loaded(next(iter(found)))


def _loaded(entry: EntryPoint) -> Target:
    hint = "its package has to be repaired or updated"
    try:
        target: Target = entry.load()
        contract = target.contract
    except Exception as error:  # it is somebody else's code, which may fail in any way
        message = f"target {entry.name!r} cannot be loaded: {type(error).__name__}: {error}"
        raise ProblemError(Problem("bad-target", message, entry.value, hint=hint)) from error
    if contract != CONTRACT:
        message = f"target {entry.name!r} is for contract {contract!r} of targets, not {CONTRACT}"
        raise ProblemError(Problem("bad-target", message, entry.value, hint=hint))
    return target
