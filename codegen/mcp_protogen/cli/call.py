"""`mcp-gen call`: call a tool of a server from the command line."""

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.base.problems import Level, ProblemError
from mcp_protogen.calling.kinds import Kind
from mcp_protogen.cli import server_completion
from mcp_protogen.cli.console import say, show_problems
from mcp_protogen.cli.server_options import (
    AUTO,
    Answers,
    AsJson,
    Auth,
    ConfigFile,
    Headers,
    Inherit,
    LogLevelOption,
    RevisionName,
    Save,
    ServerName,
    ServerOptions,
    Timeout,
    Variables,
    WorkingFolder,
    pairs,
)

if TYPE_CHECKING:
    from mcp_protogen.calling.calls import CallTimeout, ToolCall
    from mcp_protogen.calling.connections import JSON, Client
    from mcp_protogen.calling.questions import Questions
    from mcp_protogen.cli.terminal import Terminal
    from mcp_protogen.connecting.server_target import ServerTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """What is called, and how the result is shown."""

    tool: str
    words: tuple[str, ...]
    revision: str | None
    timeout: float
    log_level: str | None
    as_task: bool
    check: bool
    as_json: bool
    save: Path | None


def call(
    target: ServerName,
    tool: Annotated[
        str,
        typer.Argument(
            metavar="TOOL", help="The name of a tool.", autocompletion=server_completion.tool
        ),
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARGUMENT",
            help="name=value, name:=JSON, name=@file; or one JSON object, or - for stdin.",
            autocompletion=server_completion.argument,
        ),
    ] = None,
    revision: RevisionName = None,
    config: ConfigFile = None,
    header: Headers = None,
    auth: Auth = AUTO,
    env: Variables = None,
    cwd: WorkingFolder = None,
    inherit: Inherit = False,
    timeout: Timeout = 60.0,
    answer: Answers = None,
    root: Annotated[
        list[Path] | None,
        typer.Option(
            "--root", metavar="DIR", help="A folder that the server may work in; repeat it."
        ),
    ] = None,
    sampling: Annotated[
        bool,
        typer.Option("--sampling", help="Let the server ask for texts of a model; you type them."),
    ] = False,
    as_task: Annotated[
        bool, typer.Option("--as-task", help="Ask the server to work on it as a task.")
    ] = False,
    no_check: Annotated[
        bool, typer.Option("--no-check", help="Send the arguments whatever the schema says.")
    ] = False,
    log_level: LogLevelOption = None,
    save: Save = None,
    json: AsJson = False,
) -> None:
    """Call a tool of a server, and show its result.

    Arguments are read and checked by the tool's input schema before anything is sent. What the
    server asks meanwhile is asked on the terminal. Exit codes: 0, 1 if the tool or the server
    answers with an error, 2 for wrong use and where no server answers.
    """
    from mcp_protogen.calling.calls import CallTimeout
    from mcp_protogen.calling.questions import Questions
    from mcp_protogen.cli.terminal import WARNING, Terminal, converse

    server = ServerOptions(
        config=config, headers=header, auth=auth, env=env, cwd=cwd, inherit=inherit
    ).target(target)
    options = CallOptions(
        tool=tool,
        words=tuple(arguments or ()),
        revision=revision,
        timeout=timeout,
        log_level=log_level.value if log_level else None,
        as_task=as_task,
        check=not no_check,
        as_json=json,
        save=save,
    )
    screen = Terminal(tool, options.log_level or WARNING)
    limit = CallTimeout(timeout)
    asked = screen.can_ask and options.words != ("-",)
    questions = Questions(
        person=screen if asked else None,
        tell=screen.tell,
        given=pairs("--answer", answer, "="),
        roots=root or (),
        samples=sampling,
        waiting=partial(_waiting, limit, screen),
    )
    stdin = sys.stdin.read() if options.words == ("-",) else ""
    calling = _Calling(options, screen, questions, limit, stdin)
    converse(server, screen, calling.run)


@contextmanager
def _waiting(limit: "CallTimeout", screen: "Terminal") -> Generator[None, None, None]:
    """Let no time pass, and show nothing else, while a person is asked."""
    with limit.paused(), screen.asking():
        yield


@dataclass(frozen=True, slots=True)
class _Calling:
    """A call, from the connection to its result."""

    options: CallOptions
    screen: "Terminal"
    questions: "Questions"
    limit: "CallTimeout"
    stdin: str

    async def run(self, target: "ServerTarget") -> int:
        """Return the exit code; raise `ProblemError`, and what a connection raises."""
        from mcp_protogen.calling.connections import LOGGED, connected
        from mcp_protogen.calling.listing import listing
        from mcp_protogen.calling.remembered import remember

        options = self.options
        abilities = self.questions.abilities(hears={LOGGED: self.screen.show_log})
        async with connected(
            target.opener(), abilities, revision=options.revision, timeout=options.timeout
        ) as client:
            found = await listing(client, [Kind.TOOLS])
            planned = self._planned(found.lists[Kind.TOOLS])
            if options.log_level is not None and "logging" in found.capabilities:
                await _set_level(client, options.log_level)
            result = await self._made(client, planned)
        remember(target, found.lists)
        self.screen.close()
        return self._show(result)

    def _planned(self, tools: "Sequence[JSON]") -> "ToolCall":
        from mcp_protogen.calling.arguments import ArgumentReader
        from mcp_protogen.calling.calls import ToolCall
        from mcp_protogen.calling.listing import named

        options = self.options
        known = [one for one in tools if one["name"] == options.tool]
        tool: JSON = {"name": options.tool}
        if options.check or known:
            tool = named(tools, options.tool, Kind.TOOLS)
        reader = ArgumentReader(
            tool=options.tool, schema=tool.get("inputSchema") or {}, read_stdin=lambda: self.stdin
        )
        arguments = reader.read(options.words)
        problems = reader.check(arguments) if options.check else []
        if any(one.level is Level.ERROR for one in problems):
            raise ProblemError(*problems)
        show_problems(problems)
        return ToolCall(
            tool=tool, arguments=arguments, as_task=options.as_task, log_level=options.log_level
        )

    async def _made(self, client: "Client", planned: "ToolCall") -> "JSON":
        """Return the result; send the user to pages first where the server needs that."""
        from mcp_protogen.calling.calls import pages_of
        from mcp_protogen.runtime.core.errors import McpError

        try:
            return await planned.made(client, self.screen, self.limit)
        except McpError as error:
            pages = pages_of(error)
            if not pages or self.questions.person is None:
                raise
            for page in pages:
                if not await self.questions.visit(page):
                    raise
        with self.screen.asking():
            await self.screen.read_line("Press Enter when you are done there: ")
        return await planned.made(client, self.screen, self.limit)

    def _show(self, result: "JSON") -> int:
        from mcp_protogen.calling.listing import document
        from mcp_protogen.calling.results import Saver, tool_page

        failed = result.get("isError") is True
        if self.options.as_json:
            say(document(result))
            return int(failed)
        page = tool_page(result, Saver(self.options.save, self.options.tool))
        if failed:
            self.screen.tell(page.rstrip("\n") or "the tool failed and did not say why")
        else:
            say(page)
        return int(failed)


async def _set_level(client: "Client", level: str) -> None:
    """Say which log entries are wanted, in revisions where that holds for the connection."""
    if hasattr(client, "set_level"):
        await client.set_level(level)
