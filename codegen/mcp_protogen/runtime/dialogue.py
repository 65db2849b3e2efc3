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

from . import jsonrpc
from .errors import Disconnected, InvalidAnswer, RemoteError, RequestId
from .jsonvalue import JSONObject, is_array
from .probe import Answered, Failed, Gone, Outcome, Refused, Silent
from .throttle import Throttle
from .transport import Received, Transport, Unanswered

_log: Final = getLogger(__name__)


class Dialogue:
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
            message = jsonrpc.parse(received)
            _check_alone(message, id)
            kind = jsonrpc.kind_of(message)
        except RemoteError as error:
            self._log.warning("the server sent what is no message: %s", error)
            # It was meant as the answer, so there will be no other.
            return Failed(error) if isinstance(error, InvalidAnswer) and error.id == id else None
        if kind in ("result", "error") and message.get("id") == id:
            return self._outcome(message)
        if kind == "request":
            await self._respond(message)
        else:
            self._log.info("ignored a message before the connection was made")
        return None

    @staticmethod
    def _outcome(message: JSONObject) -> Outcome:
        if "result" in message:
            return Answered(message["result"])
        error = message["error"]
        return Refused(error["code"], error["message"], error.get("data"))

    async def _respond(self, request: JSONObject) -> None:
        id, method = request["id"], request["method"]
        if method == "ping":
            await self.transport.send([jsonrpc.write_result(id, b"{}")])
        else:
            error = jsonrpc.write_error(id, -32600, f"{method} came before its time")
            await self.transport.send([error])


def _check_alone(value: object, id: RequestId) -> None:
    """Raise `InvalidAnswer` for an array that answers the request `id`."""
    if is_array(value) and any(jsonrpc.answered(one) == id for one in value):
        raise InvalidAnswer("an array is no answer before a revision is agreed on", id=id)
