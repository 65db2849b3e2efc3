"""Clients that others wrote, as processes, against a server made of our stubs, over HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.peers.http_peers import Visit, visit
from support.peers.places import PROGRAMS, node_modules, python_with
from support.peers.running_peers import EXPECTED
from support.peers.spoken import GENERATION_1, GENERATION_2
from support.revisions import ERAS, STATELESS

CHANGES = {"notifications/resources/updated", "notifications/tools/list_changed"}


def generation_1(revision: str) -> list[str | Path]:
    return [python_with("mcp-1"), PROGRAMS / "mcp1_client.py", revision]


def generation_2(revision: str) -> list[str | Path]:
    return [python_with("mcp-2"), PROGRAMS / "mcp2_client.py", revision]


def typescript() -> list[str | Path]:
    return ["node", PROGRAMS / "sdk_client.mjs", node_modules()]


CLIENTS = {"generation 1": generation_1, "generation 2": generation_2}


def check(found: Visit, revision: str) -> None:
    """Whether a client saw everything that there is in a revision, and our server no trouble."""
    seen = found.seen
    expected = {**EXPECTED, "poll": "polled", "told": "told", "revision": revision}
    if revision == "2024-11-05":
        # Progress has no words yet.
        expected["progress"] = [[done, total, None] for done, total, _ in EXPECTED["progress"]]
    if revision < "2025-06-18":
        del expected["ask"]
    expected["structured"] = {"answer": 42} if revision >= "2025-06-18" else None
    assert {key: seen.get(key) for key in expected} == expected
    assert "errors" not in seen
    assert set(seen["notifications"]) >= CHANGES
    # An error has the code of the client's revision, and tells nothing of what is inside.
    assert seen["missing"][0] == (-32602 if revision == GENERATION_2[-1] else -32002)
    assert seen["crash"][0] == -32603
    assert "hunter2" not in str(seen)
    assert found.errors.count("sleep was cancelled") == 1
    assert "Exception in ASGI application" not in found.errors
    assert "never retrieved" not in found.errors


def check_session(found: Visit, revision: str) -> None:
    """Whether the wire shows one session of a revision, from its beginning to its end."""
    wire = found.wire
    (opening,) = wire.sent("initialize")
    assert f'"protocolVersion":"{revision}"'.encode() in opening.answer
    session = opening.answered["mcp-session-id"]
    rest = [one for one in wire.exchanges if one != opening and "mcp-method" not in one.asked]
    assert {one.asked.get("mcp-session-id") for one in rest} == {session}
    assert {one.asked.get("mcp-protocol-version") for one in rest} == {revision}
    # Subscriptions are told on the stream that the client has opened for that.
    streams = [one for one in wire.verbs("GET") if "last-event-id" not in one.asked]
    assert [one.status for one in streams] == [200]
    assert b"notifications/resources/updated" in streams[0].answer
    assert [one.status for one in wire.verbs("DELETE")] == [204]


def check_stateless(found: Visit) -> None:
    """Whether the wire shows requests that stand by themselves, each with what it has to say."""
    wire = found.wire
    assert wire.versions() == {GENERATION_2[-1]}
    assert {one.verb for one in wire.exchanges} == {"POST"}
    assert not wire.sent("initialize")
    for one in wire.exchanges:
        assert one.asked["mcp-method"] == one.message["method"]
        assert "mcp-session-id" not in one.answered
    assert found.seen["listened"] == ["ResourceUpdated", "ToolsListChanged"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("own", ERAS)
@pytest.mark.parametrize("revision", GENERATION_1)
def test_one_server_class_serves_the_python_sdk_of_generation_1(own: str, revision: str) -> None:
    found = visit(generation_1(revision), "--as", own)
    check(found, revision)
    check_session(found, revision)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("own", ERAS)
@pytest.mark.parametrize("revision", GENERATION_1)
def test_one_server_class_serves_the_python_sdk_of_generation_2(own: str, revision: str) -> None:
    found = visit(generation_2(revision), "--as", own)
    check(found, revision)
    check_session(found, revision)


@pytest.mark.parametrize("own", ERAS)
def test_the_python_sdk_of_generation_2_finds_the_stateless_revision(own: str) -> None:
    found = visit(generation_2("newest"), "--as", own)
    check(found, GENERATION_2[-1])
    check_stateless(found)


@pytest.mark.parametrize("own", ERAS)
def test_one_server_class_serves_the_typescript_sdk(own: str) -> None:
    found = visit(typescript(), "--as", own)
    check(found, GENERATION_1[-1])
    check_session(found, GENERATION_1[-1])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("revision", GENERATION_1)
def test_the_python_sdk_of_generation_1_goes_down_to_the_only_revision(revision: str) -> None:
    found = visit(generation_1("newest"), revision)
    check(found, revision)
    check_session(found, revision)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("revision", GENERATION_1)
def test_the_python_sdk_of_generation_2_goes_down_to_the_only_revision(revision: str) -> None:
    found = visit(generation_2("newest"), revision)
    check(found, revision)
    check_session(found, revision)


def test_the_python_sdk_of_generation_2_at_a_server_of_the_stateless_revision_alone() -> None:
    found = visit(generation_2("newest"), GENERATION_2[-1])
    check(found, GENERATION_2[-1])
    check_stateless(found)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("revision", GENERATION_1)
def test_the_typescript_sdk_goes_down_to_the_only_revision(revision: str) -> None:
    found = visit(typescript(), revision)
    check(found, revision)
    check_session(found, revision)


@pytest.mark.parametrize("client", ["generation 1", "generation 2", "typescript"])
def test_a_client_that_needs_a_session_is_told_what_a_stateless_server_speaks(client: str) -> None:
    command = CLIENTS[client](GENERATION_1[-1]) if client in CLIENTS else typescript()
    found = visit(command, STATELESS, fails=True)
    (opening,) = found.wire.exchanges
    assert opening.status == 400
    assert not found.errors
    if client != "generation 1":
        # That one does not read what it is told. The others name no revision in a header field
        # (2026-07-28, basic/transports/streamable-http, "Server Validation").
        error = json.loads(opening.answer)["error"]
        assert error["code"] == -32020
        assert error["data"]["supported"] == [STATELESS]
        assert error["message"] in found.why


def check_old(found: Visit, revision: str) -> None:
    """Whether everything has passed on one stream, and by posts beside it."""
    check(found, revision)
    (stream,) = found.wire.verbs("GET")
    assert stream.path == "/sse"
    assert b"notifications/resources/updated" in stream.answer
    posts = found.wire.verbs("POST")
    assert {one.path.partition("?")[0] for one in posts} == {"/messages"}
    assert {one.status for one in posts} == {202}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("own", ERAS)
@pytest.mark.parametrize("revision", GENERATION_1)
def test_the_old_transport_serves_the_python_sdk_of_generation_1(own: str, revision: str) -> None:
    check_old(visit(generation_1(revision), "--as", own, path="/sse"), revision)


@pytest.mark.parametrize("revision", ["2024-11-05", GENERATION_1[-1]])
def test_the_old_transport_serves_the_python_sdk_of_generation_2(revision: str) -> None:
    found = visit(generation_2(revision), "--as", GENERATION_1[-1], path="/sse")
    check_old(found, revision)


@pytest.mark.parametrize("revision", ["2024-11-05", GENERATION_1[-1]])
def test_the_old_transport_serves_the_typescript_sdk(revision: str) -> None:
    check_old(visit(typescript(), revision, path="/sse"), revision)


def resumed(found: Visit) -> list[Any]:
    return [one.status for one in found.wire.verbs("GET") if "last-event-id" in one.asked]


@pytest.mark.parametrize("client", [*CLIENTS, "typescript"])
def test_a_client_whose_connection_breaks_within_a_call_gets_all_of_it(client: str) -> None:
    command = CLIENTS[client](GENERATION_1[-1]) if client in CLIENTS else typescript()
    found = visit(command, "--as", GENERATION_1[-1], cut_after=b'"at 2"')
    check(found, GENERATION_1[-1])
    assert found.wire.cuts == 1
    # The call that was cut, and the one whose stream the server has closed.
    assert resumed(found) == [200, 200]
