"""HTTP as handlers see it: the request of a call, and errors with a status."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from .errors import McpError


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated user or client, and its permissions.

    `id` identifies the owner of sessions and states: no two users, and no two clients without a
    user, share one. `claims` are those of the token, such as the claims of a JWT.
    """

    id: str
    scopes: frozenset[str] = frozenset()
    claims: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False, compare=False)
    expires_at: float | None = None
    """When the token expires, in seconds since the epoch; None if unknown."""


def id_of(principal: Principal | None) -> str | None:
    return None if principal is None else principal.id


class HttpAddress(NamedTuple):
    """The address of a client; behind a proxy, that of the proxy or the one it reports."""

    host: str
    port: int


class HttpHeaders(Mapping[str, str]):
    """Header fields by case-insensitive name; values of the same name are joined with commas."""

    def __init__(self, fields: Iterable[tuple[bytes, bytes]]) -> None:
        self._fields: dict[str, list[str]] = {}
        for name, value in fields:
            text = value.decode("latin-1").strip(" \t")
            self._fields.setdefault(name.decode("latin-1").lower(), []).append(text)

    def getlist(self, name: str) -> list[str]:
        """Return all values of a name, in their order."""
        return list(self._fields.get(name.lower(), ()))

    def __getitem__(self, name: str) -> str:
        return ", ".join(self._fields[name.lower()])

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


class HttpRequest:
    """One HTTP request without its body; `scope` is the ASGI scope."""

    def __init__(
        self, scope: Mapping[str, Any], path: str, principal: Principal | None = None
    ) -> None:
        self._scope = scope
        self.path: Final = path
        """The path below the mount point of the application."""
        self.principal: Final = principal

    @property
    def method(self) -> str:
        method: str = self._scope["method"]
        return method

    @property
    def client(self) -> HttpAddress | None:
        """The address of the client, if known."""
        address: tuple[str, int] | None = self._scope.get("client")
        return None if address is None else HttpAddress(*address)

    @cached_property
    def headers(self) -> HttpHeaders:
        return HttpHeaders(self._scope["headers"])

    @cached_property
    def query(self) -> Mapping[str, list[str]]:
        """The values in the query string, by name."""
        from urllib.parse import parse_qs

        text = self._scope.get("query_string", b"").decode("latin-1")
        return parse_qs(text, keep_blank_values=True)


class StatusError(McpError):
    """An error response with its own HTTP status, 400 to 599, and header fields.

    Both are ignored if the response has begun, in batches, and over other transports.
    """

    def __init__(
        self,
        code: int,
        message: str,
        data: Any = None,
        *,
        status: int,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(code, message, data)
        if not 400 <= status <= 599:
            raise ValueError(f"the status of an error must be between 400 and 599, got {status}")
        self.status: Final = status
        self.headers: Final = headers
