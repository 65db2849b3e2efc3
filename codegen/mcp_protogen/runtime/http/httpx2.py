"""The optional package httpx2."""

from functools import cache
from typing import Any, Protocol

from ..core.libraries import library


class HttpClient(Protocol):
    """The part of `httpx2.AsyncClient` in use."""

    def build_request(self, method: str, url: Any, *, content: Any, headers: Any) -> Any: ...
    async def send(self, request: Any, *, stream: bool, follow_redirects: bool) -> Any: ...
    async def aclose(self) -> None: ...


def httpx2() -> Any:
    """Return the package; raise `ImportError`, with advice, if it is not installed."""
    return library("httpx2", "HTTP")


@cache
def trust() -> Any:
    """Return a TLS context, shared because loading certificates is slow."""
    return httpx2().create_ssl_context()
