"""Connecting: open a transport, find out which revision to speak, and speak it until the end."""

import asyncio
from asyncio import CancelledError
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from logging import getLogger
from typing import Final, TypeVar, overload

from . import jsonrpc, probe
from .client import Agreement, ClientBase, ClientSide
from .connection import INITIALIZED, Connection
from .dialogue import Dialogue
from .endpoint import Endpoint
from .envelope import SERVER_INFO, client_envelope, members
from .errors import Disconnected, RemoteError
from .jsonvalue import JSONObject, is_object
from .lifecycle import Event as Step
from .lifecycle import State
from .negotiate import Offer, Offered
from .options import Options
from .outbox import Outbox
from .probe import Verdict
from .reading import read
from .tasks import Tasks
from .transport import Opener, Received

C = TypeVar("C", bound=ClientBase)
C1 = TypeVar("C1", bound=ClientBase)
C2 = TypeVar("C2", bound=ClientBase)
C3 = TypeVar("C3", bound=ClientBase)

_log: Final = getLogger(__name__)
_USUAL: Final = Options()


@overload
def connect(
    open: Opener, client: C, /, *, options: Options = ..., verdict: Verdict | None = ...
) -> AbstractAsyncContextManager[C]: ...
@overload
def connect(
    open: Opener, one: C1, two: C2, /, *, options: Options = ..., verdict: Verdict | None = ...
) -> AbstractAsyncContextManager[C1 | C2]: ...
@overload
def connect(
    open: Opener,
    one: C1,
    two: C2,
    three: C3,
    /,
    *,
    options: Options = ...,
    verdict: Verdict | None = ...,
) -> AbstractAsyncContextManager[C1 | C2 | C3]: ...
@overload
def connect(
    open: Opener, /, *clients: ClientBase, options: Options = ..., verdict: Verdict | None = ...
) -> AbstractAsyncContextManager[ClientBase]: ...
def connect(
    open: Opener,
    /,
    *clients: ClientBase,
    options: Options = _USUAL,
    verdict: Verdict | None = None,
) -> AbstractAsyncContextManager[ClientBase]:
    """Connect to a server; gives the one of `clients` whose revision was agreed on.

    Their revisions are all that is ever agreed to. `verdict` is what `client.verdict` said after an
    earlier connection to the same server: it spares the probe, and is put aside if it proves wrong.

    Raises `NegotiationError` if there is no common revision, `RemoteError` or `McpError` if the
    server breaks off the handshake, `RequestTimeout` if it does not answer, `Disconnected` if it
    cannot be reached, and `ValueError` without a client or with two of the same revision. On
    leaving, calls without an answer raise `Disconnected`, and the transport is closed.
    """
    by_revision = {client.TABLE.revision: client for client in clients}
    if len(by_revision) < len(clients) or not clients:
        raise ValueError("connect needs at least one client, and one for a revision at most")
    return _connected(by_revision, open, options, verdict)


@asynccontextmanager
async def _connected(
    clients: Mapping[str, ClientBase], open: Opener, options: Options, verdict: Verdict | None
) -> AsyncGenerator[ClientBase, None]:
    negotiating = _Negotiating(clients, open, options, verdict)
    try:
        adopted = await negotiating.run()
        dialogue = negotiating.dialogue
        client = clients[adopted.verdict.revision]
        tasks, outbox = Tasks(), Outbox(dialogue.transport, options.max_outgoing)
        endpoint = _endpoint(client, adopted, dialogue.next_id, outbox, tasks, options)
        async with _running(endpoint, dialogue, outbox):
            yield client
    finally:
        await negotiating.close()


