"""Who may call: bearer tokens and what they allow.

The server is a resource server in the sense of OAuth 2.1: it issues no tokens. How they are
verified is the business of `verify` (2025-11-25 and 2026-07-28, basic/authorization).
"""

import hmac
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import urlsplit

from pydantic_core import to_json

from ...core.http_request import Principal
from .asgi import Field, HttpRefusal

_METADATA: Final = "/.well-known/oauth-protected-resource"
"""Where the metadata of a protected resource is, before the path of the resource (RFC 9728)."""


Verify: TypeAlias = Callable[[str], Awaitable[Principal | None]]
"""Judges a bearer token: whose it is, or None. It has to see to the audience (RFC 8707), too."""


class TokenRefused(Exception):
    """A token or a proof of it is refused: `error` is a code of RFC 6750 or RFC 9449.

    `description` goes to the client; it is ASCII without quotes and backslashes, and no secret.
    """

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.error: Final = error
        self.description: Final = description


class VerifierUnavailable(Exception):
    """Tokens cannot be verified for now, such as when an identity provider does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofRequest:
    """A request whose token is bound to a key (RFC 9449, section 7)."""

    proofs: tuple[str, ...]
    """The values of all header fields `DPoP`."""
    method: str
    url: str
    """The URL of the request, as clients know it, without query and fragment."""
    token: str
    principal: Principal


class Proofs(Protocol):
    """Checks that a client has the key of its token; see `DPoPProofs` of the part auth."""

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The signing algorithms that are accepted, for the challenge."""
        ...

    def nonce(self) -> str | None:
        """Return the nonce that proofs need to have, if they need one."""
        ...

    async def check(self, request: ProofRequest) -> None:
        """Raise `TokenRefused` with `invalid_dpop_proof`, `use_dpop_nonce` or `invalid_token`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedResource:
    """What a client has to know to get a token: the metadata of RFC 9728.

    `url` is that of the endpoint, as clients know it.
    """

    url: str
    authorization_servers: tuple[str, ...]
    scopes: tuple[str, ...] = ()
    name: str | None = None
    documentation: str | None = None

    def to_json(self) -> bytes:
        members: dict[str, Any] = {
            "resource": self.url,
            "authorization_servers": self.authorization_servers,
            "bearer_methods_supported": ["header"],
            "scopes_supported": self.scopes,
            "resource_name": self.name,
            "resource_documentation": self.documentation,
        }
        # What has no value has no member (RFC 9728, section 3.2).
        return to_json({name: value for name, value in members.items() if value})

    @property
    def paths(self) -> frozenset[str]:
        """The paths of the document: for this resource, and for the whole host."""
        return frozenset({urlsplit(self.metadata_url).path, _METADATA})

    @property
    def metadata_url(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{_METADATA}{parts.path.rstrip('/')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authentication:
    """Who may call: those whose token `verify` accepts, and who have all of `scopes`."""

    verify: Verify
    scopes: frozenset[str] = frozenset()
    resource: ProtectedResource | None = None

    async def principal(self, authorization: str | None) -> Principal:
        """Return the sender of a request with this `Authorization`; raise `HttpRefusal`."""
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise self._refusal(401, "A bearer token is needed")
        principal = await self.verify(token.strip())
        if principal is None:
            raise self._refusal(401, "The token is not valid", error="invalid_token")
        if not self.scopes <= principal.scopes:
            text = "The token does not reach that far"
            raise self._refusal(403, text, error="insufficient_scope")
        return principal

    def _refusal(self, status: int, reason: str, **params: str) -> HttpRefusal:
        """Return a refusal with the header field that tells a client how to get a token.

        RFC 6750, section 3; RFC 9728, section 5.1.
        """
        if self.scopes:
            params["scope"] = " ".join(sorted(self.scopes))
        if self.resource is not None:
            params["resource_metadata"] = self.resource.metadata_url
        challenge = ", ".join(f'{name}="{value}"' for name, value in params.items())
        field: Field = b"www-authenticate", f"Bearer {challenge}".strip().encode()
        return HttpRefusal(status, reason, fields=[field])


def static_tokens(principals: Mapping[str, Principal]) -> Verify:
    """Return what accepts these tokens and no others; for tests, and for a few trusted clients.

    Raise `ValueError` for a token of less than 16 characters.
    """
    if any(len(token) < 16 for token in principals):
        raise ValueError("a token needs at least 16 characters")
    known = [(token.encode(), principal) for token, principal in principals.items()]

    async def verify(token: str) -> Principal | None:
        given, found = token.encode(), None
        # All are looked at, so that the time it takes tells nothing.
        for one, principal in known:
            if hmac.compare_digest(given, one):
                found = principal
        return found

    return verify
