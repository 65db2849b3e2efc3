"""`mcp-gen new`: start a project that can be run, tested and shipped."""

from pathlib import Path
from typing import Annotated

import typer

from mcp_protogen.cli import completion
from mcp_protogen.cli.console import asker
from mcp_protogen.cli.options import NoCache, ReportFormat
from mcp_protogen.cli.outcome import finish
from mcp_protogen.pipeline.config import Format
from mcp_protogen.scaffold.choices import ProjectEngine, ProjectKind, ProjectTransport


def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the project; - becomes _ in Python.")
    ],
    kind: Annotated[
        ProjectKind | None, typer.Option(help="Kind of project.", show_default="server")
    ] = None,
    revision: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REVISION",
            help="Revision that it speaks; its code uses the first one. Repeat it, or separate"
            " names by commas; or all.",
            show_default="the most common ones",
            autocompletion=completion.revision,
        ),
    ] = None,
    transport: Annotated[
        ProjectTransport | None,
        typer.Option(help="How the project and its peers are connected.", show_default="stdio"),
    ] = None,
    shared: Annotated[
        ProjectEngine | None,
        typer.Option(
            help="Engine for the shared state of several workers of a server over HTTP.",
            show_default="none",
        ),
    ] = None,
    extension: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Extension of its package, such as tasks, or all. Repeat it for others.",
            show_default="none",
            autocompletion=completion.extension,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the project.", show_default="NAME")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing; take the defaults.")
    ] = False,
    no_cache: NoCache = False,
    format: ReportFormat = Format.TEXT,
) -> None:
    """Start a project: a server, a client, or a gateway.

    On a terminal, it asks for options that are missing; elsewhere it takes the defaults. It writes
    only into a folder that is new or empty.
    """
    from mcp_protogen.scaffold.start import NewOptions, start

    revisions = tuple(revision) if revision else None
    options = NewOptions(
        name, kind, transport, revisions, shared, tuple(extension or ()), out, cached=not no_cache
    )
    finish(lambda: start(options, None if yes else asker()), "new", format, doing="generating")
