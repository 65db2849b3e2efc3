"""Names of extensions from the user, and their problems."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from mcp_protogen.base.names import EXTENSION_HINT, is_extension
from mcp_protogen.base.problems import Problem, did_you_mean, raise_errors, raising
from mcp_protogen.pipeline.inputs.pinned_extensions import PinnedExtension, pinned_extensions
from mcp_protogen.pipeline.inputs.pins import extension_place
from mcp_protogen.pipeline.parts import ALL, NONE


def parse_extension_names(texts: Iterable[str]) -> dict[str, str | None]:
    """Return the files or URLs of extensions, by name: `tasks,apps`, `tasks=FILE`; `all`, `none`.

    Raise `ProblemError` (`conflicting-options`) for `none` with others, for a name with two files,
    for a missing file after `=`, and for a file of `all` or `none`.
    """
    sources: dict[str, str | None] = {}
    problems: list[Problem] = []
    for name, source in _split(texts):
        if sources.get(name, source) != source:
            message = f"extension {name!r:.80} is named with two different sources"
            problems.append(Problem("conflicting-options", message))
        if source is not None and name in (ALL, NONE):
            message = f"{name} is not an extension, and takes no file: {name}={source:.80}"
            problems.append(Problem("conflicting-options", message))
        if source == "":
            message = f"the file or URL after {name:.80}= is missing"
            hint = f"leave out the = to generate it from its pin: --extension {name:.80}"
            problems.append(Problem("conflicting-options", message, hint=hint))
        sources[name] = source
    if NONE in sources and sources.pop(NONE) is None and sources:
        message = f"none cannot be combined with other extensions: {', '.join(sources)}"
        problems.append(Problem("conflicting-options", message))
    raise_errors(problems)
    return sources


def choose_extensions(
    texts: Iterable[str], pinned: Mapping[str, PinnedExtension], revisions: Collection[str]
) -> dict[str, str | None]:
    """Return the files or URLs of extensions; `all` becomes all extensions of the revisions.

    Raise `ProblemError` with all problems.
    """
    sources = parse_extension_names(texts)
    if ALL in sources:
        del sources[ALL]
        fitting = (
            extension.name for extension in pinned.values() if {*extension.revisions} & {*revisions}
        )
        sources = {**dict.fromkeys(fitting), **sources}
    _refuse_unfit(sources, pinned, revisions)
    return sources


def extended_revision(name: str, revision: str | None = None) -> str:
    """Return the given revision, or the newest one that a pinned extension extends.

    Raise `ProblemError` for an unknown extension or another revision.
    """
    pinned = {extension.name: extension for extension in pinned_extensions()}
    revisions = pinned[name].revisions if name in pinned else ()
    _refuse_unfit([name], pinned, [revision] if revision else revisions)
    return revision or max(revisions)


@raising
def _refuse_unfit(
    names: Iterable[str], pinned: Mapping[str, PinnedExtension], revisions: Iterable[str]
) -> Iterator[Problem]:
    """Raise `ProblemError` for each name that is not an extension of one of the revisions."""
    revision_names = ", ".join(sorted(revisions))
    for name in names:
        extension = pinned.get(name)
        if name in (ALL, NONE):
            message = f"{name} is not an extension: name one here"
            yield Problem("conflicting-options", message, hint="mcp-gen extensions lists them")
        elif not is_extension(name):
            message = f"{name!r:.80} cannot be the name of an extension"
            yield Problem("unsafe-name", message, hint=EXTENSION_HINT)
        elif extension is None:
            hint = f"pin it with mcp-gen schema add --extension {name} --from FILE; "
            hint += did_you_mean(name, pinned)
            yield Problem("unknown-extension", f"no extension {name!r} is pinned", hint=hint)
        elif not extension.has_facts:
            message = f"extension {name!r} has no facts"
            place, hint = extension_place(name), "docs/extensions.md describes them"
            yield Problem("missing-facts", message, place, hint=hint)
        elif not {*extension.revisions} & {*revisions}:
            message = (
                f"extension {name!r} extends none of these revisions: {revision_names or 'none'}"
            )
            hint = f"it extends {', '.join(extension.revisions)}: name one with --revision"
            yield Problem("unbound-extension", message, hint=hint)


def _split(texts: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    for text in texts:
        name, equals, source = text.partition("=")
        if equals:  # a file or URL may have commas
            yield name.strip(), source
        else:
            yield from ((one, None) for part in text.split(",") if (one := part.strip()))
