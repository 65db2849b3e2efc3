"""What is used of the package httpx2.

It is imported by name when it is needed: programs without HTTP need not have it, nor do type
checkers.
"""

from functools import cache
from importlib import import_module
from typing import Any, Protocol


class HttpClient(Protocol):
    """An `httpx2.AsyncClient`, as far as it is used here."""

    def build_request(self, method: str, url: Any, *, content: Any, headers: Any) -> Any: ...

    async def send(self, request: Any, *, stream: bool, follow_redirects: bool) -> Any: ...

    async def aclose(self) -> None: ...


def httpx2() -> Any:
    """Return the package; raise `ImportError`, which says what to do, if it is not installed."""
    try:
        return import_module("httpx2")
    except ImportError:
        raise ImportError("HTTP needs the package httpx2: pip install httpx2") from None


@cache
def trust() -> Any:
    """Return the TLS context of the process: to read all certificates takes long."""
    return httpx2().create_ssl_context()
