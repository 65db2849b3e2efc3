"""HTTP requests over ASGI 3: head, body, and the response.

https://asgi.readthedocs.io/en/latest/specs/www.html
"""

import re
from asyncio import get_running_loop
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Final, TypeAlias

from ...core.errors import INVALID_REQUEST, ParseError, RemoteError, RequestId
from ...core.http_request import HttpRequest, Principal, id_of
from ...core.oauth_scopes import NO_SCOPES
from ...core.quotas import NoRoom, Quota
from ...core.throttle import Throttle
from ...messages import jsonrpc
from ...messages.jsonrpc import Malformed, Parsed
from ...messages.reading import Batch, read_messages
from ...rpc.jobs import Work
from ...storage.engine import EngineUnavailable
from .. import headers
from .time_limits import SharedTimer, TimeLimit, from_first_wait

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Field: TypeAlias = tuple[bytes, bytes]

_VERSION: Final = headers.PROTOCOL_VERSION.encode()
_JSON: Final[Field] = (b"content-type", headers.JSON.encode())
_MOST_FIELDS: Final = 200

LENGTH: Final = b"content-length"
_DIGITS: Final = 20

# ASGI servers read ahead about as much.
_SMALL: Final = 16 * 1024

# Seconds before a body counts as slow.
_START: Final = 1.0

# Seconds without a piece of it.
_PAUSE: Final = 1.0

# Fields whose second value could be read differently by an intermediary.
_SINGLE: Final = frozenset(
    (b"authorization", b"content-length", b"content-type", b"host", b"last-event-id", b"origin")
)
_OURS: Final = b"mcp-"

# RFC 9110, section 5: other characters could begin another field.
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[\t -~\x80-\xff]*")

_NO_WEIGHT: Final = ("0", "0.0", "0.00", "0.000")

_TOO_MANY: Final = {
    "max_requests": "requests at once",
    "max_bodies": "large requests at once",
    "max_streams": "streams",
    "max_sessions": "sessions",
}

# The seconds in Retry-After, where it is not 1.
_AGAIN_AFTER: Final = {"max_sessions": 10}


class HttpRefusal(Exception):
    """The refusal of an HTTP request: a status, and a JSON-RPC error with the reason."""

    def __init__(
        self,
        status: int,
        reason: str,
        *,
        code: int = INVALID_REQUEST,
        id: RequestId | None = None,
        data: Any = None,
        fields: Iterable[Field] = (),
    ) -> None:
        super().__init__(reason)
        self.status: Final = status
        self.body: Final = jsonrpc.write_error(id, code, reason, data)
        self.fields: Final = tuple(fields)

    @staticmethod
    def because(error: RemoteError, status: int = 400) -> "HttpRefusal":
        return HttpRefusal(status, error.message, code=error.code, id=error.id, data=error.data)

    @staticmethod
    def not_allowed(allowed: Iterable[str]) -> "HttpRefusal":
        fields = fields_of({"allow": ", ".join(allowed)})
        return HttpRefusal(405, "Method not allowed", fields=fields)

    @staticmethod
    def for_now(reason: str, seconds: int = 1, *, status: int = 503) -> "HttpRefusal":
        """Return a refusal of a request that may be repeated after some seconds."""
        return HttpRefusal(status, reason, fields=[(b"retry-after", b"%d" % seconds)])


def refusal_of(error: HttpRefusal | NoRoom | RemoteError | EngineUnavailable) -> HttpRefusal:
    if isinstance(error, HttpRefusal):
        return error
    if isinstance(error, EngineUnavailable):
        return HttpRefusal.for_now("The engine shared by the workers is unavailable")
    if isinstance(error, RemoteError):
        return HttpRefusal.because(error)
    text, seconds = f"Too many {_TOO_MANY[error.quota]}", _AGAIN_AFTER.get(error.quota, 1)
    if error.owner is None:
        return HttpRefusal.for_now(f"{text}; see {error.quota}", seconds)
    # The owner is a principal: addresses and header fields prove nothing. Others are still served
    # (RFC 6585, section 4).
    reason = f"{text} of one principal; see {error.quota}_per_principal"
    return HttpRefusal.for_now(reason, seconds, status=429)


