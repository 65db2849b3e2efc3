"""What is said before a revision is agreed on: one question at a time, over one open transport.

Messages are plain JSON here, because which models read them is what is being found out. A server
may ping meanwhile and is answered; whatever else it sends before its answer is not meant to be
listened to (basic/lifecycle, "Initialization").
"""

from asyncio import timeout
from collections import deque
from collections.abc import Mapping
from logging import getLogger
from typing import Any, Final

from pydantic_core import to_json

from ..core.errors import Disconnected, InvalidAnswer, InvalidRequest, RemoteError, RequestId
from ..core.throttle import Throttle
from ..messages import jsonrpc
from ..messages.jsonrpc import Answer, Batch, Call, Malformed
from ..rules.client_negotiation import Answered, Failed, Gone, Outcome, Refused, Silent
from ..transports.base import Received, Transport, Unanswered

_log: Final = getLogger(__name__)


class NegotiationChannel:
    """The questions asked over `transport`; what came after the last answer is `left`."""

    def __init__(self, transport: Transport, next_id: int = 1) -> None:
        self.transport = transport
        self.next_id = next_id
        self.left: deque[Received] = deque()
        self._log = Throttle(_log)

    async def ask(self, method: str, params: Mapping[str, Any], within: float) -> Outcome:
        """Ask, and wait `within` seconds for an answer; raise nothing."""
        id, self.next_id = self.next_id, self.next_id + 1
        try:
            async with timeout(within):
                call = jsonrpc.write_call(id, to_json(method), to_json(params))
                await self.transport.send([call])
                return await self._answer(id)
        except TimeoutError:
            return Silent(within)
        except (Disconnected, OSError) as error:
            return Gone(str(error))

    async def _answer(self, id: int) -> Outcome:
        while True:
            while self.left:
                outcome = await self._read(self.left.popleft(), id)
                if outcome is not None:
                    return outcome
            received = await self.transport.receive()
            if not received:
                return Gone("the server closed the connection")
            self.left.extend(received)

    async def _read(self, received: Received, id: int) -> Outcome | None:
        """Return the outcome, if this message is the answer, or says that there will be none."""
        if isinstance(received, Unanswered):
            return Failed(received.error) if received.id == id else None
        try:
            if isinstance(received, RemoteError):
                raise received
            message = jsonrpc.read(received)
            if isinstance(message, Batch):
                message = Malformed(_no_batch(message, id))
            if isinstance(message, Malformed):
                raise message.error
        except RemoteError as error:
            self._log.warning("the server sent what is no message: %s", error)
            # It was meant as the answer, so there will be no other.
            return Failed(error) if isinstance(error, InvalidAnswer) and error.id == id else None
        if isinstance(message, Answer) and message.id == id:
            return self._outcome(message)
        if isinstance(message, Call) and message.id is not None:
            await self._respond(message.id, message.method)
        else:
            self._log.info("ignored a message before the connection was made")
        return None

    @staticmethod
    def _outcome(answer: Answer) -> Outcome:
        error = answer.error
        if error is None:
            return Answered(answer.result)
        return Refused(error["code"], error["message"], error.get("data"))

    async def _respond(self, id: RequestId, method: str) -> None:
        if method == "ping":
            await self.transport.send([jsonrpc.write_result(id, b"{}")])
        else:
            error = jsonrpc.write_error(id, -32600, f"{method} came before its time")
            await self.transport.send([error])


def _no_batch(batch: Batch, id: RequestId) -> InvalidRequest | InvalidAnswer:
    """Return what is wrong with an array, which may answer the request `id`."""
    if any(jsonrpc.answered(one) == id for one in batch.values):
        return InvalidAnswer("an array is no answer before a revision is agreed on", id=id)
    return InvalidRequest("a message has to be an object")
