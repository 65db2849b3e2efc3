"""The transport's own requests: for a new session, and for the tools with repeated arguments."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from ...core.errors import Disconnected, McpError, RemoteError
from ...core.json import JSONObject, is_object, read_json
from ...core.options import Options
from ...messages.jsonrpc import answered
from ...transports.base import Received, Unanswered
from .notes import post_note
from .outgoing import INITIALIZE, LIST_TOOLS, Message, message_of, request_of
from .request import HttpExchange
from .state import ClientState

_INITIALIZED: Final = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'

# A transport has no options of its own.
_MOST_PAGES: Final = Options().max_pages


async def ask(link: ClientState, message: Message) -> Any:
    """Send a request and return its result; other messages go to the inbox.

    Raises `McpError`, `RemoteError` and `Disconnected`.
    """
    answers: list[JSONObject] = []
    errors: list[Exception] = []

    def deliver(received: Received) -> None:
        if isinstance(received, Unanswered):
            errors.append(received.error)
            return
        value = read_json(received) if isinstance(received, bytes) else None
        if is_object(value) and answered(value) == message.id:
            answers.append(value)
        else:
            link.inbox.put(received)

    exchange = HttpExchange(link, message, deliver)
    interpretation = await exchange.attempt()
    if interpretation is not None:
        exchange.conclude(interpretation)
    if errors or not answers:
        raise errors[0] if errors else Disconnected(f"{message.name} was not answered")
    if "result" in answers[0]:
        return answers[0]["result"]
    error = answers[0]["error"]
    raise McpError(error["code"], error["message"], error.get("data"))


class SessionRenewal:
    """A client's session, which is replaced when the server has ended it.

    `began` is called after each new session (2025-11-25, basic/transports, "Session Management").
    """

    __slots__ = ("_began", "_link", "_lock")

    def __init__(self, link: ClientState, began: Callable[[], object]) -> None:
        self._link = link
        self._began = began
        self._lock = asyncio.Lock()

    async def ready(self) -> None:
        """Wait while a new session begins: until then, nothing else should be sent."""
        if self._lock.locked():
            async with self._lock:
                pass

    async def renew(self, lost: int) -> None:
        """Begin a new session, unless that has happened since there were `lost` sessions.

        Raises `Disconnected` if that fails. A session in another revision is a failure, because the
        user of the connection relies on the revision that was negotiated.
        """
        conversation = self._link.conversation
        async with self._lock:
            if conversation.sessions != lost or conversation.opening is None:
                return
            agreed = conversation.agreed
            opening = conversation.opening
            self._link.log.info("the server has ended the session; beginning a new one")
            try:
                await ask(self._link, request_of(self._link.own_id(), INITIALIZE, opening.params))
            except (McpError, RemoteError, Disconnected) as error:
                raise Disconnected(
                    f"the session has ended, and no new one could begin: {error}"
                ) from None
            if conversation.sessions == lost:
                raise Disconnected(
                    "the session has ended, and no new one could begin: no revision given"
                )
            if conversation.agreed != agreed:
                broken = Disconnected(
                    f"the session has ended, and the new one is of {conversation.agreed} "
                    f"instead of {agreed}: connect again"
                )
                self._link.inbox.end(broken)
                raise broken
            await post_note(self._link, message_of(_INITIALIZED))
            self._began()


async def relearn(link: ClientState, call: Message) -> bool:
    """List the tools again; return whether the header fields of a call have changed.

    2026-07-28, basic/transports/streamable-http, "Client Behavior"
    """
    before = link.conversation.headers(call)
    # A progress token belongs to one request.
    meta = {key: one for key, one in call.params["_meta"].items() if key != "progressToken"}
    params: JSONObject = {"_meta": meta}
    try:
        for _ in range(_MOST_PAGES):
            result = await ask(link, request_of(link.own_id(), LIST_TOOLS, params))
            cursor = result.get("nextCursor") if is_object(result) else None
            if not isinstance(cursor, str):
                break
            params = {"_meta": meta, "cursor": cursor}
    except (McpError, RemoteError, Disconnected) as error:
        link.log.warning("the tools could not be listed to correct header fields: %s", error)
        return False
    return link.conversation.headers(call) != before
