"""The package that moves the bytes: httpx2, and the part of its interface that is used here.

It is imported by name when a connection is made. Programs that do not use HTTP need not have it
installed, and neither do type checkers.
"""

from importlib import import_module
from typing import Any, Protocol, TypeAlias

URL: TypeAlias = Any
"""An `httpx2.URL`."""

Response: TypeAlias = Any
"""An `httpx2.Response` whose body has not been read."""


class HttpClient(Protocol):
    """An `httpx2.AsyncClient`."""

    def build_request(self, method: str, url: Any, *, content: Any, headers: Any) -> Any:
        """Build a request."""
        ...

    async def send(self, request: Any, *, stream: bool, follow_redirects: bool) -> Any:
        """Send a request."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


def httpx2() -> Any:
    """Return the package; raise `ImportError`, which says what to do, if it is not installed."""
    try:
        return import_module("httpx2")
    except ImportError:
        raise ImportError("HTTP needs the package httpx2: pip install httpx2") from None
