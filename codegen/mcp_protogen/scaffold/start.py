"""The start of a project, from options and answers to a report."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import Protocol, TypeVar

from mcp_protogen.base.option_constraints import conflict
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.reports.report import Action, FileChange, RunReport, RunStatus
from mcp_protogen.scaffold.choices import (
    ProjectChoices,
    ProjectEngine,
    ProjectKind,
    ProjectTransport,
)
from mcp_protogen.scaffold.create import create, refuse_occupied
from mcp_protogen.scaffold.extensions import project_extensions
from mcp_protogen.scaffold.project_name import ProjectName, project_name
from mcp_protogen.scaffold.revisions import default_revisions, project_revisions

T = TypeVar("T")

Chosen = TypeVar("Chosen", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class NewOptions:
    """The user's options; for None, the user is asked, or a default is used."""

    name: str
    kind: ProjectKind | None = None
    transport: ProjectTransport | None = None
    revisions: tuple[str, ...] | None = None
    shared: ProjectEngine | None = None
    extensions: tuple[str, ...] = ()
    out: Path | None = None
    cached: bool = True


class AskUntilRead(Protocol):
    """Ask a question and return `read(answer)`; ask again if `read` raises `ProblemError`."""

    def __call__(self, question: str, default: str, read: Callable[[str], T], /) -> T: ...


def start(options: NewOptions, ask: AskUntilRead | None = None) -> RunReport:
    """Start a project, and return a report.

    `ask` asks for missing options; without it, they have defaults. Raise `ProblemError` for a wrong
    name or choice, and as `create` does.
    """
    name = project_name(options.name)
    if options.shared is not None:
        options = _sharing(options)
    folder = options.out or Path(name.distribution)
    refuse_occupied(folder)
    choices = _choices(name, options, ask)
    created = create(choices, folder, cached=options.cached)
    return RunReport(
        "new",
        RunStatus.FINE,
        _summary(choices, folder),
        str(folder),
        files=tuple(FileChange(path, Action.CREATE) for path in created.files),
        problems=created.warnings,
    )


def _sharing(options: NewOptions) -> NewOptions:
    """Return options with a kind and transport that fit `--shared`."""
    kind = options.kind or ProjectKind.SERVER
    transport = options.transport or ProjectTransport.HTTP
    unfit = f"--kind {kind}" if kind is not ProjectKind.SERVER else ""
    if unfit or not transport.http:
        message = f"--shared and {unfit or f'--transport {transport}'} exclude each other"
        hint = "only a server over HTTP has several workers"
        raise conflict(message, hint)
    return replace(options, kind=kind, transport=transport)


def _choices(name: ProjectName, options: NewOptions, ask: AskUntilRead | None) -> ProjectChoices:
    """Return the choices from options, answers or defaults."""
    kind = options.kind or _ask_choice("kind", ProjectKind.SERVER, ask)
    transport = options.transport or _ask_choice("transport", ProjectTransport.STDIO, ask)
    if options.revisions is None and ask is not None:
        written, every = ask(
            "revisions, first the one to write in",
            ",".join(default_revisions()),
            lambda answer: project_revisions((answer,)),
        )
    else:
        written, every = project_revisions(options.revisions or default_revisions())
    extensions = project_extensions(options.extensions, every)
    return ProjectChoices(name, kind, transport, written, every, options.shared, extensions)


def _ask_choice(question: str, default: Chosen, ask: AskUntilRead | None) -> Chosen:
    names = ", ".join(type(default))

    def read(answer: str) -> Chosen:
        try:
            return type(default)(answer.lower())
        except ValueError:
            message = f"{answer!r:.40} is not one of {names}"
            raise ProblemError(Problem("wrong-usage", message, question)) from None

    return default if ask is None else ask(f"{question} ({names})", default, read)


def _summary(choices: ProjectChoices, folder: Path) -> str:
    others = ", ".join(name for name in choices.revisions if name != choices.revision)
    speaks = f" that also speaks {others}" if others else ""
    made = f"{folder}: a {choices.kind} written in {choices.revision}{speaks}"
    return f"{made}; next: cd {quote(str(folder))} && make setup test run"
