"""Clients that others wrote, as processes, against a server made of our stubs."""

from pathlib import Path

import pytest
from support.json_types import JsonObject
from support.peers.places import PROGRAMS, node_modules, python_with
from support.peers.running_peers import EXPECTED, seen_by
from support.peers.spoken import GENERATION_1, GENERATION_2
from support.revisions import ERAS

CHANGES = {"notifications/resources/updated", "notifications/tools/list_changed"}


def check(seen: JsonObject, errors: str, revision: str) -> None:
    expected = dict(EXPECTED)
    if revision == "2024-11-05":
        # Progress has no words yet.
        expected["progress"] = [[done, total, None] for done, total, _ in EXPECTED["progress"]]
    if revision < "2025-06-18":
        del expected["ask"]
    assert {key: seen[key] for key in expected} == expected
    # The handler was told, and what it prints does not get in the way of messages.
    assert "sleep was cancelled" in errors
    assert "stray output" in errors


@pytest.mark.shows("S4-07")
@pytest.mark.sampled(2)
@pytest.mark.parametrize("revision", GENERATION_2)
def test_the_python_sdk_of_generation_2(revision: str) -> None:
    seen, errors = seen_by([python_with("mcp-2"), PROGRAMS / "mcp2_client.py", revision])
    assert seen["revision"] == revision
    check(seen, errors, revision)
    assert set(seen["notifications"]) >= CHANGES
    if revision == GENERATION_2[-1]:
        assert seen["listened"] == ["ResourceUpdated", "ToolsListChanged"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("revision", GENERATION_1)
def test_the_python_sdk_of_generation_1(revision: str) -> None:
    seen, errors = seen_by([python_with("mcp-1"), PROGRAMS / "mcp1_client.py", revision])
    assert seen["revision"] == revision
    check(seen, errors, revision)
    assert set(seen["notifications"]) >= CHANGES


@pytest.mark.shows("S4-08")
def test_the_typescript_sdk() -> None:
    seen, errors = seen_by(["node", PROGRAMS / "sdk_client.mjs", node_modules()])
    check(seen, errors, GENERATION_1[-1])
    assert set(seen["notifications"]) == CHANGES


@pytest.mark.sampled(2)
@pytest.mark.parametrize("own", ERAS)
@pytest.mark.parametrize("revision", GENERATION_2)
def test_one_server_class_serves_the_python_sdk_of_generation_2(own: str, revision: str) -> None:
    command: list[str | Path] = [python_with("mcp-2"), PROGRAMS / "mcp2_client.py", revision]
    seen, errors = seen_by(command, "--as", own)
    assert seen["revision"] == revision
    check(seen, errors, revision)
    assert set(seen["notifications"]) >= CHANGES


@pytest.mark.sampled(2)
@pytest.mark.parametrize("own", ERAS)
@pytest.mark.parametrize("revision", GENERATION_1)
def test_one_server_class_serves_the_python_sdk_of_generation_1(own: str, revision: str) -> None:
    command: list[str | Path] = [python_with("mcp-1"), PROGRAMS / "mcp1_client.py", revision]
    seen, errors = seen_by(command, "--as", own)
    assert seen["revision"] == revision
    check(seen, errors, revision)
    assert set(seen["notifications"]) >= CHANGES
