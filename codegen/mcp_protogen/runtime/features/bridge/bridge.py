"""A bridge between a client of one revision and a server of another, over any transports.

It connects to the server after the client has introduced itself, so that the server sees what the
client can do.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Final, NamedTuple

from ...client.base import ClientBase
from ...client.connect import open_client
from ...core.connection_errors import Disconnected
from ...core.errors import INTERNAL_ERROR, InvalidParams, McpError, ProtocolError, RemoteError
from ...core.json import JSONObject, is_object
from ...core.options import USUAL, Options, SizeLimit
from ...core.revision import Revision
from ...core.throttle import Throttle
from ...messages import jsonrpc
from ...messages.envelope import CLIENT_CAPABILITIES, CLIENT_INFO
from ...messages.extended_table import table_with
from ...messages.jsonrpc import Call, Malformed
from ...messages.lenient_params import reinterpret
from ...messages.method_table import HANDSHAKE_ERA, MethodTable
from ...messages.reading import messages_in
from ...rules import server_negotiation
from ...rules.client_negotiation import NegotiatedRevision
from ...rules.server_negotiation import Offer
from ...rules.task_kinds import without_tasks
from ...server.base import ServerBase
from ...server.serve import serve
from ...translation.revision_view import RevisionView, RevisionViews
from ...transports.base import Opener, Received, Transport, separate_texts
from .forwarding import PassThroughTable
from .proxies import UNKNOWN, AdaptsTasks, ProxyClientRuntime, ProxyServerRuntime, runtime_of

UNREACHABLE: Final = "The server cannot be reached"

_IN_HANDSHAKE: Final = ("/params", "capabilities", "clientInfo")
_IN_REQUEST: Final = ("/params/_meta", CLIENT_CAPABILITIES, CLIENT_INFO)


class BridgeBase:
    """Base of the generated `Bridge`, with its `REVISIONS`.

    `client_transport` leads to the client, `server_opener` opens a connection to the server.
    `client_revisions` and `server_revisions` limit the revisions on each side.
    """

    REVISIONS: ClassVar[tuple[Revision, ...]]
    TASKS: ClassVar[AdaptsTasks | None] = None

    def __init__(
        self,
        client_transport: Transport,
        server_opener: Opener,
        *,
        client_revisions: Iterable[Revision] | None = None,
        server_revisions: Iterable[Revision] | None = None,
        options: Options = USUAL,
    ) -> None:
        revisions = self.REVISIONS if client_revisions is None else client_revisions
        self._arrival = Arrival(client_transport, revisions, options.of_client)
        self._opener = server_opener
        self._servers = tuple(self.REVISIONS if server_revisions is None else server_revisions)
        self._options = options

    async def run(self) -> None:
        """Carry messages until the client is gone.

        Raises the errors of `connect` if the server cannot be reached, or no revision fits. The
        client's transport is closed in any case.
        """
        try:
            while (caller := await self._arrival.first()) is not None:
                try:
                    await self._carry(caller)
                    return
                except UnfitCaller as unfit:
                    await self._arrival.refuse_first(unfit.error)
        finally:
            await self._arrival.close()

    async def _carry(self, caller: "Caller") -> None:
        async with AsyncExitStack() as stack:
            server = await self._connect(stack, caller)
            runtime = runtime_of(server)
            # Until either side is gone.
            serving = asyncio.create_task(serve(server, self._arrival, options=self._options))
            end = asyncio.create_task(runtime.until_gone())
            try:
                await asyncio.wait((serving, end), return_when=asyncio.FIRST_COMPLETED)
                await runtime.wait_for_notifications(self._options.drain)
            finally:
                end.cancel()
                serving.cancel()
                await asyncio.gather(serving, end, return_exceptions=True)

    async def _connect(self, stack: AsyncExitStack, caller: "Caller") -> ServerBase[Any]:
        """Connect to the server; give up soon after the client has closed."""
        drain, loop = self._options.drain, asyncio.get_running_loop()
        watching = asyncio.create_task(self._arrival.until_gone(self._options.max_waiting))
        limit = asyncio.timeout(None)
        try:
            async with limit:

                def hurry(_: object) -> None:
                    limit.reschedule(loop.time() + drain)

                watching.add_done_callback(hurry)
                proxy = open_proxy(type(self), caller, self._opener, self._servers, self._options)
                try:
                    return await stack.enter_async_context(proxy)
                finally:
                    watching.remove_done_callback(hurry)
        except UnfitCaller:
            raise
        except Exception as error:
            # Programs show their users an answer, but not a closed connection.
            await self._arrival.refuse(UNREACHABLE)
            if isinstance(error, TimeoutError) and limit.expired():
                why = "the client left before the server answered"
                raise Disconnected(why) from error
            raise
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    @classmethod
    def proxy(
        cls,
        revision: str,
        declared: JSONObject,
        info: JSONObject | None,
        opener: Opener,
        options: Options = USUAL,
        server_revisions: Iterable[Revision] | None = None,
    ) -> AbstractAsyncContextManager[ServerBase[Any]]:
        """Return a server of `revision` in place of another one, for mounting.

        The other server sees a client with this declaration and info.
        """
        known = next(known for known in cls.REVISIONS if known.id == revision)
        servers = server_revisions or cls.REVISIONS
        # Tasks are those of the mounting server.
        caller = Caller(known, without_tasks(declared, "client"), info or {**UNKNOWN})
        return open_proxy(cls, caller, opener, servers, options, carries=False)


@asynccontextmanager
async def open_proxy(
    bridge: type[BridgeBase],
    caller: "Caller",
    opener: Opener,
    servers: Iterable[Revision],
    options: Options,
    *,
    carries: bool = True,
) -> AsyncGenerator[ServerBase[Any], None]:
    client, server = _proxies(caller.revision, carries, bridge.TASKS)
    to_server: ProxyClientRuntime = client.__mcp_runtime__
    to_client: ProxyServerRuntime = server.__mcp_runtime__
    to_server.server, to_client.client = to_client, to_server
    to_server.capabilities, to_server.info = caller.capabilities, caller.info
    to_server.on_loss, to_server.task_options = options.on_loss, options.tasks
    to_server.carries, to_server.tasks = carries, bridge.TASKS
    views = _Views(caller, to_server, servers)
    if caller.revision.id not in views.offer.eras:
        caller.check()
    # The client's own revision loses nothing, so it is tried first.
    own = NegotiatedRevision(caller.revision.id, caller.revision.era)
    # A mount reads its server's answers; a bridge forwards them unread.
    lenient = options if carries else replace(options, lenient=True)
    async with open_client(views, opener, lenient, own):
        server.instructions = to_server.connection.instructions
        await to_server.open()
        try:
            yield server
        finally:
            to_client.abort()


class _Views(RevisionViews[ClientBase]):
    def __init__(
        self, caller: "Caller", to_server: ProxyClientRuntime, servers: Iterable[Revision]
    ) -> None:
        revision, client = caller.revision.id, to_server.client
        super().__init__({revision: client}, servers, to_server.on_loss)
        self._caller = caller
        if to_server.carries:
            table = PassThroughTable(client.TABLE)
            self[revision] = RevisionView(client, table, caller.capabilities, caller.info)

    def __missing__(self, revision: str) -> RevisionView[ClientBase]:
        if revision != self._caller.revision.id:
            self._caller.check()
        return super().__missing__(revision)


def _proxies(revision: Revision, carries: bool, tasks: AdaptsTasks | None) -> tuple[Any, Any]:
    module = revision.load()
    table = table_with(revision, {"tasks"}) if carries or tasks else module.methods.TABLE
    calls: JSONObject = {} if tasks is None else {"__mcp_caller__": tasks.caller}
    of_client = {"__mcp_runtime__": cached_property(ProxyClientRuntime), **calls}
    of_server = {"__mcp_runtime__": cached_property(ProxyServerRuntime)}
    client, server = (
        type(f"Proxy{base.__name__}", (base,), {"TABLE": table, **members})()
        for base, members in ((module.Client, of_client), (module.Server, of_server))
    )
    return client, server


class UnfitCaller(Exception):
    """A client whose introduction cannot be translated; `error` answers it."""

    def __init__(self, error: RemoteError) -> None:
        super().__init__(str(error))
        self.error: Final = error


class Caller(NamedTuple):
    revision: Revision
    capabilities: JSONObject
    info: JSONObject
    call: Call | None = None

    def check(self) -> None:
        """Raise `UnfitCaller` if the client cannot be translated to another revision."""
        if self.call is not None:
            table: MethodTable = self.revision.load().methods.TABLE
            outcome = table.interpret(self.call, "client")
            if isinstance(outcome, InvalidParams):
                outcome = reinterpret(table, self.call, outcome, "client")
            if isinstance(outcome, RemoteError):
                raise UnfitCaller(outcome)


def caller_of(call: Call, revision: Revision, limit: SizeLimit) -> Caller:
    """Return the sender of a message; raise `InvalidParams` if it declares too much."""
    remembers = revision.era == HANDSHAKE_ERA.name
    at, *names = _IN_HANDSHAKE if remembers else _IN_REQUEST
    members = call.params if remembers else call.meta
    capabilities, info = (members.get(name) for name in names)
    caller = Caller(
        revision,
        capabilities if is_object(capabilities) else {},
        info if is_object(info) else {**UNKNOWN},
        call,
    )
    problems = limit.problems(at, dict(zip(names, caller[1:3], strict=True)))
    if problems:
        raise InvalidParams(problems[0].message, problems, id=call.id)
    return caller


class Arrival:
    def __init__(
        self, transport: Transport, revisions: Iterable[Revision], limit: SizeLimit
    ) -> None:
        self._receive, self.send, self.close = transport.receive, transport.send, transport.close
        self._limit = limit
        self._revisions = {revision.id: revision for revision in revisions}
        known = sorted(self._revisions.items())
        self._offer = Offer({id: revision.era for id, revision in known})
        self._seen = deque[Received]()
        self._has_ended = False
        self._log = Throttle(__name__)

    async def first(self) -> Caller | None:
        """Return the client after its introduction; None if it has gone."""
        while True:
            while self._seen:
                caller = await self._look_at(self._seen[0])
                if caller is not None:
                    return caller
                self._seen.popleft()
            if not await self._take():
                return None

    async def _take(self) -> bool:
        received = await self._receive()
        self._seen.extend(separate_texts(received, self._log))
        self._has_ended = not received
        return not self._has_ended

    async def until_gone(self, most: int) -> None:
        """Keep messages for later; after `most`, read no more and never return."""
        with suppress(Disconnected):
            while await self._take():
                if len(self._seen) >= most:
                    await asyncio.Event().wait()

    async def _look_at(self, received: Received) -> Caller | None:
        try:
            for message in messages_in(received, self._log):
                if isinstance(message, Malformed):
                    raise message.error
                if isinstance(message, Call):
                    return await self._find_caller(message)
            return None
        except RemoteError as error:
            data = jsonrpc.write_error(error.id, error.code, error.message, error.data)
            await self.send([data])
            return None

    async def _find_caller(self, call: Call) -> Caller | None:
        match server_negotiation.route(call, self._offer, handshaken=False):
            case server_negotiation.Route.INITIALIZE:
                revision = server_negotiation.answer_initialize(call.params, self._offer, call.id)
            case str(revision) if call.id is not None:
                pass
            case _:
                if call.id is not None:
                    await self.send([jsonrpc.write_result(call.id, b"{}")])
                return None
        return caller_of(call, self._revisions[revision], self._limit)

    async def refuse(self, message: str) -> None:
        while self._seen:
            await self.refuse_first(McpError(INTERNAL_ERROR, message))

    async def refuse_first(self, error: ProtocolError) -> None:
        for call in messages_in(self._seen.popleft(), self._log):
            if isinstance(call, Call) and call.id is not None:
                data = jsonrpc.write_error(call.id, error.code, error.message, error.data)
                with suppress(Disconnected):
                    await self.send([data])

    async def receive(self) -> Sequence[Received]:
        if self._seen:
            messages, self._seen = list(self._seen), deque[Received]()
            return messages
        return () if self._has_ended else await self._receive()
