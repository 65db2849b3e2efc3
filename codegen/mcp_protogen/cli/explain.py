"""`mcp-gen explain`: what a code means that a command has printed."""

from typing import Annotated

import typer

from mcp_protogen.cli.console import say


def explain(
    code: Annotated[
        str | None,
        typer.Argument(metavar="CODE", help="A code that a command has printed; all if left out."),
    ] = None,
) -> None:
    """Explain the code of a problem, a change or a finding.

    The text says what it means, why it matters and what to do.
    """
    from mcp_protogen.cli.explanations import explanation, overview

    say(f"{overview() if code is None else explanation(code)}\n")
