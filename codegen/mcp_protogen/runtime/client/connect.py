"""Connecting: open a transport, find out which revision to speak, and speak it until the end."""

import asyncio
from asyncio import CancelledError
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from itertools import count
from logging import getLogger
from typing import Final, Protocol, TypedDict, TypeVar, Unpack, overload

from ..connection.connection import INITIALIZED, Connection
from ..core.errors import Disconnected, InvalidAnswer, RemoteError
from ..core.json import JSONObject, is_object
from ..core.options import Options
from ..core.revision import Revision, siblings
from ..core.tasks import Tasks
from ..core.throttle import Throttle
from ..messages import jsonrpc
from ..messages.envelope import SERVER_INFO, client_envelope, members
from ..rpc.endpoint import Endpoint
from ..rpc.send_queue import SendQueue
from ..rules import client_negotiation
from ..rules.client_negotiation import NegotiatedRevision
from ..rules.lifecycle import Event as Step
from ..rules.lifecycle import State
from ..rules.server_negotiation import DISCOVER, INITIALIZE
from ..translation.revision_view import RevisionView, RevisionViews
from ..transports.base import ExchangingTransport, Opener, Received, Unanswered, read
from .base import Agreement, ClientBase, ClientConnection, EraAdapter
from .handshake import NegotiationChannel

C = TypeVar("C", bound=ClientBase)
C_co = TypeVar("C_co", bound=ClientBase, covariant=True)
C1 = TypeVar("C1", bound=ClientBase)
C2 = TypeVar("C2", bound=ClientBase)
C3 = TypeVar("C3", bound=ClientBase)

_log: Final = getLogger(__name__)
_USUAL: Final = Options()


class RevisionModule(Protocol[C_co]):
    """The module of one revision in a generated package."""

    __name__: str

    @property
    def Client(self) -> Callable[[], C_co]:
        """The client of that revision."""
        ...


class ConnectOptions(TypedDict, total=False):
    """The options of a connection; `connect` says what they mean."""

    revisions: Iterable[Revision] | None
    options: Options
    verdict: NegotiatedRevision | None


@overload
def connect(
    open: Opener, client: C, /, **settings: Unpack[ConnectOptions]
) -> AbstractAsyncContextManager[C]: ...
@overload
def connect(
    open: Opener, /, *, as_: RevisionModule[C], **settings: Unpack[ConnectOptions]
) -> AbstractAsyncContextManager[C]: ...
@overload
def connect(
    open: Opener, one: C1, two: C2, /, **settings: Unpack[ConnectOptions]
) -> AbstractAsyncContextManager[C1 | C2]: ...
@overload
def connect(
    open: Opener, one: C1, two: C2, three: C3, /, **settings: Unpack[ConnectOptions]
) -> AbstractAsyncContextManager[C1 | C2 | C3]: ...
@overload
def connect(
    open: Opener, /, *clients: ClientBase, **settings: Unpack[ConnectOptions]
) -> AbstractAsyncContextManager[ClientBase]: ...
def connect(
    open: Opener,
    /,
    *clients: ClientBase,
    as_: RevisionModule[ClientBase] | None = None,
    revisions: Iterable[Revision] | None = None,
    options: Options = _USUAL,
    verdict: NegotiatedRevision | None = None,
) -> AbstractAsyncContextManager[ClientBase]:
    """Connect to a server, with the one of `clients` whose revision is agreed on.

    Their revisions are all that is ever agreed to, or else `revisions`, if these are given. What is
    said in one that has no client is translated for the client of the next newer one, or else of
    the newest; `options.on_loss` is told of what cannot be carried. `as_`, the module of a
    revision, is short for its plain client in all revisions of the package. `verdict` is what
    `client.verdict` said after an earlier connection to the same server: it spares the probe, and
    is put aside if it proves wrong.

    Raises `NegotiationError` if there is no common revision, `RemoteError` or `McpError` if the
    server breaks off the handshake, `RequestTimeout` if it does not answer, `Disconnected` if it
    cannot be reached, and `ValueError` without a client or with two of the same revision. On
    leaving, calls without an answer raise `Disconnected`, and the transport is closed.
    """
    if as_ is not None:
        clients = (*clients, as_.Client())
        revisions = siblings(as_.__name__) if revisions is None else revisions
    by_revision = {client.TABLE.revision: client for client in clients}
    if len(by_revision) < len(clients) or not clients:
        raise ValueError("connect needs at least one client, and one for a revision at most")
    views = RevisionViews(by_revision, revisions, options.on_loss)
    return connected(views, open, options, verdict)


