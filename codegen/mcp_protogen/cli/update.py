"""`mcp-gen update`: see whether the specification has moved, and move a pin."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.cli import completion
from mcp_protogen.cli.console import fail, say, show_problems
from mcp_protogen.cli.destination import Destination
from mcp_protogen.cli.options import Output, SchemaFolder
from mcp_protogen.instep.update.pages import UpdateFormat

if TYPE_CHECKING:
    from mcp_protogen.instep.update.candidates import Wanted
    from mcp_protogen.instep.update.updating import UpdateOptions


def update(
    revision: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="REVISION",
            help="Revisions to look at; all that are pinned or published if left out.",
        ),
    ] = None,
    extension: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Extension to look at, in its own repository, in place of revisions.",
            autocompletion=completion.one_extension,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="URL|CLONE|FOLDER",
            help="Place of published schemas, as schema/<revision>/schema.json below it; the"
            " repository of the pins if left out.",
        ),
    ] = None,
    ref: Annotated[
        str | None,
        typer.Option(
            metavar="REF",
            help="Branch, tag or commit of a clone or repository; HEAD if left out.",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="REVISION", help="Do not look at this one, such as draft."),
    ] = None,
    accept: Annotated[
        str | None,
        typer.Option(
            metavar="SHA",
            help="Pin the file whose sha256 is SHA or begins with it. Nothing is written without"
            " this option.",
        ),
    ] = None,
    note: Annotated[
        str, typer.Option(metavar="TEXT", help="What the accepted file changed, in a sentence.")
    ] = "",
    package: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="A generated package that may have to change; all below the working directory if"
            " left out.",
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep answers of servers here; ask only for changes."),
    ] = None,
    format: Annotated[UpdateFormat, typer.Option(help="Form of the report.")] = UpdateFormat.TEXT,
    output: Output = None,
    folder: SchemaFolder = None,
) -> None:
    """See whether published schemas have moved, and move a pin with --accept.

    The exit code is 1 if something has moved, and 0 if nothing has or the pin is moved now.
    """
    from mcp_protogen.instep.update.updating import UpdateOptions

    _finish(
        UpdateOptions(
            wanted=_wanted(revision, extension, ignore),
            source=source,
            ref=ref,
            accept=accept,
            note=note,
            packages=tuple(package or ()),
            cache=cache,
            folder=folder,
        ),
        format,
        output,
    )


def _wanted(
    revisions: list[str] | None, extension: str | None, ignored: list[str] | None
) -> "Wanted":
    from mcp_protogen.instep.update.candidates import Wanted
    from mcp_protogen.pipeline.inputs.pins import EXTENSION

    if extension is None:
        return Wanted(tuple(revisions or ()), tuple(ignored or ()))
    if revisions or ignored:
        message = "--extension is looked at by itself, without revisions and --ignore"
        raise ProblemError(Problem("conflicting-options", message))
    return Wanted((extension,), kind=EXTENSION)


def _finish(options: "UpdateOptions", form: UpdateFormat, output: Path | None) -> None:
    from mcp_protogen.instep.update.pages import render as render_outcome
    from mcp_protogen.instep.update.updating import update as look

    try:
        _refuse_conflicts(options)
        outcome = look(options)
        if form is not UpdateFormat.JSON and form is not UpdateFormat.GITHUB:
            show_problems(outcome.notices)
        place = Destination(form, output)
        place.deliver(render_outcome(form, outcome, colour=place.coloured))
    except ProblemError as error:
        _stop(error, form)
    raise SystemExit(1 if outcome.news and outcome.accepted is None else 0)


def _stop(error: ProblemError, form: UpdateFormat) -> NoReturn:
    if form is not UpdateFormat.JSON:
        fail(error, "update", form)
    # JSON has a document of its own, with and without news.
    from mcp_protogen.instep.update.pages.as_json import render_failure

    say(render_failure(error.problems))
    raise SystemExit(2)


def _refuse_conflicts(options: "UpdateOptions") -> None:
    wanted = options.wanted
    both = sorted({*wanted.revisions} & {*wanted.ignored})
    if both:
        message = f"{both[0]} is both named and ignored"
        raise ProblemError(Problem("conflicting-options", message))
    if options.note and options.accept is None:
        hint = "the note is kept with the pin that --accept moves"
        message = "--note needs --accept"
        raise ProblemError(Problem("conflicting-options", message, hint=hint))
