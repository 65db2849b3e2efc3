"""Arrays of messages over HTTP, between processes.

No SDK sends them, so they are written by hand: for our server in each revision, and for foreign
servers and clients.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from support.json_types import JsonObject
from support.peers.http_peers import our_server
from support.peers.places import (
    PROGRAMS,
    python_with,
)
from support.peers.visits import Peers
from support.revisions import ERAS, HANDSHAKE, OLD

REVISION: Final = "2025-03-26"

POSTED: Final = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}


def request(id: int | str, method: str, **params: object) -> JsonObject:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def call(id: int | str, tool: str, **arguments: Any) -> JsonObject:
    return request(id, "tools/call", name=tool, arguments=arguments)


@asynccontextmanager
async def session(
    peers: Peers, revision: str, *command: str | Path
) -> AsyncGenerator[httpx2.AsyncClient, None]:
    """A session with a server, ready to be posted to."""
    running = await peers.server(*command)
    url = f"http://127.0.0.1:{running.port}"
    async with httpx2.AsyncClient(base_url=url, timeout=10) as http:
        http.headers.update(POSTED)
        known = {"name": "by hand", "version": "1"}
        opening = request(
            0, "initialize", protocolVersion=revision, capabilities={}, clientInfo=known
        )
        response = await http.post("/mcp", json=opening)
        (message,) = messages_in(response)
        assert message["result"]["protocolVersion"] == revision
        http.headers["mcp-session-id"] = response.headers["mcp-session-id"]
        http.headers["mcp-protocol-version"] = revision
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await http.post("/mcp", json=note)).status_code == 202
        yield http


def messages_in(response: httpx2.Response) -> list[Any]:
    """Return the messages, or arrays of them, in an answer."""
    if response.headers["content-type"].startswith("application/json"):
        return [response.json()]
    lines = response.text.splitlines()
    data = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
    return [json.loads(event) for event in data if event]


@pytest.mark.parametrize("own", [REVISION, *ERAS])
def test_our_server_answers_a_batch_with_all_answers(peers: Peers, own: str) -> None:
    batch = [
        call(1, "echo", text="a"),
        {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
        call("2", "crash"),
        request(3, "no/such"),
        {"jsonrpc": "2.0"},
    ]

    async def main() -> None:
        async with session(peers, REVISION, *our_server("--as", own)) as http:
            response = await http.post("/mcp", json=batch)
            assert response.status_code == 200
            (answers,) = messages_in(response)
            codes = {answer.get("id"): answer.get("error", {}).get("code") for answer in answers}
            assert codes == {1: None, "2": -32603, 3: -32601, None: -32600}
            assert len(answers) == 4
            assert "hunter2" not in response.text

    peers.run(main())


def test_notifications_within_batch_precede_answers(peers: Peers) -> None:
    counted = call(1, "count", to=3)
    counted["params"]["_meta"] = {"progressToken": "p"}

    async def main() -> None:
        async with session(peers, REVISION, *our_server("--as", OLD)) as http:
            response = await http.post("/mcp", json=[counted, call(2, "echo", text="a")])
            *said, last = messages_in(response)
            assert [message["params"]["progress"] for message in said] == [1, 2, 3]
            assert sorted(message["id"] for message in last) == [1, 2]

    peers.run(main())


def test_a_member_of_a_batch_is_cancelled_alone(peers: Peers) -> None:
    cancellation = {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 1},
    }

    async def main() -> None:
        async with session(peers, REVISION, *our_server("--as", OLD)) as http:
            counted = call(2, "count", to=3)
            counted["params"]["_meta"] = {"progressToken": "p"}
            batch = json.dumps([call(1, "sleep"), counted])
            async with http.stream("POST", "/mcp", content=batch) as response:
                lines = response.aiter_lines()
                # The first progress says that the batch is being worked on.
                while '"progress"' not in await anext(lines):
                    pass
                assert (await http.post("/mcp", json=cancellation)).status_code == 202
                rest = [line async for line in lines if line.startswith("data:")]
            answers = json.loads(rest[-1].removeprefix("data:"))
            assert [answer["id"] for answer in answers] == [2]

    peers.run(main())


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "revision", [other_revision for other_revision in HANDSHAKE if other_revision != REVISION]
)
def test_our_server_takes_no_batch_in_a_revision_that_has_none(peers: Peers, revision: str) -> None:
    async def main() -> None:
        async with session(peers, revision, *our_server("--as", OLD)) as http:
            response = await http.post("/mcp", json=[call(1, "echo", text="a")])
            assert response.status_code == 400
            assert response.json()["error"]["code"] == -32600
            # The session goes on.
            response = await http.post("/mcp", json=call(2, "echo", text="a"))
            assert response.json()["result"]["content"][0]["text"] == "a"

    peers.run(main())


@pytest.mark.parametrize(
    ("environment_of", "program"), [("mcp-1", "mcp1_server.py"), ("mcp-2", "mcp2_server.py")]
)
def test_the_python_sdk_refuses_the_batch_that_ours_answers(
    peers: Peers, environment_of: str, program: str
) -> None:
    """It never had batches, also where the revision says that they MUST be taken."""

    async def main() -> None:
        command = (python_with(environment_of), PROGRAMS / program, "PORT")
        async with session(peers, REVISION, *command) as http:
            response = await http.post("/mcp", json=[call(1, "echo", text="a")])
            assert response.status_code == 400
            assert "error" in response.json()

    peers.run(main())
