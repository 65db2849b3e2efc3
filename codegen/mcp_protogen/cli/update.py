"""`mcp-gen update`: check whether the specification has changed, and update a pin."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.base.option_constraints import OptionConstraint, refuse_conflicts
from mcp_protogen.cli import completion
from mcp_protogen.cli.destination import Destination
from mcp_protogen.cli.options import Output, SchemaFolder
from mcp_protogen.cli.outcome import show
from mcp_protogen.instep.update.pages import UpdateFormat
from mcp_protogen.pipeline.reports.view import FindingsPage, View

if TYPE_CHECKING:
    from mcp_protogen.instep.update.candidates import RevisionFilter


def update(
    revision: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="REVISION",
            help="Revisions to check; default: all pinned or published ones.",
        ),
    ] = None,
    extension: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Extension to check, in its own repository, in place of revisions.",
            autocompletion=completion.single_extension,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="URL|CLONE|FOLDER",
            help="Place with published schemas in schema/<revision>/schema.json; default: the"
            " repository of the pins.",
        ),
    ] = None,
    ref: Annotated[
        str | None,
        typer.Option(
            metavar="REF", help="Branch, tag or commit of a clone or repository; default: HEAD."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="REVISION", help="Skip this revision, such as draft."),
    ] = None,
    accept: Annotated[
        str | None,
        typer.Option(
            metavar="SHA",
            help="Pin the file whose sha256 is SHA or begins with it. Without this option, nothing"
            " is written.",
        ),
    ] = None,
    note: Annotated[
        str, typer.Option(metavar="TEXT", help="A sentence about the changes of the accepted file.")
    ] = "",
    package: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="A generated package that may need an update; default: all below the working"
            " directory.",
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Cache answers of servers here; ask only for changes."),
    ] = None,
    format: Annotated[UpdateFormat, typer.Option(help="Format of the report.")] = UpdateFormat.TEXT,
    output: Output = None,
    folder: SchemaFolder = None,
) -> None:
    """Check whether published schemas have changed, and update pins.

    The exit code is 1 if one has changed, and 0 if none has or the pin was updated.
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
        refuse_conflicts({name: value for name, value in flags.items() if value}, _CONSTRAINTS)
        return update_page(options, view)

    show(page, "update", Destination(format, output), failed=render_failure)


_ALONE = "an extension is checked alone"
_CONSTRAINTS = (
    OptionConstraint("--extension", excludes=("REVISION",), why=_ALONE),
    OptionConstraint("--extension", excludes=("--ignore",), why=_ALONE),
    OptionConstraint("--note", ("--accept",), hint="the note is stored with the accepted pin"),
)


def _select_schemas(
    revisions: list[str] | None, extension: str | None, ignored: list[str] | None
) -> "RevisionFilter":
    from mcp_protogen.instep.update.candidates import RevisionFilter
    from mcp_protogen.pipeline.inputs.pins import EXTENSION

    if extension is None:
        return RevisionFilter(tuple(revisions or ()), tuple(ignored or ()))
    return RevisionFilter((extension,), kind=EXTENSION)
