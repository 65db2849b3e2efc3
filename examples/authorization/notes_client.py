"""Writes a note, for a user who logs in with the browser, or for a program without one.

    python notes_client.py http://127.0.0.1:8000/mcp "Buy tea"
    python notes_client.py http://127.0.0.1:8000/mcp "Buy tea" --robot only-to-try-it

The first form finds the identity provider, registers there, and opens the browser: once to read,
and once more to write, because only `add_note` needs that. The second one is the client
`notes-robot`, with its secret. Tokens are bound to a key, if the provider can (DPoP); both are
forgotten at the end. It needs joserfc and httpx2.
"""

import asyncio
from argparse import ArgumentParser

from pkg import (
    AuthorizationError,
    ClientCredentials,
    ClientInformation,
    ClientMetadata,
    DPoP,
    OAuth,
    connect_http,
)


def oauth_of(secret: str | None) -> OAuth:
    """Return how the client is authorized."""
    if secret is None:
        return OAuth(client_metadata=ClientMetadata(client_name="Notes"), dpop=DPoP())
    robot = ClientInformation(client_id="notes-robot", client_secret=secret)
    return OAuth(grant=ClientCredentials(), client=robot, dpop=DPoP())


async def main(url: str, text: str, secret: str | None) -> None:
    """Write a note, and print all of them."""
    async with connect_http(url, auth=oauth_of(secret)) as client:
        added = await client.call_tool("add_note", {"text": text})
        print(added.text)
        for note in (await client.call_tool("list_notes")).data:
            print("-", note)


if __name__ == "__main__":
    parser = ArgumentParser(description="write a note")
    parser.add_argument("url", help="the URL of the server")
    parser.add_argument("text", help="what to write")
    parser.add_argument("--robot", metavar="SECRET", help="do it without a user")
    chosen = parser.parse_args()
    try:
        asyncio.run(main(chosen.url, chosen.text, chosen.robot))
    except AuthorizationError as error:
        parser.exit(1, f"{error}\n")
