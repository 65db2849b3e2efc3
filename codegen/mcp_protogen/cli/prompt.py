"""`mcp-gen prompt`: fill in a prompt of a server."""

from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.calling.kinds import Kind
from mcp_protogen.cli import server_completion
from mcp_protogen.cli.console import say
from mcp_protogen.cli.server_options import (
    AUTO,
    Answers,
    AsJson,
    Auth,
    ConfigFile,
    Headers,
    Inherit,
    RevisionName,
    Save,
    ServerName,
    ServerOptions,
    Timeout,
    Variables,
    WorkingFolder,
    pairs,
)

if TYPE_CHECKING:
    from mcp_protogen.connecting.server_target import ServerTarget


def prompt(
    target: ServerName,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The name of a prompt.", autocompletion=server_completion.prompt
        ),
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARGUMENT",
            help="name=value",
            autocompletion=server_completion.prompt_argument,
        ),
    ] = None,
    revision: RevisionName = None,
    config: ConfigFile = None,
    header: Headers = None,
    auth: Auth = AUTO,
    env: Variables = None,
    cwd: WorkingFolder = None,
    inherit: Inherit = False,
    timeout: Timeout = 30.0,
    answer: Answers = None,
    save: Save = None,
    json: AsJson = False,
) -> None:
    """Fill in a prompt of a server, and show its messages."""
    from mcp_protogen.cli.terminal import Terminal, converse

    server = ServerOptions(
        config=config, headers=header, auth=auth, env=env, cwd=cwd, inherit=inherit
    ).target(target)
    screen = Terminal(name)
    questions = screen.questions(pairs("--answer", answer, "="))
    given = dict(pairs("ARGUMENT", arguments, "="))

    async def show(target: "ServerTarget") -> int:
        from mcp_protogen.calling.connections import connected
        from mcp_protogen.calling.listing import checked_prompt, document, listing
        from mcp_protogen.calling.remembered import remember
        from mcp_protogen.calling.results import Saver, prompt_page

        abilities = questions.abilities()
        async with connected(
            target.opener(), abilities, revision=revision, timeout=timeout
        ) as client:
            found = await listing(client, [Kind.PROMPTS])
            checked_prompt(found.lists[Kind.PROMPTS], name, given)
            result = (await client.get_prompt(name, given or None)).to_wire()
        remember(target, found.lists)
        say(document(result) if json else prompt_page(result, Saver(save, name)))
        return 0

    converse(server, screen, show)
