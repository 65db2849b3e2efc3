"""Visits of foreign clients to a server with our stubs over HTTP, and their traffic.

The server is that of `programs/http_our_server.py`.
"""

from typing import Any, Final

from support.peers import everything
from support.peers.http_peers import our_server
from support.peers.spoken import GENERATION_2
from support.peers.visits import Peers, Visit, visit

CANCELLED: Final = "sleep was cancelled"


def visit_by(
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
        found.seen["errors"] = [error for error in errors if "SSE stream disconnected" not in error]
    everything.check(client, found.seen, done, agreed)
    assert found.errors.count(CANCELLED) == 1
    return found


def check_session(found: Visit, revision: str) -> None:
    """Require that the traffic shows one session of a revision, from beginning to end."""
    wire = found.wire
    (opening,) = wire.posts_of("initialize")
    assert f'"protocolVersion":"{revision}"'.encode() in opening.answer
    session = opening.answered["mcp-session-id"]
    rest = [
        exchange
        for exchange in wire.exchanges
        if exchange != opening and "mcp-method" not in exchange.asked
    ]
    assert {exchange.asked.get("mcp-session-id") for exchange in rest} == {session}
    assert {exchange.asked.get("mcp-protocol-version") for exchange in rest} == {revision}
    # Subscriptions report on the stream that the client opened for them.
    streams = [exchange for exchange in wire.verbs("GET") if "last-event-id" not in exchange.asked]
    assert [stream.status for stream in streams] == [200]
    assert b"notifications/resources/updated" in streams[0].answer
    assert [exchange.status for exchange in wire.verbs("DELETE")] == [204]


def check_stateless(found: Visit, revision: str = GENERATION_2[-1]) -> None:
    """Require that the traffic shows independent requests, each with its metadata."""
    wire = found.wire
    assert wire.versions() == {revision}
    assert {exchange.verb for exchange in wire.exchanges} == {"POST"}
    assert not wire.posts_of("initialize")
    for exchange in wire.exchanges:
        # The TypeScript SDK names only the methods of requests.
        if "id" in exchange.message:
            assert exchange.asked["mcp-method"] == exchange.message["method"]
        assert "mcp-session-id" not in exchange.answered
