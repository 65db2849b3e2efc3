"""`mcp-gen gateway`: many servers behind one endpoint, for clients of all revisions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.base.option_constraints import conflict
from mcp_protogen.cli.destination import Destination
from mcp_protogen.cli.http_side import HttpSideOptions
from mcp_protogen.cli.option_groups import with_groups
from mcp_protogen.cli.options import LogFormat, LogThreshold
from mcp_protogen.cli.outcome import show
from mcp_protogen.pipeline.reports.view import FindingsPage, View

if TYPE_CHECKING:
    from mcp_protogen.servers.gateway.settings import GatewaySettings


@with_groups
def gateway(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A host's mcp.json, or a TOML file.")
    ],
    *,
    clients: HttpSideOptions,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan, without connecting to a server.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Connect to all servers, and show what clients of each revision would lose.",
        ),
    ] = False,
    format: Annotated[
        LogFormat, typer.Option(help="With --dry-run or --check: format of the page.")
    ] = LogFormat.TEXT,
    watch: Annotated[
        bool, typer.Option("--watch", help="Read FILE again when it changes; SIGHUP does so, too.")
    ] = False,
    telemetry: Annotated[
        bool, typer.Option("--telemetry", help="Record spans and durations with OpenTelemetry.")
    ] = False,
    log_level: Annotated[
        LogThreshold, typer.Option(help="Least severe entries.")
    ] = LogThreshold.WARNING,
    log_format: Annotated[LogFormat, typer.Option(help="Format of the log.")] = LogFormat.TEXT,
) -> None:
    """Serve the tools, prompts and resources of many servers at one endpoint.

    The servers may be of any revision and transport, and so may the clients. Without --http, the
    gateway is a stdio server for the configuration of a host, and ends with its client. Standard
    output carries only the protocol; the log goes to standard error. With --check, exit code 1
    means that a server failed.

    A changed FILE is applied without ending sessions, on SIGHUP or with --watch.
    """
    from mcp_protogen.servers.bridge.logs import begin_log
    from mcp_protogen.servers.gateway.config import read_settings
    from mcp_protogen.servers.gateway.endpoint import run_gateway
    from mcp_protogen.servers.gateway.reload import GatewayFile

    side = clients.side()
    if dry_run or check:
        if dry_run and check:
            raise conflict("--dry-run and --check exclude each other")
        if watch:
            raise conflict("--watch is for a gateway that serves, not for --dry-run or --check")
        place = Destination(format)
        show(lambda view: _page(read_settings(file, side), check, view), "gateway", place)
    if format is not LogFormat.TEXT:
        raise conflict("--format needs --dry-run or --check; the log has --log-format")
    source = GatewayFile(file, side, telemetry)
    begin_log(log_level.value, log_format.value, source.hide)
    run_gateway(source, side, watch)


def _page(settings: "GatewaySettings", check: bool, view: View) -> FindingsPage:
    from mcp_protogen.servers.gateway.check import check_page
    from mcp_protogen.servers.gateway.plan import plan_page

    return (check_page if check else plan_page)(settings, view)
