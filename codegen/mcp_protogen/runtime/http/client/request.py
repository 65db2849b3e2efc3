"""Messages over HTTP: POSTs, answers and refusals, streams, and reconnecting."""

from asyncio import get_running_loop, sleep, timeout
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ...core.connection_errors import Disconnected, HttpError, in_answer
from ...core.errors import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    InvalidAnswer,
    McpError,
    ParseError,
    RemoteError,
)
from ...core.json import JSONObject, is_object, json_text, without
from ...core.options import USUAL
from ...core.pagination import Page, items
from ...messages import jsonrpc, reading
from ...messages.envelope import PROGRESS_TOKEN
from ...messages.jsonrpc import Malformed, Response
from ...messages.reading import log_repairs, read_values
from ...rules.client_negotiation import stateless_error
from ...rules.server_negotiation import DISCOVER, INITIALIZE
from ...transports.base import Received, Unanswered
from ...transports.related import RelatedMessage
from .. import headers as fields
from ..sse import Event
from .client_state import ClientState, Cursor
from .http_client import URL, HttpReply
from .outgoing import Message, answer_in, message_of

Deliver: TypeAlias = Callable[[Received], object]

# Seconds that a stream may go on after the answer.
_LAST_WORDS: Final = 1.0

# Seconds that a server may delay messages without a timeout.
_LONGEST_DELAY: Final = 10.0

# Statuses after which HTTP+SSE is tried (2025-11-25, "Backwards Compatibility"). Some such servers
# fail at a POST.
_MAYBE_LEGACY: Final = frozenset({400, 404, 405, *range(500, 600)})

# Statuses about the sender, which count more than the body while the era is unknown.
_ABOUT_SENDER: Final = frozenset({401, 403, 429})

_LONGEST_EXCERPT: Final = 200


Repair: TypeAlias = Literal["session", "headers", "legacy_sse", "revision"]
"""What to change before the next attempt."""


class RefusedPost(NamedTuple):
    received: Received
    repair: Repair | None = None


def refusal_of(
    message: Message, reply: HttpReply, in_session: bool, facts: fields.HttpFacts
) -> RefusedPost:
    error = _error_in(reply)
    code = None if error is None else error["error"]["code"]
    received: Received = Unanswered(message.id, http_error(f"POST {message.name}", reply))
    is_modern = stateless_error(code or 0, [facts.table]) is not None
    opening = message.method in (DISCOVER, INITIALIZE)
    # A failing server is stateless only if its error is of that era.
    failed = reply.status >= 500 and not is_modern
    if error is not None and not (opening and (reply.status in _ABOUT_SENDER or failed)):
        received = json_text({**error, "id": message.id})
    repair: Repair | None = None
    if reply.status == 404 and in_session and code != METHOD_NOT_FOUND:
        repair = "session"
    elif message.revision and code == facts.mismatch and message.method == facts.call_tool:
        repair = "headers"
    elif (
        message.method == INITIALIZE
        and reply.status in _MAYBE_LEGACY
        and not is_modern
        and (reply.status, code) != (404, METHOD_NOT_FOUND)
    ):
        repair = "legacy_sse"
    elif (
        (error is not None and reply.status == 400 and not opening)
        # The errors of the stateless era have this status, too.
        and (message.revision is None or not (is_modern or code == INVALID_PARAMS))
    ):
        repair = "revision"
    return RefusedPost(received, repair)


def _error_in(reply: HttpReply) -> JSONObject | None:
    if reply.media != fields.JSON:
        return None
    try:
        values = read_values(reply.body).values
    except RemoteError:
        # Without a message, the status decides.
        return None
    # Some servers write their own ids here.
    value = values[0] if len(values) == 1 else None
    message = jsonrpc.message_of({**value, "id": None}) if is_object(value) else None
    return value if isinstance(message, Response) else None


def http_error(label: str, reply: HttpReply) -> HttpError:
    readable = reply.media in (fields.JSON, "text/plain")
    excerpt = reply.body[:_LONGEST_EXCERPT].decode("utf-8", "replace") if readable else ""
    text = " ".join(excerpt.split())
    if 300 <= reply.status < 400:
        text = "redirects are followed only if they repeat the request to the same origin"
    message = f"HTTP {reply.status} to {label}{f': {text}' if text else ''}"
    return HttpError(reply.status, message, reply.retry_after)


