"""The optional package httpx2."""

from functools import cache
from typing import Any, Protocol, TypeAlias

from ..core.libraries import library

URL: TypeAlias = Any
"""An `httpx2.URL`: one parser reads it for checks and for requests."""


class HttpClient(Protocol):
    """The part of `httpx2.AsyncClient` in use."""

    def build_request(self, method: str, url: Any, *, content: Any, headers: Any) -> Any: ...
    async def send(self, request: Any, *, stream: bool, follow_redirects: bool) -> Any: ...
    async def aclose(self) -> None: ...


def httpx2() -> Any:
    """Return the package; raise `ImportError`, with advice, if it is not installed."""
    return library("httpx2", "HTTP")


def origin_of(url: URL) -> tuple[str, str, int | None]:
    # The port is None for the default of the scheme.
    return url.scheme, url.host, url.port


def redact_url(url: URL) -> str:
    """Return a URL without parts that may be secret, for a message."""
    return str(url.copy_with(query=None, fragment=None, userinfo=b""))[:200]


@cache
def trust() -> Any:
    """Return a TLS context, shared because loading certificates is slow."""
    return httpx2().create_ssl_context()
