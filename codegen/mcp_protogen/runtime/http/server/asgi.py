"""One HTTP request over ASGI 3, and the response to it.

https://asgi.readthedocs.io/en/latest/specs/www.html
"""

from asyncio import Task, create_task, timeout
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, MutableMapping
from dataclasses import dataclass, field
from functools import lru_cache
from inspect import iscoroutine
from types import coroutine
from typing import Any, Final, TypeAlias, TypeVar, cast

from ...core.errors import INVALID_REQUEST, RemoteError, RequestId
from ...core.throttle import Throttle
from ...messages import jsonrpc
from .. import headers

T = TypeVar("T")

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Field: TypeAlias = tuple[bytes, bytes]

_JSON: Final[Field] = (b"content-type", headers.JSON.encode())
_MOST_FIELDS: Final = 200

# Where a second value could mean something else to whoever looks at the first.
_SINGLE: Final = frozenset(
    (b"authorization", b"content-length", b"content-type", b"host", b"last-event-id", b"origin")
)
_OURS: Final = b"mcp-"


class HttpRefusal(Exception):
    """The refusal of an HTTP request: its status, and a JSON-RPC error with the reason."""

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
        """Return the refusal of a message for the error that it has."""
        return HttpRefusal(status, error.message, code=error.code, id=error.id, data=error.data)

    @staticmethod
    def for_now(reason: str, seconds: int = 1) -> "HttpRefusal":
        """Return the refusal of what may be tried again after so many seconds."""
        return HttpRefusal(503, reason, fields=[(b"retry-after", b"%d" % seconds)])


@dataclass(eq=False, slots=True)
class HttpExchange:
    """A request, and the way for its response.

    A client that takes in nothing for `_send_timeout` seconds counts as gone.
    """

    _scope: Scope
    receive: Receive
    """The `receive` of ASGI: the body, piece by piece, and then the end of the connection."""
    _send: Send
    _send_timeout: float
    _log: Throttle
    method: str = ""
    root: str = ""
    """The path of the place where the application is mounted."""
    path: str = ""
    """The path below that place."""
    fields: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    """The header fields by name, in lower case."""
    version: str | None = None
    """The revision that the header names, if it does."""
    principal: str | None = None
    """The id of who was authenticated."""
    taken: int = 0
    """The bytes that are taken for the body; see `Bodies`."""
    closed: bool = False
    """Whether whatever is sent from now on is lost."""
    stuck: bool = False
    """Whether the client is still there, and does not read."""

    def read_head(self, max_headers: int) -> None:
        """Read all but the body; raise `HttpRefusal` for too many or contradictory fields."""
        scope = self._scope
        self.method = scope["method"]
        self.root = scope.get("root_path", "")
        self.path = scope["path"].removeprefix(self.root) or "/"
        listed: list[Field] = scope["headers"]
        fields = self.fields = dict(listed)
        if len(fields) != len(listed):
            fields = self.fields = _joined(listed)
        self.version = self.field(headers.PROTOCOL_VERSION)
        if len(listed) > _MOST_FIELDS or sum(map(len, fields.values())) > max_headers:
            raise HttpRefusal(431, "The header of the request is too large")

    def field(self, name: str) -> str | None:
        """Return the value of a field without the space around it; None if there is none."""
        value = self.fields.get(name.encode())
        return None if value is None else value.decode("latin-1").strip(" \t")

    @property
    def query(self) -> str:
        query: bytes = self._scope.get("query_string", b"")
        return query.decode("latin-1")

    async def gone(self) -> None:
        """Wait until the client has closed the connection, once the body was read."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    def watch(self, gone: Callable[[], None]) -> Task[None]:
        """Call `gone` when the client goes away, unless the task that is returned is cancelled."""

        async def watch() -> None:
            await self.gone()
            self._log.info("a client has gone before it was answered")
            gone()

        return create_task(watch())

    async def respond(self, status: int, body: bytes = b"", fields: Iterable[Field] = ()) -> None:
        """Send a whole response; its body is JSON."""
        length = b"content-length", b"%d" % len(body)
        listed = [length, _JSON, *fields] if body else [length, *fields]
        await self.send(
            {"type": "http.response.start", "status": status, "headers": listed},
            {"type": "http.response.body", "body": body},
        )

    async def send(self, *messages: Message) -> None:
        for message in messages:
            if self.closed:
                return
            try:
                work = self._send(message)
                if iscoroutine(work):
                    try:
                        waiting = work.send(None)
                    except StopIteration:
                        continue
                    work = resumed(work, waiting)
                async with timeout(self._send_timeout):
                    await work
            except TimeoutError:
                self._log.info("a client does not read")
                self.stuck = self.closed = True
            except (OSError, RuntimeError) as error:
                # uvloop says in a RuntimeError that the connection is closed already.
                self._log.info("a client has gone: %s", error)
                self.closed = True


def _joined(listed: list[Field]) -> dict[bytes, bytes]:
    fields: dict[bytes, bytes] = {}
    for name, value in listed:
        if name not in fields:
            fields[name] = value
        elif name in _SINGLE or name.startswith(_OURS):
            raise HttpRefusal(400, f"The header field {name.decode('latin-1')} may come once only")
        else:
            # RFC 9110, section 5.3: lists may be spread over several fields.
            fields[name] += b", " + value
    return fields


@lru_cache(maxsize=128)
def check_json(content_type: bytes) -> None:
    """Raise `HttpRefusal` for a `Content-Type` that is not that of a JSON text in UTF-8."""
    kind = content_type.decode("latin-1").lower()
    _, _, charset = kind.partition("charset=")
    if headers.media_type(kind) != headers.JSON or charset.strip(' "') not in ("", "utf-8"):
        raise HttpRefusal(415, f"Content-Type has to be {headers.JSON}")


@lru_cache(maxsize=128)
def check_accept(accept: bytes, *kinds: str) -> None:
    """Raise `HttpRefusal` for an `Accept` without all of these, each by name or by a range."""
    ranges = {
        headers.media_type(one) for one in accept.decode("latin-1").split(",") if _wanted(one)
    }
    for kind in kinds:
        if ranges.isdisjoint({kind, f"{kind.partition('/')[0]}/*", "*/*"}):
            raise HttpRefusal(406, f"Accept has to list {' and '.join(kinds)}")


def _wanted(one: str) -> bool:
    """Return whether a part of an `Accept` does not say `q=0` (RFC 9110, section 12.4.2)."""
    return one.replace(" ", "").lower().partition(";q=")[2] not in ("0", "0.0", "0.00", "0.000")


@coroutine
def resumed(work: Coroutine[Any, Any, T], waiting: Any) -> Generator[Any, Any, T]:
    """Go on with a coroutine that has made its first step, and now waits for `waiting`.

    Most end at that step, `send(None)`: then nobody has to watch the time, or the client. Servers
    that are not written in Python have awaitables of their own, which have no steps.
    """
    while True:
        try:
            try:
                sent = yield waiting
            except BaseException as error:
                waiting = work.throw(error)
            else:
                waiting = work.send(sent)
        except StopIteration as done:
            return cast(T, done.value)
