"""Options that are wrong, what begins a session, and when servers are made."""

from typing import Any

import pytest
from support.http.serving import app_of, echo, outcome, serving, text_in
from support.json_types import JsonObject
from support.revisions import ERAS, HANDSHAKE, OLD
from support.sessions.talking import hello, pkg, tools
from support.tables import case

KIB = 1024


WRONG: list[tuple[JsonObject, str]] = [
    ({"allowed_hosts": "mcp.example.com"}, "allowed_hosts must be a collection"),
    ({"allowed_origins": "https://a.example"}, "allowed_origins must be a collection"),
    (
        {"allowed_hosts": ["https://mcp.example.com"]},
        "'https://mcp.example.com' must be a host name",
    ),
    ({"allowed_hosts": ["mcp.example.com/mcp"]}, "'mcp.example.com/mcp' must be a host name"),
    ({"allowed_hosts": ["a.example", "::1"]}, "'::1' must be a host name"),
    ({"allowed_origins": ["a.example"]}, "'a.example' must be an origin"),
    ({"allowed_origins": ["https://*.a.example"]}, r"'https://\*.a.example' must be an origin"),
    ({"allowed_origins": ["https://a.example/x"]}, "'https://a.example/x' must be an origin"),
    ({"allowed_origins": ["https://a.example:*"]}, r"'https://a.example:\*' must be an origin"),
    ({"allowed_origins": ["https://u@a.example"]}, "'https://u@a.example' must be an origin"),
    ({"allowed_origins": ["https://"]}, "'https://' must be an origin"),
    ({"path": "mcp"}, "path must begin with a slash"),
    ({"path": ""}, "path must begin with a slash"),
    ({"old_sse_path": "sse"}, "old_sse_path must begin with a slash"),
    ({"old_messages_path": "messages"}, "old_messages_path must begin with a slash"),
    ({"session_lifetime": 0}, "session_lifetime must be more than 0"),
    ({"max_sessions": 0}, "max_sessions must be more than 0"),
    ({"keep_alive": 0.0}, "keep_alive must be more than 0"),
    ({"send_timeout": -1}, "send_timeout must be more than 0"),
    ({"head_timeout": 0}, "head_timeout must be more than 0"),
    ({"body_timeout": 0}, "body_timeout must be more than 0"),
    ({"max_body": 0}, "max_body must be more than 0"),
    ({"max_bodies": 0}, "max_bodies must be more than 0"),
    ({"max_body": 1001, "max_bodies": 1000}, "max_bodies must be at least max_body"),
    ({"max_headers": 0}, "max_headers must be more than 0"),
    ({"max_requests": -5}, "max_requests must be more than 0"),
    ({"max_streams": 0}, "max_streams must be more than 0"),
    ({"max_sessions_per_principal": 0}, "max_sessions_per_principal must be more than 0"),
    ({"max_bodies_per_principal": 0}, "max_bodies_per_principal must be more than 0"),
    (
        {"max_body": 1001, "max_bodies_per_principal": 1000},
        "max_bodies_per_principal must be at least max_body",
    ),
    ({"max_requests_per_principal": 0}, "max_requests_per_principal must be more than 0"),
    ({"max_streams_per_principal": -1}, "max_streams_per_principal must be more than 0"),
]


def test_options_that_serve_none_or_all_are_refused() -> None:
    for chosen, reason in WRONG:
        with case((chosen, reason)), pytest.raises((TypeError, ValueError), match=reason):
            pkg.HttpOptions(**chosen)


def test_lease_of_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match="lease must be more than 0"):
        pkg.Shared(engine=pkg.MemoryEngine(), lease=0)


def test_valid_options_are_accepted() -> None:
    rows: list[JsonObject] = [
        {"allowed_hosts": ["*"]},
        {"allowed_hosts": ["localhost", "mcp.example.com:8443", "[::1]", "[::1]:8080"]},
        {"allowed_hosts": {"10.0.0.1"}, "allowed_origins": ("*",)},
        {"allowed_origins": ["https://a.example", "http://localhost:3000", "null"]},
        {"allowed_origins": ["HTTPS://A.example/", "vscode-webview://1a2b", "http://[::1]:80"]},
        {"path": "/"},
        {"max_body": 1000, "max_bodies": 1000, "max_bodies_per_principal": 1000},
        {"max_sessions_per_principal": 1, "max_requests_per_principal": 1},
        {"max_streams_per_principal": 1},
    ]
    for chosen in rows:
        with case(chosen):
            options = pkg.HttpOptions(**chosen)
            assert all(getattr(options, name) is value for name, value in chosen.items())


class TestLargeBeginnings:
    """A client's declarations live as long as its session, so they have their own limit."""

    async def test_a_large_one_is_refused_and_begins_no_session(self) -> None:
        for revision in HANDSHAKE[1:]:
            with case(revision):
                server = tools(revision, echo)
                async with serving(server) as site:
                    large = hello(revision, id=5, experimental={"x": {"y": "z" * 33 * KIB}})
                    refused = await site.post(large)
                    assert outcome(refused) == (400, -32602)
                    assert (refused.json()["id"], "mcp-session-id" in refused.headers) == (5, False)
                    assert not server.sessions

    async def test_initialize_within_limit_begins_session(self) -> None:
        async with serving(tools(OLD, echo)) as site:
            session = await site.initialize(experimental={"x": {"y": "z" * 31 * KIB}})
            assert text_in(await session.call("x")) == "x"

    async def test_requests_in_a_session_may_be_larger(self) -> None:
        async with serving(tools(OLD, echo)) as site:
            session = await site.initialize()
            arguments = {"y": "z" * 100 * KIB}
            assert outcome(await session.call("x", arguments=arguments)) == (200, None)


class TestServersByClass:
    """Servers that are given by their class."""

    @staticmethod
    def counting_servers(revision: str = OLD) -> tuple[Any, list[Any]]:
        """A class of servers, and the servers that were made of it."""
        made: list[object] = []

        def init(self: Any) -> None:
            made.append(self)

        one: Any = tools(revision, echo, __init__=init)
        return one.__class__, made

    def test_none_is_made_before_it_serves(self) -> None:
        for revision in ERAS:
            with case(revision):
                ours, made = self.counting_servers(revision)
                made.clear()
                app_of(ours, pkg.REVISIONS)
                assert not made

    def test_two_of_one_revision_are_refused_all_the_same(self) -> None:
        ours, _ = self.counting_servers()
        other, _ = self.counting_servers()
        with pytest.raises(ValueError, match="one per revision"):
            app_of([ours, other])
