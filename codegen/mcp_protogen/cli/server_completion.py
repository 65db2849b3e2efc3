"""Names of servers, tools and the like, and of their arguments, for the completion of a shell."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mcp_protogen.base.problems import ProblemError
from mcp_protogen.cli.bash_words import replaced_part, whole_word
from mcp_protogen.cli.server_options import AUTO, ServerOptions
from mcp_protogen.servers.call.kinds import Kind, prompt_arguments

if TYPE_CHECKING:
    from mcp_protogen.servers.call.completing import CompletionWord
    from mcp_protogen.servers.connect.named_server import NamedServer

# Completion must not open a browser.
_ALONE = ("bearer", "client-credentials")
_SPACING = ("complete_bash", "complete_zsh")
"""The requests of shells that put a space after the only matching word."""


def tool(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the tools of a server that a word may become."""
    return _names(ctx, Kind.TOOLS, incomplete)


def prompt(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the prompts of a server that a word may become."""
    return _names(ctx, Kind.PROMPTS, incomplete)


def address(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the URIs of a server's resources that a word may become."""
    return _names(ctx, Kind.RESOURCES, incomplete)


def argument(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the arguments of a tool that a word may become."""
    from mcp_protogen.servers.call.completing import tool_arguments

    tool = _find_item(ctx, Kind.TOOLS, ctx.params.get("tool"))
    return [] if tool is None else _pairs(tool_arguments(tool, _argument_words(ctx)), incomplete)


def prompt_argument(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the arguments of a prompt that a word may become, with values from the server."""
    name = ctx.params.get("name")
    prompt = prompt_arguments(_find_item(ctx, Kind.PROMPTS, name) or {})
    arguments = {str(entry.get("name")): str(entry.get("description", "")) for entry in prompt}
    return _arguments(ctx, {"type": "ref/prompt", "name": name}, arguments, incomplete)


def template_argument(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the arguments of a template that a word may become, with values from the server."""
    from mcp_protogen.servers.call.templates import variables

    uri = str(ctx.params.get("uri") or "")
    arguments = dict.fromkeys(variables(uri), "")
    return _arguments(ctx, {"type": "ref/resource", "uri": uri}, arguments, incomplete)


def _arguments(
    ctx: typer.Context, ref: Mapping[str, Any], arguments: Mapping[str, str], incomplete: str
) -> list[tuple[str, str]]:
    from mcp_protogen.servers.call.completing import completed_values, names_left

    server, words = _server(ctx), _argument_words(ctx)
    if server is None or not arguments:
        return []
    values = completed_values(server, ref, whole_word(incomplete), words)
    return _pairs(values or names_left(arguments, words), incomplete)


def _names(ctx: typer.Context, kind: Kind, incomplete: str) -> list[tuple[str, str]]:
    from mcp_protogen.servers.call.completing import names

    return _matching(names(kind, _list_items(ctx, kind)), incomplete)


def _find_item(ctx: typer.Context, kind: Kind, name: object) -> Any:
    return next((item for item in _list_items(ctx, kind) if item.get("name") == name), None)


def _list_items(ctx: typer.Context, kind: Kind) -> Sequence[Mapping[str, Any]]:
    from mcp_protogen.servers.call.completing import fetch_list

    server = _server(ctx)
    return () if server is None else fetch_list(server, kind)


def _server(ctx: typer.Context) -> "NamedServer | None":
    """Return the server on the line so far; None if it has none."""
    params = ctx.params
    if not params.get("server_name"):
        return None
    config, cwd, auth = params.get("config"), params.get("cwd"), str(params.get("auth") or AUTO)
    options = ServerOptions(
        config=Path(config) if config else None,
        headers=params.get("headers"),
        auth=auth if auth.partition(":")[0] in _ALONE else "none",
        env=params.get("env"),
        cwd=Path(cwd) if cwd else None,
        inherit=bool(params.get("inherit")),
    )
    try:
        return options.named_server(str(params["server_name"]))
    except ProblemError:
        return None


def _argument_words(ctx: typer.Context) -> list[str]:
    return [str(word) for word in ctx.params.get("arguments") or ()]


def _pairs(words: Iterable["CompletionWord"], incomplete: str) -> list[tuple[str, str]]:
    """Return the matching `name=value` words, so that no shell puts a space before the value."""
    matches = _matching(words, incomplete)
    if len(matches) == 1 and os.environ.get("_MCP_GEN_COMPLETE") in _SPACING:
        ((text, _),) = matches
        if text == incomplete and text[-1:] in ("", "="):
            return []  # the name is complete, and values are unknown
        if text.endswith("="):
            # With two matches, shells put no space after their common beginning.
            matches.append((f"{text}VALUE", ""))
    return matches


def _matching(words: Iterable["CompletionWord"], incomplete: str) -> list[tuple[str, str]]:
    from mcp_protogen.servers.call.completing import fitting

    return [(replaced_part(text), help) for text, help in fitting([*words], whole_word(incomplete))]
