"""`mcp-gen read`: read a resource of a server."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.cli import server_completion
from mcp_protogen.cli.console import say, say_bytes
from mcp_protogen.cli.conversation import SavingOptions, ServerAnswer
from mcp_protogen.cli.option_groups import with_groups
from mcp_protogen.cli.server_options import ServerName

if TYPE_CHECKING:
    from mcp_protogen.servers.call.connections import JSON, Client


@with_groups
def read(
    server_name: ServerName,
    uri: Annotated[
        str,
        typer.Argument(
            metavar="URI",
            help="The URI of a resource, or a template of URIs.",
            autocompletion=server_completion.address,
        ),
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARGUMENT",
            help="name=value for each name in a template.",
            autocompletion=server_completion.template_argument,
        ),
    ] = None,
    *,
    options: SavingOptions,
) -> None:
    """Read a resource of a server.

    Text goes to stdout, and so do bytes unless it is a terminal; --save writes them into files.
    """
    from mcp_protogen.cli.terminal import Terminal
    from mcp_protogen.servers.call.templates import expand

    server = options.named_server(server_name)
    terminal = Terminal("read")
    questions = options.questions(terminal)
    address = expand(uri, arguments or ())

    async def work(client: "Client") -> ServerAnswer:
        result = (await client.read_resource(address)).to_wire()
        show = partial(_show, result, address, options.save)
        return ServerAnswer(result, show, failed=questions.lacks_answers)

    options.converse(server, terminal, questions.tell_of_unused(work), questions.abilities())


def _show(result: "JSON", uri: str, folder: Path | None) -> None:
    from mcp_protogen.servers.call.results import (
        Saver,
        refuse_broken,
        resource_bytes,
        resource_text,
    )

    saver = Saver(folder, "resource")
    contents = [(resource, resource_bytes(resource)) for resource in result.get("contents", ())]
    refuse_broken(("its content" for _, content in contents if content is None), uri)
    to_terminal = sys.stdout.isatty()
    for resource, content in contents:
        text = resource.get("text")
        if content is not None and not to_terminal and (folder is None or isinstance(text, str)):
            say_bytes(content)
        elif isinstance(text, str):
            say(text if text.endswith("\n") else f"{text}\n")
        else:
            say(f"{resource_text(resource, saver)}\n")
