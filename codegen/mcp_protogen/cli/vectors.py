"""`mcp-gen vectors`: make test vectors for any implementation, and try one with them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.base.printable import one_line
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.cli import completion
from mcp_protogen.cli.console import finish, judge, progress, show_problems
from mcp_protogen.cli.destination import Destination
from mcp_protogen.cli.options import Output, Schema
from mcp_protogen.instep.vectors.vector import Validity, VectorFilter
from mcp_protogen.pipeline.config import Format
from mcp_protogen.pipeline.parts import ALL, NONE
from mcp_protogen.pipeline.reports.report import Action, FileChange, Report, Status

if TYPE_CHECKING:
    from mcp_protogen.instep.vectors.outcome import VectorRun
    from mcp_protogen.pipeline.config import GenerationOptions


class VectorsFormat(StrEnum):
    """The forms of vectors themselves, of a report about a folder, and of findings."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    MARKDOWN = "markdown"
    GITHUB = "github"
    HTML = "html"


_FORMS = {
    "vectors on stdout": (VectorsFormat.JSON, VectorsFormat.JSONL),
    "a folder": (VectorsFormat.TEXT, VectorsFormat.JSON, VectorsFormat.GITHUB),
    "findings": tuple(form for form in VectorsFormat if form is not VectorsFormat.JSONL),
}
"""The forms of each kind of output; the first is the default."""


@dataclass(frozen=True, slots=True)
class TriedProgram:
    """The implementation that is tried, and how."""

    name: str | None
    command: str | None
    python: str | None
    timeout: float


@dataclass(frozen=True, slots=True)
class NamedVectors:
    """What vectors are asked of."""

    revisions: tuple[str, ...]
    extensions: tuple[str, ...]
    schema: str | None


def vectors(
    revision: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REVISION",
            help="Revision to make vectors of, or all. Repeat it, or separate names by commas.",
            autocompletion=completion.revision,
        ),
    ] = None,
    extension: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=FILE|URL]",
            help="Extension to make vectors of, or all, in place of the revisions that it extends;"
            " in all of these if none is named. Repeat it for others.",
            autocompletion=completion.extension,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder to write a file for each revision into."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; say whether the folder is up to date.")
    ] = False,
    run: Annotated[
        str | None,
        typer.Option(metavar="TARGET", help="Try a Python package, module or folder."),
    ] = None,
    run_command: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND", help="Try a program in any language that answers on stdout."
        ),
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(metavar="INTERPRETER", help="Python to run TARGET with, if not this one."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.01, help="Time for each answer.")
    ] = 10.0,
    type: Annotated[
        list[str] | None, typer.Option(metavar="TYPE", help="Only vectors of this definition.")
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(metavar="METHOD", help="Only messages of this method.")
    ] = None,
    only: Annotated[
        Validity | None, typer.Option(help="Only valid or only invalid vectors.")
    ] = None,
    schema: Schema = None,
    format: Annotated[
        VectorsFormat | None,
        typer.Option(help="Form of the vectors, of the report, or of the findings."),
    ] = None,
    output: Output = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that are not vectors.")
    ] = False,
) -> None:
    """Write test vectors: right and wrong messages with reasons, for any implementation.

    They go to stdout, or into a folder with --out. With --run or --run-command, an implementation
    is tried with them; exit code 1 means that it did something wrong.
    """
    choice = VectorFilter(tuple(type or ()), tuple(method or ()), only)
    target = TriedProgram(run, run_command, python, timeout)
    trying = run is not None or run_command is not None
    what = "findings" if trying else "a folder" if out else "vectors on stdout"
    flags: dict[str, object] = {"--out": out, "--check": check, "--force": force, "--run": run}
    flags |= {"--run-command": run_command, "--python": python}
    flags |= {"--type": type, "--method": method, "--only": only, "--output": output}
    _refuse_conflicts({name for name, value in flags.items() if value}, what)
    form = _form(format, what)
    place = Destination(form, output)
    named = NamedVectors(tuple(revision or ()), tuple(extension or ()), schema)
    if out is not None:
        folder = out
        finish(
            lambda: _folder(folder, _options(named), check=check, force=force),
            "vectors",
            Format(form),
        )
    elif trying:
        judge(lambda: _try(target, _options(named, usual=True), choice, place), "vectors", form)
    else:
        _print(_options(named), choice, place)


_GO_ALONE = (
    ("--run", "--run-command", "both name what to try"),
    ("--run", "--out", "write vectors, or try an implementation with them"),
    ("--run-command", "--out", "write vectors, or try an implementation with them"),
    ("--run-command", "--python", "the command names its interpreter itself"),
    ("--type", "--out", "a folder holds the vectors of a whole revision"),
    ("--method", "--out", "a folder holds the vectors of a whole revision"),
    ("--only", "--out", "a folder holds the vectors of a whole revision"),
    ("--output", "--out", "vectors are written into a file or into a folder"),
)
_GO_WITH = (("--check", "--out"), ("--force", "--out"), ("--python", "--run"))


def _refuse_conflicts(given: set[str], what: str) -> None:
    for one, other, reason in _GO_ALONE:
        if {one, other} <= given:
            raise _conflict(f"{one} and {other} exclude each other: {reason}")
    for one, other in _GO_WITH:
        if one in given and other not in given:
            raise _conflict(f"{one} needs {other}; it has no meaning for {what}")
    if {"--check", "--force"} <= given:
        raise _conflict("--check and --force exclude each other: --check writes nothing")


