"""Extensions as somebody names them, and what is wrong with these names."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from mcp_protogen.base.names import EXTENSION_HINT, is_extension
from mcp_protogen.base.problems import Problem, did_you_mean, raise_errors, raising
from mcp_protogen.pipeline.inputs.pinned_extensions import PinnedExtension, pinned_extensions
from mcp_protogen.pipeline.inputs.pins import extension_place
from mcp_protogen.pipeline.parts import ALL, NONE


def parse_extension_names(said: Iterable[str]) -> dict[str, str | None]:
    """Return the files or URLs of extensions, by name: `tasks,apps`, `tasks=FILE`; `all`, `none`.

    Raise `ProblemError` (`conflicting-options`) for none and some, for a name with two files, and
    for a file that is missing after `=` or is given for `all` or `none`.
    """
    found: dict[str, str | None] = {}
    problems: list[Problem] = []
    for name, source in _split(said):
        if found.get(name, source) != source:
            message = f"extension {name!r:.80} is named with two different sources"
            problems.append(Problem("conflicting-options", message))
        if source is not None and name in (ALL, NONE):
            message = f"{name} is the name of no extension, and has no file: {name}={source:.80}"
            problems.append(Problem("conflicting-options", message))
        if source == "":
            message = f"no file or URL is named after {name:.80}="
            hint = f"leave out the = to generate it from its pin: --extension {name:.80}"
            problems.append(Problem("conflicting-options", message, hint=hint))
        found[name] = source
    if NONE in found and found.pop(NONE) is None and found:
        message = f"none cannot be combined with other extensions: {', '.join(found)}"
        problems.append(Problem("conflicting-options", message))
    raise_errors(problems)
    return found


def choose_extensions(
    said: Iterable[str], pinned: Mapping[str, PinnedExtension], revisions: Collection[str]
) -> dict[str, str | None]:
    """Return the same for some revisions, with all that extend one of them in place of `all`.

    Raise `ProblemError` with everything that is wrong with the names.
    """
    named = parse_extension_names(said)
    if ALL in named:
        del named[ALL]
        fitting = (
            extension.name for extension in pinned.values() if {*extension.revisions} & {*revisions}
        )
        named = {**dict.fromkeys(fitting), **named}
    _refuse_unfit(named, pinned, revisions)
    return named


def extended_revision(name: str, revision: str | None = None) -> str:
    """Return the newest revision that a pinned extension extends, or the one that is named.

    Raise `ProblemError` for names that mean no such extension.
    """
    pinned = {extension.name: extension for extension in pinned_extensions()}
    known = pinned[name].revisions if name in pinned else ()
    _refuse_unfit([name], pinned, [revision] if revision else known)
    return revision or max(known)


@raising
def _refuse_unfit(
    names: Iterable[str], pinned: Mapping[str, PinnedExtension], revisions: Iterable[str]
) -> Iterator[Problem]:
    """Raise `ProblemError` for each name that is no extension of one of some revisions."""
    here = ", ".join(sorted(revisions))
    for name in names:
        extension = pinned.get(name)
        if name in (ALL, NONE):
            message = f"{name} is the name of no extension: one has to be named here"
            yield Problem("conflicting-options", message, hint="mcp-gen extensions lists them")
        elif not is_extension(name):
            message = f"{name!r:.80} cannot be the name of an extension"
            yield Problem("unsafe-name", message, hint=EXTENSION_HINT)
        elif extension is None:
            hint = f"pin it with mcp-gen schema add --extension {name} --from FILE; "
            hint += did_you_mean(name, pinned)
            yield Problem("unknown-extension", f"no extension {name!r} is pinned", hint=hint)
        elif not extension.has_facts:
            message = f"nobody has written the facts of extension {name!r}"
            place, hint = extension_place(name), "docs/extensions.md describes them"
            yield Problem("missing-facts", message, place, hint=hint)
        elif not {*extension.revisions} & {*revisions}:
            message = f"extension {name!r} extends none of these revisions: {here or 'none'}"
            hint = f"it extends {', '.join(extension.revisions)}: name one with --revision"
            yield Problem("unbound-extension", message, hint=hint)


def _split(said: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    for text in said:
        name, equals, source = text.partition("=")
        if equals:  # a file or URL may have commas
            yield name.strip(), source
        else:
            yield from ((one, None) for part in text.split(",") if (one := part.strip()))
