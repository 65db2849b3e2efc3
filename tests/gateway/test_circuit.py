"""Servers that cannot be reached: after some failures, a gateway refuses requests at once."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from itertools import product
from typing import Any

import httpx2
import pytest
from mcp_protogen.runtime.core.connection_errors import Unsent
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.upstreams import circuit
from mcp_protogen.servers.gateway.upstreams.circuit import (
    MOST_FAILURES,
    OPENING,
    SENDING,
    Circuit,
)
from support.gateway.attempts import Attempts, for_hours, now
from support.gateway.gateways import behind, client_of, gateway, gateway_settings
from support.gateway.listing import Listing, tools_of
from support.http.serving import serving
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import Accepting, error, pkg, tools
from support.tables import case
from support.toolkit.mounting import text_of

PAIRS = [*product(ERAS, ERAS)]


async def reason(one: Any, server: str = "a") -> str:
    """Call a tool, and return why that fails at once or later; "" if it does not."""
    try:
        await text_of(one, f"{server}_x")
    except pkg.McpError as failed:
        assert failed.code == -32603
        data: dict[str, str] = failed.data
        assert data.keys() == {"server", "reason"} and data["server"] == server
        return data["reason"]
    return ""


async def reasons(one: Any, number: int) -> list[str]:
    return [await reason(one) for _ in range(number)]


@for_hours
async def test_server_that_is_gone_is_tried_at_growing_pauses_and_served_once_it_is_back() -> None:
    for spoken, of_server in PAIRS:
        server = Listing("x", revision=of_server)
        attempts = Attempts(server)
        with case((spoken, of_server)):
            async with client_of(gateway(behind("a", attempts)), revision=spoken) as one:
                assert await tools_of(one) == ["a_x"]
                await server.end()
                attempts.times.clear()
                assert await reasons(one, 7) == ["unreachable"] * 5 + ["open"] * 2
                # Its items stay in lists, and nothing waits.
                assert await tools_of(one) == ["a_x"]
                assert len(attempts.times) == 5 and attempts.pauses() == [0] * 4
                for _ in range(1700):
                    await asyncio.sleep(1)
                    await reason(one)
                pauses = [30, 60, 120, 240, 300, 300, 300, 300]
                assert attempts.pauses()[4:] == pytest.approx(pauses, abs=1)
                server.is_gone = False
                await asyncio.sleep(300)
                assert await reasons(one, 3) == [""] * 3
                # The next failures count from the first one.
                await server.end()
                assert await reasons(one, 6) == ["unreachable"] * 5 + ["open"]


@for_hours
async def test_circuit_is_that_of_all_clients_but_of_one_server() -> None:
    server, other = Listing("x"), Listing("x")
    server.is_gone = True
    attempts = Attempts(server)
    fronts = gateway(behind("a", attempts), behind("b", other))
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(client_of(fronts, revision=revision))
            for revision in (OLD, STATELESS, OLD, STATELESS)
        ]
        failed = [await reason(clients[number % 4]) for number in range(6)]
        assert failed == ["unreachable"] * 5 + ["open"]
        assert [await reason(client) for client in clients] == ["open"] * 4
        assert [await reason(client, "b") for client in clients] == [""] * 4
        server.is_gone = False
        await asyncio.sleep(30)
        assert [await reason(client) for client in clients] == [""] * 4


@for_hours
async def test_only_one_attempt_is_made_when_a_server_is_tried_again() -> None:
    for is_back in (True, False):
        server, gate = Listing("x"), asyncio.Event()
        server.is_gone = True
        attempts = Attempts(server)
        fronts = gateway(behind("a", attempts))
        with case(is_back):
            async with client_of(fronts) as one, client_of(fronts, revision=STATELESS) as two:
                await reasons(one, 5)
                await asyncio.sleep(30)
                server.is_gone = not is_back
                attempts.server = partial(wait_and_open, gate, server)
                first = asyncio.create_task(reason(one))
                await asyncio.sleep(1)
                assert await reasons(two, 2) == ["open"] * 2 and len(attempts.times) == 6
                gate.set()
                assert await first == ("" if is_back else "unreachable")
                assert await reason(two) == ("" if is_back else "open")


async def wait_and_open(gate: asyncio.Event, server: Listing) -> Any:
    await gate.wait()
    return await server()


@for_hours
async def test_time_limit_of_opening_is_a_failure() -> None:
    async def open_never() -> None:
        await asyncio.Event().wait()

    async with client_of(gateway(behind("a", open_never))) as one:
        assert await reasons(one, 6) == ["timeout"] * 5 + ["open"]


async def refuse(hand: Any) -> None:
    """Answer the first request of a client with an error."""
    while (asked := await hand.take()) is not None:
        await hand.send(error(asked["id"], -32603))


def raising(failure: Exception) -> Callable[[], Awaitable[Any]]:
    async def refuse_connection() -> Any:
        raise failure

    return refuse_connection


@for_hours
async def test_answer_of_a_server_is_no_failure_to_connect() -> None:
    for name, opener, told in (
        ("an error", Accepting(refuse), "unreachable"),
        ("401", raising(pkg.HttpError(401, "HTTP 401")), "unauthorized"),
        ("403", raising(pkg.HttpError(403, "HTTP 403")), "unauthorized"),
        ("404", raising(pkg.HttpError(404, "HTTP 404")), "unreachable"),
        ("500", raising(pkg.HttpError(500, "HTTP 500")), "unreachable"),
    ):
        with case(name):
            async with client_of(gateway(behind("a", opener))) as one:
                assert await reasons(one, 12) == [told] * 12
    for status in (502, 503, 504):
        opener = raising(pkg.HttpError(status, f"HTTP {status}"))
        with case(status):
            async with client_of(gateway(behind("a", opener))) as one:
                assert await reasons(one, 6) == ["unreachable"] * 5 + ["open"]


async def test_call_that_takes_too_long_for_a_proxy_opens_no_circuit() -> None:
    for status, kinds, opens in (
        (502, SENDING, True),
        (503, SENDING, True),
        (504, SENDING, False),
        (504, OPENING, True),
    ):
        with case((status, kinds)):
            tried = Circuit("a")
            for _ in range(MOST_FAILURES):
                with pytest.raises(pkg.HttpError), tried.attempt(kinds):
                    raise pkg.HttpError(status, f"HTTP {status}")
            assert tried.is_open == opens


@for_hours
async def test_failures_count_in_a_row_only() -> None:
    server = Listing("x")
    attempts = Attempts(server)
    async with client_of(gateway(behind("a", attempts))) as one:
        for _ in range(3):
            await server.end()
            assert await reasons(one, 4) == ["unreachable"] * 4
            server.is_gone = False
            assert await reason(one) == ""


@for_hours
async def test_client_that_leaves_is_no_failure_and_holds_up_no_attempt() -> None:
    server, gate = Listing("x"), asyncio.Event()
    attempts = Attempts(partial(wait_and_open, gate, server))
    made = Gateway(gateway_settings(behind("a", attempts)), pkg)

    async def leave() -> None:
        async with client_of(made.fronts) as one:
            call = asyncio.create_task(reason(one))
            await asyncio.sleep(1)
            call.cancel()

    for _ in range(6):
        await leave()
    found = made.upstreams["a"].circuit
    assert not found.is_open and len(attempts.times) == 6
    gate.set()
    server.is_gone = True
    async with client_of(made.fronts) as one:
        await reasons(one, 5)
        assert found.is_open
        await asyncio.sleep(30)
        server.is_gone = False
        gate.clear()
        await leave()
        gate.set()
        assert await reason(one) == "" and not found.is_open


@for_hours
async def test_request_without_an_answer_says_nothing_about_its_server() -> None:
    refused, lost = pkg.McpError(-32602, "no"), pkg.Disconnected("gone")
    for error_of_request, is_answer in (
        (None, True),
        (refused, True),
        (pkg.HttpError(404, "no"), True),
        (lost, False),
        (pkg.RequestTimeout("tools/call", 60), False),
        (pkg.LocalError("no"), False),
        (asyncio.CancelledError(), False),
    ):
        found = Circuit("a")

        def note(
            outcome: BaseException | None, *kinds: type[BaseException], found: Circuit = found
        ) -> None:
            with suppress(BaseException), found.attempt(kinds):
                if outcome is not None:
                    raise outcome

        with case(repr(error_of_request)):
            for _ in range(4):
                note(lost, pkg.Disconnected)
            note(error_of_request, Unsent)
            note(lost, pkg.Disconnected)
            assert found.is_open is not is_answer


@for_hours
async def test_state_of_a_circuit_is_logged_when_it_changes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Listing("x")
    server.is_gone = True
    async with client_of(gateway(behind("a", server))) as one:
        for _ in range(100):
            await reason(one)
            await asyncio.sleep(1)
        server.is_gone = False
        await asyncio.sleep(now() + 60)
        assert await reason(one) == ""
    said = [entry.message for entry in caplog.records if entry.name == "mcp_protogen.gateway"]
    assert said == [
        "a: 5 failures to connect in a row; it is not tried again for 30 s",
        "a: 6 failures to connect in a row; it is not tried again for 60 s",
        "a: 7 failures to connect in a row; it is not tried again for 120 s",
        "a: it can be reached again",
    ]


class Cable(httpx2.AsyncClient):
    """A client of HTTP whose cable can be cut."""

    is_cut = False
    tried = 0

    async def send(self, *given: Any, **options: Any) -> httpx2.Response:
        self.tried += 1
        if self.is_cut:
            raise httpx2.ConnectError("the cable is cut")
        return await super().send(*given, **options)


async def answer(session: Any, params: Any) -> str:
    return "called"


class Clock:
    """A clock in place of the loop's, moved by hand."""

    now = 0.0

    def time(self) -> float:
        return self.now


async def test_requests_over_http_count_on_a_connection_that_is_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(circuit, "get_running_loop", lambda: clock)
    for spoken, of_server in PAIRS:
        with case((spoken, of_server)):
            async with serving(tools(of_server, answer)) as site, Cable(verify=False) as cable:
                opener = pkg.open_http(site.url, http=cable)
                fronts = gateway(behind("a", opener, transport="HTTP"))
                async with client_of(fronts, revision=spoken) as one:
                    assert await reasons(one, 2) == ["", ""]
                    cable.is_cut = True
                    # A request that was not sent is sent once more.
                    assert await reasons(one, 3) == ["unreachable", "unreachable", "open"]
                    tried = cable.tried
                    assert await reasons(one, 3) == ["open"] * 3 and cable.tried == tried
                    clock.now += 30
                    assert await reasons(one, 3) == ["open"] * 3 and cable.tried == tried + 1
                    cable.is_cut = False
                    clock.now += 60
                    assert await reasons(one, 3) == [""] * 3
