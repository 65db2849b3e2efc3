"""What moves the bytes: httpx2, and as much of it as has to be known here.

It is imported by name, when a connection is made. Neither a program that speaks no HTTP has to have
it, nor the type checker of its author.
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
        """A request of this client's."""
        ...

    async def send(self, request: Any, *, stream: bool, follow_redirects: bool) -> Any:
        """Send a request."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


def httpx2() -> Any:
    """The package; raises `ImportError`, saying what to do, where it is not installed."""
    try:
        return import_module("httpx2")
    except ImportError:
        raise ImportError("HTTP needs the package httpx2: pip install httpx2") from None
