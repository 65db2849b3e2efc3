"""`mcp-gen bridge`: connect clients and a server across transports and revisions."""

from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.cli import completion
from mcp_protogen.cli.option_groups import with_groups
from mcp_protogen.cli.server_options import A_SERVER, ServerOptions

if TYPE_CHECKING:
    from mcp_protogen.servers.bridge.process import HttpSide
    from mcp_protogen.servers.bridge.recorder import RecordOptions
    from mcp_protogen.servers.connect.named_server import NamedServer

_MIB = 1024 * 1024


class BridgeLogLevel(StrEnum):
    """The lowest level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """The format of the log."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeHttpOptions:
    """The options for clients over HTTP."""

    http: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Serve clients over Streamable HTTP; without it, one client over stdio.",
        ),
    ] = None
    path: Annotated[
        str, typer.Option(metavar="PATH", help="With --http: path of the endpoint.")
    ] = "/mcp"
    sse: Annotated[
        bool, typer.Option("--sse", help="With --http: serve clients of HTTP+SSE, too.")
    ] = False
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="With --http: a host name of this server; repeat it."),
    ] = None
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="With --http: an allowed origin of web pages."),
    ] = None
    max_sessions: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="With --http: most sessions at a time."),
    ] = 100
    session_lifetime: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=1, help="With --http: time after which an unused session ends."
        ),
    ] = 1800.0

    def side(self) -> "HttpSide | None":
        """Return the HTTP side, or None without --http; raise `ProblemError`."""
        from mcp_protogen.servers.bridge.process import HttpSide, address

        if self.http is None:
            _require_default(self, "http")
            return None
        return HttpSide(
            address=address(self.http),
            path=self.path,
            allowed_hosts=tuple(self.allow_host or ()),
            allowed_origins=tuple(self.allow_origin or ()),
            sse=self.sse,
            max_sessions=self.max_sessions,
            session_lifetime=self.session_lifetime,
        )


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
            _require_default(self, "record")
            return None
        redact = tuple(self.redact or ())
        return RecordOptions(file=self.record, limit=self.record_limit * _MIB, redact=redact)


def _require_default(options: BridgeHttpOptions | RecordingOptions, needed: str) -> None:
    """Raise `ProblemError` for an option that has no effect without another one."""
    for field in fields(options):
        # Without values, a list is empty or None, depending on the version of Typer.
        if getattr(options, field.name) not in (field.default, []):
            raise _wrong(f"--{field.name.replace('_', '-')} needs --{needed}")


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
    clients: BridgeHttpOptions,
    recording: RecordingOptions,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Longest time for an answer.")
    ] = 600.0,
    replay: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Play back the server of a recording, in place of --to."),
    ] = None,
    log_level: Annotated[
        BridgeLogLevel, typer.Option(help="Least severe entries.")
    ] = BridgeLogLevel.WARNING,
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
        raise _wrong("bridge needs either --to or --replay")
    if to is not None:
        return options.named_server(to)
    if options != ServerOptions():
        raise _wrong("--replay takes no options for a server")
    return None


def _wrong(message: str) -> ProblemError:
    return ProblemError(Problem("conflicting-options", message))