async def post(
    state: ClientState, message: Message, headers: Mapping[str, str], url: URL | None = None
) -> HttpReply:
    """Send a message, again while the server is busy; return the reply, whose context closes it.

    The body of a refusal has been read.
    """
    attempts = 0
    while True:
        reply = await state.http.open("POST", headers, message.body, url)
        if reply.succeeded:
            return reply
        async with reply:
            await reply.read()
        delay = _delay_of(state, message, reply, attempts)
        # The transport's own requests have text ids.
        seconds = state.time_left(message.id) if isinstance(message.id, int) else _LONGEST_DELAY
        if delay is None or delay >= seconds:
            return reply
        state.log.info("HTTP %d: sending %s again in %g s", reply.status, message.name, delay)
        await sleep(delay)
        attempts += 1


def _delay_of(
    state: ClientState, message: Message, reply: HttpReply, attempts: int
) -> float | None:
    """Return the seconds until a refused message is repeated; None if that is the answer.

    The status decides while the era is unknown, or without an answer.
    """
    answer = None if message.method in (DISCOVER, INITIALIZE) else _error_in(reply)
    if answer is None or answer.get("id") != message.id:
        return reply.delay(attempts)
    _, stated = state.protocol.facts_of(message).status_and_delay(answer["error"])
    return None if stated is None else reply.delay(attempts, stated)


class PostedRequest:
    """A request and its answer; `deliver` gets all messages, including the answer."""

    def __init__(
        self, state: ClientState, message: Message, deliver: Deliver | None = None
    ) -> None:
        self._state = state
        self._deliver = state.inbox.put if deliver is None else deliver
        self.message = message

    async def attempt(self) -> RefusedPost | None:
        """Post the request and deliver messages; return a refusal undelivered."""
        headers = self._state.protocol.post_headers(self.message)
        in_session = fields.SESSION_ID in headers
        async with await post(self._state, self.message, headers) as reply:
            if not reply.succeeded:
                facts = self._state.protocol.facts_of(self.message)
                return refusal_of(self.message, reply, in_session, facts)
            if not reply.streams:
                await reply.read()
                self._take(reply)
                return None
            cursor = Cursor(self._state.reconnection)
            answered = await self._read(reply, cursor)
        if not answered:
            await self._resume(cursor)
        return None

    def _take(self, reply: HttpReply) -> None:
        data, name = reply.body, self.message.name
        try:
            if reply.media != fields.JSON or not data.strip():
                label = f"HTTP {reply.status} does not answer {name}"
                raise HttpError(reply.status, f"{label} ({reply.media or 'no content type'})")
            if not self._messages(data, reply):
                raise InvalidAnswer(f"the HTTP response to {name} does not answer it")
        except RemoteError as error:
            if isinstance(error, ParseError):
                error = in_answer(error, name)
            self._deliver(Unanswered(self.message.id, error))

    def _messages(self, data: bytes, reply: HttpReply) -> bool:
        """Deliver the messages in a body or an event; return whether one is the answer."""
        request, protocol, answered = self.message, self._state.protocol, False
        facts = protocol.facts_of(request)
        values, repairs = read_values(data)
        log_repairs(repairs, self._state.log)
        for value in values:
            is_changed = bool(repairs)
            if is_object(value) and "error" in value and value.get("id") is None:
                # It can only be about this request.
                value["id"], is_changed = request.id, True
            text = json_text(value) if is_changed else data
            answer = answer_in(value, request.id)
            for name, said in facts.answer_fields(answer or {}):
                if not reply.streams and reply.field(name) not in (None, said):
                    raise InvalidAnswer(f"{name.title()} differs from the answer")
            if facts.tool_list or request.method == INITIALIZE:
                text = protocol.incoming(request, value, text, reply.field(fields.SESSION_ID))
            self._deliver(RelatedMessage(text, request.id) if answer is None else text)
            answered = answered or answer is not None
        return answered

    async def _read(self, reply: HttpReply, cursor: Cursor) -> bool:
        answered = False
        limit = timeout(None)

        def take(event: Event) -> None:
            nonlocal answered
            data = cursor.take_event(event)
            if data is not None and self._take_event(data, reply) and not answered:
                answered = True
                limit.reschedule(get_running_loop().time() + _LAST_WORDS)

        try:
            # A server should end the stream after the answer, to free the connection. If it does
            # not, the client does.
            async with limit:
                await reply.read_events(take, self._state.inbox.room)
        except Disconnected as error:
            self._state.log.info("a stream broke: %s", error)
        except TimeoutError:
            self._state.log.info("the stream of %s went on after the answer", self.message.name)
        return answered

    def _take_event(self, data: bytes, reply: HttpReply) -> bool:
        """Deliver an event; return whether it answers the request, even malformed."""
        message = self.message
        try:
            return self._messages(data, reply)
        except ParseError as error:
            if error.meant not in ("answer", "message") or error.id not in (None, message.id):
                self._deliver(error)
                return False
            self._deliver(Unanswered(message.id, in_answer(error, message.name)))
            return True

    async def _resume(self, cursor: Cursor) -> None:
        ended = f"the stream ended before {self.message.name} was answered"
        if self.message.revision is not None or cursor.last_id is None:
            raise Disconnected(ended)
        cursor.broke()
        attempts = self._state.reconnection.max_attempts
        while cursor.failures <= attempts:
            await sleep(cursor.wait)
            if await self._continue(cursor):
                return
            cursor.broke()
        raise Disconnected(f"{ended}, and brought no message in {attempts} more connections")

    async def _continue(self, cursor: Cursor) -> bool:
        try:
            async with await self._state.get(cursor) as reply:
                if reply.streams:
                    return await self._read(reply, cursor)
                if reply.status < 500:
                    await reply.read()
                    raise http_error("GET to resume a stream", reply)
                raise Disconnected(f"HTTP {reply.status}")
        except Disconnected as error:
            self._state.log.info("a stream was not resumed: %s", error)
        return False


