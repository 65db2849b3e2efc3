"""A server in development: each edit starts it again, and its clients stay connected."""

from asyncio import (
    FIRST_COMPLETED,
    CancelledError,
    Event,
    Task,
    create_task,
    gather,
    to_thread,
    wait,
)
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.runtime.core.connection_errors import RequestTimeout
from mcp_protogen.runtime.core.subscriptions import Selectors
from mcp_protogen.runtime.core.tasks import Tasks
from mcp_protogen.runtime.messages.method_table import STATELESS_ERA
from mcp_protogen.runtime.transports.base import Opener, Transport
from mcp_protogen.servers.clients.contract import Contract
from mcp_protogen.servers.clients.differences import compare_contracts
from mcp_protogen.servers.clients.server_contract import fetch_contract
from mcp_protogen.servers.connect.failures import ERRORS, failure_of
from mcp_protogen.servers.connect.named_server import NamedServer
from mcp_protogen.servers.connect.protocol import protocol
from mcp_protogen.servers.dev.lasting_connection import LastingConnection
from mcp_protogen.servers.dev.unavailable import unavailable
from mcp_protogen.servers.inspect.conversation import InspectOptions
from mcp_protogen.servers.inspect.inspecting import record_transcripts
from mcp_protogen.servers.inspect.profile import profile_of
from mcp_protogen.servers.inspect.rules import Violation, judge
from mcp_protogen.servers.inspect.server import server_of
from mcp_protogen.servers.inspect.text import verdict

# Seconds for each answer of a new version.
_TIMEOUT: Final = 30.0
_LAST_LINES: Final = 20
# A checkout changes many files.
_NAMED: Final = 3
_AGAIN: Final = "it is started again after an edit"


