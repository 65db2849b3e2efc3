"""`mcp-gen inspect`: connect to a server as several clients would, and report violations."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.cli import completion
from mcp_protogen.cli.destination import Destination
from mcp_protogen.cli.option_groups import with_groups
from mcp_protogen.cli.options import FindingChoice, FindingsFormat, Output
from mcp_protogen.cli.outcome import show
from mcp_protogen.cli.server_options import Auth, ServerName, ServerOptions, Timeout
from mcp_protogen.pipeline.reports.pages import PageFormat
from mcp_protogen.pipeline.reports.view import FindingsPage, View


@dataclass(frozen=True, slots=True, kw_only=True)
class _ServerOptions(ServerOptions):
    """The options for a server; without authorization by default."""

    auth: Auth = "none"


@with_groups
def inspect_server(
    server_name: ServerName,
    *,
    server: _ServerOptions,
    call: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOOL[=JSON]",
            help="Call this tool, with these arguments; repeat it for others. Without it and"
            " --call-read-only, no tool is called.",
        ),
    ] = None,
    call_read_only: Annotated[
        bool,
        typer.Option(
            "--call-read-only",
            help="Call tools that are marked as read-only and need no arguments.",
        ),
    ] = False,
    revision: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REVISION",
            help="Try this revision only; repeat it for others.",
            autocompletion=completion.revision,
        ),
    ] = None,
    timeout: Timeout = 15.0,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Record all messages in this file; inspect can read it in place of SERVER.",
        ),
    ] = None,
    choice: FindingChoice,
    format: FindingsFormat = PageFormat.TEXT,
    output: Output = None,
) -> None:
    """Inspect a server: its features, and its violations of the protocol.

    Each revision is tried over each transport. No tool is called unless an option asks for it. Exit
    code 1 means findings; with --baseline, new findings.
    """
    from mcp_protogen.servers.inspect.conversation import InspectOptions
    from mcp_protogen.servers.inspect.inspection_page import InspectRequest, inspection_page

    findings = choice.options("finding")

    def work(view: View) -> FindingsPage:
        options = InspectOptions(timeout=timeout, calls=_calls(call or ()), reading=call_read_only)
        request = InspectRequest(
            server.named_server(server_name), tuple(revision or ()), options, record
        )
        return inspection_page(request, findings, view)

    show(work, "inspect", Destination(format, output), doing="inspecting")


def _calls(texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return tools with arguments; raise `ProblemError` (`wrong-usage`) for invalid ones."""
    calls: dict[str, dict[str, Any]] = {}
    for call in texts:
        name, _, text = call.partition("=")
        try:
            arguments = json.loads(text or "{}")
        except ValueError:
            arguments = None
        if not isinstance(arguments, dict):
            message = f"the arguments of {name} must be a JSON object"
            hint = f'write --call \'{name}={{"name": "value"}}\''
            raise ProblemError(Problem("wrong-usage", message, hint=hint))
        calls[name] = arguments
    return calls
