"""`mcp-gen update`: see whether the specification has moved, and move a pin."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.base.option_rules import OptionRule, refuse_conflicts
from mcp_protogen.cli import completion
from mcp_protogen.cli.destination import Destination
from mcp_protogen.cli.options import Output, SchemaFolder
from mcp_protogen.cli.outcome import show
from mcp_protogen.instep.update.pages import UpdateFormat
from mcp_protogen.pipeline.reports.view import FindingsPage, View

if TYPE_CHECKING:
    from mcp_protogen.instep.update.candidates import Wanted


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
            autocompletion=completion.single_extension,
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
            metavar="REF", help="Branch, tag or commit of a clone or repository; HEAD if left out."
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
    """See whether published schemas have moved, and move pins.

    The exit code is 1 if something has moved, and 0 if nothing has or the pin is moved now.
    """
    from mcp_protogen.instep.update.pages.as_json import render_failure
    from mcp_protogen.instep.update.update_page import update_page
    from mcp_protogen.instep.update.updating import UpdateOptions

    flags = {"REVISION": revision, "--extension": extension, "--ignore": ignore}
    flags |= {"--note": note, "--accept": accept}
    options = UpdateOptions(
        wanted=_select_schemas(revision, extension, ignore),
        source=source,
        ref=ref,
        accept=accept,
        note=note,
        packages=tuple(package or ()),
        cache=cache,
        folder=folder,
    )

    def page(view: View) -> FindingsPage:
        refuse_conflicts({name: value for name, value in flags.items() if value}, _RULES)
        return update_page(options, view)

    show(page, "update", Destination(format, output), failed=render_failure)


_ALONE = "an extension is looked at by itself"
_RULES = (
    OptionRule("--extension", excludes=("REVISION",), why=_ALONE),
    OptionRule("--extension", excludes=("--ignore",), why=_ALONE),
    OptionRule("--note", ("--accept",), hint="the note is kept with the pin that --accept moves"),
)


def _select_schemas(
    revisions: list[str] | None, extension: str | None, ignored: list[str] | None
) -> "Wanted":
    from mcp_protogen.instep.update.candidates import Wanted
    from mcp_protogen.pipeline.inputs.pins import EXTENSION

    if extension is None:
        return Wanted(tuple(revisions or ()), tuple(ignored or ()))
    return Wanted((extension,), kind=EXTENSION)
