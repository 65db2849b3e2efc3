"""`mcp-gen gateway`: many servers behind one endpoint, for clients of all revisions."""

from collections.abc import Sequence
from functools import partial
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
    from mcp_protogen.servers.gateway.settings.settings import GatewaySettings


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
    lock: Annotated[
        bool,
        typer.Option(
            "--lock", help="Connect to all servers, and show what differs from the gateway's lock."
        ),
    ] = False,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SERVER",
            help="With --lock: accept the items of this server, or of all servers with all;"
            " repeatable.",
            show_default="no server",
        ),
    ] = None,
    format: Annotated[
        LogFormat, typer.Option(help="With --dry-run, --check or --lock: format of the page.")
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
    means that a server failed; with --lock, also that items differ from those accepted.

    A changed FILE is applied without ending sessions, on SIGHUP or with --watch.
    """
    from mcp_protogen.servers.bridge.logs import begin_log
    from mcp_protogen.servers.gateway.config import read_settings
    from mcp_protogen.servers.gateway.endpoint import run_gateway
    from mcp_protogen.servers.gateway.reload import GatewayFile

    side = clients.side()
    if dry_run + check + lock > 1:
        raise conflict("--dry-run, --check and --lock exclude each other")
    if accept and not lock:
        raise conflict("--accept needs --lock")
    if dry_run or check or lock:
        if watch:
            raise conflict("--watch is for a gateway that serves")
        page = _plan if dry_run else _check if check else partial(_lock, accept or ())
        show(lambda view: page(read_settings(file, side), view), "gateway", Destination(format))
    if format is not LogFormat.TEXT:
        raise conflict("--format needs --dry-run, --check or --lock; the log has --log-format")
    source = GatewayFile(file, side, telemetry)
    begin_log(log_level.value, log_format.value, source.hide)
    run_gateway(source, side, watch)


def _plan(settings: "GatewaySettings", view: View) -> FindingsPage:
    from mcp_protogen.servers.gateway.pages.plan import plan_page

    return plan_page(settings, view)


def _check(settings: "GatewaySettings", view: View) -> FindingsPage:
    from mcp_protogen.servers.gateway.pages.check import check_page

    return check_page(settings, view)


def _lock(accept: Sequence[str], settings: "GatewaySettings", view: View) -> FindingsPage:
    from mcp_protogen.servers.gateway.pages.lock_page import lock_page

    return lock_page(settings, accept, view)