@asynccontextmanager
async def connected(
    views: RevisionViews[ClientBase],
    open: Opener,
    options: Options,
    verdict: NegotiatedRevision | None = None,
) -> AsyncGenerator[ClientBase, None]:
    """Connect the client whose revision is agreed on; see `connect`."""
    negotiating = _Negotiating(views, open, options, verdict)
    try:
        adopted = await negotiating.run()
        channel = negotiating.channel
        view = views[adopted.negotiated.revision]
        tasks, outbox = Tasks(), SendQueue(channel.transport, options.max_outgoing)
        agreed = _agreement(view, adopted, channel.next_id, outbox, tasks, options)
        async with _running(agreed.endpoint, channel, outbox):
            if agreed.ways is not None:
                await agreed.ways.open()
            yield view.handlers
    finally:
        await negotiating.close()


class _Negotiating:
    """A negotiation that is carried out, over as many transports as it takes."""

    def __init__(
        self,
        views: RevisionViews[ClientBase],
        open: Opener,
        options: Options,
        verdict: NegotiatedRevision | None,
    ) -> None:
        self._views = views
        self._open = open
        self._options = options
        self._verdict = verdict
        self._channel: NegotiationChannel | None = None

    @property
    def channel(self) -> NegotiationChannel:
        """The questions asked over the transport that is open now."""
        assert self._channel is not None
        return self._channel

    async def run(self) -> client_negotiation.Adopt:
        """Open, ask, and ask again; raises what keeps the two from agreeing."""
        transport = await self._open()
        self._channel = NegotiationChannel(transport)
        over_http = isinstance(transport, ExchangingTransport) and transport.over_http
        negotiation = client_negotiation.Negotiation(
            self._views.offer, self._verdict, over_http=over_http
        )
        step = negotiation.start()
        while True:
            match step:
                case client_negotiation.Adopt():
                    return step
                case client_negotiation.Fail(error):
                    raise error
                case client_negotiation.Restart(then):
                    await self._reopen()
                    step = then
                case client_negotiation.Discover(version):
                    outcome = await self._discover(version, negotiation.silence_means_old)
                    step = negotiation.next(outcome)
                case client_negotiation.Initialize(version):
                    outcome = await self._initialize(version)
                    step = negotiation.next(outcome)

    async def _reopen(self) -> None:
        next_id = self.channel.next_id
        await self.close()
        self._channel = NegotiationChannel(await self._open(), next_id)

    async def _discover(self, version: str, silence_means_old: bool) -> client_negotiation.Outcome:
        view, options = self._views[version], self._options
        params = {"_meta": client_envelope(version, view.declared, view.identity)}
        if silence_means_old:
            return await self.channel.ask(DISCOVER, params, options.probe_timeout)
        # A server may take its time to start, and there is no other way to ask it.
        usual = options.patience(view.table.requests[DISCOVER], {})
        return await self.channel.ask(DISCOVER, params, min(usual.timeout, usual.max_timeout))

    async def _initialize(self, version: str) -> client_negotiation.Outcome:
        view = self._views[version]
        params = {
            "protocolVersion": version,
            "capabilities": view.declared,
            "clientInfo": view.identity,
        }
        return await self.channel.ask(INITIALIZE, params, self._options.initialize_timeout)

    async def close(self) -> None:
        """Let go of the transport that is open."""
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.transport.close()


