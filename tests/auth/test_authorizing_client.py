"""Requests whose timeouts stand still while their user logs in."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx2
import pytest
from mcp_protogen.runtime.http.client.authorization import AuthorizingClient, Exchange
from support.revisions import OLD, STATELESS
from support.tables import case

URL = "https://mcp.example/mcp"
CALL = b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "x"}}'
NOTE = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'


class Login:
    """An authorizer that is asked before the first request, and after the first refusal."""

    def __init__(self, events: list[object], fails: str = "") -> None:
        self._events = events
        self._fails = fails
        self._ready = False
        self.revisions: list[str] = []

    def headers(self, verb: str, url: str) -> Mapping[str, str] | None:
        return {"authorization": "Bearer a"} if self._ready else None

    async def prepare(self) -> None:
        self._wait("prepare")
        self._ready = True

    def refuses(self, exchange: Exchange) -> bool:
        self.revisions.append(exchange.revision)
        return exchange.status == 401

    async def again(self, exchanges: Sequence[Exchange]) -> bool:
        self._wait("again")
        return len(exchanges) == 1

    def _wait(self, step: str) -> None:
        self._events.append(step)
        if step == self._fails:
            raise RuntimeError(step)


async def send(body: bytes, fails: str = "") -> list[object]:
    """Send a request that is refused once, and return the events in their order."""
    events: list[object] = []
    statuses = iter((401, 200))

    def respond(request: httpx2.Request) -> httpx2.Response:
        events.append(request.headers["authorization"])
        return httpx2.Response(next(statuses))

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(respond)) as client:
        authorizing = AuthorizingClient(client, Login(events, fails))
        authorizing.pause = lambda id, held: events.append((id, held))
        request: Any = authorizing.build_request("POST", URL, content=body, headers={})
        if fails:
            with pytest.raises(RuntimeError, match=fails):
                await authorizing.send(request, stream=False, follow_redirects=False)
        else:
            await authorizing.send(request, stream=False, follow_redirects=False)
    return events


async def test_request_is_held_while_its_user_logs_in_and_no_longer() -> None:
    for body, id in ((CALL, 7), (NOTE, None)):
        with case(body):
            first = [(id, True), "prepare", (id, False), "Bearer a"]
            assert await send(body) == [*first, (id, True), "again", (id, False), "Bearer a"]


async def test_request_is_not_held_after_a_login_that_failed() -> None:
    assert await send(CALL, "prepare") == [(7, True), "prepare", (7, False)]
    assert (await send(CALL, "again"))[-3:] == [(7, True), "again", (7, False)]


async def test_an_authorizer_learns_which_revision_a_request_names() -> None:
    begin = (
        b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": %s}}'
    )
    field = {b"mcp-protocol-version": STATELESS.encode()}

    def respond(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200)

    for headers, body, named in (
        (field, CALL, STATELESS),
        ({}, begin % json.dumps(OLD).encode(), OLD),
        ({}, begin % rb'"1\n"', ""),
        ({}, begin % b"1", ""),
        ({}, CALL, ""),
        ({}, None, ""),
    ):
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(respond)) as client:
            login = Login([])
            authorizing = AuthorizingClient(client, login)
            request = authorizing.build_request("POST", URL, content=body, headers=headers)
            await authorizing.send(request, stream=False, follow_redirects=False)
        with case(named):
            assert login.revisions == [named]