async def post_unanswered(state: ClientState, message: Message) -> int:
    """Post a notification or response; return the status, or 0 if it could not be sent."""
    headers = state.protocol.post_headers(message)
    try:
        # The body or stream of some servers' answers is ignored.
        async with await post(state, message, headers) as reply:
            pass
    except (Disconnected, RemoteError) as error:
        state.log.warning("%s could not be sent: %s", message.name, error)
        return 0
    if not reply.succeeded:
        refusal = http_error(f"POST {message.name}", reply)
        state.log.warning("%s was refused: %s", message.name, refusal)
    return reply.status


async def ask(state: ClientState, method: str, params: Mapping[str, Any]) -> Any:
    # Other requests have integer ids.
    id = f"transport-{next(state.own_requests)}"
    message = message_of(jsonrpc.write_call(id, json_text(method), json_text(params)))
    answers: list[Response] = []

    def deliver(received: Received) -> None:
        if isinstance(received, Unanswered):
            raise received.error
        value = reading.read(received) if isinstance(received, bytes) else None
        if isinstance(value, Malformed) and value.error.id == message.id:
            raise value.error
        if isinstance(value, Response) and value.id == message.id:
            answers.append(value)
        else:
            state.inbox.put(received)

    refusal = await PostedRequest(state, message, deliver).attempt()
    if refusal is not None:
        deliver(refusal.received)
    if not answers:
        raise Disconnected(f"{message.name} was not answered")
    _, result, error = answers[0]
    if error is None:
        return result
    raise McpError(error["code"], error["message"], error.get("data"))


async def relearn(state: ClientState, call: Message) -> bool:
    """List the tools again; return whether a call's header fields have changed."""
    old = state.protocol.post_headers(call)
    # Progress tokens belong to one request.
    meta = without(call.params["_meta"], PROGRESS_TOKEN)
    facts = state.protocol.facts_of(call)
    rules = facts.rules

    async def page(cursor: str | None) -> Page[Any]:
        params = {} if cursor is None else {rules.cursor: cursor}
        result = await ask(state, facts.tool_list.method, {"_meta": meta, **params})
        following = result.get(rules.next_cursor) if is_object(result) else None
        # The fields were learnt from the page already.
        return Page([], following if isinstance(following, str) else None)

    try:
        async for _ in items(page, lambda: USUAL.max_pages):
            pass
    except (McpError, RemoteError, Disconnected) as error:
        state.log.warning("header fields could not be corrected: listing tools failed: %s", error)
    return state.protocol.post_headers(call) != old
