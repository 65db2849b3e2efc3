"""`mcp-gen call`: call a tool of a server from the command line."""

import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.base.problems import Level, ProblemError
from mcp_protogen.cli import server_completion
from mcp_protogen.cli.console import say, show_problems
from mcp_protogen.cli.conversation import SavingOptions, ServerAnswer
from mcp_protogen.cli.option_groups import with_groups
from mcp_protogen.cli.server_options import ServerName, Timeout
from mcp_protogen.servers.call.kinds import Kind
from mcp_protogen.servers.call.log_levels import LogLevel

if TYPE_CHECKING:
    from mcp_protogen.cli.terminal import Terminal
    from mcp_protogen.runtime.core.models.base import WireModel
    from mcp_protogen.servers.call.calls import CallTimeout, ToolCall
    from mcp_protogen.servers.call.connections import JSON, Client
    from mcp_protogen.servers.call.questions import Questions


@dataclass(frozen=True, slots=True, kw_only=True)
class CallChoice(SavingOptions):
    """The options of a call."""

    timeout: Timeout = 60.0
    as_task: Annotated[
        bool, typer.Option("--as-task", help="Ask the server to run the call as a task.")
    ] = False
    no_check: Annotated[
        bool, typer.Option("--no-check", help="Send the arguments whatever the schema says.")
    ] = False
    log_level: Annotated[
        LogLevel | None,
        typer.Option(
            help="Ask for log entries of at least this level; debug also shows the standard error"
            " of a program.",
            show_default="warning, without asking",
        ),
    ] = None


@with_groups
def call(
    server_name: ServerName,
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
    *,
    options: CallChoice,
) -> None:
    """Call a tool of a server, and show its result.

    Arguments are checked against the tool's input schema before anything is sent. Questions of the
    server appear on the terminal. Exit codes: 0; 1 if the tool or the server answers with an error;
    2 for wrong use, or if no server answers.
    """
    from mcp_protogen.cli.terminal import Terminal
    from mcp_protogen.servers.call.calls import CallTimeout
    from mcp_protogen.servers.call.connections import LOGGED

    server = options.named_server(server_name)
    words = tuple(arguments or ())
    terminal = Terminal(tool, options.log_level or LogLevel.WARNING)
    limit = CallTimeout(options.timeout)
    waiting = partial(_pause_limit, limit, terminal)
    questions = replace(options.questions(terminal), waiting=waiting)
    stdin = ""
    if words == ("-",):
        stdin, questions = sys.stdin.read(), replace(questions, user=None)
    calling = _Calling(tool, words, stdin, options, terminal, questions, limit)
    abilities = questions.abilities(hears={LOGGED: terminal.show_log})
    options.converse(server, terminal, questions.tell_of_unused(calling.run), abilities)


@contextmanager
def _pause_limit(limit: "CallTimeout", terminal: "Terminal") -> Generator[None, None, None]:
    """Pause the time limit, and delay other output, while the user is asked."""
    with limit.pause(), terminal.hold_output():
        yield


@dataclass(frozen=True, slots=True)
class _Calling:
    tool: str
    words: Sequence[str]
    stdin: str
    options: CallChoice
    terminal: "Terminal"
    questions: "Questions"
    limit: "CallTimeout"

    async def run(self, client: "Client") -> ServerAnswer:
        """Return the result; raise `ProblemError`, or errors of the connection."""
        from mcp_protogen.runtime.core.models.base import has_failed
        from mcp_protogen.servers.call.connections import server_capabilities

        lists = await self._lists(client)
        call = self._prepare_call(lists.get(Kind.TOOLS, ()))
        if call.log_level is not None and "logging" in server_capabilities(client):
            await _set_level(client, call.log_level)
        result = await self._call_tool(client, call)
        failed = has_failed(result)
        show = partial(self._show, result, failed=failed)
        failed_or_asked = failed or self.questions.lacks_answers
        return ServerAnswer(result.to_wire(), show, lists, failed=failed_or_asked)

    async def _lists(self, client: "Client") -> "Mapping[Kind, Sequence[JSON]]":
        """Return the list of tools; none with --no-check, so that a bad list prevents no call."""
        from mcp_protogen.servers.call.connections import assume
        from mcp_protogen.servers.call.listing import listing

        if self.options.no_check:
            assume(client, Kind.TOOLS.capability)
            return {}
        return (await listing(client, [Kind.TOOLS])).lists

    def _prepare_call(self, tools: "Sequence[JSON]") -> "ToolCall":
        from mcp_protogen.servers.call.arguments import ArgumentReader
        from mcp_protogen.servers.call.calls import ToolCall
        from mcp_protogen.servers.call.listing import find_entry

        options = self.options
        tool: JSON = {"name": self.tool}
        if not options.no_check:
            tool = find_entry(tools, self.tool, Kind.TOOLS)
        schema: JSON = tool.get("inputSchema") or {}
        reader = ArgumentReader(tool=self.tool, schema=schema, stdin=self.stdin)
        arguments = reader.read(self.words)
        problems = [] if options.no_check else reader.check(arguments)
        if any(problem.level is Level.ERROR for problem in problems):
            raise ProblemError(*problems)
        show_problems(problems)
        level = options.log_level.value if options.log_level else None
        return ToolCall(tool=tool, arguments=arguments, as_task=options.as_task, log_level=level)

    async def _call_tool(self, client: "Client", call: "ToolCall") -> "WireModel":
        """Return the result; first send the user to web pages if the server asks for that."""
        from mcp_protogen.runtime.core.errors import McpError
        from mcp_protogen.servers.call.calls import pages_of

        try:
            return await call.run(client, self.terminal, self.limit)
        except McpError as error:
            pages = pages_of(error)
            if not pages or self.questions.user is None:
                raise
            for page in pages:
                if not await self.questions.visit(page):
                    raise
        with self.terminal.hold_output():
            await self.terminal.read_line("Press Enter when you have finished there: ")
        return await call.run(client, self.terminal, self.limit)

    def _show(self, result: "WireModel", *, failed: bool) -> None:
        from mcp_protogen.runtime.core.models.base import places_of
        from mcp_protogen.servers.call.results import Saver, refuse_broken, tool_page

        saver = Saver(self.options.save, self.tool)
        page = tool_page(result.to_wire(), saver, places_of(type(result)))
        if failed or saver.unsaved:
            self.terminal.tell(page.rstrip("\n") or "the tool failed without a message")
        else:
            say(page)
        refuse_broken(saver.unsaved, self.tool)


async def _set_level(client: "Client", level: str) -> None:
    """Set the level of log entries, in revisions with a level per connection."""
    if hasattr(client, "set_level"):
        await client.set_level(level)
