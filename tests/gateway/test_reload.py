"""Settings of a gateway that change while it serves."""

import asyncio
import logging
from contextlib import nullcontext
from itertools import product
from typing import Any

import pytest
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.settings.settings import (
    AuthSettings,
    ExchangeSettings,
    ServerSettings,
)
from support.gateway.gateways import behind, client_of, gateway_settings, serve_gateway
from support.gateway.listing import Listing, tools_of
from support.revisions import ERAS, HANDSHAKE, OLD, REVISIONS, STATELESS
from support.sessions.talking import Accepting, Hand, pkg
from support.sessions.wiretap import UPDATED, shake
from support.tables import case
from support.toolkit.mounting import Hearing, app, only, text_of, weather

pytestmark = pytest.mark.skips_time(within=10_000)

OWN = "data://x"
EVERYTHING = ("tool", "prompt", "resource")


def gateway_of(*servers: ServerSettings, **options: Any) -> Gateway:
    return Gateway(gateway_settings(*servers, **options), pkg)


def apply(gateway: Gateway, *servers: ServerSettings, **options: Any) -> None:
    gateway.apply(gateway_settings(*servers, **options))


def at_new_address(name: str, server: Any, **options: Any) -> ServerSettings:
    """Return settings with another address than those of `behind`."""
    return behind(name, server, opener_digest="moved", **options)


def counting() -> Any:
    """Return a server with a tool that counts the calls of a session."""
    made = app(OLD, "counting")
    counts = dict[object, int]()

    async def count(session: Any) -> str:
        key = session.__mcp_runtime__.connection
        counts[key] = counts.get(key, 0) + 1
        return str(counts[key])

    count.__annotations__["session"] = pkg.load(OLD).Session
    made.tool(count)
    return only(made)


async def test_unchanged_server_keeps_its_connection_and_its_session() -> None:
    for revision in ERAS:
        with case(revision):
            counter, kept, other = counting(), Listing("x"), Listing("y")
            gateway = gateway_of(behind("n", counter), behind("a", kept), behind("b", other))
            async with client_of(gateway.fronts, revision=revision) as one:
                assert await tools_of(one) == ["n_count", "a_x", "b_y"]
                for number, server in enumerate(
                    [behind("c", other), at_new_address("c", other)], 1
                ):
                    assert await text_of(one, "n_count") == str(number)
                    apply(gateway, behind("n", counter), behind("a", kept), server)
                    assert await tools_of(one) == ["n_count", "a_x", "c_y"]
                assert (kept.opened, kept.asked) == (1, ["tools/list"])
                assert other.opened == 3


async def test_call_that_a_removed_server_got_finishes_and_its_connection_ends() -> None:
    for revision, of_server in product(ERAS, ERAS):
        with case((revision, of_server)):
            server, other = Listing("x", revision=of_server), Listing("y")
            server.delay = 20.0
            gateway = gateway_of(behind("a", server), behind("b", other))
            async with client_of(gateway.fronts, revision=revision) as one:
                calling = asyncio.create_task(text_of(one, "a_x"))
                await asyncio.sleep(1)
                apply(gateway, behind("b", other))
                assert await tools_of(one) == ["b_y"]
                with pytest.raises(pkg.McpError, match="Unknown tool: a_x"):
                    await text_of(one, "a_x")
                assert (await calling, server.open) == ("called", 1)
                await asyncio.sleep(1)
                assert (server.opened, server.open) == (1, 0)


async def test_call_that_a_removed_server_does_not_finish_ends_with_its_reason() -> None:
    server, other = Listing("x"), Listing("y")
    server.delay = 200.0
    gateway = gateway_of(behind("a", server), behind("b", other))
    async with client_of(gateway.fronts) as one:
        calling = asyncio.create_task(text_of(one, "a_x"))
        await asyncio.sleep(1)
        apply(gateway, behind("b", other))
        begun = asyncio.get_running_loop().time()
        with pytest.raises(pkg.McpError, match="may have had effects") as raised:
            await calling
        assert raised.value.data == {"server": "a", "reason": "interrupted"}
        assert 29 < asyncio.get_running_loop().time() - begun < 31


async def never_open() -> Any:
    await asyncio.Event().wait()


async def test_call_that_waits_for_a_connection_is_for_the_new_server() -> None:
    for revision in ERAS:
        with case(revision):
            other = Listing("x")
            gateway = gateway_of(behind("a", never_open), behind("b", never_open))
            async with client_of(gateway.fronts, revision=revision) as one:
                calls = [asyncio.create_task(text_of(one, f"{name}_x")) for name in "ab"]
                await asyncio.sleep(1)
                apply(gateway, at_new_address("a", other))
                assert await calls[0] == "called"
                with pytest.raises(pkg.McpError, match="Unknown tool: b_x"):
                    await calls[1]


