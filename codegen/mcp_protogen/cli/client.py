"""`mcp-gen client`: write a typed client of a server, or see whether it still fits."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.cli.console import emit, judge, say, show_problems
from mcp_protogen.cli.destination import Destination
from mcp_protogen.cli.option_groups import with_groups
from mcp_protogen.cli.options import FailOn, Force
from mcp_protogen.cli.server_options import (
    A_SERVER,
    ServerOptions,
    Timeout,
    pairs,
)
from mcp_protogen.pipeline.config import ClientSettings, Format, Settings, load_settings
from mcp_protogen.pipeline.reports.change import Comparison, Severity
from mcp_protogen.pipeline.reports.pages import PageFormat
from mcp_protogen.pipeline.reports.report import Report, Status

if TYPE_CHECKING:
    from mcp_protogen.servers.clients.run import Checked, ClientJob
    from mcp_protogen.servers.connect.server_target import ServerTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """The options that say what one client is, as they were given."""

    target: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET",
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
            help="Generate a package for clients there if there is none, and import that.",
        ),
    ] = None
    tool: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Take this tool and no others; may be repeated."),
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
    said: ClientOptions,
    check: Annotated[
        bool,
        typer.Option("--check", help="Write nothing; exit with 1 if contract or module differ."),
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no server: use the contract in the lock.")
    ] = False,
    fail_on: Annotated[
        FailOn, typer.Option(help="With --check: the least change of a contract that fails it.")
    ] = FailOn.ANY,
    server: ServerOptions,
    timeout: Timeout = 30.0,
    format: Annotated[Format, typer.Option(help="Form of the report.")] = Format.TEXT,
    force: Force = False,
) -> None:
    """Write a typed client of a server: a module with a method for each tool, prompt and resource
    template, and its lock.

    A later run without TARGET, or with --check in a CI, goes through all clients of the project.
    With --check, the exit code is 1 for any difference, or for those that --fail-on names.
    """

    def work() -> bool:
        settings = load_settings(Path.cwd(), only={"clients", "out"})
        jobs = tuple(_jobs(said, server, settings, offline=offline, timeout=timeout))
        if check:
            return _check(jobs, fail_on, format)
        _make(jobs, settings, format, force=force)
        return False

    judge(work, "client", format)


def _jobs(
    said: ClientOptions,
    options: ServerOptions,
    settings: Settings,
    *,
    offline: bool,
    timeout: float,
) -> Iterator["ClientJob"]:
    """Yield the clients that are meant: the one of the command line, or those of the project."""
    from mcp_protogen.servers.clients.run import ClientJob, jobs_of

    if said.target is None and said.out is None:
        if said != ClientOptions() or options != ServerOptions():
            raise _wrong("these options need TARGET and --out FILE")
        if not settings.clients:
            raise _wrong("no TARGET is given, and [tool.mcp-gen.clients] has none")
        target = None if offline else _target_of
        yield from jobs_of(settings.clients, target, timeout)
        return
    if said.out is None:
        raise _wrong("--out FILE is missing, the module to write")
    if said.target is None and not offline:
        raise _wrong("TARGET is missing; with --offline, the contract in the lock is used")
    yield ClientJob(
        module=said.out,
        server=None if offline or said.target is None else options.target(said.target),
        package=said.package,
        with_package=said.with_package,
        tools=tuple(said.tool or ()),
        methods=methods_of(said.name),
        timeout=timeout,
    )


def _target_of(client: ClientSettings) -> "ServerTarget":
    options = ServerOptions(config=client.config, headers=[*client.headers], auth=client.auth)
    return options.target(client.server)


def _wrong(message: str) -> ProblemError:
    return ProblemError(Problem("wrong-usage", message, hint="mcp-gen client --help"))


def _make(jobs: "Sequence[ClientJob]", settings: Settings, form: Format, *, force: bool) -> None:
    from mcp_protogen.servers.clients.run import make

    found = [make(job, settings, _generate, force=force) for job in jobs]
    lines = tuple(
        f"{one.module}: {one.counts}, {'written' if one.changed else 'unchanged'}" for one in found
    )
    problems = tuple(problem for one in found for problem in one.problems)
    emit(Report("client", Status.FINE, lines, problems=problems), form)


def _generate(folder: Path, *, tasks: bool) -> tuple[Problem, ...]:
    """Generate a package for clients of all revisions if the folder has none."""
    from mcp_protogen.pipeline.commands import write
    from mcp_protogen.pipeline.output.lock import read_lock

    if read_lock(folder) is not None:
        return ()
    extensions = ("tasks",) if tasks else ()
    parts = ("auth", "http-client", "stdio", "tool-client", *extensions)
    settings = Settings(revisions=("all",), out=folder, parts=parts, extensions=extensions or None)
    return write(settings).problems


def _check(jobs: "Sequence[ClientJob]", fail_on: FailOn, form: Format) -> bool:
    """Show what differs, and return whether a check fails."""
    from mcp_protogen.servers.clients.run import check

    found = [check(job) for job in jobs]
    failed = [one for one in found if one.causes or _differs(one.comparison, fail_on)]
    if form is Format.JSON:
        say(json.dumps({"format": 1, "clients": [*map(_document, found)]}, indent=2) + "\n", form)
    else:
        for one in found:
            if one.comparison is not None and form is Format.TEXT:
                show_problems(one.comparison.notes)
            if one.comparison is not None and one.comparison.changes:
                place = Destination(PageFormat(form.value))
                place.deliver(place.page(one.comparison.narrowed(None), None))
        lines = tuple(f"{one.module} is up to date" for one in found if one not in failed)
        lines += tuple(f"{one.module} is not up to date" for one in failed)
        causes = tuple(cause for one in found for cause in one.causes)
        status = Status.DIFFERS if failed else Status.FINE
        emit(Report("client", status, lines, drift=causes), form)
    return bool(failed)


def _differs(comparison: Comparison | None, fail_on: FailOn) -> bool:
    """Return whether a contract has changed so much that a check fails."""
    from mcp_protogen.servers.clients.differences import differs

    if comparison is None or not differs(comparison):
        return False
    return fail_on is FailOn.ANY or comparison.reaches(None, Severity(fail_on.value))


def _document(one: "Checked") -> dict[str, Any]:
    from mcp_protogen.pipeline.reports.pages.as_json import as_json

    return {
        "module": str(one.module),
        "drift": [cause._asdict() for cause in one.causes],
        "comparison": as_json(one.comparison, None) if one.comparison is not None else None,
    }


def methods_of(given: list[str] | None) -> dict[str, str]:
    """Return methods by tool; raise `ProblemError` (`wrong-usage`) for a name that is none."""
    from mcp_protogen.base.names import UnsafeName, attribute_name

    found: dict[str, str] = {}
    for tool, method in pairs("--name", given, "=").items():
        try:
            found[tool] = attribute_name(method)
        except UnsafeName as error:
            message = f"--name: {method!r:.80} cannot be the name of a method"
            raise ProblemError(Problem("wrong-usage", message)) from error
    return found