@dataclass(eq=False, slots=True)
class HttpExchange:
    """One HTTP request and the channel for its response.

    A client that reads nothing until a time limit counts as gone.
    """

    scope: Scope
    receive: Receive
    """The `receive` of ASGI: parts of the body, then the end of the connection."""
    _send: Send
    _sending: SharedTimer
    _log: Throttle
    path: str = field(init=False)
    """The path below the application's mount."""
    fields: dict[bytes, bytes] = field(init=False)
    version: str | None = field(init=False)
    principal: Principal | None = None
    principal_id: str | None = None
    needed: frozenset[str] = NO_SCOPES
    counted_in: Quota | None = None
    """The quota in which it has a place, until `HttpState.end_request`."""
    taken: int = 0
    """The bytes counted by `Bodies`."""
    body: bytes = b""
    received: int = 0
    """The bytes of its body before the last piece."""
    latest: float | None = None
    """The time of its latest piece, until the last one."""
    refusal: HttpRefusal | NoRoom | None = None
    """Why its body is refused while it arrives; None if that is only late."""
    closed: bool = False
    """Whether further output is lost."""
    stuck: bool = False
    """Whether the client is connected but does not read."""

    def read_head(self, max_headers: int) -> None:
        """Read all but the body; raise `HttpRefusal` for too many or contradictory fields."""
        scope = self.scope
        self.path = scope["path"].removeprefix(scope.get("root_path", "")) or "/"
        headers: list[Field] = scope["headers"]
        fields = self.fields = dict(headers)
        if len(fields) != len(headers):
            fields = self.fields = _join_fields(headers)
        self.version = self.field(_VERSION)
        if len(headers) > _MOST_FIELDS or len(b"".join(fields.values())) > max_headers:
            raise HttpRefusal(431, "The header of the request is too large")

    @property
    def other_path(self) -> str:
        """Return the path with or without a final slash, if it means the same; else empty."""
        # An encoded slash is part of a name (RFC 3986, section 2.2).
        raw: bytes = self.scope.get("raw_path") or b"/"
        is_name = self.path.endswith("/") and not raw.endswith(b"/")
        return "" if is_name else other_spelling(self.path)

    def field(self, name: bytes) -> str | None:
        """Return the stripped value of a field; None without it."""
        value = self.fields.get(name)
        return None if value is None else value.decode("latin-1").strip(" \t")

    def set_principal(self, principal: Principal | None) -> None:
        self.principal, self.principal_id = principal, id_of(principal)

    @property
    def request(self) -> HttpRequest:
        return HttpRequest(self.scope, self.path, self.principal)

    async def wait_disconnect(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def watch(self, on_gone: Callable[[], None]) -> None:
        """Call `on_gone` when the client leaves."""
        await self.wait_disconnect()
        self._log.info("a client has gone before it was answered")
        on_gone()

    def add(self, more: Callable[[Message], Iterable[Field]]) -> None:
        """Add fields to the response; `more` gets its start, with those that it has."""
        send = self._send

        def sending(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                listed: list[Field] = list(message.get("headers", ()))
                message = {**message, "headers": [*listed, *more(message)]}
            return send(message)

        self._send = sending

    def respond(self, status: int, body: bytes = b"", fields: Iterable[Field] = ()) -> Work:
        """Return the sending of a whole response; its body is JSON."""
        headers = [*fields]
        if body:
            headers.append(_JSON)
        if status != 204:  # RFC 9110, section 8.6: without a length.
            headers.append((LENGTH, b"%d" % len(body)))
        return self.send(
            {"type": "http.response.start", "status": status, "headers": headers},
            {"type": "http.response.body", "body": body},
        )

    async def send(self, *messages: Message) -> None:
        try:
            await from_first_wait(self._send_messages(messages), TimeLimit, self._sending)
        except TimeoutError:
            self._log.info("a client does not read")
            self.stuck = self.closed = True
        except (OSError, RuntimeError) as error:
            # uvloop raises a RuntimeError for a closed connection.
            self._log.info("a client has gone: %s", error)
            self.closed = True

    async def _send_messages(self, messages: Iterable[Message]) -> None:
        for message in messages:
            if not self.closed:
                await self._send(message)


def fields_of(fields: Mapping[str, str]) -> list[Field]:
    """Return header fields for ASGI; raise `ValueError` for control characters."""
    for name, value in fields.items():
        if not (_NAME.fullmatch(name) and _VALUE.fullmatch(value)):
            raise ValueError(f"invalid header field {name!r}: {value!r:.100}")
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in fields.items()]


def _join_fields(headers: list[Field]) -> dict[bytes, bytes]:
    fields: dict[bytes, bytes] = {}
    for name, value in headers:
        if name not in fields:
            fields[name] = value
        elif name in _SINGLE or name.startswith(_OURS):
            raise HttpRefusal(400, f"The header field {name.decode('latin-1')} is repeated")
        else:
            # RFC 9110, section 5.3: lists may span several fields.
            fields[name] += b", " + value
    return fields


def other_spelling(path: str) -> str:
    return path[:-1] if path.endswith("/") else f"{path}/"


@lru_cache(maxsize=128)
def check_post(accept: bytes | None, content_type: bytes) -> None:
    """Raise `HttpRefusal` for a POST with an unfit `Accept` or `Content-Type`."""
    check_accept(accept, headers.JSON, headers.EVENTS)
    check_json(content_type)


def check_json(content_type: bytes) -> None:
    """Raise `HttpRefusal` unless a `Content-Type` is JSON in UTF-8."""
    kind = content_type.decode("latin-1").lower()
    _, _, charset = kind.partition("charset=")
    if headers.media_type(kind) != headers.JSON or charset.strip(' "') not in ("", "utf-8"):
        raise HttpRefusal(415, f"Content-Type must be {headers.JSON}")


def check_accept(accept: bytes | None, *kinds: str) -> None:
    """Raise `HttpRefusal` unless an `Accept` has all kinds, by name or range.

    A missing field accepts anything (RFC 9110, section 12.5.1).
    """
    if accept is None:
        return
    ranges = {
        headers.media_type(media_range)
        for media_range in accept.decode("latin-1").split(",")
        # Without those of weight 0 (RFC 9110, section 12.4.2).
        if media_range.replace(" ", "").lower().partition(";q=")[2] not in _NO_WEIGHT
    }
    for kind in kinds:
        if ranges.isdisjoint({kind, f"{kind.partition('/')[0]}/*", "*/*"}):
            raise HttpRefusal(406, f"Accept must list {' and '.join(kinds)}")


class _Incoming(TimeLimit):
    def __init__(self, timer: SharedTimer, exchange: HttpExchange, expected: int) -> None:
        super().__init__(timer)
        self.exchange = exchange
        self.expected = expected

    def is_behind(self, begun: float, now: float) -> bool:
        """Return whether it is too slow to be complete in time, or has stopped."""
        passed, seconds = now - begun, self._timer.seconds
        is_slow = passed > _START and self.exchange.received * seconds < self.expected * passed
        return is_slow or now - (self.exchange.latest or begun) > _PAUSE

    def refuse(self, refusal: HttpRefusal | NoRoom) -> None:
        self.exchange.refusal = refusal
        self._timer.end(self)

    def timeout_error(self) -> Exception:
        reason = "The body of the request did not arrive in time"
        return self.exchange.refusal or HttpRefusal(408, reason)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        super().__exit__(kind, error, trace)
        # Middleware may return a piece although its wait was cancelled.
        if kind is None and self.exchange.refusal is not None:
            raise self.exchange.refusal


class Bodies:
    """The reader of bodies; a quota of bytes limits their memory.

    Small bodies, within the buffer of a connection anyway, do not count, so that they always pass.
    Without room, bodies that are too slow for their time limit are refused: slow clients do not
    keep others out.
    """

    def __init__(self, largest: int, quota: Quota, seconds: float) -> None:
        self._largest = largest
        self._timer = SharedTimer(seconds)
        self.quota: Final = quota
        """The bytes of counted bodies, until `release`."""

    def read(self, exchange: HttpExchange) -> Awaitable[None]:
        """Read a body; raise `HttpRefusal` if it is too large, slow or cut off, or `NoRoom`."""
        expected = length_of(exchange.fields.get(LENGTH, b"0"), self._largest)
        self._take(exchange, expected)
        expected = expected or self._largest
        return from_first_wait(self._read(exchange), _Incoming, self._timer, exchange, expected)

    async def _read(self, exchange: HttpExchange) -> None:
        message = await exchange.receive()
        body = _piece(message, self._largest)
        if message.get("more_body"):
            body = await self._read_rest(exchange, body)
        self._take(exchange, len(body))
        exchange.body = body

    async def _read_rest(self, exchange: HttpExchange, first: bytes) -> bytes:
        # One object per piece could take far more: pieces may be one byte.
        body, more = bytearray(first), True
        while more:
            exchange.received, exchange.latest = len(body), get_running_loop().time()
            self._take(exchange, len(body))
            message = await exchange.receive()
            body += _piece(message, self._largest - len(body))
            more = message.get("more_body", False)
        return bytes(body)

    def refuse_incoming(self, reason: str) -> None:
        for incoming in list(self._timer.open):
            incoming.refuse(HttpRefusal.for_now(reason))

    def _take(self, exchange: HttpExchange, size: int) -> None:
        more = size - exchange.taken
        if more <= 0 or size <= _SMALL:
            return
        owner = exchange.principal_id
        self.quota.require(owner, more, partial(self._make_room, exchange))
        exchange.taken += more
        self.quota.take(owner, more)

    def _make_room(self, exchange: HttpExchange, owner: str | None, lacking: int) -> bool:
        """Refuse slow bodies, of an owner or all; return whether that frees enough."""
        now = get_running_loop().time()
        slow = [
            incoming
            for incoming, begun in self._timer.open.items()
            if incoming.exchange is not exchange
            and owner in (None, incoming.exchange.principal_id)
            and incoming.exchange.taken
            and incoming.is_behind(begun, now)
        ]
        if sum(incoming.exchange.taken for incoming in slow) < lacking:
            return False
        for incoming in slow:
            lacking -= incoming.exchange.taken
            self.release(incoming.exchange)
            incoming.refuse(NoRoom(self.quota.name, owner))
            if lacking <= 0:
                break
        return True

    def release(self, exchange: HttpExchange) -> None:
        """Release a body's bytes, if it is not kept or has another limit."""
        self.quota.give_back(exchange.principal_id, exchange.taken)
        exchange.taken = 0


def single_message(body: bytes, log: Throttle) -> Parsed | Batch:
    """Return the only message in a body, as by `read_messages`.

    Raise `ParseError` for several messages, and for an unreadable text that is not an answer.
    """
    messages = read_messages(body, log)
    if len(messages) != 1:
        raise ParseError(f"Parse error: {len(messages)} messages instead of one")
    message = messages[0]
    if type(message) is Malformed:
        unread = message.error
        if isinstance(unread, ParseError) and not unread.is_answer:
            raise unread
    return message


@lru_cache(maxsize=1024)
def length_of(value: bytes, largest: int) -> int:
    value = value.strip(b" \t")
    if not value.isdigit():
        raise HttpRefusal(400, "Content-Length must be a number")
    if len(value) > _DIGITS or (length := int(value)) > largest:
        raise too_large(largest)
    return length


def _piece(message: Mapping[str, Any], limit: int) -> bytes:
    if message["type"] == "http.disconnect":
        raise HttpRefusal(400, "The request ended before its body was complete")
    piece: bytes = message.get("body", b"")
    if len(piece) > limit:
        raise too_large(limit)
    return piece


def too_large(limit: int) -> HttpRefusal:
    return HttpRefusal(413, f"The body of the request is larger than {limit} bytes")
