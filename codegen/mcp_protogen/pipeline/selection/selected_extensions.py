"""The choice of the extensions that a run generates, and of their inputs.

It follows the choice of revisions: a package keeps the extensions that it has, unless somebody says
which ones are to stay; pinned ones are generated anew, and one that came from a user's file is kept
as it is where that file is not named again.
"""

from collections.abc import Callable, Iterator, Mapping

from mcp_protogen.base.problems import Problem
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.inputs.named_extensions import chosen
from mcp_protogen.pipeline.inputs.pinned_extensions import pinned_extensions
from mcp_protogen.pipeline.output.lock import Lock
from mcp_protogen.pipeline.package import PINNED, ExtensionInputs

_Read = Callable[[str], GivenFile]


def with_extensions(
    options: GenerationOptions,
    said: tuple[str, ...] | None,
    lock: Lock | None,
    read: _Read,
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
    named = chosen(said or (), pinned, options.revisions)
    there = {name for name, made in locked.items() if name not in named and made.source != PINNED}
    kept = {name: locked[name] for name in there if _extended(locked[name], options)}
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
        if same and all(now.get(one) == lock.inputs.revisions[one] for one in made.revisions):
            continue
        message = f"extension {name!r} was made from {made.source}, for what the package was then"
        hint = f"generate it again: --extension {name}={made.source}"
        yield Problem("needs-schema", message, hint=hint)
    if not lock.inputs.extensions:
        return
    known = {extension.name for extension in pinned_extensions()}
    for name, was in lock.inputs.extensions.items():
        if was.source == PINNED and name not in known:
            message = f"extension {name!r} of the package is not pinned any more"
            hint = "remove it: --prune, with the extensions that stay, or --extension none"
            yield Problem("unknown-extension", message, hint=hint)


def _extended(made: ExtensionInputs, options: GenerationOptions) -> bool:
    return not {*made.revisions}.isdisjoint({*options.revisions, *options.kept})
