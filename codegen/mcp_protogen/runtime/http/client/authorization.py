"""The authorization of a connection's requests, at the level of HTTP."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

from ...core.errors import RequestId
from ..headers import PROTOCOL_VERSION
from ..httpx2 import HttpClient
from .outgoing import message_of

Pause: TypeAlias = Callable[[RequestId | None, bool], object]
"""Called when a request is paused, and again when it goes on; None is one without an id."""


@dataclass(frozen=True, slots=True)
class Exchange:
    verb: str
    url: str
    fields: Mapping[str, str] = field(repr=False)
    """The authorizing fields, which are secret."""
    status: int
    values: Callable[[str], Sequence[str]] = field(repr=False)
    """Return the values of all response fields of a name."""
    body: bytes | None = field(default=None, repr=False)
    version: str = ""
    """The revision in the header; empty without one."""

    @property
    def revision(self) -> str:
        """Return the revision of the request; `initialize` has it in the body."""
        if self.version or self.body is None:
            return self.version
        version = message_of(self.body).params.get("protocolVersion")
        return version if isinstance(version, str) and version.isprintable() else ""

    @property
    def operation(self) -> str:
        """Return the method of the message, and the name or URI that it is about."""
        if self.body is None:
            return self.verb
        message = message_of(self.body)
        about = message.params.get("name", message.params.get("uri", ""))
        return f"{message.name} {about:.200}".strip() if isinstance(about, str) else message.name


class Authorizer(Protocol):
    def headers(self, verb: str, url: str) -> Mapping[str, str] | None:
        """Return the fields of a request; None if `prepare` must be awaited first."""
        ...

    async def prepare(self) -> None:
        """Get the state for `headers`, for as long as it takes; an error ends the request."""

    def refuses(self, exchange: Exchange) -> bool:
        """Note a response; return whether `again` decides what follows."""
        ...

    async def again(self, exchanges: Sequence[Exchange]) -> bool:
        """Return whether to repeat a request after these responses; an error ends it."""
        ...


class HttpAuthorization(Protocol):
    def authorizer(self, url: str) -> Authorizer:
        """Return the authorizer for a URL; raise `ValueError` for an unfit one."""
        ...


class _Unsent(NamedTuple):
    verb: str
    url: Any
    content: bytes | None
    headers: Mapping[bytes, bytes]

    @property
    def id(self) -> RequestId | None:
        message = None if self.content is None else message_of(self.content)
        return message.id if message is not None and message.kind == "request" else None


class AuthorizingClient:
    """An HTTP client with authorized requests; `client` sends them."""

    def __init__(self, client: HttpClient, authorizer: Authorizer) -> None:
        self._client = client
        self._authorizer = authorizer
        self.pause: Pause = lambda id, held: None

    def build_request(self, method: str, url: Any, *, content: Any, headers: Any) -> Any:
        return _Unsent(method, url, content, headers)

    async def send(self, request: Any, *, stream: bool, follow_redirects: bool) -> Any:
        unsent: _Unsent = request
        url = str(unsent.url)
        exchanges: list[Exchange] = []
        while True:
            fields = await self._fields(unsent, url)
            added = {name.encode(): value.encode() for name, value in fields.items()}
            made = self._client.build_request(
                unsent.verb, unsent.url, content=unsent.content, headers={**unsent.headers, **added}
            )
            reply = await self._client.send(made, stream=stream, follow_redirects=follow_redirects)
            exchange = Exchange(
                unsent.verb,
                url,
                fields,
                reply.status_code,
                reply.headers.get_list,
                unsent.content,
                unsent.headers.get(PROTOCOL_VERSION.encode(), b"").decode(),
            )
            if not self._authorizer.refuses(exchange):
                return reply
            exchanges.append(exchange)
            try:
                with self._pause_timeouts(unsent):
                    repeats = await self._authorizer.again(exchanges)
            except BaseException:
                await reply.aclose()
                raise
            if not repeats:
                return reply
            await reply.aclose()

    async def _fields(self, unsent: _Unsent, url: str) -> Mapping[str, str]:
        fields = self._authorizer.headers(unsent.verb, url)
        if fields is None:
            with self._pause_timeouts(unsent):
                await self._authorizer.prepare()
            fields = self._authorizer.headers(unsent.verb, url)
        return fields or {}

    @contextmanager
    def _pause_timeouts(self, unsent: _Unsent) -> Generator[None, None, None]:
        self.pause(unsent.id, True)
        try:
            yield
        finally:
            self.pause(unsent.id, False)

    async def aclose(self) -> None:
        await self._client.aclose()
