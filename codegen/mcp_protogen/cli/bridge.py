"""`mcp-gen bridge`: connect clients and a server across transports and revisions."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.base.option_constraints import conflict
from mcp_protogen.cli import completion
from mcp_protogen.cli.http_side import HttpSideOptions, require_default
from mcp_protogen.cli.option_groups import with_groups
from mcp_protogen.cli.options import LogFormat, LogThreshold
from mcp_protogen.cli.server_options import A_SERVER, ServerOptions

if TYPE_CHECKING:
    from mcp_protogen.servers.bridge.recorder import RecordOptions
    from mcp_protogen.servers.connect.named_server import NamedServer

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingOptions:
    """The options for a recording."""

    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append all messages to a file.")
    ] = None
    record_limit: Annotated[
        int, typer.Option(metavar="MIB", min=1, help="Largest size of that file.")
    ] = 100
    redact: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|POINTER", help="Replace these members in the recording; repeat it."
        ),
    ] = None

    def options(self) -> "RecordOptions | None":
        """Return the options of the recording, or None; raise `ProblemError`."""
        from mcp_protogen.servers.bridge.recorder import RecordOptions

        if self.record is None:
            require_default(self, "record")
            return None
        redact = tuple(self.redact or ())
        return RecordOptions(file=self.record, limit=self.record_limit * _MIB, redact=redact)


@with_groups
def bridge(
    to: Annotated[
        str | None, typer.Option(metavar="SERVER", help=f"The server: {A_SERVER}.")
    ] = None,
    revision: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REVISION",
            help="Speak only this revision with clients; repeat it.",
            autocompletion=completion.revision,
        ),
    ] = None,
    server_revision: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REVISION",
            help="Speak only this revision with the server; repeat it.",
            autocompletion=completion.revision,
        ),
    ] = None,
    *,
    server: ServerOptions,
    clients: HttpSideOptions,
    recording: RecordingOptions,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Longest time for an answer.")
    ] = 600.0,
    replay: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Play back the server of a recording, in place of --to."),
    ] = None,
    log_level: Annotated[
        LogThreshold, typer.Option(help="Least severe entries.")
    ] = LogThreshold.WARNING,
    log_format: Annotated[LogFormat, typer.Option(help="Format of the log.")] = LogFormat.TEXT,
) -> None:
    """Pass on messages between clients and a server.

    The two may use different transports and revisions. Without --http, the bridge is a stdio server
    for the configuration of a host, and ends with its client. Standard output carries only the
    protocol; the log, with losses in translation, goes to standard error.
    """
    from mcp_protogen.servers.bridge.logs import begin_log
    from mcp_protogen.servers.bridge.process import BridgeOptions, run_bridge

    begin_log(log_level.value, log_format.value)
    options = BridgeOptions(
        server=_server(to, replay, server),
        replay=replay,
        http=clients.side(),
        revisions=tuple(revision or ()),
        server_revisions=tuple(server_revision or ()),
        timeout=timeout,
        record=recording.options(),
    )
    run_bridge(options)


def _server(to: str | None, replay: Path | None, options: ServerOptions) -> "NamedServer | None":
    """Return the server, or None with --replay; raise `ProblemError`."""
    if (to is None) == (replay is None):
        raise conflict("bridge needs either --to or --replay")
    if to is not None:
        return options.named_server(to)
    if options != ServerOptions():
        raise conflict("--replay takes no options for a server")
    return None
