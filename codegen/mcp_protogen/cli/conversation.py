"""Conversations with a server: the options of commands, and the end of the process."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from logging import Handler, LogRecord, getLogger
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn, TypeAlias

import typer

from mcp_protogen.base.printable import safe_line
from mcp_protogen.base.problems import Level, Problem
from mcp_protogen.cli import completion
from mcp_protogen.cli.console import say, show_problems, tell
from mcp_protogen.cli.server_options import ServerOptions, Timeout, pairs
from mcp_protogen.pipeline.config import Format
from mcp_protogen.servers.call.kinds import Kind

if TYPE_CHECKING:
    from mcp_protogen.cli.terminal import Terminal
    from mcp_protogen.runtime.core.losses import Loss
    from mcp_protogen.runtime.transports.base import Opener, Transport
    from mcp_protogen.servers.call.connections import JSON, Abilities, Client
    from mcp_protogen.servers.call.questions import Questions
    from mcp_protogen.servers.connect.failures import ConnectionFailure
    from mcp_protogen.servers.connect.named_server import NamedServer


class ResultFormat(StrEnum):
    """The formats of a server's answer."""

    TEXT = "text"
    JSON = "json"


class ServerAnswer(NamedTuple):
    """A server's answer; `show` prints it for people, and `lists` go into the cache."""

    result: "JSON"
    show: Callable[[], None]
    lists: "Mapping[Kind, Sequence[JSON]]" = MappingProxyType({})
    failed: bool = False


Work: TypeAlias = "Callable[[Client], Awaitable[ServerAnswer]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationOptions(ServerOptions):
    """The options of commands that talk to a server."""

    revision: Annotated[
        str | None,
        typer.Option(
            metavar="REVISION",
            help="Speak this revision, not the newest that both sides know.",
            autocompletion=completion.revision,
        ),
    ] = None
    timeout: Timeout = 30.0
    format: Annotated[
        ResultFormat, typer.Option(help="Format of the result; json: as it was sent.")
    ] = ResultFormat.TEXT
    json: Annotated[
        bool, typer.Option("--json", hidden=True, help="The same as --format json.")
    ] = False

    def converse(
        self,
        server: "NamedServer",
        terminal: "Terminal",
        work: Work,
        abilities: "Abilities | None" = None,
    ) -> NoReturn:
        """Do `work` with a server, show the answer, and end the process.

        Raise `KeyboardInterrupt` if the user interrupts it, after telling the server.
        """
        from mcp_protogen.servers.call.connections import Abilities, connect_client
        from mcp_protogen.servers.call.list_cache import remember
        from mcp_protogen.servers.connect.failures import ERRORS, failure_of, mended_problems

        losses: list[Loss] = []

        def problems() -> tuple[Problem, ...]:
            return mended_problems(losses, server.safe_text)

        async def run() -> ServerAnswer:
            async with connect_client(
                _opener(server, terminal),
                abilities or Abilities(),
                revision=self.revision,
                timeout=self.timeout,
                on_loss=losses.append,
            ) as client:
                log.show_all()
                return await work(client)

        try:
            with _show_log(terminal, problems) as log:
                outcome = asyncio.run(run())
        except asyncio.CancelledError:
            # asyncio reports an interruption before the first step of the work in this way.
            raise KeyboardInterrupt from None
        except ERRORS as error:
            _fail(failure_of(error, server.safe_text), terminal)
        if any(problem.level is Level.ERROR for problem in problems()):
            raise SystemExit(2)
        remember(server, outcome.lists)
        self._show(outcome)
        if outcome.failed:
            terminal.show_last_lines()
        raise SystemExit(int(outcome.failed))

    def _show(self, answer: ServerAnswer) -> None:
        from mcp_protogen.servers.call.listing import document

        if self.json or self.format is ResultFormat.JSON:
            say(document(answer.result), Format.JSON)
        else:
            answer.show()


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingOptions(ConversationOptions):
    """The options of commands during which a server may ask questions.

    Servers may offer some items only to clients that declare these abilities.
    """

    elicitation: Annotated[
        bool,
        typer.Option(
            "--elicitation",
            help="Declare that the server may ask questions, as a terminal or --answer also does.",
        ),
    ] = False
    sampling: Annotated[
        bool,
        typer.Option("--sampling", help="Accept sampling requests; you write the answers."),
    ] = False
    roots: Annotated[
        list[Path] | None,
        typer.Option(
            "--roots",
            "--root",
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="A folder that the server may work in; repeat it for others.",
        ),
    ] = None
    answer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Answer for a field of a form, or for sampling; repeat it for others.",
        ),
    ] = None

    @property
    def declares(self) -> bool:
        """Return whether an option declares an ability."""
        return bool(self.elicitation or self.sampling or self.roots or self.answer)

    def questions(self, terminal: "Terminal") -> "Questions":
        """Return the handler of a server's questions: it uses given answers, or asks the user."""
        from mcp_protogen.servers.call.questions import Questions

        return Questions(
            user=terminal if terminal.can_ask else None,
            tell=terminal.tell,
            given=pairs("--answer", self.answer, "="),
            roots=self.roots or (),
            samples=self.sampling,
            elicits=self.elicitation,
            waiting=terminal.hold_output,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingOptions(AskingOptions):
    """The options of commands for results that may have bytes."""

    save: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write images, audio and other bytes there."),
    ] = None


def _opener(server: "NamedServer", terminal: "Terminal") -> "Opener":
    """Return an opener of connections; `terminal` gets the standard error of a program."""
    opener = replace(server, stderr=terminal.show_standard_error).opener()

    def open() -> "Awaitable[Transport]":
        # Only the last process is of interest if the negotiation starts it again.
        terminal.unshown.clear()
        return opener()

    return open


def _fail(failure: "ConnectionFailure", terminal: "Terminal") -> NoReturn:
    show_problems([failure.problem])
    for line in failure.written:
        if line not in terminal.unshown:
            tell(f"  {safe_line(line)}")
    terminal.show_last_lines()
    raise SystemExit(failure.exit_code) from None


class _LogHandler(Handler):
    """A handler for the runtime's log, which may quote servers.

    It shows nothing before `show_all`: an error may say the same as warnings before it.
    """

    def __init__(self, terminal: "Terminal") -> None:
        super().__init__()
        self._terminal = terminal
        self._early: list[LogRecord] | None = []

    def show_all(self) -> None:
        early, self._early = self._early or (), None
        for record in early:
            self.emit(record)

    def emit(self, record: LogRecord) -> None:
        if self._early is not None:
            self._early.append(record)
            return
        params: dict[str, Any] = {"level": record.levelname.lower(), "data": record.getMessage()}
        self._terminal.show_log(params)


@contextmanager
def _show_log(
    terminal: "Terminal", problems: Callable[[], Iterable[Problem]]
) -> Generator[_LogHandler, None, None]:
    """Show the runtime's log, and at the end the problems found meanwhile."""
    from mcp_protogen.servers.connect.failures import ERRORS, quotes_server

    logger, handler = getLogger("mcp_protogen.runtime"), _LogHandler(terminal)
    logger.addHandler(handler)
    logger.propagate, before = False, logger.propagate
    try:
        yield handler
    except ERRORS as error:
        if not quotes_server(error):
            handler.show_all()
        raise
    finally:
        logger.removeHandler(handler)
        logger.propagate = before
        terminal.close()
        show_problems(problems())
