"""Connections to a server by URL."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, Unpack, overload

from ...client.base import ClientBase
from ...client.connect import C, Connecting, ConnectOptions, Connector, Newest, RevisionModule
from ...client.servers import C1, C2, C3
from ...transports.base import Opener, Transport
from ..httpx2 import HttpClient, httpx2, trust
from ..sse import LARGEST
from .authorization import AuthorizingClient, HttpAuthorization
from .client_state import Reconnection
from .http_client import URL, HttpWire
from .transport import HttpTransport

HttpSource: TypeAlias = HttpClient | Callable[[], HttpClient] | None

_USUAL: Final = Reconnection()

# Seconds to connect; the options set the timeouts of requests.
_CONNECT: Final = 10.0
_LAST_PORT: Final = 65_535


class HttpSettings(ConnectOptions, total=False):
    """The settings of an HTTP connection, besides its clients; see `ConnectHttp`."""

    http: HttpSource
    headers: Mapping[str, str] | None
    reconnection: Reconnection
    auth: HttpAuthorization | None


def open_http(
    url: str,
    *,
    http: HttpSource = None,
    headers: Mapping[str, str] | None = None,
    limit: int = LARGEST,
    reconnection: Reconnection = _USUAL,
    auth: HttpAuthorization | None = None,
) -> Opener:
    """Return an opener for `connect`, for the server at a URL, of any revision.

    `http` is the client, with its authentication, proxies, pool and timeouts; it should have no
    read timeout, because streams may be silent for long, and is not closed. A function makes one
    for each connection, which closes it. `headers` go with every request; no request goes to
    another origin. `limit` is the largest answer or event, in bytes; `reconnection` is for broken
    streams. `auth` authorizes requests, such as `OAuth`; its errors end requests, and time for a
    user's login does not count for timeouts.

    Raise `ImportError` if httpx2 is not installed, and `ValueError` for a URL that is not HTTP, an
    invalid header, or an Authorization in both `headers` and `auth`.
    """
    endpoint = _parse_url(url)
    fields = headers or {}
    _check(fields, auth)
    authorizer = None if auth is None else auth.authorizer(url)

    async def open() -> Transport:
        plain = http() if callable(http) else http or new_client()
        client = plain if authorizer is None else AuthorizingClient(plain, authorizer)
        wire = HttpWire(client, endpoint, fields, limit, owned=plain is not http)
        transport = HttpTransport(wire, reconnection)
        if isinstance(client, AuthorizingClient):
            client.pause = transport.pause
        return transport

    return open


def _parse_url(url: str) -> URL:
    package = httpx2()
    if not isinstance(url, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"the URL comes first, as text, then the client; got {url!r:.80}")
    try:
        parsed = package.URL(url)
    except package.InvalidURL as error:
        raise ValueError(f"{url!r} is not a URL: {error}") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError(f"{url!r} is not a URL that begins with http:// or https://")
    if (parsed.port or 0) > _LAST_PORT:
        raise ValueError(f"{url!r} has a port above {_LAST_PORT}")
    return parsed


def _check(headers: Mapping[str, str], auth: HttpAuthorization | None) -> None:
    for name, value in headers.items():
        # Sending it would fail later, with an error that quotes the value, perhaps a secret.
        if value != value.strip() or not value.isprintable():
            raise ValueError(f"the header {name} has spaces around it or control characters")
        if auth is not None and name.lower() == "authorization":
            raise ValueError("the header Authorization is set by auth, and cannot be among headers")


def new_client() -> Any:
    package = httpx2()
    # Each stream takes a connection, so their number is not limited.
    limits = package.Limits(max_keepalive_connections=20)
    patience = package.Timeout(None, connect=_CONNECT)
    return package.AsyncClient(verify=trust(), timeout=patience, limits=limits)


class ConnectHttp(Connector[Newest]):
    """Connects to a server over HTTP: `connect_http` of a package."""

    @overload
    def __call__(self, url: str, /, **settings: Unpack[HttpSettings]) -> Connecting[Newest]: ...
    @overload
    def __call__(self, url: str, one: C, /, **settings: Unpack[HttpSettings]) -> Connecting[C]: ...
    @overload
    def __call__(
        self, url: str, /, *, as_: RevisionModule[C], **settings: Unpack[HttpSettings]
    ) -> Connecting[C]: ...
    @overload
    def __call__(
        self, url: str, one: C1, two: C2, /, **settings: Unpack[HttpSettings]
    ) -> Connecting[C1 | C2]: ...
    @overload
    def __call__(
        self, url: str, one: C1, two: C2, three: C3, /, **settings: Unpack[HttpSettings]
    ) -> Connecting[C1 | C2 | C3]: ...
    @overload
    def __call__(
        self, url: str, /, *clients: ClientBase, **settings: Unpack[HttpSettings]
    ) -> Connecting[ClientBase]: ...
    def __call__(
        self,
        url: str,
        /,
        *clients: ClientBase,
        http: HttpSource = None,
        headers: Mapping[str, str] | None = None,
        reconnection: Reconnection = _USUAL,
        auth: HttpAuthorization | None = None,
        as_: RevisionModule[ClientBase] | None = None,
        **settings: Unpack[ConnectOptions],
    ) -> Connecting[ClientBase]:
        """Connect to the server at a URL, with the settings of `connect` and `open_http`.

        The revision is detected, also of an HTTP+SSE server. Raise the errors of `connect` and
        `auth`, and `HttpError` if the server answers only with an HTTP status.
        """
        opener = open_http(url, http=http, headers=headers, reconnection=reconnection, auth=auth)
        return self.connection_through(opener, clients, as_, **settings)
