"""Servers that want tokens, for tests: the tokens and their owners."""

from collections.abc import Mapping
from typing import Any

from support.sessions.talking import pkg

READING, WRITING, OTHER, BOUND = "r" * 16, "w" * 16, "o" * 16, "b" * 16
KEY = {"cnf": {"jkt": "k" * 43}}
TOKENS: Mapping[str, pkg.Principal] = {
    READING: pkg.Principal("ada", frozenset({"read"}), {"tenant": "one"}, 4e9),
    WRITING: pkg.Principal("ada", frozenset({"read", "write"}), {"tenant": "two"}),
    OTHER: pkg.Principal("ben", frozenset({"read", "write"})),
    BOUND: pkg.Principal("ada", frozenset({"read"}), KEY),
    "e" * 16: pkg.Principal("eve", frozenset({"read"}), expires_at=1.0),
}
RESOURCE = pkg.ProtectedResource(
    url="https://mcp.example.com/mcp", authorization_servers=["https://login.example.com"]
)
METADATA = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"


def bearing(token: str, scheme: str = "Bearer") -> dict[str, str]:
    """Return the header field with a token."""
    return {"authorization": f"{scheme} {token}"}


def authentication(**chosen: Any) -> pkg.Authentication:
    """Return an authentication that knows the tokens."""
    given: dict[str, Any] = {"verify": pkg.static_tokens(TOKENS), **chosen}
    return pkg.Authentication(**given)


ADA, BEN, GUARD = bearing(WRITING), bearing(OTHER), authentication()
"""Two principals, for tests of their separation, and who knows them."""


def read_challenges(response: Any) -> list[str]:
    found: list[str] = response.headers.get_list("www-authenticate")
    return found


def allowing(*scopes: str) -> dict[str, str]:
    """Return the header field with a token for these scopes, for `telling`."""
    return bearing(".".join(("ada", *scopes)))


def telling(**chosen: Any) -> pkg.Authentication:
    """Return an authentication whose tokens name their own scopes."""

    async def verify(token: str) -> pkg.Principal:
        id, *scopes = token.split(".")
        return pkg.Principal(id, frozenset(scopes))

    return authentication(verify=verify, **chosen)
