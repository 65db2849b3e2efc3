"""Official clients, and ours, at a server of several processes, which get requests alternately.

They share a Redis, and nothing else. Whatever a client does, it does to another process than
before: it answers a question, gives a call up, subscribes, or comes back to a broken stream.
"""

from typing import Any, Final

import mcp_revisions as pkg
import pytest
from support.engines import RedisServer
from support.http.behind import NUMBER
from support.json_types import JsonObject
from support.peers.features import Use, client_of, outcomes
from support.peers.http_peers import our_server
from support.peers.http_visits import CANCELLED, check_session, check_stateless, visit_by
from support.peers.http_wire import wire_to
from support.peers.spoken import GENERATION_1, NEWEST
from support.peers.visits import Peers
from support.revisions import OLD, STATELESS

PINNED: Final = [
    (client, revision) for client in ("mcp 1", "mcp 2") for revision in reversed(GENERATION_1)
]

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("foreign clients")]


def check_visit(
    peers: Peers,
    redis: RedisServer,
    client: str,
    revision: str,
    *,
    own: str = STATELESS,
    **how: Any,
) -> None:
    """Let a client see everything, and check that the traffic shows a session, or none."""
    agreed = NEWEST[client] if revision == "newest" else revision
    shared = ("--shared", redis.url, "--as", own)
    found = visit_by(peers, client, revision, *shared, agreed=agreed, workers=NUMBER, **how)
    check = check_stateless if agreed == STATELESS else check_session
    check(found, agreed)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("client", "revision"), PINNED)
def test_the_python_sdk_finds_each_revision(
    peers: Peers, redis_server: RedisServer, client: str, revision: str
) -> None:
    check_visit(peers, redis_server, client, revision)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("client", NEWEST)
def test_clients_find_the_newest_revision_that_they_know(
    peers: Peers, redis_server: RedisServer, client: str
) -> None:
    check_visit(peers, redis_server, client, "newest")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("client", ["mcp 1", "TypeScript 1", "TypeScript 2"])
def test_the_revision_that_the_servers_are_written_for_does_not_matter(
    peers: Peers, redis_server: RedisServer, client: str
) -> None:
    check_visit(peers, redis_server, client, "newest", own=OLD)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("client", ["mcp 2", "mcp 1", "TypeScript 1"])
def test_a_client_whose_connection_breaks_within_a_call_gets_all_of_it_elsewhere(
    peers: Peers, redis_server: RedisServer, client: str
) -> None:
    check_visit(peers, redis_server, client, OLD, cut_after=b'"at 2"')


SEEN: Final[JsonObject] = {
    "call": "hi",
    "progress": [(1, 2, "at 1"), (2, 2, "at 2")],
    "resources": "content of a",
    "sampling": "model sampled",
    "roots": "file:///root",
    "elicitation": "accept ada",
    "wrong_choice": "refused",
    "logging": {"said": "logged"},
    "changes": ["resource", "tools"],
    "poll": "polled",
    "cancellation": "hi",
}


# A request of the stateless era ends with its connection.
@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("revision", "cut_after"), [(STATELESS, None), (OLD, None), (OLD, b'"at 2"')]
)
def test_our_client_finds_everything(
    peers: Peers, redis_server: RedisServer, revision: str, cut_after: bytes | None
) -> None:
    mcp = pkg.load(revision)

    async def script() -> None:
        server = our_server("--shared", redis_server.url, "--as", STATELESS)
        running = await peers.server(*server, workers=NUMBER)
        before = len(running.errors)
        async with wire_to(running.port, cut_after=cut_after) as wire:
            url = f"http://127.0.0.1:{wire.port}/mcp"
            async with pkg.connect_http(url, client_of(mcp)) as client:
                assert client.revision == revision
                seen = await outcomes(Use(client, mcp.models), SEEN)
                # The end of the session would do that, too.
                await running.wrote(CANCELLED, before)
            deleted = [exchange.status for exchange in wire.verbs("DELETE")]
        seen["progress"] = [tuple(step) for step in seen["progress"]]
        assert seen == SEEN
        assert deleted == ([] if revision == STATELESS else [204])
        assert running.errors.count(CANCELLED, before) == 1

    peers.run(script())
