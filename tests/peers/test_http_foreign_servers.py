"""A client made of our stubs against servers that others wrote, as processes, over HTTP."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import mcp_revisions as pkg
import pytest
from support.json_types import JsonObject
from support.peers.features import SEEN, Use, check_seen, client_of, features_of, outcomes
from support.peers.http_wire import Wire, wire_to
from support.peers.places import PROGRAMS, Command, python_with
from support.peers.spoken import GENERATION_1, GENERATION_2
from support.peers.visits import Peers
from support.revisions import ERAS, REVISIONS


def generation_1() -> Command:
    return (python_with("mcp-1"), PROGRAMS / "mcp1_server.py", "PORT")


def generation_2() -> Command:
    return (python_with("mcp-2"), PROGRAMS / "mcp2_server.py", "PORT")


@dataclass
class Visit:
    """Our client's view of a server, the traffic, and the server's output."""

    client: Any
    seen: JsonObject
    wire: Wire
    errors: str


def visit(
    peers: Peers,
    server: Command,
    *own: str,
    revision: str = "",
    features: Sequence[str] = tuple(SEEN),
    path: str = "/mcp",
    cut_after: bytes | None = None,
) -> Visit:
    """Let a client with our classes use a server, in one revision if named."""
    spoken = [candidate for candidate in pkg.REVISIONS if candidate.id == revision] or None

    async def main() -> Visit:
        clients = [client_of(pkg.load(revision)) for revision in own]
        running = await peers.server(*server)
        before = len(running.errors)
        async with wire_to(running.port, cut_after=cut_after) as wire:
            url = f"http://127.0.0.1:{wire.port}{path}"
            async with pkg.connect_http(url, *clients, revisions=spoken) as client:
                use = Use(client, pkg.load(client.TABLE.revision).models)
                seen = await outcomes(use, features)
                if "cancellation" in features:
                    # The end of the session would do that, too.
                    await running.wrote("sleep was cancelled", before)
        return Visit(client, seen, wire, running.errors[before:])

    return peers.run(main())


def check(found: Visit) -> None:
    """Require that the client saw everything."""
    check_seen(found.seen)
    if "cancellation" in found.seen:
        assert found.errors.count("sleep was cancelled") == 1


def check_session(found: Visit, revision: str) -> None:
    """Whether the wire shows one session of a revision, from its beginning to its end."""
    wire = found.wire
    (opening,) = wire.posts_of("initialize")
    assert opening.message["params"]["protocolVersion"] == revision
    session = opening.answered["mcp-session-id"]
    rest = [
        exchange
        for exchange in wire.exchanges
        if exchange != opening and "mcp-method" not in exchange.asked
    ]
    assert {exchange.asked.get("mcp-session-id") for exchange in rest} == {session}
    assert {exchange.asked.get("mcp-protocol-version") for exchange in rest} == {revision}
    assert [exchange.status for exchange in wire.verbs("DELETE")] == [200]
    assert found.client.revision == revision


# Each revision by its own class, and by classes that translate.
PAIRS: Final = [(revision, own) for revision in GENERATION_1 for own in sorted({revision, *ERAS})]
PYTHON: Final = {"generation 1": generation_1, "generation 2": generation_2}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("server", PYTHON)
@pytest.mark.parametrize(("revision", "own"), PAIRS)
def test_the_python_sdk_serves_all_revisions_with_sessions(
    peers: Peers, server: str, revision: str, own: str
) -> None:
    features = features_of(revision, own)
    found = visit(peers, PYTHON[server](), own, revision=revision, features=features)
    check(found)
    check_session(found, revision)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("server", PYTHON)
@pytest.mark.parametrize("revision", GENERATION_1)
def test_the_python_sdk_that_answers_in_json_alone(
    peers: Peers, server: str, revision: str
) -> None:
    # It drops what belongs to a request and is not its answer.
    features = features_of(
        revision, revision, "progress", "logging", "sampling", "elicitation", "poll"
    )
    found = visit(peers, PYTHON[server](), revision, features=features, path="/json")
    check(found)
    check_session(found, revision)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("server", PYTHON)
@pytest.mark.parametrize("revision", GENERATION_1)
def test_the_python_sdk_without_sessions(peers: Peers, server: str, revision: str) -> None:
    # It cannot ask, and is not told of cancellations.
    missing = ("sampling", "elicitation", "roots", "changes", "cancellation")
    features = features_of(revision, revision, *missing)
    found = visit(peers, PYTHON[server](), revision, features=features, path="/stateless")
    check(found)
    assert found.client.revision == revision
    assert all("mcp-session-id" not in exchange.asked for exchange in found.wire.exchanges)
    assert not found.wire.verbs("DELETE")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("path", ["/mcp", "/json", "/stateless"])
@pytest.mark.parametrize("own", ERAS)
def test_the_python_sdk_serves_the_stateless_revision(peers: Peers, own: str, path: str) -> None:
    # Where it answers in JSON alone, it drops all other messages, here too; and it continues a call
    # whose connection the client has closed, which cancels it.
    missing = ("progress", "logging", "cancellation") if path == "/json" else ()
    features = features_of(GENERATION_2[-1], own, *missing)
    found = visit(
        peers, generation_2(), own, revision=GENERATION_2[-1], features=features, path=path
    )
    check(found)
    assert found.client.revision == GENERATION_2[-1]
    assert {exchange.verb for exchange in found.wire.exchanges} == {"POST"}
    for exchange in found.wire.exchanges:
        assert exchange.asked["mcp-protocol-version"] == GENERATION_2[-1]
        assert exchange.asked["mcp-method"] == exchange.message["method"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("revision", "own"), PAIRS)
def test_the_old_transport_of_the_python_sdk(peers: Peers, revision: str, own: str) -> None:
    features = features_of(revision, own)
    command = generation_1()
    found = visit(peers, command, own, revision=revision, features=features, path="/sse")
    check(found)
    assert found.client.revision == revision
    (stream,) = found.wire.verbs("GET")
    assert f'"protocolVersion":"{revision}"'.encode() in stream.answer


@pytest.mark.parametrize(
    ("server", "path", "agreed"),
    [
        ("generation 1", "/mcp", GENERATION_1[-1]),
        ("generation 1", "/sse", GENERATION_1[-1]),
        ("generation 2", "/mcp", GENERATION_2[-1]),
    ],
)
def test_a_client_of_all_revisions_finds_out_what_a_server_speaks(
    peers: Peers, server: str, path: str, agreed: str
) -> None:
    features = ("pages", "call")
    found = visit(peers, PYTHON[server](), *REVISIONS, features=features, path=path)
    check(found)
    assert found.client.revision == agreed


@pytest.mark.parametrize("server", PYTHON)
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_a_stream_that_breaks_within_a_call_is_taken_up_again(
    peers: Peers, server: str, revision: str
) -> None:
    features = ("progress", "poll", "call")
    command = PYTHON[server]()
    found = visit(peers, command, revision, features=features, cut_after=b'"at 2"')
    check(found)
    assert found.wire.cuts == 1
    resumed = [
        exchange.status for exchange in found.wire.verbs("GET") if "last-event-id" in exchange.asked
    ]
    # Only the newest of the two has streams that servers close and clients come back to.
    assert resumed == [200, 200] if revision == "2025-11-25" else [200]
