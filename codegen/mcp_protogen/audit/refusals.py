"""The problems with a target that cannot be audited."""

from collections.abc import Sequence

from mcp_protogen.audit.description import Skipped
from mcp_protogen.base.problems import Problem, ProblemError


def not_importable(name: str, python: str, skipped: Sequence[Skipped]) -> ProblemError:
    """Return the error if no named module can be imported, with the reason of the first."""
    first = skipped[0]
    if first.kind == "not-found":
        hint = f"is it installed for {python}? name another interpreter with --python"
        message = f"there is no module {first.module}"
        return ProblemError(Problem("target-not-found", message, name, hint=hint))
    if first.kind == "exits":
        hint = "importing must not end the process; name a module that only defines types"
        message = f"importing {first.module} ends the process: {first.error}"
        return ProblemError(Problem("target-exits", message, name, hint=hint))
    hint = f"it has to be importable for {python}; name another interpreter with --python"
    message = f"importing {first.module} fails: {first.error}"
    return ProblemError(Problem("target-fails", message, name, hint=hint))


def nothing_found(name: str, modules: Sequence[str]) -> ProblemError:
    """Return the error if the modules hold no types."""
    number = "1 module" if len(modules) == 1 else f"{len(modules)} modules"
    message = f"no models, dataclasses or typed dictionaries in {number}"
    hint = "name the module that holds the protocol's types, such as mcp.types"
    return ProblemError(Problem("nothing-to-audit", message, name, hint=hint))


def hangs(name: str, timeout: float) -> ProblemError:
    """Return the error if importing takes too long."""
    message = f"it was not imported within {timeout:g} seconds"
    return ProblemError(
        Problem("target-hangs", message, name, hint="does it wait for something? see --timeout")
    )


def died(name: str, code: int, said: str) -> ProblemError:
    """Return the error if the process ended, by itself or by a signal, before its description."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = f"; its last output: {lines[-1][:300]}" if lines else ""
    message = f"its process ended with exit code {code} while it was imported{last}"
    hint = "import it by hand to see why; an interpreter of Python 3.10 or later is needed"
    return ProblemError(Problem("target-died", message, name, hint=hint))
