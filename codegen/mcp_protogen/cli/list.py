"""`mcp-gen list`: list the tools, prompts and resources of a server."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.cli.console import say, tell
from mcp_protogen.cli.conversation import AskingOptions, ServerAnswer
from mcp_protogen.cli.option_groups import with_groups
from mcp_protogen.cli.server_options import ServerName
from mcp_protogen.servers.call.kinds import Kind

if TYPE_CHECKING:
    from mcp_protogen.servers.call.connections import Client


@with_groups
def list_server(
    server_name: ServerName,
    kind: Annotated[
        Kind | None,
        typer.Argument(
            metavar="KIND", help="tools, prompts, resources or templates; default: all."
        ),
    ] = None,
    *,
    options: AskingOptions,
) -> None:
    """List the tools, prompts and resources of a server.

    Servers may offer some of them only to clients that declare --elicitation, --sampling or
    --roots.
    """
    from mcp_protogen.cli.terminal import Terminal, page_width

    async def work(client: "Client") -> ServerAnswer:
        from mcp_protogen.runtime.features.server_card.card import CardError
        from mcp_protogen.servers.call.listing import listing
        from mcp_protogen.servers.connect.server_cards import card_of

        items = await listing(client, [kind] if kind else list(Kind))
        if server.is_url:
            try:
                items = replace(items, card=await card_of(server.name, options.timeout))
            except CardError as error:
                tell(f"its server card is not shown: {error}")
        return ServerAnswer(items.as_json(), lambda: say(items.page(page_width())), items.lists)

    server = options.named_server(server_name)
    terminal = Terminal("list")
    questions = options.questions(terminal)
    abilities = questions.abilities() if options.declares else None
    options.converse(server, terminal, questions.tell_of_unused(work), abilities)
