"""A server of the official SDK or of fastmcp that wants tokens.

Arguments are `mcp` or `fastmcp`, the port, and the issuer; without that, it issues tokens itself.
"""

import sys
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.auth.auth import ClientRegistrationOptions, RemoteAuthProvider
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from fastmcp.server.auth.providers.jwt import JWTVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer

SCOPES = ["read", "write"]


class Verifier(JWTVerifier):
    """A verifier of an issuer's tokens, for both."""

    def __init__(self, issuer: str, resource: str) -> None:
        keys = {"jwks_uri": f"{issuer}/jwks", "algorithm": "ES256"}
        super().__init__(issuer=issuer, audience=resource, required_scopes=["read"], **keys)


def relying(kind: str, issuer: str, origin: str) -> Any:
    """Return a server that accepts the tokens of an issuer."""
    resource = f"{origin}/mcp"
    if kind == "fastmcp":
        verifier = Verifier(issuer, resource)
        provider = RemoteAuthProvider(verifier, [issuer], base_url=origin)
        return FastMCP("relying", auth=provider)
    settings = AuthSettings(
        issuer_url=issuer,
        resource_server_url=resource,
        required_scopes=["read"],
        validate_token_resource=False,
    )
    return MCPServer("relying", token_verifier=Verifier(issuer, resource), auth=settings)


def issuing(kind: str, origin: str) -> Any:
    """Return a server that issues its own tokens."""
    clients = ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES)
    provider = InMemoryOAuthProvider(
        base_url=origin, client_registration_options=clients, required_scopes=["read"]
    )
    if kind == "fastmcp":
        return FastMCP("issuing", auth=provider)
    settings = AuthSettings(
        issuer_url=origin,
        resource_server_url=f"{origin}/mcp",
        required_scopes=["read"],
        client_registration_options=clients,
        validate_token_resource=False,
    )
    return MCPServer("issuing", auth_server_provider=provider, auth=settings)


def main(kind: str, port: int, *issuer: str) -> None:
    """Serve until told to stop."""
    origin = f"http://127.0.0.1:{port}"
    server = relying(kind, *issuer, origin) if issuer else issuing(kind, origin)

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    server.run("streamable-http", port=port)


main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
