"""`mcp-gen list`: list the tools, prompts and resources of a server."""

from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.cli.console import say
from mcp_protogen.cli.conversation import ConversationOptions, ServerAnswer
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
    options: ConversationOptions,
) -> None:
    """List the tools, prompts and resources of a server."""
    from mcp_protogen.cli.terminal import Terminal, page_width

    async def work(client: "Client") -> ServerAnswer:
        from mcp_protogen.servers.call.listing import listing

        items = await listing(client, [kind] if kind else list(Kind))
        return ServerAnswer(items.as_json(), lambda: say(items.page(page_width())), items.lists)

    options.converse(options.named_server(server_name), Terminal("list"), work)