async def test_read_that_a_changed_server_does_not_answer_is_for_the_new_one() -> None:
    server, other = Listing("x"), Listing("x")
    server.delay = 10.0
    gateway = gateway_of(behind("a", server))
    async with client_of(gateway.fronts) as one:
        reading = asyncio.create_task(one.read_resource("data://a/x"))
        await asyncio.sleep(1)
        apply(gateway, at_new_address("a", other))
        for hand in server.hands:
            await hand.transport.close()
        (read,) = (await reading).contents
        assert read.text == "read"
        assert (server.opened, server.named, other.named) == (1, [OWN], [OWN])


async def test_call_that_looks_for_its_owner_is_for_a_new_server() -> None:
    slow, new, other = Listing("x"), Listing("y"), Listing("z")
    slow.delay = 3.0
    gateway = gateway_of(behind("a", slow, prefix=""), behind("b", other, prefix=""))
    async with client_of(gateway.fronts) as one:
        calling = asyncio.create_task(text_of(one, "y"))
        await asyncio.sleep(1)
        apply(gateway, at_new_address("a", new, prefix=""), behind("b", other, prefix=""))
        assert await calling == "called"
        assert new.named == ["y"]


async def test_removed_server_that_breaks_is_not_reached_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, hearing = Listing("x"), Hearing(OLD)
    server.delay = 1.0
    gateway = gateway_of(behind("a", server), behind("b", Listing()))
    async with client_of(gateway.fronts, hearing.client) as one, hearing.hearing("data://a/x"):
        server.delay = 20.0
        calling = asyncio.create_task(text_of(one, "a_x"))
        await asyncio.sleep(2)
        apply(gateway, behind("b", Listing()))
        for hand in server.hands:
            await hand.transport.close()
        with pytest.raises(pkg.McpError, match="has gone before it answered"):
            await calling
        await asyncio.sleep(100)
        assert server.opened == 1
    assert not [record for record in caplog.records if record.name == "asyncio"]


async def test_question_of_a_removed_server_is_answered() -> None:
    for revision, of_server in product(ERAS, ERAS):
        with case((revision, of_server)):
            is_over = revision == of_server == STATELESS
            asking, hearing = asyncio.Event(), Hearing(revision)
            answer = hearing.client.on_elicit

            async def wait(*given: Any, first: Any = answer, begun: Any = asking) -> Any:
                begun.set()
                await asyncio.sleep(10)
                return await first(*given)

            server, other = only(weather(of_server)), Listing("y")
            gateway = gateway_of(behind("a", server), behind("b", other))
            hearing.client.on_elicit = wait
            async with client_of(gateway.fronts, hearing.client) as one:
                calling = asyncio.create_task(text_of(one, "a_age"))
                await asking.wait()
                apply(gateway, behind("b", other))
                if is_over:
                    # Its question was an answer, and the client's answer is another request.
                    with pytest.raises(pkg.McpError, match="Unknown tool: a_age"):
                        await calling
                else:
                    assert await calling == "42 years"


async def test_list_in_flight_has_the_new_servers() -> None:
    for revision in ERAS:
        with case(revision):
            server, other = Listing("x"), Listing("y")
            server.delay = 3.0
            gateway = gateway_of(behind("a", server), behind("b", other))
            async with client_of(gateway.fronts, revision=revision) as one:
                listing = asyncio.create_task(tools_of(one))
                await asyncio.sleep(1)
                apply(gateway, behind("c", Listing("z")), behind("b", other))
                assert await listing == ["c_z", "b_y"]
                assert other.asked == ["tools/list"]


async def test_change_of_servers_is_one_change_of_each_list() -> None:
    for revision in REVISIONS:
        with case(revision):
            server, hearing = Listing("x"), Hearing(revision)
            gateway = gateway_of(behind("a", server))
            async with client_of(gateway.fronts, hearing.client), hearing.hearing():
                for name in "bcd":
                    apply(gateway, behind("a", server), behind(name, Listing("y")))
                await asyncio.sleep(1)
                await hearing.hears(*EVERYTHING)
                apply(gateway, behind("a", server), behind("d", Listing("y")))
                await asyncio.sleep(1)
                assert hearing.heard == []