class DevServer:
    """A server that is started again after edits; `show` gets lines for its author.

    With `inspects`, each version is inspected, too, by processes of its own.
    """

    def __init__(
        self, server: NamedServer, show: Callable[[str], object], *, inspects: bool = True
    ) -> None:
        self._server, self._show, self._inspects = server, show, inspects
        self._start = server.opener()
        self._contract: Contract | None = None
        """The items of the last version that could be started."""
        self._failure = ""
        """Why the last edit cannot be started, if it cannot."""
        self._is_tried = Event()
        self._changed: set[str] = set()
        """The names of files that have changed since the last start."""
        self._change = Event()
        self._connections: dict[LastingConnection, None] = {}
        self._inspection: Task[None] | None = None
        self._found: frozenset[str] = frozenset()
        (stateless,) = (
            revision for revision in protocol().REVISIONS if revision.era == STATELESS_ERA.name
        )
        self._filters = Selectors(stateless.load().methods.TABLE.notifications)

    async def open(self) -> Transport:
        """Open a connection that outlasts edits; an `Opener`."""
        await self._is_tried.wait()
        connection = LastingConnection(
            self._replace_ended, self._filters, lambda closed: self._connections.pop(closed, None)
        )
        self._connections[connection] = None
        try:
            await connection.begin(self._unavailable() if self._failure else self._start)
        except BaseException:
            await connection.close()
            raise
        return connection

    def _unavailable(self, otherwise: str = "") -> Opener:
        return unavailable(lambda: self._failure or otherwise)

    def _replace_ended(self, why: str) -> Opener:
        text = f"{self._server.safe_text}: {why.splitlines()[0]}; {_AGAIN}"
        self._show(text)
        return self._unavailable(text)

    @asynccontextmanager
    async def run(self, changes: AsyncIterator[Sequence[str]]) -> AsyncGenerator[None, None]:
        """Start the server now, and again after each of `changes`, which names files."""
        tasks = Tasks()
        # First, because the server may be edited while it starts.
        tasks.start(self._watch(changes))
        tasks.start(self._follow(tasks))
        try:
            yield
        finally:
            await tasks.cancel()

    async def _watch(self, changes: AsyncIterator[Sequence[str]]) -> None:
        async for names in changes:
            self._changed.update(names)
            self._change.set()

    async def _follow(self, tasks: Tasks) -> None:
        while True:
            try:
                await self._load(tasks)
            finally:
                self._is_tried.set()
            await self._change.wait()
            named, others = sorted(self._changed)[:_NAMED], len(self._changed) - _NAMED
            self._show(f"{', '.join(named)}{f' and {others} more' * (others > 0)} changed")
            self._changed.clear()
            self._change.clear()

    async def _load(self, tasks: Tasks) -> None:
        """Start a process to see whether it answers; if so, let all clients go on with others."""
        if self._inspection is not None:
            self._inspection.cancel()
        errors = deque[str](maxlen=_LAST_LINES)
        try:
            found = await self._fetch_contract(errors, tasks)
        except RequestTimeout as error:
            self._fail([Problem("request-timeout", str(error), self._server.safe_text)], errors)
        except ERRORS as error:
            self._fail([failure_of(error, self._server.safe_text).problem], errors)
        except ProblemError as error:
            self._fail(error.problems, errors)
        else:
            if found is None:
                return
            before, self._contract, self._failure = self._contract, found, ""
            await self._renew_connections()
            self._show_items(before, found)
            if self._inspects:
                self._inspection = tasks.start(self._inspect())

    async def _fetch_contract(self, errors: deque[str], tasks: Tasks) -> Contract | None:
        """Return the items of a new process; None if files change before it has answered.

        `errors` get the end of its standard error.
        """
        start = replace(self._server, stderr=errors.append).opener()

        def open() -> Awaitable[Transport]:
            # The negotiation may start it several times.
            errors.clear()
            return start()

        change = create_task(self._change.wait())
        fetching = create_task(fetch_contract(open, self._server.safe_text, _TIMEOUT))
        try:
            await wait((fetching, change), return_when=FIRST_COMPLETED)
        except CancelledError:
            await _end(fetching)
            raise
        finally:
            change.cancel()
        if fetching.done():
            return await fetching
        # The next version need not wait until a process that hangs has been ended.
        tasks.start(_end(fetching))
        return None

    def _fail(self, problems: Sequence[Problem], errors: Sequence[str]) -> None:
        for line in (line for problem in problems for line in problem.lines):
            self._show(line)
        for line in errors:
            self._show(f"  {line}")
        why = errors[-1].strip() if errors else problems[0].message
        self._failure = f"{self._server.safe_text} cannot be started: {why}; {_AGAIN}"
        serves = "clients keep the last version" if self._contract else "nothing serves yet"
        self._show(f"{serves}; the server is started again after an edit")

    async def _renew_connections(self) -> None:
        renewals = (connection.renew(self._start) for connection in [*self._connections])
        for outcome in await gather(*renewals, return_exceptions=True):
            if isinstance(outcome, ERRORS):
                self._show(f"a client stays with the last version: {outcome}")
            elif isinstance(outcome, BaseException):
                raise outcome

    def _show_items(self, before: Contract | None, now: Contract) -> None:
        self._show(f"{now.server} {now.version}".strip() + f": {now.counts()}")
        if before is None:
            return
        changes = compare_contracts(before, now, ("before", "now")).changes
        for change in changes:
            sides = f" ({change.before} → {change.after})" if change.before and change.after else ""
            self._show(f"  {change.category} {change.item}: {change.message}{sides}")

    async def _inspect(self) -> None:
        transcripts = await record_transcripts(server_of(self._server), InspectOptions(), ())
        profile, violations = await to_thread(lambda: (profile_of(transcripts), judge(transcripts)))
        self._show(f"inspect: {verdict(profile, violations)}")
        lines = {_line(violation): None for violation in violations}
        for line in lines:
            if line not in self._found:
                self._show(f"  {line}")
        self._found = frozenset(lines)


async def _end(task: Task[Contract]) -> None:
    task.cancel()
    await gather(task, return_exceptions=True)


def _line(violation: Violation) -> str:
    fault = violation.example
    return f"{violation.level} [{violation.rule.code}] {fault.item}: {fault.message}"
