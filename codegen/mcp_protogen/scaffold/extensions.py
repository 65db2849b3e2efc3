"""The extensions of a project."""

from collections.abc import Collection

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.inputs.named_extensions import chosen
from mcp_protogen.inputs.pinned_extensions import pinned_extensions


def project_extensions(requested: Collection[str], revisions: Collection[str]) -> tuple[str, ...]:
    """Return the extensions that are named, sorted, for a project that speaks some revisions.

    Raise `ProblemError`: `conflicting-options` for a file or URL, because a new project is made
    from pins, and all problems of names.
    """
    if not requested:
        return ()
    pinned = {extension.name: extension for extension in pinned_extensions()}
    named = chosen(requested, pinned, revisions)
    given = [name for name, source in named.items() if source is not None]
    if given:
        message = f"a new project is made from pins, so no schema can be given: {', '.join(given)}"
        hint = f"pin it: mcp-gen schema add --extension {given[0]} --from FILE"
        raise ProblemError(Problem("conflicting-options", message, hint=hint))
    return tuple(sorted(named))