async def test_lists_have_the_order_names_and_patterns_of_the_new_settings() -> None:
    servers = [Listing("x", "y"), Listing("z")]
    first, second = behind("a", servers[0]), behind("b", servers[1])
    gateway = gateway_of(first, second)
    async with client_of(gateway.fronts) as one:
        for settings, names in (
            ([first, second], ["a_x", "a_y", "b_z"]),
            ([second, first], ["b_z", "a_x", "a_y"]),
            ([behind("a", servers[0], deny={"tools": ("x",)}), second], ["a_y", "b_z"]),
            ([behind("a", servers[0], rename={"x": "new"}), second], ["new", "a_y", "b_z"]),
            ([behind("a", servers[0], prefix="c"), second], ["c_x", "c_y", "b_z"]),
        ):
            with case(names):
                apply(gateway, *settings)
                assert await tools_of(one) == names
                await text_of(one, names[-1])
                with pytest.raises(pkg.McpError, match="Unknown tool"):
                    await text_of(one, "d_x")
        assert servers[1].opened == 1
        with pytest.raises(pkg.McpError, match="Unknown tool"):
            await text_of(one, "a_y")


async def test_streams_and_subscriptions_follow_a_changed_server() -> None:
    for revision, of_server in product(ERAS, ERAS):
        with case((revision, of_server)):
            hearing = Hearing(revision)
            left, new = Listing(revision=of_server), Listing(revision=of_server)
            gateway = gateway_of(behind("a", left))
            async with client_of(gateway.fronts, hearing.client), hearing.hearing("data://a/x"):
                await asyncio.sleep(1)
                new.is_gone = True
                apply(gateway, at_new_address("a", new))
                await asyncio.sleep(1)
                await hearing.hears(*EVERYTHING)
                assert left.open == 0
                new.is_gone = False
                await asyncio.sleep(20)
                # The new server could not be reached at first.
                await hearing.hears(*EVERYTHING, "data://a/x")
                assert new.named == ([OWN] if of_server in HANDSHAKE else [])
                await new.tell(UPDATED, uri=OWN)
                await new.tell()
                await asyncio.sleep(1)
                await hearing.hears("data://a/x", "tool")


async def test_streams_hear_of_a_server_that_has_come() -> None:
    for of_server in ERAS:
        with case(of_server):
            hearing, new = Hearing(STATELESS), Listing(revision=of_server)
            gateway = gateway_of(behind("a", Listing()))
            async with client_of(gateway.fronts, hearing.client), hearing.hearing():
                apply(gateway, behind("a", Listing()), behind("b", new))
                await asyncio.sleep(1)
                await hearing.hears(*EVERYTHING)
                await new.tell()
                await asyncio.sleep(1)
                await hearing.hears("tool")


async def test_subscriptions_to_a_removed_server_end() -> None:
    for revision in ERAS:
        with case(revision):
            hearing, server = Hearing(revision), Listing()
            gateway = gateway_of(behind("a", server), behind("b", Listing()))
            async with (
                client_of(gateway.fronts, hearing.client) as one,
                hearing.hearing("data://a/x"),
            ):
                await asyncio.sleep(1)
                apply(gateway, behind("b", Listing()))
                await asyncio.sleep(100)
                await hearing.hears(*EVERYTHING)
                assert (server.opened, server.open) == (1, 0)
                if revision in HANDSHAKE:
                    await one.unsubscribe("data://a/x")


async def test_subscription_moves_to_the_next_server_that_has_the_resource() -> None:
    for revision in ERAS:
        with case(revision):
            hearing, servers = Hearing(revision), [Listing(), Listing()]
            for server in servers:
                server.lists["resources"] = [{"uri": OWN, "name": "x"}]
            first, second = (
                behind(name, server, uris="keep")
                for name, server in zip("ab", servers, strict=True)
            )
            gateway = gateway_of(first, second)
            async with client_of(gateway.fronts, hearing.client), hearing.hearing(OWN):
                await asyncio.sleep(1)
                assert [server.named for server in servers] == [[OWN], []]
                apply(gateway, second)
                await asyncio.sleep(1)
                await hearing.hears(*EVERYTHING, OWN)
                assert servers[1].named == [OWN]


