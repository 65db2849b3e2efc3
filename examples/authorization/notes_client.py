"""Writes a note, as a user who logs in with the browser or as a program.

    python notes_client.py http://127.0.0.1:8000/mcp "Buy tea"
    python notes_client.py http://127.0.0.1:8000/mcp "Buy tea" --robot

The first command finds the identity provider, registers there, and opens the browser: once to read,
and once more to write, because only `add_note` needs that scope. The second command is the client
`notes-robot`, with the secret in ROBOT_SECRET. Tokens are bound to a key if the provider supports
DPoP, and both are lost at the end. The program needs joserfc and httpx2.
"""

import asyncio
import os
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


def login_of_user() -> OAuth:
    """Return a login of the user in the browser."""
    return OAuth(client_metadata=ClientMetadata(client_name="Notes"), dpop=DPoP())


def login_of_program() -> OAuth:
    """Return a login of the program, without a user."""
    secret = os.environ.get("ROBOT_SECRET", "only-to-try-it")
    robot = ClientInformation(client_id="notes-robot", client_secret=secret)
    return OAuth(grant=ClientCredentials(), client=robot, dpop=DPoP())


async def main(url: str, text: str, auth: OAuth) -> None:
    """Write a note, and print all of them."""
    async with connect_http(url, auth=auth) as client:
        added = await client.call_tool("add_note", {"text": text})
        print(added.text)
        for note in (await client.call_tool("list_notes")).data:
            print("-", note)


if __name__ == "__main__":
    parser = ArgumentParser(description="write a note")
    parser.add_argument("url", help="the URL of the server")
    parser.add_argument("text", help="the text of the note")
    parser.add_argument("--robot", action="store_true", help="log in as a program")
    arguments = parser.parse_args()
    try:
        auth = login_of_program() if arguments.robot else login_of_user()
        asyncio.run(main(arguments.url, arguments.text, auth))
    except AuthorizationError as error:
        parser.exit(1, f"{error}\n")
