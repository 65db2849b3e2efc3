"""The foreign peer of each test of `tests/peers`, and its installed version."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from support.folders import TESTS

_FOLDER: Final = TESTS / "peers"


@dataclass(frozen=True, slots=True)
class Peer:
    """A foreign program: its kind, the place of its pin, and the tests that use it."""

    name: str
    package: str
    tests: str
    """A pattern for names of tests; the first peer that fits has the test."""
    pins: str = "package.json"


PEERS: Final = (
    Peer("MCP Apps SDK", "@modelcontextprotocol/ext-apps", "apps_sdk"),
    Peer("tasks package", "@modelcontextprotocol/ext-tasks", "ext-tasks|_works_as"),
    Peer("mcp-remote", "mcp-remote", "a_bridge_signs_in"),
    Peer("reference server", "@modelcontextprotocol/server-everything", "reference_server"),
    Peer(
        "TypeScript SDK, generation 2",
        "@modelcontextprotocol/client",
        "TypeScript 2|skills_of_others.*typescript|binds_its_token",
    ),
    Peer("TypeScript SDK, generation 1", "@modelcontextprotocol/sdk", "TypeScript 1|typescript"),
    Peer(
        *("fastmcp-tasks", "fastmcp-tasks", "fastmcp-tasks|tasks_of_fastmcp"),
        "requirements-fastmcp-tasks.txt",
    ),
    Peer("fastmcp", "fastmcp", "fastmcp", "requirements-mcp-2.txt"),
    Peer(
        "Python SDK, generation 2",
        "mcp",
        r"generation[_ ]2|mcp[- ]2|\[mcp\]|the_stateless_revision\[|nothing_is_left",
        "requirements-mcp-2.txt",
    ),
    Peer(
        "Python SDK, generation 1",
        "mcp",
        "generation[_ ]1|mcp[- ]?1|old_transport_of_the_python_sdk",
        "requirements-mcp-1.txt",
    ),
)

OURS_ALONE: Final = re.compile(r"test_matrix|all_servers_are_visited|^test_python_sdk_surface")
"""Tests that show something else than that a peer and we understand each other."""


def peer_of(test: str) -> Peer | None:
    """Return the peer of a test; raise `LookupError` for an unassigned test."""
    for peer in PEERS:
        if re.search(peer.tests, test):
            return peer
    if OURS_ALONE.search(test):
        return None
    raise LookupError(f"{test} is of no peer: add it to PEERS in {__name__}")


def side_of(test: str) -> str:
    is_client = "foreign_clients" in test or re.search("host_of|client_of_the_sdk|of_ours", test)
    return "client" if is_client else "server"


def version(peer: Peer) -> str:
    text = (_FOLDER / peer.pins).read_text(encoding="utf-8")
    if peer.pins.endswith(".json"):
        pinned: str = json.loads(text)["dependencies"][peer.package]
        return pinned
    found = re.search(rf"^{peer.package}==(\S+)$", text, re.MULTILINE)
    assert found, peer
    return found[1]


def by_peer(outcomes: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the outcomes of the tests of each peer, as a client and as a server."""
    counted: dict[Peer, dict[str, Counter[str]]] = {peer: {} for peer in PEERS}
    for test, outcome in outcomes.items():
        peer = peer_of(test)
        if peer is not None:
            counted[peer].setdefault(side_of(test), Counter())[outcome] += 1
    for peer, sides in counted.items():
        yield {
            "name": peer.name,
            "package": peer.package,
            "version": version(peer),
            **dict(sorted(sides.items())),
        }
