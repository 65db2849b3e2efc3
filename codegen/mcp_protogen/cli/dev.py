"""`mcp-gen dev`: start a server again after each edit, while its clients stay connected."""

from pathlib import Path
from typing import Annotated

import typer

from mcp_protogen.base.printable import safe_line
from mcp_protogen.cli.console import tell
from mcp_protogen.cli.http_side import HttpSideOptions
from mcp_protogen.cli.option_groups import with_groups
from mcp_protogen.cli.server_options import ServerName, ServerOptions


@with_groups
def dev(
    server_name: ServerName,
    *,
    server: ServerOptions,
    clients: HttpSideOptions,
    watch: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="Watch this file or folder, too, with all its files; repeat it.",
        ),
    ] = None,
    no_inspect: Annotated[
        bool, typer.Option("--no-inspect", help="Do not inspect the server after each edit.")
    ] = False,
) -> None:
    """Serve a program, and start it again after each edit.

    Clients stay connected. A version that cannot be started does not take over: the last one goes
    on serving. Without --http, dev is a stdio server for the configuration of a host, and ends with
    its client. Standard error has that of the server, changes of its items, and what inspect finds.
    """
    from mcp_protogen.servers.bridge.logs import begin_log
    from mcp_protogen.servers.dev.developing import DevOptions, run_dev

    begin_log("warning", "text")
    options = DevOptions(
        server=server.named_server(server_name),
        http=clients.side(),
        watch=tuple(watch or ()),
        inspects=not no_inspect,
    )
    run_dev(options, lambda text: tell(f"dev: {safe_line(text)}"))
