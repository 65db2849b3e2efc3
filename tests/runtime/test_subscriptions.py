"""Subscriptions, by kind of change."""

from typing import Any

import pytest
from mcp_protogen.runtime.core.errors import McpError
from mcp_protogen.runtime.core.options import Options
from mcp_protogen.runtime.core.subscriptions import Listeners, Selectors
from mcp_revisions.v2026_07_28.methods import TABLE
from support.tables import case

FILTERS = Selectors(TABLE.notifications)
TOOLS = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"
EVERYTHING: Any = {
    "toolsListChanged": True,
    "promptsListChanged": True,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["file:///b", "file:///a"],
}
DECLARED: Any = {"tools": {"listChanged": True}, "resources": {"subscribe": True}}


def honour(wanted: Any, declared: Any) -> Any:
    return FILTERS.write(FILTERS.narrow(FILTERS.read(wanted), declared))


def test_a_filter_is_what_was_asked_for() -> None:
    cases: list[tuple[Any, Any]] = [
        (EVERYTHING, {**EVERYTHING, "resourceSubscriptions": ["file:///a", "file:///b"]}),
        ({}, {}),
        ({"resourceSubscriptions": [""]}, {"resourceSubscriptions": [""]}),
        ({"toolsListChanged": False, "resourceSubscriptions": [], "unknown": True}, {}),
    ]
    for wanted, written in cases:
        with case(wanted):
            assert FILTERS.write(FILTERS.read(wanted)) == written


@pytest.mark.shows("S4-04")
def test_only_what_the_server_declared_is_honoured() -> None:
    assert honour(EVERYTHING, DECLARED).keys() == {"toolsListChanged", "resourceSubscriptions"}
    assert honour(EVERYTHING, {"tools": {}, "resources": {}}) == {}


def test_streams_get_what_they_asked_for_and_nothing_else() -> None:
    listeners = Listeners(Options(max_subscriptions=10))
    listeners.add(1, FILTERS.read({"toolsListChanged": True}))
    listeners.add("1", FILTERS.read({"resourceSubscriptions": ["file:///a"]}))
    assert listeners.matching(TOOLS, None) == [1]
    assert listeners.matching(UPDATED, "file:///a") == ["1"]
    assert listeners.matching(UPDATED, "file:///b") == []
    listeners.remove(1)
    assert listeners.matching(TOOLS, None) == []
    listeners.remove(1)


def test_there_are_not_too_many_streams_or_resources() -> None:
    listeners = Listeners(Options(max_subscriptions=1))
    listeners.add(1, frozenset())
    with pytest.raises(McpError, match="No more than 1"):
        listeners.add(2, frozenset())
    listeners.subscribe("a")
    listeners.subscribe("a")
    with pytest.raises(McpError):
        listeners.subscribe("b")
    listeners.unsubscribe("a")
    listeners.subscribe("b")
    assert listeners.wants("b")
    assert not listeners.wants("a")
    assert listeners.wants(None)
