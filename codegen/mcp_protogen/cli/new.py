"""`mcp-gen new`: start a project that can be run, tested and shipped."""

from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import Annotated, TypeVar

import typer

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.cli.console import ask, can_ask, finish, progress
from mcp_protogen.cli.options import NoCache
from mcp_protogen.config import Format
from mcp_protogen.findings.report import Action, FileChange, Report, Status
from mcp_protogen.scaffold.choices import Choices, ProjectKind, ProjectTransport
from mcp_protogen.scaffold.project_name import ProjectName

Chosen = TypeVar("Chosen", bound=StrEnum)


def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the project; in Python, - becomes _.")
    ],
    kind: Annotated[
        ProjectKind | None, typer.Option(help="What the project is.", show_default="server")
    ] = None,
    revision: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REVISION",
            help="Revision that it speaks; its code is written in the first one. Repeat it, or"
            " separate names by commas, or say all.",
            show_default="those that nearly all peers speak",
        ),
    ] = None,
    transport: Annotated[
        ProjectTransport | None,
        typer.Option(help="How the project and its peers are connected.", show_default="stdio"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the project.", show_default="NAME"),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing; take the defaults.")
    ] = False,
    no_cache: NoCache = False,
    format: Annotated[Format, typer.Option(help="Form of the report.")] = Format.TEXT,
) -> None:
    """Start a project: a server, a client, or a gateway between the two.

    On a terminal, it asks for what no option says; elsewhere it takes the defaults. It writes only
    into a folder that is new or empty.
    """

    def work() -> Report:
        from mcp_protogen.scaffold.create import create, refuse_occupied
        from mcp_protogen.scaffold.project_name import project_name

        named = project_name(name)
        folder = out or Path(named.distribution)
        refuse_occupied(folder)
        choices = _choices(named, kind, transport, revision, asking=not yes and can_ask())
        with progress("new", shown=True):
            created = create(choices, folder, cached=not no_cache)
        return Report(
            "new",
            Status.FINE,
            _summary(choices, folder),
            str(folder),
            files=tuple(FileChange(path, Action.CREATE) for path in created.files),
            problems=created.warnings,
        )

    finish(work, "new", format)


def _choices(
    name: ProjectName,
    kind: ProjectKind | None,
    transport: ProjectTransport | None,
    revisions: list[str] | None,
    *,
    asking: bool,
) -> Choices:
    """Return the choices that options say, answers give if `asking`, or defaults make."""
    from mcp_protogen.scaffold.revisions import default_revisions, project_revisions

    kind = kind or _one_of("kind", ProjectKind.SERVER, asking)
    transport = transport or _one_of("transport", ProjectTransport.STDIO, asking)
    if revisions is None and asking:
        written, every = ask(
            "revisions, first the one to write in",
            ",".join(default_revisions()),
            lambda answer: project_revisions((answer,)),
        )
    else:
        written, every = project_revisions(revisions or default_revisions())
    return Choices(name, kind, transport, written, every)


def _one_of(question: str, default: Chosen, asking: bool) -> Chosen:
    names = ", ".join(type(default))

    def read(answer: str) -> Chosen:
        try:
            return type(default)(answer.lower())
        except ValueError:
            message = f"{answer!r:.40} is not one of {names}"
            raise ProblemError(Problem("wrong-usage", message, question)) from None

    return ask(f"{question} ({names})", default, read) if asking else default


def _summary(choices: Choices, folder: Path) -> str:
    others = ", ".join(name for name in choices.revisions if name != choices.revision)
    speaks = f" that also speaks {others}" if others else ""
    made = f"{folder}: a {choices.kind} written in {choices.revision}{speaks}"
    return f"{made}; next: cd {quote(str(folder))} && make setup test run"
