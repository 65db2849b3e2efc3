"""The argument and the options with which commands are told of a server, declared with Typer."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from mcp_protogen.base.problems import Problem, ProblemError

ServerName = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="A server: its URL, its command line as one word, a file of Python, or with --config"
        " its name.",
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="Configuration of a host, such as mcp.json, with TARGET."
    ),
]
Headers = Annotated[
    list[str] | None,
    typer.Option(
        "--header", metavar="NAME:VALUE", help="Header field of all requests; repeat it for others."
    ),
]
Variables = Annotated[
    list[str] | None,
    typer.Option(
        "--env", metavar="NAME=VALUE", help="Variable for a program; repeat it for others."
    ),
]
WorkingFolder = Annotated[
    Path | None, typer.Option("--cwd", metavar="DIR", help="Working directory of a program.")
]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="Time for each answer.")
]


def pairs(option: str, given: Iterable[str] | None, separator: str) -> Mapping[str, str]:
    """Return names with values; raise `ProblemError` (`wrong-usage`) for what is no such pair."""
    found: dict[str, str] = {}
    for one in given or ():
        name, separated, value = one.partition(separator)
        if not separated or not name.strip():
            message = f"{option} takes NAME{separator}VALUE, not {one!r:.40}"
            raise ProblemError(Problem("wrong-usage", message, hint=f"write a {separator} in it"))
        found[name.strip()] = value.strip()
    return found
