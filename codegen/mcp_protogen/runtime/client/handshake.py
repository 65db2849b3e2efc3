"""What is said before a revision is agreed on: one question at a time, over one open transport.

Messages are plain JSON here, because which models read them is not known yet. A server may ping
meanwhile and is answered; nothing else is due before its answer (basic/lifecycle,
"Initialization").
"""

from asyncio import timeout
from collections import deque
from collections.abc import Mapping
from logging import getLogger
from typing import Any, Final

from pydantic_core import to_json

from ..core.errors import (
    INVALID_REQUEST,
    Disconnected,
    InvalidAnswer,
    InvalidRequest,
    RemoteError,
    RequestId,
)
from ..core.options import Options
from ..core.throttle import Throttle
from ..messages import jsonrpc
from ..messages.envelope import client_envelope
from ..messages.jsonrpc import Answer, Batch, Call, Malformed
from ..rules import client_negotiation as rules
from ..rules.client_negotiation import NegotiatedRevision, Outcome
from ..rules.server_negotiation import DISCOVER, INITIALIZE
from ..translation.revision_view import RevisionViews
from ..transports.base import ExchangingTransport, Opener, Received, Transport, Unanswered
from .base import ClientBase

_log: Final = getLogger(__name__)


class Negotiator:
    """A negotiation that is carried out, over as many transports as it takes."""

    def __init__(self, views: RevisionViews[ClientBase], open: Opener, options: Options) -> None:
        self._views = views
        self._open = open
        self._options = options
        self._transport: Transport | None = None
        self._log = Throttle(_log)
        self.next_id = 1
        self.left: deque[Received] = deque()
        """What came after the last answer."""

    @property
    def transport(self) -> Transport:
        assert self._transport is not None
        return self._transport

    async def run(self, known: NegotiatedRevision | None) -> rules.Adopt:
        """Open, ask, and ask again; raises what keeps the two from agreeing."""
        transport = self._transport = await self._open()
        over_http = isinstance(transport, ExchangingTransport) and transport.over_http
        negotiation = rules.Negotiation(self._views.offer, known, over_http=over_http)
        step = negotiation.start()
        while not isinstance(step, rules.Adopt):
            match step:
                case rules.Fail(error):
                    raise error
                case rules.Restart(then):
                    await self.close()
                    self.left.clear()
                    self._transport = await self._open()
                    step = then
                case rules.Discover(version):
                    outcome = await self._discover(version, negotiation.silence_means_old)
                    step = negotiation.next(outcome)
                case rules.Initialize(version):
                    view = self._views[version]
                    params = {
                        "protocolVersion": version,
                        "capabilities": view.declared,
                        "clientInfo": view.identity,
                    }
                    within = self._options.initialize_timeout
                    step = negotiation.next(await self._ask(INITIALIZE, params, within))
        return step

    async def close(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()

    async def _discover(self, version: str, silence_means_old: bool) -> Outcome:
        view, within = self._views[version], self._options.probe_timeout
        if not silence_means_old:
            # A server may take its time to start, and there is no other way to ask it.
            usual = self._options.patience(view.table.requests[DISCOVER], {})
            within = min(usual.timeout, usual.max_timeout)
        params = {"_meta": client_envelope(version, view.declared, view.identity)}
        return await self._ask(DISCOVER, params, within)

    async def _ask(self, method: str, params: Mapping[str, Any], within: float) -> Outcome:
        """Ask, and wait `within` seconds for an answer; raise nothing."""
        id, self.next_id = self.next_id, self.next_id + 1
        try:
            async with timeout(within):
                call = jsonrpc.write_call(id, to_json(method), to_json(params))
                await self.transport.send([call])
                return await self._answer(id)
        except TimeoutError:
            return rules.Silent(within)
        except (Disconnected, OSError) as error:
            return rules.Gone(str(error))

    async def _answer(self, id: int) -> Outcome:
        while True:
            while self.left:
                outcome = await self._read(self.left.popleft(), id)
                if outcome is not None:
                    return outcome
            received = await self.transport.receive()
            if not received:
                return rules.Gone("the server closed the connection")
            self.left.extend(received)

    async def _read(self, received: Received, id: int) -> Outcome | None:
        """Return the outcome, if this message is the answer, or says that there will be none."""
        if isinstance(received, Unanswered):
            return rules.Failed(received.error) if received.id == id else None
        try:
            if isinstance(received, RemoteError):
                raise received
            message = jsonrpc.read(received)
            if isinstance(message, Batch):
                raise _no_batch(message, id)
            if isinstance(message, Malformed):
                raise message.error
        except RemoteError as error:
            self._log.warning("the server sent what is no message: %s", error)
            # It was meant as the answer, so there will be no other.
            meant = isinstance(error, InvalidAnswer) and error.id == id
            return rules.Failed(error) if meant else None
        match message:
            case Answer(answered, result, None) if answered == id:
                return rules.Answered(result)
            case Answer(answered, _, dict(refused)) if answered == id:
                return rules.Refused(refused["code"], refused["message"], refused.get("data"))
            case Call(asked, method) if asked is not None:
                early = f"{method} came before its time"
                response = jsonrpc.write_error(asked, INVALID_REQUEST, early)
                if method == "ping":
                    response = jsonrpc.write_result(asked, b"{}")
                await self.transport.send([response])
            case _:
                self._log.info("ignored a message before the connection was made")
        return None


def _no_batch(batch: Batch, id: RequestId) -> InvalidRequest | InvalidAnswer:
    """Return what is wrong with an array, which may answer the request `id`."""
    if any(jsonrpc.answered(one) == id for one in batch.values):
        return InvalidAnswer("an array is no answer before a revision is agreed on", id=id)
    return InvalidRequest("a message has to be an object")
