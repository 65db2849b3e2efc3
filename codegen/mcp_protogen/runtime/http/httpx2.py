"""What is used of the package httpx2, which programs without HTTP need not have."""

from functools import cache
from typing import Any, Protocol

from ..core.libraries import library


class HttpClient(Protocol):
    """An `httpx2.AsyncClient`, as far as it is used here."""

    def build_request(self, method: str, url: Any, *, content: Any, headers: Any) -> Any: ...

    async def send(self, request: Any, *, stream: bool, follow_redirects: bool) -> Any: ...

    async def aclose(self) -> None: ...


def httpx2() -> Any:
    """Return the package; raise `ImportError`, which says what to do, if it is not installed."""
    return library("httpx2", "HTTP")


@cache
def trust() -> Any:
    """Return the TLS context of the process: to read all certificates takes long."""
    return httpx2().create_ssl_context()
