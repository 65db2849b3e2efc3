"""`mcp-gen list`: show what a server offers."""

from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.calling.kinds import Kind
from mcp_protogen.cli.console import say
from mcp_protogen.cli.server_options import (
    AUTO,
    AsJson,
    Auth,
    ConfigFile,
    Headers,
    Inherit,
    RevisionName,
    ServerName,
    ServerOptions,
    Timeout,
    Variables,
    WorkingFolder,
)

if TYPE_CHECKING:
    from mcp_protogen.connecting.server_target import ServerTarget


def list_server(
    target: ServerName,
    kind: Annotated[
        Kind | None, typer.Argument(metavar="KIND", help="Only tools, prompts, … of it.")
    ] = None,
    revision: RevisionName = None,
    config: ConfigFile = None,
    header: Headers = None,
    auth: Auth = AUTO,
    env: Variables = None,
    cwd: WorkingFolder = None,
    inherit: Inherit = False,
    timeout: Timeout = 30.0,
    json: AsJson = False,
) -> None:
    """List the tools, prompts, resources and templates of a server.

    KIND is tools, prompts, resources or templates; all of them without it.
    """
    from mcp_protogen.cli.terminal import Terminal, converse, page_width

    server = ServerOptions(
        config=config, headers=header, auth=auth, env=env, cwd=cwd, inherit=inherit
    ).target(target)
    kinds = [kind] if kind else list(Kind)

    async def show(target: "ServerTarget") -> int:
        from mcp_protogen.calling.connections import Abilities, connected
        from mcp_protogen.calling.listing import document, listing
        from mcp_protogen.calling.remembered import remember

        opener = target.opener()
        async with connected(opener, Abilities(), revision=revision, timeout=timeout) as client:
            found = await listing(client, kinds)
        remember(target, found.lists)
        say(document(found.as_json()) if json else found.page(page_width()))
        return 0

    converse(server, Terminal("list"), show)
