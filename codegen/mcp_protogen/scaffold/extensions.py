"""The extensions of a project."""

from collections.abc import Collection, Iterator

from mcp_protogen.base.names import extension_module, pascal
from mcp_protogen.base.option_constraints import conflict
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.inputs.extensions import load
from mcp_protogen.pipeline.inputs.named_extensions import choose_extensions
from mcp_protogen.pipeline.inputs.pinned_extensions import pinned_extensions


def project_extensions(requested: Collection[str], revisions: Collection[str]) -> tuple[str, ...]:
    """Return the requested extensions, sorted, for a project with some revisions.

    Raise `ProblemError`: `conflicting-options` for a file or URL, because a new project uses pins,
    and every problem with the names.
    """
    if not requested:
        return ()
    pinned = {extension.name: extension for extension in pinned_extensions()}
    named = choose_extensions(requested, pinned, revisions)
    given = [name for name, source in named.items() if source is not None]
    if given:
        message = f"a new project uses pinned schemas, so no file can be given: {', '.join(given)}"
        hint = f"pin it: mcp-gen schema add --extension {given[0]} --from FILE"
        raise conflict(message, hint)
    return tuple(sorted(named))


def server_mixins(extensions: Collection[str], revision: str) -> Iterator[tuple[str, str]]:
    """Yield the module and class of the server mixin of each extension of a revision."""
    for name in extensions:
        extension = load(name, schema_folder())
        if revision in extension.revisions and "server" in extension.facts["settings"]:
            module = extension_module(name)
            yield module, f"{pascal(module)}Server"