def _form(requested: VectorsFormat | None, what: str) -> VectorsFormat:
    forms = _FORMS[what]
    if requested is None:
        return forms[0]
    if requested not in forms:
        raise _conflict(f"{what} cannot be in the form {requested}; choose {', '.join(forms)}")
    return requested


def _conflict(message: str) -> ProblemError:
    return ProblemError(Problem("conflicting-options", message))


def _options(named: NamedVectors, *, usual: bool = False) -> "GenerationOptions":
    """Return what to make vectors of; with `usual`, the newest revision if nothing is named."""
    from mcp_protogen.pipeline.inputs.pins import load_pins
    from mcp_protogen.pipeline.selection.selected_extensions import (
        ExtensionRequest,
        with_extensions,
    )
    from mcp_protogen.pipeline.selection.selected_revisions import revision_names, select
    from mcp_protogen.pipeline.sources.upstream import given_file

    pins = load_pins()
    unsaid = [max(pins)] if usual and named.schema is None else []
    requested = named.revisions or ([ALL] if named.extensions else unsaid)
    given = given_file(named.schema) if named.schema else None
    options = select(revision_names(requested, pins), pins, None, given)
    options = with_extensions(options, ExtensionRequest(named.extensions), None, given_file)
    if named.extensions and not options.extensions:
        raise _without_extensions(named, options)
    return options


def _without_extensions(named: NamedVectors, options: "GenerationOptions") -> ProblemError:
    if NONE in named.extensions:
        return _conflict("--extension none leaves nothing to make vectors of: leave it out")
    message = f"no extension extends these revisions: {', '.join(options.revisions)}"
    hint = "mcp-gen extensions says what each extends"
    return ProblemError(Problem("unbound-extension", message, hint=hint))


def _folder(folder: Path, options: "GenerationOptions", *, check: bool, force: bool) -> Report:
    from mcp_protogen.instep.vectors.folder import compare, write
    from mcp_protogen.instep.vectors.writing import folder_files

    with progress("vectors", shown=True):
        files = folder_files(options)
    changes = compare(folder, files) if check else write(folder, files, force=force)
    listed = tuple(
        FileChange(name, action)
        for action, names in ((Action.CREATE, changes.created), (Action.CHANGE, changes.changed))
        for name in names
    )
    if check and changes:
        summary = f"{folder} is not up to date: {len(listed)} of {len(files)} files would change"
        return Report("vectors", Status.DIFFERS, summary, str(folder), files=listed)
    done = "is up to date" if check or not changes else f"{len(listed)} files written"
    summary = f"{folder}: {done}, {len(changes.unchanged)} unchanged"
    problems = changes.warnings
    return Report("vectors", Status.FINE, summary, str(folder), files=listed, problems=problems)


def _print(options: "GenerationOptions", choice: VectorFilter, place: Destination) -> None:
    from mcp_protogen.instep.vectors.making import make, wanted
    from mcp_protogen.instep.vectors.writing import document, lines

    whole, every = place.form == VectorsFormat.JSON, wanted(options)
    if whole and len(every) > 1:
        several = "vectors of several revisions or extensions cannot be one document"
        raise _conflict(f"{several}: add --out, or --format jsonl")
    chosen = [choice.of(make(revision, options, extension)) for revision, extension in every]
    rows = map(document, chosen) if whole else chain(*map(lines, chosen))
    place.deliver(b"".join(rows).decode())


def _try(
    target: TriedProgram,
    options: "GenerationOptions",
    choice: VectorFilter,
    place: Destination,
) -> bool:
    """Show the findings, and return whether there are any."""
    from mcp_protogen.instep.vectors.making import make, wanted
    from mcp_protogen.instep.vectors.outcome_changes import comparison
    from mcp_protogen.instep.vectors.running import run_vectors

    (revision, extension), *more = wanted(options)
    if more:
        raise _conflict("an implementation is tried with one revision or extension at a time")
    chosen = choice.of(make(revision, options, extension))
    command = _command(target, revision, extension)
    outcome = run_vectors(command, chosen, timeout=target.timeout)
    found = comparison(outcome)
    closing = ""
    if place.form == VectorsFormat.TEXT:
        show_problems(found.notes)
        closing = f"{one_line(_counts(outcome))}\n"
    place.deliver(place.page(found, None) + closing)
    return bool(found.changes)


def _command(target: TriedProgram, revision: str, extension: str) -> Sequence[str]:
    if target.name is not None:
        from mcp_protogen.instep.audit.run_audit import responder_command

        return responder_command(target.name, revision, extension, python=target.python)
    import shlex

    try:
        arguments = shlex.split(target.command or "")
    except ValueError as error:
        arguments, reason = [], f"{error}".lower()
    else:
        reason = "it is empty"
    if not arguments:
        message = f"the command cannot be read: {reason}"
        raise ProblemError(Problem("responder-not-started", message, target.command or ""))
    return arguments


def _counts(outcome: "VectorRun") -> str:
    counts = Counter(result.verdict.value for result in outcome.results)
    listed = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    return f"{outcome.target}: {len(outcome.results)} vectors of {outcome.revision}: {listed}"
