"""Connecting: negotiate a revision, and speak it until the end."""

import asyncio
from asyncio import CancelledError
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from itertools import count
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeAlias, TypedDict, TypeVar, cast

from pydantic_core import to_json

from ..connection import INITIALIZED, Connection
from ..core.connection_errors import (
    NO_STRAYS,
    Disconnected,
    RequestTimeout,
    explain_error,
    in_answer,
)
from ..core.errors import INVALID_REQUEST, InvalidAnswer, McpError, RemoteError, RequestId
from ..core.json import is_object
from ..core.options import USUAL, Options
from ..core.revision import Revision, load_generated
from ..core.throttle import Throttle
from ..messages import jsonrpc, reading
from ..messages.codec import MessageCodec
from ..messages.envelope import SERVER_INFO, client_envelope, members, meta_in
from ..messages.jsonrpc import Call, Malformed, Parsed, Response
from ..messages.reading import Batch, messages_in
from ..rpc.send_queue import MessageSink, SendQueue
from ..rules.client_negotiation import (
    Adopt,
    Answered,
    Ask,
    NegotiatedRevision,
    Negotiation,
    Outcome,
    Restart,
)
from ..rules.lifecycle import State
from ..rules.server_negotiation import DISCOVER, INITIALIZE
from ..translation.revision_view import RevisionView, RevisionViews
from ..transports.base import (
    ExchangingTransport,
    InformedTransport,
    Opener,
    Paused,
    Received,
    RestartableTransport,
    Transport,
    Unanswered,
    WaitingTransport,
    read,
    separate_texts,
    wait_within,
)
from .base import ClientBase, ClientConnection

if TYPE_CHECKING:
    from ..core.losses import LossReport

C = TypeVar("C", bound=ClientBase)
C_co = TypeVar("C_co", bound=ClientBase, covariant=True)

Newest = TypeVar("Newest", bound=ClientBase, covariant=True)

Connecting: TypeAlias = AbstractAsyncContextManager[C]
"""A connection that is open inside `async with`."""

# The time for the last lines of a broken connection, in seconds.
_LAST_WORDS: Final = 0.2

# The time for a replaced server to end before it gets a signal, in seconds.
_ENDING: Final = 0.5


class RevisionModule(Protocol[C_co]):
    __name__: str

    @property
    def Client(self) -> Callable[[], C_co]: ...


class ConnectOptions(TypedDict, total=False):
    revisions: Iterable[Revision] | None
    options: Options
    negotiated: NegotiatedRevision | None


class Connector(Generic[Newest]):
    """Connects by default with the plain client of the package's newest revision."""

    def __init__(self, package: str) -> None:
        self.package: Final = load_generated(package)

    def newest(self) -> RevisionModule[Any]:
        *_, newest = self.package.REVISIONS
        return cast(RevisionModule[Any], newest.load())

    def connection_through(
        self,
        open: Opener,
        clients: Sequence[ClientBase],
        as_: RevisionModule[ClientBase] | None = None,
        revisions: Iterable[Revision] | None = None,
        options: Options = USUAL,
        negotiated: NegotiatedRevision | None = None,
    ) -> Connecting[Any]:
        if as_ is None and not clients:
            as_ = self.newest()
        if as_ is not None:
            clients = (*clients, as_.Client())
            if revisions is None:
                revisions = load_generated(as_.__name__.rpartition(".")[0]).REVISIONS
        for client in clients:
            if not isinstance(client, ClientBase):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"clients after the server must be objects, got {client!r}")
        by_revision = {client.TABLE.revision: client for client in clients}
        if len(by_revision) < len(clients):
            raise ValueError("connect takes at most one client for each revision")
        views = RevisionViews(by_revision, revisions, options.on_loss)
        return open_client(views, open, options, negotiated)

    def make_opener(self, address: str, name: str | None, /, given: Any, **options: Any) -> Opener:
        known = self.package.__mcp_transports__[address]
        opener = getattr(self.package, known[name or next(iter(known))])
        return cast(Opener, opener(given, **options))


@asynccontextmanager
async def open_client(
    views: RevisionViews[ClientBase],
    open: Opener,
    options: Options,
    negotiated: NegotiatedRevision | None = None,
) -> AsyncGenerator[ClientBase, None]:
    negotiator = Negotiator(views, open, options)
    try:
        adopted = await negotiator.run(negotiated)
        view = views[adopted.negotiated.revision]
        if negotiator.repairs is not None:
            from ..messages.lenient_results import lenient

            view = view._replace(table=lenient(view.table, negotiator.repairs))
        queue = SendQueue(negotiator.transport, options.max_outgoing)
        connection = _build_connection(view, adopted, negotiator.ids, queue, options)
        connection.messages_in = negotiator.messages_in
        connection.network = getattr(negotiator.transport, "network", None)
        if isinstance(negotiator.transport, WaitingTransport):
            negotiator.transport.wait_within(connection.endpoint.time_left)
        async with _run_connection(connection, negotiator, queue):
            await connection.open()
            yield view.handlers
    finally:
        await negotiator.close()


