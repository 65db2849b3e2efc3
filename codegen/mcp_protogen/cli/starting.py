"""The run of `mcp-gen new`, from options to exit code."""

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import NoReturn, TypeVar

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.cli.console import ask, can_ask, finish, progress
from mcp_protogen.pipeline.config import Format
from mcp_protogen.pipeline.reports.report import Action, FileChange, Report, Status
from mcp_protogen.scaffold.choices import Choices, ProjectEngine, ProjectKind, ProjectTransport
from mcp_protogen.scaffold.project_name import ProjectName

Chosen = TypeVar("Chosen", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class NewOptions:
    """The arguments of one start; None is asked for, or has a default."""

    name: str
    kind: ProjectKind | None = None
    transport: ProjectTransport | None = None
    revisions: tuple[str, ...] | None = None
    shared: ProjectEngine | None = None
    extensions: tuple[str, ...] = ()
    out: Path | None = None
    asking: bool = True
    cached: bool = True


def start(options: NewOptions, form: Format = Format.TEXT) -> NoReturn:
    """Start a project, show the report, and end the process."""
    finish(lambda: _started(options), "new", form)


def _started(options: NewOptions) -> Report:
    from mcp_protogen.scaffold.create import create, refuse_occupied
    from mcp_protogen.scaffold.project_name import project_name

    name = project_name(options.name)
    if options.shared is not None:
        options = _sharing(options)
    folder = options.out or Path(name.distribution)
    refuse_occupied(folder)
    choices = _choices(name, options)
    with progress("new", shown=True):
        created = create(choices, folder, cached=options.cached)
    return Report(
        "new",
        Status.FINE,
        _summary(choices, folder),
        str(folder),
        files=tuple(FileChange(path, Action.CREATE) for path in created.files),
        problems=created.warnings,
    )


def _sharing(options: NewOptions) -> NewOptions:
    """Return options whose kind and transport go with `--shared`."""
    kind = options.kind or ProjectKind.SERVER
    transport = options.transport or ProjectTransport.HTTP
    unfit = f"--kind {kind}" if kind is not ProjectKind.SERVER else ""
    if unfit or not transport.http:
        message = f"--shared and {unfit or f'--transport {transport}'} exclude each other"
        hint = "only a server over HTTP has several workers, which share something"
        raise ProblemError(Problem("conflicting-options", message, hint=hint))
    return replace(options, kind=kind, transport=transport)


def _choices(name: ProjectName, options: NewOptions) -> Choices:
    """Return the choices that options say, answers give if somebody can, or defaults make."""
    from mcp_protogen.scaffold.extensions import project_extensions
    from mcp_protogen.scaffold.revisions import default_revisions, project_revisions

    asking = options.asking and can_ask()
    kind = options.kind or _one_of("kind", ProjectKind.SERVER, asking)
    transport = options.transport or _one_of("transport", ProjectTransport.STDIO, asking)
    if options.revisions is None and asking:
        written, every = ask(
            "revisions, first the one to write in",
            ",".join(default_revisions()),
            lambda answer: project_revisions((answer,)),
        )
    else:
        written, every = project_revisions(options.revisions or default_revisions())
    extensions = project_extensions(options.extensions, every)
    return Choices(name, kind, transport, written, every, options.shared, extensions)


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
