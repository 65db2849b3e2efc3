"""`mcp-gen templates`: list and export the templates that users can replace."""

from pathlib import Path
from typing import Annotated

import typer

from mcp_protogen.cli import completion
from mcp_protogen.cli.options import ReportFormat
from mcp_protogen.cli.outcome import finish
from mcp_protogen.cli.usage import CliCommand, CliGroup
from mcp_protogen.pipeline.config import Format

templates_app = typer.Typer(cls=CliGroup, rich_markup_mode=None)


@templates_app.callback(invoke_without_command=True)
def templates(context: typer.Context, format: ReportFormat = Format.TEXT) -> None:
    """List or export the templates that can be replaced."""
    if context.invoked_subcommand is None:
        from mcp_protogen.pipeline.templates import catalogue

        finish(catalogue, "templates", format)


@templates_app.command(cls=CliCommand)
def export(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the copies.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Template to export; default: all.",
            autocompletion=completion.template,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite templates that were edited by hand.")
    ] = False,
    format: ReportFormat = Format.TEXT,
) -> None:
    """Write built-in templates into a folder to edit.

    Pass the folder to --templates. Keep only the templates that you edit: for all others, mcp-gen
    uses its own. If one cannot be written, none is.
    """
    from mcp_protogen.pipeline.templates import export as write

    finish(lambda: write(names or (), out, force=force), "templates export", format)
