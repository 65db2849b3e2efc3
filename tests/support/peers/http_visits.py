"""Visits of foreign clients to a server with our stubs over HTTP, and their traffic.

The server is that of `programs/http_our_server.py`.
"""

from typing import Any, Final

from support.peers import everything
from support.peers.http_peers import our_server
from support.peers.spoken import GENERATION_2
from support.peers.visits import Peers, Visit, visit

CANCELLED: Final = "sleep was cancelled"


def seen_by(
    peers: Peers, client: str, revision: str, *arguments: str, agreed: str = "", **how: Any
) -> Visit:
    """Let a client visit our server; return the traffic after checking that it saw everything."""
    agreed = agreed or revision
    done = everything.rows(client, agreed, over_http=True)
    steps = [step for step, _ in done]
    server = our_server(*arguments)
    found = peers.run(visit(peers, client, revision, server, steps, writes=CANCELLED, **how))
    if "cut_after" in how:
        # The TypeScript SDK sends it.
        errors = found.seen["errors"]
        found.seen["errors"] = [one for one in errors if "SSE stream disconnected" not in one]
    everything.check(client, found.seen, done, agreed)
    assert found.errors.count(CANCELLED) == 1
    return found


def check_session(found: Visit, revision: str) -> None:
    """Require that the traffic shows one session of a revision, from beginning to end."""
    wire = found.wire
    (opening,) = wire.sent("initialize")
    assert f'"protocolVersion":"{revision}"'.encode() in opening.answer
    session = opening.answered["mcp-session-id"]
    rest = [one for one in wire.exchanges if one != opening and "mcp-method" not in one.asked]
    assert {one.asked.get("mcp-session-id") for one in rest} == {session}
    assert {one.asked.get("mcp-protocol-version") for one in rest} == {revision}
    # Subscriptions report on the stream that the client opened for them.
    streams = [one for one in wire.verbs("GET") if "last-event-id" not in one.asked]
    assert [one.status for one in streams] == [200]
    assert b"notifications/resources/updated" in streams[0].answer
    assert [one.status for one in wire.verbs("DELETE")] == [204]


def check_stateless(found: Visit, revision: str = GENERATION_2[-1]) -> None:
    """Require that the traffic shows independent requests, each with its metadata."""
    wire = found.wire
    assert wire.versions() == {revision}
    assert {one.verb for one in wire.exchanges} == {"POST"}
    assert not wire.sent("initialize")
    for one in wire.exchanges:
        # The TypeScript SDK names only the methods of requests.
        if "id" in one.message:
            assert one.asked["mcp-method"] == one.message["method"]
        assert "mcp-session-id" not in one.answered
