"""A bridge between a client of one revision and a server of another, over any transports.

To the client the bridge is the server, in the client's own revision; to the server it is that
client, and what it says there is translated. It opens its way to the server once the client has
said who it is, so that the server sees what the client can do.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from ..client.base import ClientBase
from ..client.connect import connected
from ..core.errors import InvalidParams, RemoteError
from ..core.options import Options
from ..core.revision import Revision
from ..core.stored_json import SizeLimit
from ..messages import jsonrpc
from ..messages.jsonrpc import Call
from ..messages.parsed import InvalidMessage, UnknownMethod
from ..rules import server_negotiation
from ..rules.server_negotiation import Offer, Offered
from ..server.serve import serve
from ..translation.revision_view import RevisionViews
from ..transports.base import Opener, Received, Transport
from .carrying import CarryingTable
from .proxies import Caller, ProxyClient, ProxyServer

_USUAL: Final = Options()


class BridgeBase:
    """Base of the generated `Bridge`, which knows its `REVISIONS`.

    `client_side` is the connection on which the client speaks, `server_side` opens one to the
    server. `client_revisions` and `server_revisions` are all that is ever agreed to at either end.
    """

    REVISIONS: ClassVar[tuple[Revision, ...]]

    def __init__(
        self,
        client_side: Transport,
        server_side: Opener,
        *,
        client_revisions: Iterable[Revision] | None = None,
        server_revisions: Iterable[Revision] | None = None,
        options: Options = _USUAL,
    ) -> None:
        known = self.REVISIONS
        self._client_side = client_side
        self._server_side = server_side
        self._clients = {r.id: r for r in (known if client_revisions is None else client_revisions)}
        self._servers = tuple(known if server_revisions is None else server_revisions)
        self._options = options
        self._offer = Offer(
            tuple(Offered(one.id, one.lifecycle) for _, one in sorted(self._clients.items()))
        )

    async def run(self) -> None:
        """Carry messages until the client is gone.

        Raises what `connect` raises if the server cannot be reached or agreed with; then the client
        side is closed.
        """
        try:
            await self._run()
        finally:
            await self._client_side.close()

    async def _run(self) -> None:
        arrival = Arrival(self._client_side, self._offer, self._clients, self._options.of_client)
        found = await arrival.first()
        if found is None:
            return
        revision, caller = found
        module = self._clients[revision].load()
        client = _proxy(ProxyClient, module.Client)
        server = _proxy(ProxyServer, module.Server)
        client.caller, client.server, server.client = caller, server, client
        client.on_loss = self._options.on_loss
        views: RevisionViews[ClientBase] = RevisionViews(
            {revision: client}, self._servers, self._options.on_loss
        )
        async with connected(views, self._server_side, self._options):
            await client.open()
            try:
                await self._carry(server, client, arrival)
            finally:
                server.abort()

    async def _carry(self, server: ProxyServer, client: ProxyClient, arrival: "Arrival") -> None:
        """Serve the client until it, or the server, is gone."""
        serving = asyncio.create_task(serve(server, arrival, options=self._options))
        gone = asyncio.create_task(client.__mcp_runtime__.endpoint.until_aborted())
        try:
            await asyncio.wait((serving, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            serving.cancel()
            await asyncio.gather(serving, gone, return_exceptions=True)


def _proxy(kind: Any, generated: Any) -> Any:
    """Make a proxy with the types of a generated class."""
    return type(kind.__name__, (kind, generated), {"TABLE": CarryingTable(generated.TABLE)})()


class Arrival:
    """The transport of a client, whose first messages are looked at before they are served."""

    def __init__(
        self,
        transport: Transport,
        offer: Offer,
        revisions: Mapping[str, Revision],
        bound: SizeLimit,
    ) -> None:
        self._transport = transport
        self._bound = bound
        self._revisions = revisions
        self._offer = offer
        self._seen: deque[Received] = deque()

    async def first(self) -> tuple[str, Caller] | None:
        """Return the revision that the client speaks, and who it says it is; None if it has gone.

        Answer what comes before.
        """
        while True:
            received = await self._transport.receive()
            if not received:
                return None
            waiting = deque(received)
            while waiting:
                found = await self._look_at(waiting[0])
                if found is not None:
                    self._seen.extend(waiting)
                    return found
                waiting.popleft()

    async def _look_at(self, received: Received) -> tuple[str, Caller] | None:
        try:
            if isinstance(received, RemoteError):
                raise received
            message = jsonrpc.read(received) if isinstance(received, bytes) else None
            if isinstance(message, jsonrpc.Malformed):
                raise message.error
            return await self._routed(message) if isinstance(message, Call) else None
        except RemoteError as error:
            data = jsonrpc.write_error(error.id, error.code, error.message, error.data)
            await self._transport.send([data])
            return None

    async def _routed(self, call: Call) -> tuple[str, Caller] | None:
        route = server_negotiation.route(call, self._offer, handshaken=False)
        match route:
            case server_negotiation.Initialize():
                revision = server_negotiation.answer_initialize(call.params, self._offer, call.id)
                return revision, self._caller(call, revision)
            case server_negotiation.Stateless(revision) if call.id is not None:
                return revision, self._caller(call, revision)
            case _:
                if call.id is not None:
                    await self._transport.send([jsonrpc.write_result(call.id, b"{}")])
                return None

    def _caller(self, call: Call, revision: str) -> Caller:
        """Return who a client says it is; raise `RemoteError` if it may not be passed on.

        It goes on to the server, so it has to be what it should be.
        """
        table = CarryingTable(self._revisions[revision].load().methods.TABLE)
        outcome = table.interpret(call, "client", lambda _: None)
        if isinstance(outcome, (UnknownMethod, InvalidMessage)):
            raise outcome.error()
        caller = Caller.of(call.params, call.meta)
        begins = call.method == server_negotiation.INITIALIZE
        problems = caller.problems(self._bound, begins=begins)
        if problems:
            raise InvalidParams(problems[0].message, problems, id=call.id)
        return caller

    async def receive(self) -> Sequence[Received]:
        if self._seen:
            seen, self._seen = list(self._seen), deque()
            return seen
        return await self._transport.receive()

    async def send(self, messages: Sequence[bytes]) -> None:
        await self._transport.send(messages)

    async def close(self) -> None:
        await self._transport.close()
