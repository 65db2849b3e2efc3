"""A client made of our stubs against servers that others wrote, as processes.

`test_http_foreign_servers.py` has client classes of one revision that speak others.
"""

import asyncio
import os
from pathlib import Path
from typing import Any, cast

import mcp_revisions
import pytest
from mcp_revisions.v2025_11_25 import Client
from support.json_types import JsonObject
from support.peers.features import Use, check_seen, client_of, features_of, outcomes
from support.peers.places import PROGRAMS, node_modules, python_with
from support.peers.spoken import GENERATION_1, GENERATION_2
from support.revisions import ERAS, OLD, REVISIONS
from support.sessions.talking import content_of


def talk_to(server: list[str | Path], revision: str) -> JsonObject:
    """Let a client of a revision use each feature once; return the results."""
    mcp: Any = mcp_revisions.load(revision)

    async def main() -> JsonObject:
        async with asyncio.timeout(30):
            launch, own = mcp_revisions.stdio_client(server), client_of(mcp)
            async with mcp_revisions.connect(launch, own) as client:
                assert client is own
                assert client.instructions == "Call whatever you like."
                assert client.server_info.name == "everything"
                assert client.server_capabilities.tools is not None
                return await outcomes(Use(client, mcp.models), features_of(revision, revision))

    return asyncio.run(main())


@pytest.mark.shows("S2-06", "S4-05")
@pytest.mark.sampled(2)
@pytest.mark.parametrize("revision", GENERATION_2)
def test_the_python_sdk_of_generation_2(revision: str) -> None:
    check_seen(talk_to(server_in("mcp-2"), revision))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("revision", GENERATION_1)
def test_the_python_sdk_of_generation_1(revision: str) -> None:
    check_seen(talk_to(server_in("mcp-1"), revision))


SPOKEN = {"mcp-1": GENERATION_1, "mcp-2": GENERATION_2}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("environment", "revision"),
    [
        (name, spoken_revision)
        for name, spoken in SPOKEN.items()
        for spoken_revision in REVISIONS
        if spoken_revision not in spoken
    ],
)
def test_a_client_of_what_the_python_sdk_does_not_speak_says_so(
    environment: str, revision: str
) -> None:
    with pytest.raises(mcp_revisions.NegotiationError, match=f"the client allows {revision}"):
        talk_to(server_in(environment), revision)


def server_in(environment: str) -> list[str | Path]:
    program = f"{environment.replace('-', '')}_server.py"
    return [python_with(environment), PROGRAMS / program]


@pytest.mark.parametrize(("environment", "spoken"), SPOKEN.items())
def test_a_client_of_both_eras_finds_out_which_one_a_server_is_of(
    environment: str, spoken: tuple[str, ...]
) -> None:
    server = server_in(environment)

    async def main() -> None:
        clients = [client_of(mcp_revisions.load(revision)) for revision in REVISIONS]
        launch = mcp_revisions.stdio_client(server)
        async with mcp_revisions.connect(launch, *clients) as client:
            assert client.revision == spoken[-1]
            negotiated = client.negotiated
        async with mcp_revisions.connect(launch, *clients, negotiated=negotiated) as client:
            assert client.negotiated == negotiated

    asyncio.run(main())


def test_the_reference_server_from_npm() -> None:
    modules = node_modules()
    server = modules / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"

    async def main() -> None:
        clients = [client_of(mcp_revisions.load(revision)) for revision in ERAS]
        launch = mcp_revisions.stdio_client(["node", server, "stdio"], inherit=True)
        async with asyncio.timeout(30):
            async with mcp_revisions.connect(launch, *clients) as connected:
                client = cast(Client, connected)
                assert client.revision == GENERATION_1[-1]
                assert "echo" in [tool.name async for tool in client.iter_tools()]
                result = await client.call_tool("echo", {"message": "hi"})
                assert "hi" in content_of(result)[0].text
                assert [resource async for resource in client.iter_resources()]

    asyncio.run(main())


def test_launched_server_leaves_no_open_files() -> None:
    before = set(os.listdir("/proc/self/fd"))
    talk_to(server_in("mcp-2"), OLD)
    assert set(os.listdir("/proc/self/fd")) == before
