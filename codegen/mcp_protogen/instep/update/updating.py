"""One look at a source: the moved schemas, their effects, and the choice to accept one."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.update.adoption import Origin, add
from mcp_protogen.instep.update.candidates import (
    Candidate,
    Candidates,
    CandidateState,
    RevisionFilter,
    look,
)
from mcp_protogen.instep.update.dependents import (
    Dependent,
    Packages,
    dependents,
    packages_below,
    packages_in,
)
from mcp_protogen.instep.update.findings import Finding, examine, place_of
from mcp_protogen.instep.update.undecided import SchemaFolder
from mcp_protogen.pipeline.inputs.pinned_extensions import extension_names
from mcp_protogen.pipeline.inputs.pins import (
    EXTENSION,
    Pin,
    Pins,
    extensions_folder,
    load_extension_pins,
    load_pins,
    pin_of,
)
from mcp_protogen.pipeline.sources.opening import open_source
from mcp_protogen.pipeline.sources.source import SchemaSource


@dataclass(frozen=True, slots=True)
class UpdateOptions:
    """The arguments of the user; None or empty where the user gave none."""

    wanted: RevisionFilter = field(default_factory=RevisionFilter)
    source: str | None = None
    ref: str | None = None
    accept: str | None = None
    note: str = ""
    packages: tuple[Path, ...] = ()
    cache: Path | None = None
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class News:
    """A finding, and the packages it is about."""

    finding: Finding
    packages: tuple[Dependent, ...]


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """The result of a look; `accepted` is the new pin, if one was moved."""

    options: UpdateOptions
    source: SchemaSource
    candidates: tuple[Candidate, ...]
    news: tuple[News, ...]
    notices: tuple[Problem, ...] = ()
    accepted: Pin | None = None


def update(options: UpdateOptions) -> UpdateResult:
    """Look at a source, and accept a file if `options` names one; write nothing else.

    An accepted file is the only news, with the remaining work. Raise `ProblemError` with all
    obstacles, before any change.
    """
    if options.cache is not None and options.cache.exists() and not options.cache.is_dir():
        message = "the cache must be a folder"
        raise ProblemError(Problem("bad-cache", message, str(options.cache)))
    folder = options.folder or schema_folder()
    kind, paths = options.wanted.kind, list[str]()
    if kind is EXTENSION:
        pins = _pins_of_extensions(options.wanted.revisions, folder)
        paths = [pin.spec_path for pin in pins.values()]
        folder = extensions_folder(folder)
    else:
        pins = load_pins(folder)
    named = packages_in(options.packages)
    source = open_source(_wherever(options, pins, folder), options.ref, options.cache, paths)
    found = _look(source, pins, options)
    if options.accept is None:
        concerned = [candidate for candidate in found.candidates if candidate.state.is_news]
    else:
        concerned = [choose_candidate(found.candidates, options.accept)]
    # A large tree takes long to search, and without news its packages do not matter.
    packages = named if options.packages or not concerned else packages_below(Path())
    news = _news(concerned, SchemaFolder(pins, folder, kind), packages)
    pin = None if options.accept is None else accept(concerned[0], options.note, folder)
    notices = (*found.notices, *packages.notices)
    return UpdateResult(options, source, found.candidates, news, notices, pin)


def _pins_of_extensions(names: Iterable[str], folder: Path) -> Pins:
    """Return the pins of these extensions alone, because each has its own repository."""
    pins, known = load_extension_pins(folder), extension_names(folder)
    for name in names:
        if name in known and name not in pins:
            message = f"no schema of extension {name!r} is pinned: its facts have its types"
            hint = f"once one is published: mcp-gen schema add --extension {name} --from FILE"
            raise ProblemError(Problem("unknown-extension", message, hint=hint))
    return {name: pin_of(name, pins, EXTENSION) for name in names}


def _look(source: SchemaSource, pins: Pins, options: UpdateOptions) -> Candidates:
    try:
        return look(source, pins, options.wanted)
    except ProblemError as error:
        if options.source is not None or error.problems[0].hint:
            raise
        hint = "if it cannot be reached, name a clone of the specification with --source"
        raise ProblemError(*(problem._replace(hint=hint) for problem in error.problems)) from error


def _news(
    candidates: Sequence[Candidate], known: SchemaFolder, packages: Packages
) -> tuple[News, ...]:
    """Return the news about each candidate; raise `ProblemError` with all their problems."""
    news: list[News] = []
    problems: list[Problem] = []
    for candidate in candidates:
        try:
            finding = examine(candidate, known)
        except ProblemError as error:
            problems += error.problems
            continue
        news.append(News(finding, dependents(finding, packages, known.pins)))
    if problems:
        raise ProblemError(*problems)
    return tuple(news)


def _wherever(options: UpdateOptions, pins: Pins, folder: Path) -> str:
    """Return the named source, or the repository that all pins come from."""
    if options.source == "":
        raise ProblemError(Problem("not-a-source", "--source is empty", "--source"))
    if options.source is not None:
        return options.source
    repositories = sorted({pin.repository for pin in pins.values()})
    if len(repositories) == 1:
        return repositories[0]
    message = f"the pins come from {len(repositories)} repositories"
    hint = f"name one with --source, and its revisions: {', '.join(repositories)}"
    if not repositories:
        hint = "name one with --source"
    raise ProblemError(Problem("ambiguous-source", message, str(folder), hint=hint))


SHORTEST = 12
_DIGEST = re.compile(rf"[0-9a-f]{{{SHORTEST},64}}")


def choose_candidate(candidates: Sequence[Candidate], accepted: str) -> Candidate:
    """Return the one candidate whose digest begins with `accepted`.

    A candidate that is already pinned is returned only if no other matches. Raise `ProblemError`:
    `bad-digest`, or `unknown-candidate` with the existing ones. If the source has changed since the
    digest was shown, nothing matches.
    """
    wanted = accepted.lower()
    if not _DIGEST.fullmatch(wanted):
        hint = f"pass the sha256 that was shown, or at least its first {SHORTEST} digits"
        message = f"{accepted!r:.80} is not a sha256 or the beginning of one"
        raise ProblemError(Problem("bad-digest", message, "--accept", hint=hint))
    having = [candidate for candidate in candidates if candidate.sha256.startswith(wanted)]
    # Accepting a pinned file again is harmless, and finishes the work of a killed run.
    matching = [
        candidate for candidate in having if candidate.state is not CandidateState.SAME
    ] or having
    if len(matching) == 1:
        return matching[0]
    if matching:
        names = ", ".join(candidate.revision for candidate in matching)
        message = f"{wanted} is published for several revisions: {names}"
        hint = "name the revision that you mean"
    else:
        message = f"no file at the source has a sha256 that begins with {wanted}"
        hint = _possible_hint(candidates)
    raise ProblemError(Problem("unknown-candidate", message, "--accept", hint=hint))


def accept(candidate: Candidate, note: str, folder: Path | None) -> Pin:
    """Pin the revision or extension to the bytes of a candidate, and return the new pin."""
    origin = Origin(
        spec_path=candidate.path,
        spec_commit=candidate.published.commit,
        date=candidate.published.date,
        note=note,
        repository=candidate.source.repository,
    )
    content = candidate.published.content
    return add(candidate.revision, content, origin, place_of(candidate), folder, candidate.kind)


def _possible_hint(candidates: Sequence[Candidate]) -> str:
    offered = [
        f"{candidate.revision} {candidate.sha256[:SHORTEST]}"
        for candidate in candidates
        if candidate.state is not CandidateState.SAME
    ]
    return f"possible: {', '.join(offered)}" if offered else "nothing has moved there"
