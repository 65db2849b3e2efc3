"""`mcp-gen explain`: explain a code that a command has printed."""

from typing import Annotated

import typer

from mcp_protogen.cli.console import say


def explain(
    code: Annotated[
        str | None,
        typer.Argument(metavar="CODE", help="A code that a command has printed; default: all."),
    ] = None,
) -> None:
    """Explain the code of a problem, a change or a finding: its meaning, effect and remedy."""
    from mcp_protogen.cli.explanations import explanation, overview

    say(f"{overview() if code is None else explanation(code)}\n")
