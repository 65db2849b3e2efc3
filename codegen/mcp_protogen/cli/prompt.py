"""`mcp-gen prompt`: fill in a prompt of a server."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.cli import server_completion
from mcp_protogen.cli.console import say
from mcp_protogen.cli.conversation import SavingOptions, ServerAnswer
from mcp_protogen.cli.option_groups import with_groups
from mcp_protogen.cli.server_options import ServerName, pairs
from mcp_protogen.servers.call.kinds import Kind

if TYPE_CHECKING:
    from mcp_protogen.servers.call.connections import JSON, Client


@with_groups
def prompt(
    server_name: ServerName,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The name of a prompt.", autocompletion=server_completion.prompt
        ),
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARGUMENT", help="name=value", autocompletion=server_completion.prompt_argument
        ),
    ] = None,
    *,
    options: SavingOptions,
) -> None:
    """Fill in a prompt of a server, and show its messages."""
    from mcp_protogen.cli.terminal import Terminal

    server = options.named_server(server_name)
    terminal = Terminal(name)
    questions = options.questions(terminal)
    values = dict(pairs("ARGUMENT", arguments, "="))

    async def work(client: "Client") -> ServerAnswer:
        from mcp_protogen.servers.call.listing import check_prompt, listing

        items = await listing(client, [Kind.PROMPTS])
        check_prompt(items.lists[Kind.PROMPTS], name, values)
        result = (await client.get_prompt(name, values or None)).to_wire()
        show = partial(_show, result, name, options.save)
        return ServerAnswer(result, show, items.lists, failed=questions.lacks_answers)

    options.converse(server, terminal, questions.tell_of_unused(work), questions.abilities())


def _show(result: "JSON", name: str, folder: Path | None) -> None:
    from mcp_protogen.servers.call.results import Saver, prompt_page, refuse_broken

    saver = Saver(folder, name)
    page = prompt_page(result, saver)
    refuse_broken(saver.unsaved, name)
    say(page)
