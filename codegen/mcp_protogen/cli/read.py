"""`mcp-gen read`: read a resource of a server."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.cli import server_completion
from mcp_protogen.cli.console import say, say_bytes
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
    from mcp_protogen.calling.connections import JSON
    from mcp_protogen.connecting.server_target import ServerTarget


def read(
    target: ServerName,
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
    """Read a resource of a server.

    Text goes to stdout, as do other bytes if that is no terminal; --save keeps them as files.
    """
    from mcp_protogen.calling.templates import expanded
    from mcp_protogen.cli.terminal import Terminal, converse

    server = ServerOptions(
        config=config, headers=header, auth=auth, env=env, cwd=cwd, inherit=inherit
    ).target(target)
    screen = Terminal("read")
    questions = screen.questions(pairs("--answer", answer, "="))
    address = expanded(uri, arguments or ())

    async def show(target: "ServerTarget") -> int:
        from mcp_protogen.calling.connections import connected
        from mcp_protogen.calling.listing import document
        from mcp_protogen.calling.remembered import remember

        abilities = questions.abilities()
        async with connected(
            target.opener(), abilities, revision=revision, timeout=timeout
        ) as client:
            result = (await client.read_resource(address)).to_wire()
        remember(target, {})
        say(document(result)) if json else _show(result, save)
        return 0

    converse(server, screen, show)


def _show(result: "JSON", folder: Path | None) -> None:
    from mcp_protogen.calling.results import Saver, resource_bytes, resource_text

    saver = Saver(folder, "resource")
    for one in result.get("contents", ()):
        content = resource_bytes(one)
        if folder is None and content is not None and not sys.stdout.isatty():
            say_bytes(content)
        elif isinstance(text := one.get("text"), str):
            say(text if text.endswith("\n") else f"{text}\n")
        else:
            say(f"{resource_text(one, saver)}\n")
