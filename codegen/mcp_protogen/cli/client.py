"""`mcp-gen client`: write a typed client of a server, or check whether it still fits."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.cli.destination import Destination
from mcp_protogen.cli.option_groups import with_groups
from mcp_protogen.cli.options import FailOn, Force, ReportFormat
from mcp_protogen.cli.outcome import attempt, finish, show
from mcp_protogen.cli.server_options import A_SERVER, ServerOptions, Timeout, pairs
from mcp_protogen.pipeline.config import ClientSettings, Format
from mcp_protogen.pipeline.settings import Settings, load_settings

if TYPE_CHECKING:
    from mcp_protogen.servers.clients.run import ClientJob
    from mcp_protogen.servers.connect.named_server import NamedServer


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """The options of one client."""

    server_name: Annotated[
        str | None,
        typer.Argument(
            metavar="SERVER",
            help=f"A server: {A_SERVER}. Without one: the clients in [tool.mcp-gen.clients].",
        ),
    ] = None
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The module, such as weather_client.py.")
    ] = None
    package: Annotated[
        str | None,
        typer.Option(
            metavar="PACKAGE",
            help="Generated package that the module imports.",
            show_default="that of [tool.mcp-gen]",
        ),
    ] = None
    with_package: Annotated[
        Path | None,
        typer.Option(
            "--with-package",
            metavar="DIR",
            help="Import the package in this folder; generate it if it is missing.",
        ),
    ] = None
    tool: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Take only this tool; repeat it for others."),
    ] = None
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name", metavar="TOOL=METHOD", help="Name of a method; repeat it for others."
        ),
    ] = None


@with_groups
def client(
    *,
    client_options: ClientOptions,
    check: Annotated[
        bool,
        typer.Option("--check", help="Write nothing; exit with 1 if contract or module differ."),
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Use the contract in the lock; ask no server.")
    ] = False,
    fail_on: Annotated[
        FailOn, typer.Option(help="With --check: fail from this severity of a change on.")
    ] = FailOn.ANY,
    server: ServerOptions,
    timeout: Timeout = 30.0,
    format: ReportFormat = Format.TEXT,
    force: Force = False,
) -> None:
    """Write a typed client of a server: a module and its lock.

    The module has a method for each tool, prompt and resource template. Without SERVER, the command
    handles all clients of the project, for example with --check in a CI. With --check, the exit
    code is 1 for any difference, or only for those that --fail-on names.
    """
    from mcp_protogen.servers.clients.client_page import check_page, write_clients

    def read_jobs() -> "tuple[tuple[ClientJob, ...], Settings]":
        settings = load_settings(Path.cwd(), only={"clients", "out"})
        jobs = _jobs(client_options, server, settings, offline=offline, timeout=timeout)
        return tuple(jobs), settings

    jobs, settings = attempt(read_jobs, "client", format)
    if check:
        least = None if fail_on is FailOn.ANY else fail_on.severity
        show(lambda view: check_page(jobs, least, view), "client", Destination(format))
    finish(lambda: write_clients(jobs, settings, force=force), "client", format)


def _jobs(
    client_options: ClientOptions,
    options: ServerOptions,
    settings: Settings,
    *,
    offline: bool,
    timeout: float,
) -> Iterator["ClientJob"]:
    """Yield the client of the command line, or those of the project."""
    from mcp_protogen.servers.clients.run import ClientJob, jobs_of

    if client_options.server_name is None and client_options.out is None:
        if client_options != ClientOptions() or options != ServerOptions():
            raise _wrong("these options need both SERVER and --out FILE")
        if not settings.clients:
            raise _wrong("SERVER is missing, and [tool.mcp-gen.clients] is empty")
        server_of = None if offline else _server_of
        yield from jobs_of(settings.clients, server_of, timeout)
        return
    if client_options.out is None:
        raise _wrong("--out FILE is missing: name the module to write")
    if client_options.server_name is None and not offline:
        raise _wrong("SERVER is missing: name a server, or use the lock with --offline")
    yield ClientJob(
        module=client_options.out,
        server=(
            None
            if offline or client_options.server_name is None
            else partial(options.named_server, client_options.server_name)
        ),
        package=client_options.package,
        with_package=client_options.with_package,
        tools=tuple(client_options.tool or ()),
        methods=methods_of(client_options.name),
        timeout=timeout,
    )


def _server_of(client: ClientSettings) -> "NamedServer":
    options = ServerOptions(config=client.config, headers=[*client.headers], auth=client.auth)
    return options.named_server(client.server)


def _wrong(message: str) -> ProblemError:
    return ProblemError(Problem("wrong-usage", message, hint="mcp-gen client --help"))


def methods_of(texts: list[str] | None) -> dict[str, str]:
    """Return methods by tool; raise `ProblemError` (`wrong-usage`) for an invalid name."""
    from mcp_protogen.base.names import UnsafeName, attribute_name

    methods: dict[str, str] = {}
    for tool, method in pairs("--name", texts, "=").items():
        try:
            methods[tool] = attribute_name(method)
        except UnsafeName as error:
            message = f"--name: {method!r:.80} cannot be the name of a method"
            raise ProblemError(Problem("wrong-usage", message)) from error
    return methods
