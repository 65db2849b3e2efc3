"""`mcp-gen gateway`: many servers behind one endpoint, for clients of all revisions."""

from pathlib import Path
from typing import Annotated

import typer

from mcp_protogen.cli.http_side import HttpSideOptions
from mcp_protogen.cli.log_options import LogFormat, LogThreshold
from mcp_protogen.cli.option_groups import with_groups


@with_groups
def gateway(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A host's mcp.json, or a TOML file.")
    ],
    *,
    clients: HttpSideOptions,
    log_level: Annotated[
        LogThreshold, typer.Option(help="Least severe entries.")
    ] = LogThreshold.WARNING,
    log_format: Annotated[LogFormat, typer.Option(help="Format of the log.")] = LogFormat.TEXT,
) -> None:
    """Serve the tools, prompts and resources of many servers at one endpoint.

    The servers may be of any revision and transport, and so may the clients. Without --http, the
    gateway is a stdio server for the configuration of a host, and ends with its client. Standard
    output carries only the protocol; the log goes to standard error.
    """
    from mcp_protogen.servers.bridge.logs import begin_log
    from mcp_protogen.servers.gateway.config import read_settings
    from mcp_protogen.servers.gateway.endpoint import run_gateway

    begin_log(log_level.value, log_format.value)
    run_gateway(read_settings(file), clients.side())