class Negotiator:
    """A negotiation over one open transport.

    Messages are plain JSON, because the models to read them are not known yet. Meanwhile a server
    may only ping (basic/lifecycle, "Initialization").
    """

    def __init__(self, views: RevisionViews[ClientBase], open: Opener, options: Options) -> None:
        self._views = views
        self._open = open
        self._options = options
        self._transport: Transport | None = None
        self._limit = asyncio.timeout(None)
        self._within = 0.0
        self._method = ""
        self._unanswered = 0
        self._strays = NO_STRAYS
        self._log = Throttle(__name__)
        self.repairs: LossReport | None = None
        self.messages_in = messages_in
        if options.lenient:
            from ..core import losses
            from ..messages.lenient_results import mended_messages_in

            self.repairs = losses.LossReport("", "", options.on_loss)
            self.messages_in = partial(mended_messages_in, self.repairs)
        self.ids = count(1)
        self.left: deque[Received] = deque()
        """Input received after the last answer."""

    @property
    def transport(self) -> Transport:
        assert self._transport is not None
        return self._transport

    async def run(self, prior: NegotiatedRevision | None) -> Adopt:
        transport = await self._connect()
        negotiation = Negotiation(
            self._views.offer,
            prior,
            table_of=self._table_of,
            over_http=isinstance(transport, ExchangingTransport) and transport.over_http,
            restartable=isinstance(transport, RestartableTransport),
        )
        step = negotiation.start()
        while not isinstance(step, Adopt):
            match step:
                case Exception():
                    raise step
                case Restart(then):
                    await self._reconnect()
                    step = then
                case Ask(method, version) if method == DISCOVER:
                    outcome = await self._discover(version, negotiation.silence_means_old)
                    step = negotiation.next(outcome)
                case Ask(_, version):
                    view = self._views[version]
                    params = {
                        "protocolVersion": version,
                        "capabilities": view.declared,
                        "clientInfo": view.identity,
                    }
                    timeout = self._options.initialize_timeout
                    step = negotiation.next(await self._ask(INITIALIZE, params, timeout))
        return step

    async def _connect(self) -> Transport:
        transport = self._transport = await self._open()
        if isinstance(transport, WaitingTransport):
            transport.wait_within(self._time_left)
        if isinstance(transport, InformedTransport):
            transport.know(self._table_of)
        return transport

    def _table_of(self, revision: str) -> MessageCodec:
        return self._views[revision].table.wire

    def _time_left(self, id: RequestId) -> float:
        due = self._limit.when()
        return inf if due is None else due - asyncio.get_running_loop().time()

    async def _reconnect(self) -> None:
        if isinstance(self._transport, RestartableTransport):
            await self._transport.close_within(_ENDING)
        await self.close()
        self.left.clear()
        self._strays = NO_STRAYS
        self._unanswered = 0
        await self._connect()

    async def close(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()

    async def _discover(self, version: str, silence_means_old: bool) -> Outcome:
        view, timeout = self._views[version], self._options.probe_timeout
        if not silence_means_old:
            # The server may start slowly, and no other request could help.
            usual = self._options.patience(view.table.requests[DISCOVER], {})
            timeout = min(usual.timeout, usual.max_timeout)
        params = {"_meta": client_envelope(version, view.declared, view.identity)}
        return await self._ask(DISCOVER, params, timeout)

    async def _ask(self, method: str, params: Mapping[str, Any], timeout: float) -> Outcome:
        id = next(self.ids)
        self._limit, self._within = asyncio.timeout(timeout), timeout
        self._method = method
        try:
            async with self._limit:
                call = jsonrpc.write_call(id, to_json(method), to_json(params))
                await self.transport.send([call])
                return await self._answer(id)
        except TimeoutError:
            self._unanswered += 1
            return RequestTimeout(method, timeout, self._strays, id)
        except OSError as error:
            # The last output of an ended process may still wait to be read.
            with suppress(OSError):
                await wait_within(_LAST_WORDS, self._answer(id))
            return Disconnected(self._strays.explain(str(error), id))

    async def _answer(self, id: int) -> Outcome:
        while True:
            while self.left:
                if (outcome := await self._read(self.left.popleft(), id)) is not None:
                    return outcome
            received = await self.transport.receive()
            if not received:
                raise Disconnected("the server closed the connection")
            self.left.extend(separate_texts(received, self._log))

    async def _read(self, received: Received, id: int) -> Outcome | None:
        if isinstance(received, Unanswered):
            return explain_error(received.error, self._strays, id) if received.id == id else None
        if isinstance(received, Paused):
            if received.id == id:
                now = asyncio.get_running_loop().time()
                self._limit.reschedule(None if received.paused else now + self._within)
            return None
        for message in self.messages_in(received, self._log):
            if reading.is_stray(message) and isinstance(received, bytes):
                self._strays = self._strays.with_line(received)
            if (outcome := self._outcome(message, id)) is not None:
                return outcome
            if isinstance(message, Call) and message.id is not None:
                text = f"{message.method} must follow the answer to {self._method}"
                response = jsonrpc.write_error(message.id, INVALID_REQUEST, text)
                if message.method == "ping":
                    response = jsonrpc.write_result(message.id, b"{}")
                await self.transport.send([response])
        return None

    def _outcome(self, message: Parsed | Batch, id: int) -> Outcome | None:
        match message:
            case Response(answered, result, None) if answered == id:
                return Answered(result)
            case Response(answered, _, dict(refused)):
                if answered == id or (answered is None and self._answers_current()):
                    return McpError(refused["code"], refused["message"], refused.get("data"))
                self._note_stray(answered, id, refused["message"])
            case Response(answered):
                self._note_stray(answered, id)
            case Malformed(error):
                return self._fault(error, id)
            case Batch(values=values):
                text = "an array cannot answer before a revision is agreed on"
                array = InvalidAnswer(text, id=id)
                return self._fault(array, id) if id in map(reading.answered_id, values) else None
            case _:
                self._log.info("ignored a message before a revision was agreed on")
        return None

    def _fault(self, error: RemoteError, id: int) -> RemoteError | None:
        self._log.warning("the server sent text that is not a message: %s", error)
        if not error.is_answer and error.meant != "message":
            return None
        if error.id == id or (error.id is None and self._answers_current()):
            return in_answer(error, self._method)
        self._note_stray(error.id, id, error.message)
        return None

    def _answers_current(self) -> bool:
        # An answer without an id belongs to the oldest request that got none.
        is_late = self._unanswered > 0
        self._unanswered -= is_late
        return not is_late

    def _note_stray(self, answered: RequestId | None, id: int, text: str = "") -> None:
        if answered is not None:
            self._unanswered = max(self._unanswered - 1, 0)
        self._strays = self._strays.with_answer(answered, text, [id])
        self._log.info("ignored an answer to a request that is not open")


def _build_connection(
    view: RevisionView[ClientBase],
    adopted: Adopt,
    ids: Iterator[int],
    sink: MessageSink,
    options: Options,
) -> ClientConnection:
    table = view.table
    if problems := options.of_server.problems("", {"result": adopted.result}):
        raise InvalidAnswer(problems[0].message, problems)
    result = table.read_result(table.requests[table.era.opened_by], adopted.result)
    result = result if table.carries else result.to_wire()
    declared = table.inward("ServerCapabilities", result["capabilities"])
    connection = Connection(
        table,
        "client",
        {"client": view.declaration(), "server": declared},
        state=State.OPEN_PENDING,
    )
    connection.ids = ids
    connection.identity["client"] = view.identity
    info = result.get("serverInfo") or meta_in(result).get(SERVER_INFO)
    if is_object(info):
        connection.identity["server"] = table.inward("Implementation", info)
    if not table.era.remembers_client:
        envelope = client_envelope(table.revision, view.declared, view.identity)
        connection.envelope = members(envelope)
    make: Any = ClientConnection
    if view.handlers.TABLE.era is not table.era:
        assert view.adapters is not None
        make = view.adapters.era_adapter
    adapted: ClientConnection = make(view, connection, sink, options, adopted.negotiated, result)
    adapted.runtime.adopt(adapted)
    return adapted


@asynccontextmanager
async def _run_connection(
    client: ClientConnection, negotiator: Negotiator, queue: SendQueue
) -> AsyncGenerator[None, None]:
    endpoint, connection = client.endpoint, client.endpoint.connection

    def on_writer_end(_: asyncio.Task[None]) -> None:
        if queue.broken is not None:
            endpoint.abort(queue.broken)

    writer = asyncio.create_task(queue.run())
    writer.add_done_callback(on_writer_end)
    if connection.state is State.OPEN_PENDING:
        await endpoint.notify(connection.table.notifications[INITIALIZED], None)
        connection.enter(State.OPEN)
    reader = asyncio.create_task(_read(client, negotiator))
    start = monotonic()
    try:
        yield
    finally:
        client.report_end(monotonic() - start)
        endpoint.abort(Disconnected("the connection was closed"))
        reader.cancel()
        with suppress(CancelledError):
            await reader
        await endpoint.close(0)
        await endpoint.tasks.cancel()
        await queue.close(writer, endpoint.options.drain)


async def _read(client: ClientConnection, negotiator: Negotiator) -> None:
    end = Disconnected("the server closed the connection")
    try:
        for received in negotiator.left:
            client.take(received)
        await read(negotiator.transport, client)
    except Disconnected as error:
        end = error
    finally:
        client.endpoint.abort(end)
