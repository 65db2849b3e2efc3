"""`mcp-gen sync`: bring the generated package of a project in step with the installed mcp-gen."""

from pathlib import Path
from typing import Annotated

import typer

from mcp_protogen.base.problems import ProblemError
from mcp_protogen.cli.console import emit, progress
from mcp_protogen.cli.options import Force, FormatOption, NoCache, Quiet, Templates
from mcp_protogen.pipeline.config import Format, Settings, load_settings
from mcp_protogen.pipeline.reports.report import failure


def sync(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="A project, or the generated package in it.", show_default=False
        ),
    ] = Path("."),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; say whether anything would change.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The generated package, in place of the one that is set."),
    ] = None,
    templates: Templates = None,
    format: FormatOption = None,
    force: Force = False,
    no_cache: NoCache = False,
    quiet: Quiet = False,
) -> None:
    """Generate a project's package anew with this mcp-gen, as its settings and lock say.

    The package is the one that [tool.mcp-gen] of pyproject.toml names, or the only one below the
    folder. Revisions that are not listed there are removed. Your own files in it stay; generated
    files that you edited are not overwritten.
    """
    from mcp_protogen.pipeline.sync import check as look
    from mcp_protogen.pipeline.sync import locate
    from mcp_protogen.pipeline.sync import sync as bring_in_step

    place, form = "", format
    try:
        package = out or locate(folder)
        flags = Settings(templates=templates, format=format, out=out)
        form = (
            format or load_settings((folder if out else package).resolve(), only=("format",)).format
        )
        place = str(package)
        with progress("sync", shown=not quiet):
            report = (
                look(package, flags, folder)
                if check
                else bring_in_step(package, flags, folder, force=force, cached=not no_cache)
            )
    except ProblemError as error:
        report = failure("sync", error.problems, place)
    emit(report, form or Format.TEXT, quiet=quiet)
    raise SystemExit(report.status.exit_code)
