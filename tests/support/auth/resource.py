"""A protected resource for tests: only the tokens of an MCP server."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from mcp_protogen.runtime.features.auth.steps import Fetched
from support.auth.authorization_server import AuthorizationServer
from support.auth.messages import Fault, Request, origin_of, replace_members
from support.auth.playing import NOT_FOUND, document
from support.auth.proofs import ProofChecks

Where: TypeAlias = Literal["header", "path", "root"]
"""How clients learn of the metadata: from challenges, or at a well-known place (RFC 9728)."""

_WELL_KNOWN = "/.well-known/oauth-protected-resource"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSetup:
    url: str = "https://mcp.example.com/mcp"
    where: frozenset[Where] = frozenset({"header", "path", "root"})
    """Empty for a resource of 2025-03-26, which has no metadata."""
    document: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Members that replace those of its metadata; None leaves one out."""
    challenge: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Likewise for the parameters of its challenges."""
    scheme: str = "Bearer"
    scopes: tuple[str, ...] = ()
    """What its challenges and its metadata name, and what a token needs."""


class Resource:
    """A protected resource that accepts tokens of its authorization servers."""

    def __init__(
        self,
        servers: Iterable[AuthorizationServer],
        **chosen: Any,
    ) -> None:
        self.setup = ResourceSetup(**chosen)
        self.servers = list(servers)
        self.proofs = ProofChecks()
        self.requests: list[Request] = []
        self.accepted: list[Request] = []
        self.needed = frozenset(self.setup.scopes)
        """The scopes that a request needs now; may be changed at any time."""

    def change(self, **changes: Any) -> None:
        """Change the behaviour from now on."""
        self.setup = replace(self.setup, **changes)

    @property
    def url(self) -> str:
        return self.setup.url

    def document(self) -> dict[str, Any]:
        """Return the metadata of this resource (RFC 9728, section 2)."""
        members = {
            "resource": self.url,
            "authorization_servers": [server.issuer for server in self.servers],
            "scopes_supported": list(self.setup.scopes) or None,
            "bearer_methods_supported": ["header"],
        }
        return replace_members(members, self.setup.document)

    @property
    def metadata_urls(self) -> Mapping[Where, str]:
        """Return the places of the metadata; the one in the header is custom."""
        origin = origin_of(self.url)
        return {
            "header": f"{origin}/custom/metadata.json",
            "path": f"{origin}{_WELL_KNOWN}{urlsplit(self.url).path.rstrip('/')}",
            "root": f"{origin}{_WELL_KNOWN}",
        }

    def challenge(self, **params: str) -> str:
        """Return the value of `WWW-Authenticate`."""
        named = "header" in self.setup.where
        members = {
            **params,
            "scope": " ".join(sorted(self.needed)) or None,
            "resource_metadata": self.metadata_urls["header"] if named else None,
        }
        wanted = replace_members(members, self.setup.challenge)
        text = ", ".join(f'{name}="{value}"' for name, value in wanted.items())
        return f"{self.setup.scheme} {text}".strip()

    def stalls(self, request: Request) -> bool:
        """Return whether a request never gets an answer."""
        return False

    def answer(self, request: Request) -> Fetched:
        self.requests.append(request)
        url = request.url.partition("?")[0]
        if any(url == self.metadata_urls[place] for place in self.setup.where):
            return document(self.document())
        if url != self.url:
            return NOT_FOUND
        try:
            scopes = self._scopes_of(request)
        except Fault as fault:
            params = {"error": fault.error} if fault.error else {}
            headers = {"www-authenticate": self.challenge(**params), **fault.headers}
            return Fetched(status=401, headers=headers)
        if not self.needed <= scopes:
            challenge = self.challenge(error="insufficient_scope")
            return Fetched(status=403, headers={"www-authenticate": challenge})
        self.accepted.append(request)
        return document({})

    def _scopes_of(self, request: Request) -> frozenset[str]:
        """Return the scopes of the request's token; raise `Fault`."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if not token:
            raise Fault("", "no token")
        claims = self._claims_of(token)
        bound = claims.get("cnf", {}).get("jkt")
        if scheme != ("DPoP" if bound else "Bearer"):
            raise Fault("invalid_token", "the scheme is not that of the token")
        if bound and self.proofs.key(request, self.servers[0].now(), token) != bound:
            raise Fault("invalid_token", "the key is not that of the token")
        return frozenset(claims.get("scope", "").split())

    def _claims_of(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token for this resource; raise `Fault`."""
        for server in self.servers:
            claims = server.tokens.get(token, {})
            if claims.get("aud") == self.document()["resource"] and claims["exp"] > server.now():
                return claims
        raise Fault("invalid_token", "of another server, for another audience, or expired")
