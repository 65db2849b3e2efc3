"""What authorizes the requests of a connection, as far as HTTP sees it."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from ...core.errors import RequestId
from ..headers import PROTOCOL_VERSION
from ..httpx2 import HttpClient
from .outgoing import message_of

_VERSION: Final = PROTOCOL_VERSION.encode()

Hold: TypeAlias = Callable[[RequestId | None, bool], object]
"""Is told that a request is held, or that it is no more; None stands for one without an id."""


@dataclass(frozen=True, slots=True)
class Exchange:
    verb: str
    url: str
    fields: Mapping[str, str] = field(repr=False)
    """The fields that authorized it, which are secret."""
    status: int
    values: Callable[[str], Sequence[str]] = field(repr=False)
    """Return the values of all fields of the response that have this name."""
    body: bytes | None = field(default=None, repr=False)
    version: str = ""
    """The revision in its header field; empty without one."""

    @property
    def revision(self) -> str:
        """Return the revision that the request names: the beginning of a handshake has no field."""
        if self.version or self.body is None:
            return self.version
        asked = message_of(self.body).params.get("protocolVersion")
        return asked if isinstance(asked, str) and asked.isprintable() else ""

    @property
    def operation(self) -> str:
        """Return what was asked for: the method of the message, and what it is about."""
        if self.body is None:
            return self.verb
        message = message_of(self.body)
        about = message.params.get("name", message.params.get("uri", ""))
        return f"{message.name} {about:.200}".strip() if isinstance(about, str) else message.name


class Authorizer(Protocol):
    def headers(self, verb: str, url: str) -> Mapping[str, str] | None:
        """Return the fields of one request; None if `prepare` has to be awaited first."""
        ...

    async def prepare(self) -> None:
        """Get what `headers` needs, as long as it takes; an error is what the request ends with."""
        ...

    def refuses(self, exchange: Exchange) -> bool:
        """Take note of a response, and return whether it is for `again` to say what follows."""
        ...

    async def again(self, exchanges: Sequence[Exchange]) -> bool:
        """Return whether to send a request once more, after all these responses to it.

        An error is what the request ends with.
        """
        ...


class HttpAuthorization(Protocol):
    def authorizer(self, url: str) -> Authorizer:
        """Return what authorizes the requests to a URL; raise `ValueError` if it cannot be."""
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
    """A client of HTTP whose requests are authorized; `client` sends them."""

    def __init__(self, client: HttpClient, authorizer: Authorizer) -> None:
        self._client = client
        self._authorizer = authorizer
        self.hold: Hold = lambda id, held: None

    def build_request(self, method: str, url: Any, *, content: Any, headers: Any) -> Any:
        return _Unsent(method, url, content, headers)

    async def send(self, request: Any, *, stream: bool, follow_redirects: bool) -> Any:
        unsent: _Unsent = request
        exchanges: list[Exchange] = []
        while True:
            fields = await self._fields(unsent)
            encoded = {name.encode(): value.encode() for name, value in fields.items()}
            made = self._client.build_request(
                unsent.verb,
                unsent.url,
                content=unsent.content,
                headers={**unsent.headers, **encoded},
            )
            response = await self._client.send(
                made, stream=stream, follow_redirects=follow_redirects
            )
            exchange = Exchange(
                unsent.verb,
                str(unsent.url),
                fields,
                response.status_code,
                response.headers.get_list,
                unsent.content,
                unsent.headers.get(_VERSION, b"").decode(),
            )
            if not self._authorizer.refuses(exchange):
                return response
            exchanges.append(exchange)
            if not await self._again(unsent, exchanges, response):
                return response
            await response.aclose()

    async def _fields(self, unsent: _Unsent) -> Mapping[str, str]:
        fields = self._authorizer.headers(unsent.verb, str(unsent.url))
        if fields is None:
            with self._pause_timeouts(unsent):
                await self._authorizer.prepare()
            fields = self._authorizer.headers(unsent.verb, str(unsent.url))
        return fields or {}

    async def _again(self, unsent: _Unsent, exchanges: Sequence[Exchange], response: Any) -> bool:
        try:
            with self._pause_timeouts(unsent):
                return await self._authorizer.again(exchanges)
        except BaseException:
            await response.aclose()
            raise

    @contextmanager
    def _pause_timeouts(self, unsent: _Unsent) -> Generator[None, None, None]:
        id = unsent.id
        self.hold(id, True)
        try:
            yield
        finally:
            self.hold(id, False)

    async def aclose(self) -> None:
        await self._client.aclose()
