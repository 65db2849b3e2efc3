"""The names and URIs of servers behind a gateway."""

import tracemalloc
from operator import itemgetter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from mcp_protogen.servers.gateway.settings.names import ServerNames, find_ambiguous, names_of
from support.gateway.gateways import behind
from support.tables import case

KINDS = ("tools", "prompts", "resources", "resource_templates")
TEXT = st.text(alphabet="ab_.-/:?#{}+%[*é\n\0 ", max_size=8) | st.text(max_size=8)
STARTS = ("", "a:", "a:/", "a://", "a:///", "A+b.c-1://", "http://", "https:", "ui://", "{x}://")
URIS = st.builds("".join, st.tuples(st.sampled_from(STARTS), TEXT))
PART = st.text(alphabet="ab_.-1", min_size=1, max_size=4)
KEYS: Any = (itemgetter(0), itemgetter(1))
SETTINGS = st.fixed_dictionaries(
    {
        "prefix": st.just("") | PART,
        "separator": PART,
        "uris": st.sampled_from(("rewrite", "keep")),
        # The reader of the file refuses equal ones.
        "rename": st.lists(st.tuples(TEXT, TEXT.filter(bool)), max_size=2, unique_by=KEYS).map(
            dict
        ),
    }
)


def names(name: str = "a", **options: Any) -> ServerNames:
    return names_of(behind(name, **options))


def faults(*servers: Any) -> list[str]:
    """Return the problems of the names of servers."""
    return [f"{problem.pointer}: {problem.message}" for problem in find_ambiguous(servers)]


@given(SETTINGS, st.sampled_from(KINDS), TEXT, URIS)
def test_names_and_uris_round_trip(settings: Any, kind: str, name: str, uri: str) -> None:
    server = behind("a", **settings)
    own = uri if kind.startswith("resource") else name
    if not faults(server):
        assert names_of(server).strip(kind, names_of(server).key(kind, own)) == own


@given(SETTINGS, st.sampled_from(KINDS), TEXT, URIS)
def test_a_name_of_clients_is_that_of_one_item(
    settings: Any, kind: str, name: str, uri: str
) -> None:
    server = behind("a", **settings)
    key = uri if kind.startswith("resource") else name
    for seen in (key, names_of(server).key(kind, key)):
        own = names_of(server).strip(kind, seen)
        if own is not None and not faults(server):
            assert names_of(server).key(kind, own) == seen


@given(SETTINGS, SETTINGS, st.sampled_from(KINDS), TEXT, URIS)
def test_two_prefixes_have_no_name_in_common(
    one: Any, other: Any, kind: str, name: str, uri: str
) -> None:
    plain: dict[str, Any] = {"rename": {}, "uris": "rewrite"}
    servers = [behind("a", **{**one, **plain}), behind("b", **{**other, **plain})]
    own = uri if kind.startswith("resource") else name
    key = names_of(servers[0]).key(kind, own)
    if one["prefix"] and other["prefix"] and not faults(*servers) and key != own:
        assert names_of(servers[1]).strip(kind, key) is None


def test_names_have_prefix_also_with_one_server() -> None:
    table: list[tuple[dict[str, Any], str]] = [
        ({}, "a_echo"),
        ({"separator": "."}, "a.echo"),
        ({"prefix": "x", "separator": "__"}, "x__echo"),
        ({"prefix": ""}, "echo"),
        ({"rename": {"echo": "say"}}, "say"),
        ({"rename": {"other": "say"}}, "a_echo"),
    ]
    for settings, expected in table:
        with case(settings):
            for kind in ("tools", "prompts"):
                assert names(**settings).key(kind, "echo") == expected
                assert names(**settings).strip(kind, expected) == "echo"


def test_a_renamed_item_has_only_its_new_name() -> None:
    renamed = names(rename={"echo": "say"})
    assert renamed.strip("tools", "a_echo") is None
    assert renamed.strip("tools", "a_say") == "say"


def test_uris_have_prefix_after_their_scheme() -> None:
    for own, expected in (
        ("file:///x", "file:///a/x"),
        ("ui://view.html", "ui://a/view.html"),
        ("db://{table}", "db://a/{table}"),
        ("mailto:x@y", "mailto:a/x@y"),
        ("https://example.org/x", "https://example.org/x"),
        ("http://{host}/x", "http://{host}/x"),
    ):
        with case(own):
            assert names(rename={own: "x"}).key("resources", own) == expected
            assert names(uris="keep").key("resources", own) == own
            assert names(prefix="").key("resources", own) == own


def test_names_that_could_be_those_of_two_servers_are_refused() -> None:
    for servers, expected in (
        (
            [behind("a"), behind("b", prefix="a_b")],
            "/servers/b: items of a and b could have the same name",
        ),
        (
            [behind("a"), behind("b", prefix="a")],
            "/servers/b: items of a and b could have the same name",
        ),
        (
            [behind("a", rename={"x": "b_x"}), behind("b")],
            "/servers/a: x would be called b_x, which could be 'x' of b",
        ),
        (
            [behind("a", rename={"x": "a_y"})],
            "/servers/a: x would be called a_y, which could be 'y' of a",
        ),
    ):
        with case(expected):
            assert faults(*servers) == [expected]


def test_names_of_one_owner_are_not_refused() -> None:
    for servers in (
        [behind("a"), behind("b")],
        [behind("a"), behind("ab")],
        [behind("a", separator="."), behind("a_b")],
        [behind("a", prefix=""), behind("b", prefix="")],
        [behind("a", rename={"x": "y"}), behind("b", rename={"x": "y"})],
        [behind("a", rename={"x": "a_y", "y": "z"})],
        [behind("a", rename={"x": "a_x"})],
    ):
        with case([server.rename for server in servers]):
            assert faults(*servers) == []


def test_long_names_of_clients_are_not_kept() -> None:
    server = names()
    tracemalloc.start()
    try:
        for number in range(100):
            assert server.strip("tools", f"a_{number}{'x' * 10_000}")
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 100_000
