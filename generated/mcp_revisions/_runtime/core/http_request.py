"""The HTTP request that carries a call, as handlers see it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who was authenticated, and what they may do.

    `id` is what sessions and states are bound to: two people, or two clients without a user, never
    have the same one. `claims` is what the token says, such as the claims of a JWT.
    """

    id: str
    scopes: frozenset[str] = frozenset()
    claims: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False, compare=False)
    expires_at: float | None = None
    """When the token ends, in seconds of the epoch; None where it is not known."""


def id_of(principal: Principal | None) -> str | None:
    return None if principal is None else principal.id


class HttpAddress(NamedTuple):
    """The address of a client; behind a proxy, that of the proxy, or what it says."""

    host: str
    port: int


class HttpHeaders(Mapping[str, str]):
    """Header fields by name, in any case; the values of one name are joined with commas.

    RFC 9110, section 5.3.
    """

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
    """One HTTP request, without its body; `scope` is that of ASGI."""

    def __init__(
        self, scope: Mapping[str, Any], path: str, principal: Principal | None = None
    ) -> None:
        self._scope = scope
        self.path: Final = path
        """The path below the place where the application is mounted."""
        self.principal: Final = principal
        """Who was authenticated, and their scopes."""

    @property
    def method(self) -> str:
        method: str = self._scope["method"]
        return method

    @property
    def client(self) -> HttpAddress | None:
        """The address of the client, if the server knows it."""
        address: tuple[str, int] | None = self._scope.get("client")
        return None if address is None else HttpAddress(*address)

    @cached_property
    def headers(self) -> HttpHeaders:
        return HttpHeaders(self._scope["headers"])

    @cached_property
    def query(self) -> Mapping[str, list[str]]:
        """The values in the query string, by name."""
        from urllib.parse import parse_qs  # which servers over HTTP have loaded

        text = self._scope.get("query_string", b"").decode("latin-1")
        return parse_qs(text, keep_blank_values=True)
