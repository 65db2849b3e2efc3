"""Vectors of revisions and extensions that a user names: as text, or in a folder."""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from mcp_protogen.base.option_constraints import conflict
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.instep.vectors.folder import compare, write
from mcp_protogen.instep.vectors.making import make, select_sources
from mcp_protogen.instep.vectors.vector import VectorFilter
from mcp_protogen.instep.vectors.writing import document, folder_files, lines
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.parts import ALL, NONE
from mcp_protogen.pipeline.reports.report import Action, FileChange, RunReport, RunStatus
from mcp_protogen.pipeline.selection import revision_names, select, with_extensions
from mcp_protogen.pipeline.sources.upstream import read_file_or_url


@dataclass(frozen=True, slots=True)
class NamedVectors:
    """The revisions and extensions to make vectors of, as the user named them."""

    revisions: tuple[str, ...]
    extensions: tuple[str, ...]
    schema: str | None

    def options(self, *, usual: bool = False) -> GenerationOptions:
        """Return the options; with `usual`, the newest revision if nothing is named."""
        pins = load_pins()
        unsaid = [max(pins)] if usual and self.schema is None else []
        requested = self.revisions or ([ALL] if self.extensions else unsaid)
        given = read_file_or_url(self.schema) if self.schema else None
        options = select(revision_names(requested, pins), pins, None, given)
        options = with_extensions(options, self.extensions, None, read_file_or_url)
        if self.extensions and not options.extensions:
            raise self._without_extensions(options)
        return options

    def _without_extensions(self, options: GenerationOptions) -> ProblemError:
        if NONE in self.extensions:
            return conflict("--extension none leaves nothing to make vectors of: leave it out")
        message = f"no extension extends these revisions: {', '.join(options.revisions)}"
        hint = "mcp-gen extensions says what each extends"
        return ProblemError(Problem("unbound-extension", message, hint=hint))


def folder_report(named: NamedVectors, folder: Path, *, check: bool, force: bool) -> RunReport:
    """Write vectors into a folder, or with `check` compare them with it; return the report."""
    files = folder_files(named.options())
    changes = compare(folder, files) if check else write(folder, files, force=force)
    listed = tuple(
        FileChange(name, action)
        for action, names in ((Action.CREATE, changes.created), (Action.CHANGE, changes.changed))
        for name in names
    )
    if check and changes:
        summary = f"{folder} is not up to date: {len(listed)} of {len(files)} files would change"
        return RunReport("vectors", RunStatus.DIFFERS, summary, str(folder), files=listed)
    done = "is up to date" if check or not changes else f"{len(listed)} files written"
    summary = f"{folder}: {done}, {len(changes.unchanged)} unchanged"
    problems = changes.warnings
    return RunReport(
        "vectors", RunStatus.FINE, summary, str(folder), files=listed, problems=problems
    )


def vectors_text(named: NamedVectors, choice: VectorFilter, *, whole: bool) -> str:
    """Return vectors as lines of JSON; with `whole`, as one document."""
    options = named.options()
    every = select_sources(options)
    if whole and len(every) > 1:
        several = "vectors of several revisions or extensions cannot be one document"
        raise conflict(f"{several}: add --out, or --format jsonl")
    chosen = [choice.of(make(revision, options, extension)) for revision, extension in every]
    rows = map(document, chosen) if whole else chain(*map(lines, chosen))
    return b"".join(rows).decode()
