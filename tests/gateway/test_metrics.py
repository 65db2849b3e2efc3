"""Metrics of a gateway: durations by the conventions of OpenTelemetry, and the state of servers."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Any

import pytest
from mcp_protogen.runtime.testing import in_memory
from mcp_protogen.servers.gateway.operating import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from support.gateway.gateways import behind, client_of
from support.gateway.watching import samples, scrape, total, watched_gateway
from support.revisions import ERAS, OLD, REVISIONS, STATELESS
from support.sessions.talking import client, pkg
from support.tables import case
from support.toolkit.mounting import Hearing, app, only, text_of, weather

SERVER = "mcp_server_operation_duration_seconds_count"
CLIENT = "mcp_client_operation_duration_seconds_count"
SESSIONS = "mcp_server_session_duration_seconds_count", "mcp_client_session_duration_seconds_count"


def failing(revision: str) -> Any:
    """Return a server with a tool that works and one that fails."""
    made = app(revision, "failing")

    @made.tool
    def fail() -> str:
        raise ValueError("secret")

    @made.tool
    def work(text: str) -> str:
        return text

    return only(made)


async def call(one: Any, name: str, **arguments: object) -> None:
    with suppress(pkg.McpError):
        await one.call_tool(name, arguments)


async def test_durations_have_the_outcomes_of_calls_on_both_sides() -> None:
    for spoken in ERAS:
        for upstream in ERAS:
            with case(f"{spoken} to {upstream}"):
                gateway = watched_gateway(behind("a", in_memory(failing(upstream))), behind("gone"))
                async with client_of(gateway.fronts, client(spoken)) as one:
                    await one.list_tools()
                    await call(one, "a_work", text="private")
                    await call(one, "a_work", text="private")
                    await call(one, "a_fail")
                    await call(one, "a_unknown")
                    await call(one, "gone_work")
                text = await scrape(gateway)
                called = {"mcp_method_name": "tools/call"}
                about = {**called, "mcp_protocol_version": spoken}
                invalid = {"error_type": "-32602", "rpc_response_status_code": "-32602"}
                gone = {"error_type": "-32603", "rpc_response_status_code": "-32603"}
                received = [
                    ({**about, "gen_ai_tool_name": "a_work"}, 2),
                    ({**about, "gen_ai_tool_name": "a_fail", "error_type": "tool_error"}, 1),
                    ({**about, **invalid}, 1),
                    ({**about, **gone}, 1),
                ]
                found = samples(text, SERVER, **called)
                assert sorted(found, key=str) == sorted(received, key=str)
                about = {**called, "mcp_protocol_version": upstream, "peer_service": "a"}
                sent = [
                    ({**about, "gen_ai_tool_name": "work"}, 2),
                    ({**about, "gen_ai_tool_name": "fail", "error_type": "tool_error"}, 1),
                    ({**about, **invalid}, 1),
                ]
                found = samples(text, CLIENT, **called)
                assert sorted(found, key=str) == sorted(sent, key=str)
                assert "private" not in text and "secret" not in text
                for name, revision in zip(SESSIONS, (spoken, upstream), strict=True):
                    # The stateless era has no sessions.
                    has_sessions = revision != STATELESS
                    assert total(text, name, mcp_protocol_version=revision) == has_sessions


async def test_boundaries_are_those_of_the_conventions() -> None:
    gateway = watched_gateway(behind("a", in_memory(failing(OLD))))
    async with client_of(gateway.fronts) as one:
        await one.list_tools()
    bounds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, inf]
    for name in (SERVER, CLIENT, *SESSIONS):
        with case(name):
            rows = samples(await scrape(gateway), name.replace("_count", "_bucket"))
            assert [float(labels["le"]) for labels, _ in rows[: len(bounds)]] == bounds


async def test_clients_cannot_make_labels_by_names_that_they_invent() -> None:
    gateway = watched_gateway(
        behind("a", in_memory(failing(OLD))), behind("gone"), behind("b", in_memory(failing(OLD)))
    )
    async with client_of(gateway.fronts) as one:
        await one.list_tools()
        before = len((await scrape(gateway)).splitlines())
        sizes = set[int]()
        for number in range(20):
            for prefix in ("a", "b", "gone", "neither"):
                await call(one, f"{prefix}_{number}")
            with pytest.raises(pkg.McpError):
                await one.get_prompt(f"a_{number}")
            with pytest.raises(pkg.McpError):
                await one.read_resource(f"x://a/{number}")
            sizes.add(len((await scrape(gateway)).splitlines()))
    assert len(sizes) == 1 and before not in sizes
    assert total(await scrape(gateway), SERVER, mcp_method_name="tools/call") == 80


async def test_series_are_few_whatever_a_server_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST_SERIES", 5)
    odd = app(OLD, "odd")

    @odd.tool
    def refuse(code: int) -> str:
        raise pkg.McpError(code, "no")

    gateway = watched_gateway(behind("a", in_memory(only(odd))))
    async with client_of(gateway.fronts) as one:
        await one.list_tools()
        for code in range(20):
            await call(one, "a_refuse", code=code + 1)
    for name in (SERVER, CLIENT):
        with case(name):
            rows = samples(await scrape(gateway), name, mcp_method_name="tools/call")
            assert len(rows) <= 6 and sum(value for _, value in rows) == 20
            others = [labels for labels, _ in rows if labels["error_type"] == "_OTHER"]
            assert len(others) == 1 and "gen_ai_tool_name" not in others[0]


async def test_measurements_go_to_opentelemetry_too_if_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])
    monkeypatch.setattr(metrics, "get_meter_provider", lambda: provider)
    gateway = watched_gateway(behind("a", in_memory(failing(OLD))), telemetry=True)
    async with client_of(gateway.fronts) as one:
        await one.list_tools()
        await call(one, "a_work", text="x")
    collected: Any = reader.get_metrics_data()
    counts = {
        metric.name: sum(point.count for point in metric.data.data_points)
        for of_resource in collected.resource_metrics
        for of_scope in of_resource.scope_metrics
        for metric in of_scope.metrics
    }
    assert counts["mcp.server.operation.duration"] == total(await scrape(gateway), SERVER) > 0
    assert counts["mcp.client.operation.duration"] == total(await scrape(gateway), CLIENT) > 0
    provider.shutdown()


async def test_trace_of_a_client_reaches_a_server_also_without_spans() -> None:
    seen: list[Any] = []

    async def see(call: pkg.MethodCall, next: Callable[..., Any]) -> Any:
        seen.append(call.meta.get("traceparent"))
        return await next(call)

    server = failing(OLD)
    server.middleware = (see,)
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    async def add_trace(call: pkg.MethodCall, next: Callable[..., Any]) -> Any:
        return await next(call.with_meta({"traceparent": parent}))

    gateway = watched_gateway(behind("a", in_memory(server)))
    async with client_of(gateway.fronts, client(OLD, middleware=(add_trace,))) as one:
        await call(one, "a_work", text="x")
    assert seen[-1] == parent


async def test_questions_are_counted_by_server() -> None:
    for spoken in ERAS:
        for upstream in ERAS:
            with case(f"{spoken} to {upstream}"):
                servers = (behind(name, in_memory(only(weather(upstream)))) for name in "ab")
                gateway = watched_gateway(*servers)
                async with client_of(gateway.fronts, Hearing(spoken).client) as one:
                    assert await text_of(one, "a_age") == "42 years"
                    assert await text_of(one, "a_age") == "42 years"
                    await one.list_tools()
                rows = samples(await scrape(gateway), "mcp_gateway_questions_total")
                assert rows == [({"server": "a", "mcp_method_name": "elicitation/create"}, 2)]


async def test_losses_of_translation_are_counted_once_for_a_connection() -> None:
    oldest = REVISIONS[0]
    gateway = watched_gateway(*(behind(name, in_memory(only(weather(OLD)))) for name in "ab"))
    for number in (1, 2):
        async with client_of(gateway.fronts, client(oldest)) as one:
            for _ in range(2):
                await text_of(one, "a_forecast", place="Rome")
                await one.list_tools()
        rows = samples(await scrape(gateway), "mcp_gateway_losses_total", server="a")
        assert rows == [({"server": "a", "what": what}, number) for what in ("replaced", "dropped")]
        assert total(await scrape(gateway), "mcp_gateway_losses_total", server="b") == number


async def test_denied_requests_are_counted_by_reason() -> None:
    gateway = watched_gateway(behind("a"), behind("b"))
    for reason in ("rule", "limit", "rule"):
        gateway.upstreams["b"].counts.add_denied(reason)
    assert samples(await scrape(gateway), "mcp_gateway_denied_total") == [
        ({"server": "b", "reason": "rule"}, 2),
        ({"server": "b", "reason": "limit"}, 1),
    ]


async def test_items_and_connections_are_those_of_now() -> None:
    gateway = watched_gateway(behind("a", in_memory(only(weather(OLD)))), behind("gone"))
    assert not samples(await scrape(gateway), "mcp_gateway_catalogue_items")
    assert not samples(await scrape(gateway), "mcp_gateway_upstream_up")
    async with client_of(gateway.fronts) as one, client_of(gateway.fronts) as other:
        for session in (one, other):
            await session.list_tools()
            await session.list_resources()
        text = await scrape(gateway)
        open_now = samples(text, "mcp_gateway_upstream_connections")
        assert open_now == [({"server": "a", "mcp_protocol_version": OLD}, 2)]
        items = samples(text, "mcp_gateway_catalogue_items", server="a")
        counted = {labels["kind"]: value for labels, value in items}
        assert counted == {"tools": 3, "resources": 1}
        up = samples(text, "mcp_gateway_upstream_up")
        assert up == [({"server": "a"}, 1), ({"server": "gone"}, 0)]
    await asyncio.sleep(0)
    assert total(await scrape(gateway), "mcp_gateway_upstream_connections") == 0
    assert total(await scrape(gateway), "mcp_gateway_upstream_up", server="a") == 1


async def test_scrapes_within_a_second_cost_one(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def generate(registry: object) -> bytes:
        made.append(registry)
        return b"%d" % len(made)

    monkeypatch.setattr(metrics, "generate_latest", generate)
    gateway = watched_gateway(behind("a"))
    assert gateway.metrics is not None
    text = gateway.metrics.text
    assert {*await asyncio.gather(*(text() for _ in range(50)))} == {b"1"}
