"""Clients that others wrote, as processes, against a server made of our stubs, over HTTP."""

import json

import pytest
from support.peers.http_peers import our_server
from support.peers.http_visits import check_session, check_stateless, visit_by
from support.peers.spoken import GENERATION_1, GENERATION_2, NEWEST
from support.peers.visits import Peers, Visit, visit
from support.revisions import ERAS, STATELESS

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("foreign clients")]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("own", ERAS)
@pytest.mark.parametrize("revision", GENERATION_1)
def test_server_class_serves_python_sdk_1(peers: Peers, own: str, revision: str) -> None:
    check_session(visit_by(peers, "mcp 1", revision, "--as", own), revision)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("own", ERAS)
@pytest.mark.parametrize("revision", GENERATION_1)
def test_server_class_serves_python_sdk_2(peers: Peers, own: str, revision: str) -> None:
    check_session(visit_by(peers, "mcp 2", revision, "--as", own), revision)


@pytest.mark.parametrize("own", ERAS)
@pytest.mark.parametrize("client", ["mcp 2", "fastmcp", "TypeScript 2"])
def test_clients_of_both_eras_find_the_stateless_revision(
    peers: Peers, client: str, own: str
) -> None:
    found = visit_by(peers, client, "newest", "--as", own, agreed=GENERATION_2[-1])
    check_stateless(found)


@pytest.mark.parametrize("own", ERAS)
def test_server_class_serves_typescript_sdk_1(peers: Peers, own: str) -> None:
    found = visit_by(peers, "TypeScript 1", "newest", "--as", own, agreed=GENERATION_1[-1])
    check_session(found, GENERATION_1[-1])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("revision", GENERATION_1)
@pytest.mark.parametrize("client", NEWEST)
def test_a_client_goes_down_to_the_only_revision(peers: Peers, client: str, revision: str) -> None:
    check_session(visit_by(peers, client, "newest", revision, agreed=revision), revision)


def test_the_python_sdk_of_generation_2_at_a_server_of_the_stateless_revision_alone(
    peers: Peers,
) -> None:
    revision = GENERATION_2[-1]
    check_stateless(visit_by(peers, "mcp 2", "newest", revision, agreed=revision))


@pytest.mark.parametrize("client", ["mcp 1", "mcp 2", "TypeScript 1"])
def test_a_client_that_needs_a_session_is_told_what_a_stateless_server_speaks(
    peers: Peers, client: str
) -> None:
    server = our_server(STATELESS)
    found = peers.run(visit(peers, client, GENERATION_1[-1], server, []))
    (opening,) = found.wire.exchanges
    assert opening.status == 400
    assert not found.errors
    failed = found.seen["failed"]
    if client != "mcp 1":
        # That one does not read notifications. The others name no revision in a header field
        # (2026-07-28, basic/transports/streamable-http, "Server Validation").
        error = json.loads(opening.answer)["error"]
        assert error["code"] == -32020
        assert error["data"]["supported"] == [STATELESS]
        assert error["message"] in failed


def check_old(found: Visit) -> None:
    """Require that all messages came on one stream, and by posts beside it."""
    (stream,) = found.wire.verbs("GET")
    assert stream.path == "/sse"
    assert b"notifications/resources/updated" in stream.answer
    posts = found.wire.verbs("POST")
    assert {post.path.partition("?")[0] for post in posts} == {"/messages"}
    assert {post.status for post in posts} == {202}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("own", ERAS)
@pytest.mark.parametrize("revision", GENERATION_1)
def test_the_old_transport_serves_the_python_sdk_of_generation_1(
    peers: Peers, own: str, revision: str
) -> None:
    check_old(visit_by(peers, "mcp 1", revision, "--as", own, path="/sse"))


@pytest.mark.parametrize("revision", ["2024-11-05", GENERATION_1[-1]])
def test_the_old_transport_serves_the_python_sdk_of_generation_2(
    peers: Peers, revision: str
) -> None:
    check_old(visit_by(peers, "mcp 2", revision, "--as", GENERATION_1[-1], path="/sse"))


@pytest.mark.parametrize("revision", ["2024-11-05", GENERATION_1[-1]])
def test_the_old_transport_serves_the_typescript_sdk(peers: Peers, revision: str) -> None:
    check_old(visit_by(peers, "TypeScript 1", "newest", revision, agreed=revision, path="/sse"))


@pytest.mark.parametrize("client", ["mcp 1", "mcp 2", "TypeScript 1"])
def test_a_client_whose_connection_breaks_within_a_call_gets_all_of_it(
    peers: Peers, client: str
) -> None:
    revision = GENERATION_1[-1]
    found = visit_by(peers, client, revision, "--as", revision, cut_after=b'"at 2"')
    assert found.wire.cuts == 1
    # The call that was cut, and the one whose stream the server has closed.
    resumed = [
        exchange.status for exchange in found.wire.verbs("GET") if "last-event-id" in exchange.asked
    ]
    assert resumed == [200, 200]
