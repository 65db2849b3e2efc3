"""A server of the official SDK or of fastmcp that issues its tokens itself.

Arguments are `mcp` or `fastmcp`, and the port.
"""

import sys
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.auth.auth import ClientRegistrationOptions
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer

SCOPES = ["read", "write"]


def main(kind: str, port: int) -> None:
    """Serve until told to stop."""
    origin = f"http://127.0.0.1:{port}"
    clients = ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES)
    provider = InMemoryOAuthProvider(
        base_url=origin, client_registration_options=clients, required_scopes=["read"]
    )
    server: Any
    if kind == "fastmcp":
        server = FastMCP("issuing", auth=provider)
    else:
        settings = AuthSettings(
            issuer_url=origin,
            resource_server_url=f"{origin}/mcp",
            required_scopes=["read"],
            client_registration_options=clients,
            validate_token_resource=False,
        )
        server = MCPServer("issuing", auth_server_provider=provider, auth=settings)

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    server.run("streamable-http", port=port)


main(sys.argv[1], int(sys.argv[2]))