class _Negotiating:
    """Carries out what the negotiation decides, over as many transports as it takes."""

    def __init__(
        self,
        clients: Mapping[str, ClientBase],
        open: Opener,
        options: Options,
        verdict: Verdict | None,
    ) -> None:
        self._clients = clients
        self._open = open
        self._options = options
        offered = sorted(clients.items())
        offer = Offer(tuple(Offered(id, client.TABLE.rules.era) for id, client in offered))
        self._negotiation = probe.Negotiation(offer, verdict)
        self._dialogue: Dialogue | None = None

    @property
    def dialogue(self) -> Dialogue:
        """What was said last, over the transport that is open now."""
        assert self._dialogue is not None
        return self._dialogue

    async def run(self) -> probe.Adopt:
        """Open, ask, and ask again; raises what keeps the two from agreeing."""
        self._dialogue = Dialogue(await self._open())
        step = self._negotiation.start()
        while True:
            match step:
                case probe.Adopt():
                    return step
                case probe.Fail(error):
                    raise error
                case probe.Restart(then):
                    await self._reopen()
                    step = then
                case probe.Discover(version):
                    outcome = await self._discover(version)
                    step = self._negotiation.next(outcome)
                case probe.Initialize(version):
                    outcome = await self._initialize(version)
                    step = self._negotiation.next(outcome)

    async def _reopen(self) -> None:
        next_id = self.dialogue.next_id
        await self.close()
        self._dialogue = Dialogue(await self._open(), next_id)

    async def _discover(self, version: str) -> probe.Outcome:
        client = self._clients[version]
        meta = client_envelope(version, client.declaration(), client.identity())
        params = {"_meta": meta}
        return await self.dialogue.ask("server/discover", params, self._options.probe_timeout)

    async def _initialize(self, version: str) -> probe.Outcome:
        client = self._clients[version]
        params = {
            "protocolVersion": version,
            "capabilities": client.declaration(),
            "clientInfo": client.identity(),
        }
        return await self.dialogue.ask("initialize", params, self._options.initialize_timeout)

    async def close(self) -> None:
        """Let go of the transport that is open."""
        dialogue, self._dialogue = self._dialogue, None
        if dialogue is not None:
            await dialogue.transport.close()


def _endpoint(
    client: ClientBase,
    adopted: probe.Adopt,
    first_id: int,
    outbox: Outbox,
    tasks: Tasks,
    options: Options,
) -> Endpoint:
    """The connection as it stands once a revision is agreed on; raises `RemoteError`."""
    table, declared = client.TABLE, client.declaration()
    stateless = table.rules.era == "stateless"
    answered = "server/discover" if stateless else "initialize"
    result: JSONObject = table.read_result(table.requests[answered], adopted.result).to_wire()
    connection = Connection(
        table,
        "client",
        {"client": declared, "server": result["capabilities"]},
        state=State.OPEN_PENDING,
        first_id=first_id,
    )
    info = result.get("_meta", {}).get(SERVER_INFO) if stateless else result["serverInfo"]
    connection.identity["client"] = client.identity()
    if is_object(info):
        connection.identity["server"] = info
    if stateless:
        meta = client_envelope(table.revision, declared, client.identity())
        connection.envelope = members(meta)
    side = ClientSide(client)
    endpoint = Endpoint(connection, outbox, tasks, options, side.serve, side.heed)
    client.adopt(Agreement(endpoint, adopted.verdict, result.get("instructions")))
    return endpoint


@asynccontextmanager
async def _running(
    endpoint: Endpoint, dialogue: Dialogue, outbox: Outbox
) -> AsyncGenerator[None, None]:
    """Read and write as long as the block runs."""
    connection = endpoint.connection
    writer = asyncio.create_task(_write(endpoint, outbox))
    if connection.state is State.OPEN_PENDING:
        initialized = connection.table.notifications[INITIALIZED]
        await endpoint.notify(initialized, None)
        connection.step(Step.INITIALIZED)
    reader = asyncio.create_task(_read(endpoint, dialogue))
    try:
        yield
    finally:
        endpoint.abandon(Disconnected("the connection was closed"))
        reader.cancel()
        with suppress(CancelledError):
            await reader
        await endpoint.finish(0)
        await endpoint.tasks.cancel()
        outbox.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(writer), endpoint.options.drain)
        writer.cancel()
        with suppress(CancelledError):
            await writer


async def _write(endpoint: Endpoint, outbox: Outbox) -> None:
    """Send what is to be sent until nothing can be sent any more."""
    await outbox.run()
    if outbox.broken is not None:
        endpoint.abandon(outbox.broken)


async def _read(endpoint: Endpoint, dialogue: Dialogue) -> None:
    """Take in what comes until the server is gone."""
    gone = Disconnected("the server closed the connection")
    intake = _Intake(endpoint)
    try:
        for received in dialogue.left:
            intake.receive(received)
        await read(dialogue.transport, intake)
    except Disconnected as error:
        gone = error
    finally:
        endpoint.abandon(gone)


class _Intake:
    """Takes in what a server sends."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.room = endpoint.room

    @property
    def crowded(self) -> bool:
        return self._endpoint.crowded

    def receive(self, received: Received) -> None:
        try:
            if isinstance(received, RemoteError):
                raise received
            self._endpoint.receive(jsonrpc.parse(received))
        except RemoteError as error:
            _log.warning("the server sent what is no message: %s", error)
