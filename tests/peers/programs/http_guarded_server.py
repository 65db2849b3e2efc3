"""A server over HTTP that wants tokens, on the port that is its first argument.

What follows is the issuer of the tokens, and the algorithms that proofs of keys may have, if they
are wanted.
"""

import sys

import httpx2
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from mcp_revisions import (
    REVISIONS,
    Authentication,
    HttpOptions,
    Principal,
    ProtectedResource,
    run_http,
)
from mcp_revisions import v2025_11_25 as mcp


def app() -> mcp.App:
    """What is to be protected."""
    made = mcp.App("guarded", version="1")

    @made.tool
    def whoami(session: mcp.Session) -> str:
        """Tell who calls."""
        assert session.principal is not None
        return session.principal.id

    @made.tool
    def change(session: mcp.Session) -> str:
        """Do what needs a scope of its own."""
        return "changed"

    return made


def authentication(port: int, issuer: str) -> Authentication:
    """Check tokens by the keys of their issuer."""
    url = f"http://127.0.0.1:{port}/mcp"

    async def verify(token: str) -> Principal | None:
        async with httpx2.AsyncClient() as client:
            found = (await client.get(f"{issuer}/jwks")).json()
        try:
            claims = jwt.decode(token, KeySet.import_key_set(found), algorithms=["ES256"]).claims
        except (JoseError, ValueError):
            return None
        if (claims["iss"], claims["aud"]) != (issuer, url):
            return None
        return Principal(claims["sub"], frozenset(claims["scope"].split()))

    resource = ProtectedResource(url=url, authorization_servers=(issuer,), scopes=("read",))
    return Authentication(verify=verify, scopes=frozenset({"read"}), resource=resource)


if __name__ == "__main__":
    port = int(sys.argv[1])
    http = HttpOptions(authentication=authentication(port, sys.argv[2]))
    run_http(app(), port=port, revisions=REVISIONS, http=http)
