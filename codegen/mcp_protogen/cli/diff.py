"""`mcp-gen diff`: compare two revisions, and say to whom each difference matters."""

from typing import Annotated

import typer

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.cli import completion
from mcp_protogen.cli.destination import Destination
from mcp_protogen.cli.option_groups import with_groups
from mcp_protogen.cli.options import FailOn, FindingChoice, Output
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
            help="What to compare it with, if that is not --server.",
            autocompletion=completion.side,
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            metavar="TARGET",
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
            show_default="exit with 0 whatever has changed",
        ),
    ] = None,
    choice: FindingChoice,
    as_published: Annotated[
        bool, typer.Option("--as-published", help="Compare the types without our patches.")
    ] = False,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="CLONE|FOLDER|URL",
            help="The specification's repository, where earlier publications are.",
        ),
    ] = None,
    format: Annotated[PageFormat, typer.Option(help="Form of the report.")] = PageFormat.TEXT,
    output: Output = None,
) -> None:
    """Compare two revisions, or two contracts of a server.

    What is compared of revisions are methods, required capabilities, types, members and headers. Or
    compare what a server offers with the lock of a typed client, or two such locks: which changes
    break callers, and which ones models and hosts have to know of. In a CI, add --fail-on: without
    it, the exit code is 0 whatever has changed.

    An extension is compared with another version of it (NAME=FILE), or with what a revision has in
    its place. A file does not say which method needs which capability, and the like. These facts
    come from the other side, or from the pinned revision if the file is one; REVISION=FILE names
    another.
    """
    hint = "mcp-gen diff A B, or mcp-gen diff LOCK --server TARGET"
    if (after is None) == (server is None):
        message = "a comparison has two sides"
        raise ProblemError(Problem("wrong-usage", message, hint=hint))
    if server is None and known != ServerOptions():
        raise ProblemError(Problem("conflicting-options", "options for a server need --server"))
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

        other = known.target(server) if server else after or ""
        return contract_page(ContractRequest(before, other, timeout, least), findings, view)

    show(work, "diff", place)
