"""Keeps notes of users who log in at an identity provider. Users see only their own notes.

    mcp-gen --revision all --with all --out examples/authorization/pkg    # its package
    cd examples/authorization
    npm install
    node identity_provider.mjs 9000 http://127.0.0.1:8000/mcp    # in another terminal
    python notes_server.py http://127.0.0.1:9000 --http 8000

The first argument is the issuer of the tokens. Behind a proxy, `--url` is the URL that clients use;
the provider must issue tokens for exactly that resource. With `--ask`, the server does not verify
tokens itself but asks the provider, as the client `notes-server` with the secret in SERVER_SECRET;
start the provider with the variable TOKENS=opaque for that. The server needs joserfc, httpx2 and
uvicorn.
"""

import os
from argparse import ArgumentParser
from collections import defaultdict
from urllib.parse import urlsplit

from pkg import (
    Authentication,
    ClientInformation,
    DPoPProofs,
    HttpOptions,
    Introspection,
    JwtVerifier,
    ProtectedResource,
)
from pkg import v2026_07_28 as mcp

READ, WRITE = "notes:read", "notes:write"

app = mcp.App("notes", version="1.0.0")
# Notes by principal id, which contains the issuer and its user.
notes: defaultdict[str, list[str]] = defaultdict(list)


def owner(session: mcp.Session) -> str:
    """Return the id of the caller, or an empty one without HTTP."""
    return session.principal.id if session.principal else ""


@app.tool
def list_notes(session: mcp.Session) -> list[str]:
    """List the notes of the user."""
    return notes[owner(session)]


@app.tool(scopes={WRITE})
def add_note(text: str, session: mcp.Session) -> str:
    """Add a note; the first call asks the user for permission."""
    notes[owner(session)].append(text)
    return f"This is note {len(notes[owner(session)])}."


def authentication(issuer: str, url: str, *, ask: bool) -> Authentication:
    """Accept tokens of the issuer for this URL."""
    verify: JwtVerifier | Introspection
    if ask:
        secret = os.environ.get("SERVER_SECRET", "only-to-try-it")
        client = ClientInformation(client_id="notes-server", client_secret=secret)
        verify = Introspection(issuer=issuer, audience=url, client=client)
    else:
        verify = JwtVerifier(issuer=issuer, audience=url)
    resource = ProtectedResource(
        url=url, authorization_servers=(issuer,), scopes=(READ, WRITE), name="Notes"
    )
    return Authentication(verify=verify, scopes={READ}, resource=resource, proofs=DPoPProofs())


if __name__ == "__main__":
    parser = ArgumentParser(description="keep notes of users who log in")
    parser.add_argument("issuer", help="the issuer of the tokens")
    parser.add_argument("--http", type=int, default=8000, metavar="PORT", help="the port")
    parser.add_argument("--url", help="the URL of the endpoint for clients")
    parser.add_argument("--ask", action="store_true", help="ask the provider about each token")
    arguments = parser.parse_args()
    url = arguments.url or f"http://127.0.0.1:{arguments.http}/mcp"
    http = HttpOptions(
        authentication=authentication(arguments.issuer, url, ask=arguments.ask),
        allowed_hosts=[urlsplit(url).hostname or "", "127.0.0.1"],
    )
    app.run("http", port=arguments.http, http=http)
