"""A server over HTTP with authorization; its first argument is the port.

Then come the issuer of the tokens, and the number of uses of each.
"""

import sys
from collections import Counter

from mcp_revisions import (
    REVISIONS,
    Authentication,
    DPoPProofs,
    HttpOptions,
    JwtVerifier,
    Principal,
    ProtectedResource,
    TokenRefused,
    run_http,
)
from mcp_revisions import v2026_07_28 as mcp

app = mcp.App("guarded", version="1")


@app.tool
def whoami(session: mcp.Session) -> str:
    """Tell who calls."""
    assert session.principal is not None
    return str(session.principal.claims["sub"])


@app.tool(scopes={"write"})
def change() -> str:
    """Do something with its own scope."""
    return "changed"


class Worn:
    """Tokens that expire after a number of requests."""

    def __init__(self, verify: JwtVerifier, times: int) -> None:
        self.verify = verify
        self.times = times
        self.used: Counter[str] = Counter()

    async def __call__(self, token: str) -> Principal:
        self.used[token] += 1
        if self.used[token] > self.times:
            raise TokenRefused("invalid_token", "The token has ended")
        return await self.verify(token)


def authentication(port: int, issuer: str, times: int) -> Authentication:
    """Return the authentication."""
    url = f"http://127.0.0.1:{port}/mcp"
    resource = ProtectedResource(url=url, authorization_servers=(issuer,), scopes=("read",))
    verify = Worn(JwtVerifier(issuer=issuer, audience=url), times)
    return Authentication(
        verify=verify,
        scopes={"read"},
        resource=resource,
        proofs=DPoPProofs(),
    )


if __name__ == "__main__":
    port, issuer, times = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    http = HttpOptions(authentication=authentication(port, issuer, times))
    run_http(app, port=port, revisions=REVISIONS, http=http)
