"""The argument and the options for a server, declared with Typer."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.base.option_constraints import conflict
from mcp_protogen.base.printable import safe_line
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.cli import completion
from mcp_protogen.cli.console import tell
from mcp_protogen.cli.options import server_option

if TYPE_CHECKING:
    from mcp_protogen.servers.connect.named_server import NamedServer


AUTO = "auto"
"""The default of `--auth`: use a token only for servers that ask for one."""
A_SERVER = "its URL, its command line as one word, a file of Python, or with --config its name"

ServerName = Annotated[str, typer.Argument(metavar="SERVER", help=f"A server: {A_SERVER}.")]
Auth = Annotated[
    str,
    server_option(
        "--auth",
        metavar="HOW",
        help="Authorization over HTTP: auto, oauth[:ID[,SECRET]], client-credentials[:ID,SECRET],"
        " bearer:TOKEN, none. ID, SECRET and TOKEN are names of environment variables.",
    ),
]
Timeout = Annotated[
    float,
    server_option("--timeout", metavar="SECONDS", min=0.1, help="Time for each answer."),
]

_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""A name of a header field (RFC 9110, section 5.6.2)."""
_NO_AUTH = (AUTO, "none")
_TAKEN = {
    "a URL": ("--transport", "--header", "--auth"),
    "a program": ("--transport", "--env", "--cwd", "--inherit"),
    "a server of --config": ("--auth",),
}
"""The options that affect each kind of server; a configuration has its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The options of all commands for servers."""

    config: Annotated[
        Path | None,
        server_option(
            metavar="FILE",
            help="Configuration of a host, such as mcp.json; SERVER is a name in it.",
        ),
    ] = None
    transport: Annotated[
        str | None,
        server_option(
            metavar="NAME",
            help="Transport to the server, as in the type of mcp.json, in place of the usual one.",
            autocompletion=completion.transport,
        ),
    ] = None
    headers: Annotated[
        list[str] | None,
        server_option(
            "--header",
            metavar="NAME:VALUE",
            help="Header field of all requests, with ${NAME} for variables; repeat it for others.",
        ),
    ] = field(default=None, repr=False)
    auth: Auth = AUTO
    env: Annotated[
        list[str] | None,
        server_option(metavar="NAME=VALUE", help="Variable for a program; repeat it for others."),
    ] = field(default=None, repr=False)
    cwd: Annotated[
        Path | None,
        server_option(metavar="DIR", help="Working directory of a program."),
    ] = None
    inherit: Annotated[
        bool,
        server_option(
            "--inherit",
            help="Give a program all environment variables, not only a few.",
        ),
    ] = False

    def named_server(self, name: str) -> "NamedServer":
        """Return the server of that name.

        Raise `ProblemError`: `wrong-usage`, or `conflicting-options`.
        """
        from mcp_protogen.servers.connect.authorization import authorization
        from mcp_protogen.servers.connect.named_server import NamedServer

        server = NamedServer(
            name=name,
            config=self.config,
            transport=self.transport,
            headers=_fields(self.headers),
            env=pairs("--env", self.env, "="),
            cwd=self.cwd,
            inherit=self.inherit,
            stderr=_show_line,
        )
        self._check(server)
        if server.config is None and not server.is_url:
            return server
        if any(header.lower() == "authorization" for header in server.headers):
            if self.auth not in _NO_AUTH:
                message = "--auth and a header Authorization exclude each other"
                raise conflict(message, "give only one of them")
            return server
        return replace(server, auth=authorization(self.auth, tell))

    def _check(self, server: "NamedServer") -> None:
        """Raise `ProblemError` for options without effect."""
        kind = (
            "a server of --config" if server.config else "a URL" if server.is_url else "a program"
        )
        conflicts = {
            "--transport": server.transport is not None,
            "--header": server.headers,
            "--auth": self.auth not in _NO_AUTH,
            "--env": server.env,
            "--cwd": server.cwd,
            "--inherit": server.inherit,
        }
        useless = [name for name, value in conflicts.items() if value and name not in _TAKEN[kind]]
        if useless:
            names = ", ".join(useless)
            raise conflict(f"{kind} does not use {names}", f"leave out {names}")
        if server.config is None and server.transport is not None:
            if server.is_card:
                hint = "leave out --transport, or give the URL of the endpoint"
                raise conflict("a server card names the transport itself", hint)
            _check_transport(server.transport, server.address, kind)


def _check_transport(name: str, address: str, kind: str) -> None:
    """Raise `ProblemError` for a transport that is unknown, or does not reach such a server."""
    from mcp_protogen.servers.connect.protocol import protocol

    tables = protocol().__mcp_transports__
    suitable = ", ".join(tables[address])
    if name in {*tables["program"], *tables["url"]} - {*tables[address]}:
        raise conflict(f"the transport {name} does not reach {kind}", f"choose one of {suitable}")
    if name not in tables[address]:
        hint = f"those that reach {kind} are {suitable}"
        raise ProblemError(Problem("wrong-usage", f"--transport cannot be {name!r:.40}", hint=hint))


def _fields(texts: Iterable[str] | None) -> Mapping[str, str]:
    """Return header fields; raise `ProblemError` (`wrong-usage`) for invalid ones."""
    fields = {
        name: _expand_variables(value) for name, value in pairs("--header", texts, ":").items()
    }
    for name, value in fields.items():
        if not _TOKEN.fullmatch(name) or not (value.isascii() and value.isprintable()):
            # The value may be a secret.
            message = f"--header {name!r:.40} has characters that a header field cannot have"
            raise ProblemError(Problem("wrong-usage", message))
    return fields


def _expand_variables(value: str) -> str:
    """Return the value of a header field with its variables replaced.

    Variables keep secrets out of the command line, which other users can see. Raise `ProblemError`
    (`wrong-usage`).
    """

    def variable(match: re.Match[str]) -> str:
        if (value := os.environ.get(match[1])) is None:
            message = f"--header names the variable {match[1]}, which is not set"
            hint = "set it before you run the command"
            raise ProblemError(Problem("wrong-usage", message, hint=hint))
        return value

    return _VARIABLE.sub(variable, value)


def pairs(option: str, texts: Iterable[str] | None, separator: str) -> Mapping[str, str]:
    """Return names with values; raise `ProblemError` (`wrong-usage`) for any other text."""
    result: dict[str, str] = {}
    for number, text in enumerate(texts or (), 1):
        name, separated, value = text.partition(separator)
        if not separated or not name.strip():
            # The message does not quote it: it may be a secret.
            message = f"{option} number {number} is not NAME{separator}VALUE"
            raise ProblemError(Problem("wrong-usage", message))
        result[name.strip()] = value.strip()
    return result


def _show_line(line: str) -> None:
    """Show a line of a server's standard error."""
    tell(safe_line(line))