def _agreement(
    view: RevisionView[ClientBase],
    adopted: client_negotiation.Adopt,
    first_id: int,
    outbox: SendQueue,
    tasks: Tasks,
    options: Options,
) -> Agreement:
    """Make the connection that was agreed on; raise `RemoteError` for an answer that is unfit."""
    table, client = view.table, view.handlers.__mcp_runtime__
    problems = options.of_server.problems("", {"result": adopted.result})
    if problems:
        raise InvalidAnswer(problems[0].message, problems)
    opening = table.requests[table.era.opened_by]
    result: JSONObject = table.read_result(opening, adopted.result).to_wire()
    server = table.declared_by("server", result["capabilities"])
    connection = Connection(
        table,
        "client",
        {"client": client.declaration(), "server": server},
        state=State.OPEN_PENDING,
    )
    connection.ids = count(first_id)
    info = result.get("serverInfo") or result.get("_meta", {}).get(SERVER_INFO)
    connection.identity["client"] = view.identity
    if is_object(info):
        connection.identity["server"] = table.called(info)
    if not table.era.remembers_client:
        envelope = client_envelope(table.revision, view.declared, view.identity)
        connection.envelope = members(envelope)
    side = ClientConnection(view.handlers, table)
    endpoint = Endpoint(connection, outbox, tasks, options, side.serve, side.on_notification)
    instructions: str | None = result.get("instructions")
    side.ways = _era_adapter(view, endpoint, instructions)
    agreed = Agreement(endpoint, adopted.negotiated, instructions, side.ways)
    client.adopt(agreed)
    return agreed


def _era_adapter(
    view: RevisionView[ClientBase], endpoint: Endpoint, instructions: str | None
) -> EraAdapter | None:
    """Return what joins a client to a server of the other era; None if both are of the same."""
    if view.handlers.TABLE.era is view.table.era:
        return None
    assert view.adapters is not None
    adapter: EraAdapter = view.adapters.era_adapter(view, endpoint, instructions)
    return adapter


@asynccontextmanager
async def _running(
    endpoint: Endpoint, channel: NegotiationChannel, outbox: SendQueue
) -> AsyncGenerator[None, None]:
    """Read and write as long as the block runs."""
    connection = endpoint.connection
    writer = asyncio.create_task(_write(endpoint, outbox))
    if connection.state is State.OPEN_PENDING:
        initialized = connection.table.notifications[INITIALIZED]
        await endpoint.notify(initialized, None)
        connection.step(Step.INITIALIZED)
    reader = asyncio.create_task(_read(endpoint, channel))
    try:
        yield
    finally:
        endpoint.abort(Disconnected("the connection was closed"))
        reader.cancel()
        with suppress(CancelledError):
            await reader
        await endpoint.close(0)
        await endpoint.tasks.cancel()
        outbox.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(writer), endpoint.options.drain)
        writer.cancel()
        with suppress(CancelledError):
            await writer


async def _write(endpoint: Endpoint, outbox: SendQueue) -> None:
    """Send what is to be sent until nothing can be sent any more."""
    await outbox.run()
    if outbox.broken is not None:
        endpoint.abort(outbox.broken)


async def _read(endpoint: Endpoint, channel: NegotiationChannel) -> None:
    """Take in what comes until the server is gone."""
    gone = Disconnected("the server closed the connection")
    intake = _Intake(endpoint)
    try:
        for received in channel.left:
            intake.take(received)
        await read(channel.transport, intake)
    except Disconnected as error:
        gone = error
    finally:
        endpoint.abort(gone)


class _Intake:
    """The way in for what a server sends."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._log = Throttle(_log)
        self.room = endpoint.room

    def take(self, received: Received) -> bool:
        if isinstance(received, Unanswered):
            self._endpoint.fail(received.id, received.error)
            return not self._endpoint.crowded
        try:
            if isinstance(received, RemoteError):
                raise received
            self._endpoint.receive(jsonrpc.read(received))
        except RemoteError as error:
            self._log.warning("the server sent what is no message: %s", error)
        return not self._endpoint.crowded
