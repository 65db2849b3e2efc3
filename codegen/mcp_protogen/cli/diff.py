"""`mcp-gen diff`: compare two revisions, with severities for each reader."""

from typing import Annotated

import typer

from mcp_protogen.base.option_constraints import conflict
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.cli import completion
from mcp_protogen.cli.destination import Destination
from mcp_protogen.cli.option_groups import with_groups
from mcp_protogen.cli.options import FailOn, FindingChoice, FindingsFormat, Output
from mcp_protogen.cli.outcome import show
from mcp_protogen.cli.server_options import A_SERVER, ServerOptions, Timeout
from mcp_protogen.pipeline.reports.pages import PageFormat
from mcp_protogen.pipeline.reports.view import FindingsPage, View


@with_groups
def diff(
    before: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A revision or an extension, an earlier publication of it (NAME@DIGEST), a file"
            " or a URL; or the lock of a typed client.",
            autocompletion=completion.side,
        ),
    ],
    after: Annotated[
        str | None,
        typer.Argument(
            metavar="B",
            help="The side to compare with, unless --server is given.",
            autocompletion=completion.side,
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            metavar="SERVER",
            help=f"Compare the lock of a typed client with its server: {A_SERVER}.",
        ),
    ] = None,
    *,
    known: ServerOptions,
    timeout: Timeout = 30.0,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            help="Exit with 1 if a change is at least this severe.",
            show_default="always exit with 0",
        ),
    ] = None,
    choice: FindingChoice,
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="Compare the types without our patches."),
    ] = False,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="CLONE|FOLDER|URL",
            help="The specification's repository, where earlier publications are.",
        ),
    ] = None,
    format: FindingsFormat = PageFormat.TEXT,
    output: Output = None,
) -> None:
    """Compare two revisions, or two contracts of a server.

    For revisions, it compares methods, required capabilities, types, members and headers. For the
    lock of a typed client and its server, or for two such locks, it shows the changes that break
    callers, and those that matter to models and hosts. In a CI, add --fail-on: without it, the exit
    code is always 0.

    An extension is compared with another version of it (NAME=FILE), or with the corresponding part
    of a revision. A file lacks facts, such as required capabilities: they come from the other side,
    or from the pinned revision if the file is one; REVISION=FILE names another.
    """
    hint = "mcp-gen diff A B, or mcp-gen diff LOCK --server SERVER"
    if (after is None) == (server is None):
        message = "give either B or --server, not both" if after else "B or --server is missing"
        raise ProblemError(Problem("wrong-usage", message, hint=hint))
    if server is None and known != ServerOptions():
        raise conflict("options for a server need --server")
    from mcp_protogen.servers.clients.lock import is_client_lock

    place, findings = Destination(format, output), choice.options("change")
    least = fail_on.severity if fail_on else None

    def work(view: View) -> FindingsPage:
        if server is None and not is_client_lock(before):
            from mcp_protogen.instep.compare.comparison_page import (
                ComparisonRequest,
                comparison_page,
            )

            request = ComparisonRequest(before, after or "", source, as_published, least)
            return comparison_page(request, findings, view)
        from mcp_protogen.servers.clients.contract_page import ContractRequest, contract_page

        other = known.named_server(server) if server else after or ""
        return contract_page(ContractRequest(before, other, timeout, least), findings, view)

    show(work, "diff", place)