async def test_new_server_gets_the_level_of_log_entries() -> None:
    levels: list[Any] = []

    async def note_level(hand: Hand) -> None:
        await shake(hand, logging={}, tools={})
        while (asked := await hand.take()) is not None:
            if asked.get("method") == "logging/setLevel":
                levels.append(asked["params"]["level"])
                await hand.send({"jsonrpc": "2.0", "id": asked["id"], "result": {}})
            elif "id" in asked:
                tools: Any = {"tools": []}
                await hand.send({"jsonrpc": "2.0", "id": asked["id"], "result": tools})

    gateway = gateway_of(behind("a", Listing("x")))
    async with client_of(gateway.fronts) as one:
        await one.set_level("error")
        apply(gateway, behind("b", Accepting(note_level)))
        assert await tools_of(one) == []
    assert levels == ["error"]


async def test_counts_and_limits_of_a_changed_server_go_on() -> None:
    limits = {"per_minute": 2}
    gateway = gateway_of(behind("a", Listing("x"), limits=limits))
    async with client_of(gateway.fronts) as one:
        for number in range(3):
            apply(gateway, at_new_address("a", Listing("x"), limits=limits, timeout=number + 1.0))
            with nullcontext() if number < 2 else pytest.raises(pkg.McpError, match="Too many"):
                await text_of(one, "a_x")
        assert gateway.upstreams["a"].counts.denied == {"limited": 1}
        apply(gateway, at_new_address("a", Listing("x"), limits={"per_minute": 3}))
        assert await text_of(one, "a_x") == "called"
        assert gateway.upstreams["a"].counts.denied == {"limited": 1}


async def test_settings_of_the_gateway_apply_now_or_after_a_restart(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Listing("x")
    gateway = gateway_of(behind("a", server))
    auth = AuthSettings(issuer="https://login.example", audience="https://mcp.example")
    async with client_of(gateway.fronts) as before:
        for _ in range(2):
            caplog.clear()
            options: Any = {"name": "new", "auth": auth, "instructions": "Ask.", "list_timeout": 1}
            apply(gateway, behind("a", server), **options)
            assert [record.message for record in caplog.records] == [
                "gateway.toml: name of the gateway applies after a restart",
                "gateway.toml: auth of the gateway applies after a restart",
            ]
        assert (gateway.settings.name, gateway.settings.auth) == ("gateway", None)
        async with client_of(gateway.fronts) as one:
            assert (before.instructions, one.instructions) == (None, "Ask.")
        server.delay = 3.0
        begun = asyncio.get_running_loop().time()
        assert await tools_of(before) == []
        assert asyncio.get_running_loop().time() - begun < 2
        assert server.opened == 1


async def test_gateway_is_ready_once_servers_that_a_reload_requires_are_reached() -> None:
    server = Listing("x")
    server.is_gone = True
    gateway = gateway_of(behind("a", Listing()))
    async with serve_gateway(gateway) as site:
        while (await site.http.get("/ready")).status_code != 200:
            await asyncio.sleep(0.1)
        apply(gateway, behind("a", Listing(), required=True), behind("b", server, required=True))
        await asyncio.sleep(5)
        waiting = await site.http.get("/ready")
        assert (waiting.status_code, waiting.json()) == (503, {"status": "waiting for b"})
        for changed in (True, False):
            if changed:
                apply(gateway, behind("a", Listing(), required=True), at_new_address("b", server))
            else:
                apply(gateway, at_new_address("b", Listing(), required=True))
            await asyncio.sleep(5)
            assert (await site.http.get("/ready")).status_code == 200


async def test_answer_of_a_server_that_has_changed_makes_no_gateway_ready() -> None:
    answer = asyncio.Event()

    async def open_slowly() -> Any:
        await answer.wait()
        raise pkg.HttpError(401, "Who are you?")

    exchange = ExchangeSettings(exchange="https://login.example.com/token", audience="b")
    changed = at_new_address("b", None, required=True, token_exchange=exchange)
    gateway = gateway_of(behind("b", open_slowly, required=True, token_exchange=exchange))
    async with serve_gateway(gateway) as site:
        await asyncio.sleep(1)
        apply(gateway, changed)
        answer.set()
        await asyncio.sleep(1)
        assert (await site.http.get("/ready")).json() == {"status": "waiting for b"}


async def test_old_and_new_settings_that_cannot_be_mounted_change_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    gateway, server = gateway_of(behind("a", Listing("x"))), Listing("y")

    def fail(*_: object, **__: object) -> None:
        raise ImportError("not installed")

    async with client_of(gateway.fronts) as one:
        monkeypatch.setattr("mcp_protogen.servers.gateway.fronts.fronts.proxy_for", fail)
        with pytest.raises(ImportError):
            apply(gateway, behind("b", server))
        assert [*gateway.upstreams] == ["a"]
        assert await tools_of(one) == ["a_x"]
