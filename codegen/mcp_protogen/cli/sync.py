"""`mcp-gen sync`: bring the generated package of a project up to date."""

from pathlib import Path
from typing import Annotated

import typer

from mcp_protogen.cli.options import Force, NoCache, Quiet
from mcp_protogen.cli.outcome import attempt, finish
from mcp_protogen.cli.setting_options import with_settings
from mcp_protogen.pipeline.reports.report import RunReport
from mcp_protogen.pipeline.settings import Settings, load_settings


@with_settings("templates", "format")
def sync(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="A project, or the generated package in it.", show_default=False
        ),
    ] = Path("."),
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; say whether anything would change.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The generated package, in place of the configured one."),
    ] = None,
    flags: Settings,
    force: Force = False,
    no_cache: NoCache = False,
    quiet: Quiet = False,
) -> None:
    """Bring the generated package of a project up to date.

    This mcp-gen generates it anew, with its settings and its lock. The package is the one in
    [tool.mcp-gen] of pyproject.toml, or the only one below the folder. Revisions that are not
    listed there are removed. Your own files stay, and edited files are not overwritten.
    """
    from mcp_protogen.pipeline.sync import check as look
    from mcp_protogen.pipeline.sync import locate
    from mcp_protogen.pipeline.sync import sync as bring_in_step

    package = out or attempt(lambda: locate(folder), "sync", flags.format)
    flags = flags._replace(out=out)
    start = (folder if out else package).resolve()
    format = flags.format or attempt(lambda: load_settings(start, only=("format",)), "sync").format

    def work() -> RunReport:
        if check:
            return look(package, flags, folder)
        return bring_in_step(package, flags, folder, force=force, cached=not no_cache)

    finish(work, "sync", format, place=str(package), quiet=quiet, doing="generating")
