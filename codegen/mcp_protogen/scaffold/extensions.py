"""The extensions of a project."""

from collections.abc import Iterable

from mcp_protogen.base.problems import Problem, ProblemError, raise_errors
from mcp_protogen.inputs.named_extensions import named_extensions, refused
from mcp_protogen.inputs.pinned_extensions import pinned_extensions


def project_extensions(requested: Iterable[str], revisions: Iterable[str]) -> tuple[str, ...]:
    """Return the extensions that are named, sorted, for a project that speaks some revisions.

    Raise `ProblemError`: `conflicting-options` for a file or URL, because a new project is made
    from pins, and all problems of names.
    """
    named = named_extensions(requested)
    if not named:
        return ()
    given = [name for name, source in named.items() if source is not None]
    if given:
        message = f"a new project is made from pins, so no schema can be given: {', '.join(given)}"
        hint = f"pin it: mcp-gen schema add --extension {given[0]} --from FILE"
        raise ProblemError(Problem("conflicting-options", message, hint=hint))
    pinned = {extension.name: extension for extension in pinned_extensions()}
    raise_errors(tuple(refused(named, pinned, revisions)))
    return tuple(sorted(named))
