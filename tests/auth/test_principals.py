"""The sender of a request: known to handlers and middleware, and bound to state by id."""

from typing import Any

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.auth.guarding import (
    OTHER,
    READING,
    TOKENS,
    WRITING,
    allowing,
    authentication,
    bearing,
    telling,
)
from support.http.serving import run_app, serving, text_in
from support.revisions import ERAS, HANDSHAKE, OLD, STATELESS
from support.sessions.talking import pkg, request, tools
from support.tables import case
from support.toolkit.mounting import app


async def tell(session: Session, params: CallToolRequestParams) -> str:
    who = session.principal
    assert who is not None
    return f"{who.id} {sorted(who.scopes)} {who.claims.get('tenant')} {who.expires_at}"


TOLD = {READING: "ada ['read'] one 4000000000.0", WRITING: "ada ['read', 'write'] two None"}


@pytest.mark.parametrize("sessions", [True, False])
async def test_handlers_know_the_scopes_and_claims_of_the_token_of_their_request(
    sessions: bool,
) -> None:
    ours = tools(STATELESS, tell)
    async with serving(
        ours, pkg.REVISIONS, authentication=authentication(), sessions=sessions
    ) as site:
        for token, told in TOLD.items():
            answer = await site.modern("tools/call", name="x", headers=bearing(token))
            assert text_in(answer) == told
            for revision in HANDSHAKE if not sessions else ():
                with case(revision):
                    fields = {**bearing(token), "mcp-protocol-version": revision}
                    answer = await site.post(request("tools/call", name="x"), fields)
                    assert text_in(answer) == told


@pytest.mark.shows("PX-03")
async def test_a_session_is_no_use_to_another_principal_whatever_its_scopes() -> None:
    async with serving(tools(OLD, tell), authentication=authentication()) as site:
        session = await site.initialize(OLD, bearing(READING))
        session.headers = {**session.headers, **bearing(OTHER)}
        assert (await session.call("x")).status_code == 404
        assert (await session.delete()).status_code == 404
        session.headers = {**session.headers, **bearing(WRITING)}
        assert text_in(await session.call("x")) == TOLD[WRITING]


async def test_middleware_knows_them_too_and_their_id_by_itself() -> None:
    seen: list[Any] = []

    async def note(call: Any, next: Any) -> Any:
        seen.append((call.method, call.principal, call.principal_id))
        return await next(call)

    ours = tools(OLD, tell)
    ours.middleware = [note]
    async with serving(ours, authentication=authentication()) as site:
        session = await site.initialize(OLD, bearing(READING))
        session.headers = {**session.headers, **bearing(WRITING)}
        assert text_in(await session.call("x")) == TOLD[WRITING]
    assert seen == [
        ("notifications/initialized", TOKENS[READING], "ada"),
        ("tools/call", TOKENS[WRITING], "ada"),
    ]


async def test_without_authentication_there_is_none() -> None:
    seen: list[Any] = []

    async def note(session: Session, params: CallToolRequestParams) -> str:
        seen.append(session.principal)
        return "x"

    async with serving(tools(STATELESS, note), pkg.REVISIONS) as site:
        await site.modern("tools/call", name="x")
        await (await site.initialize()).call("x")
    assert seen == [None, None]


@pytest.mark.shows("TK-05")
async def test_a_server_that_is_mounted_gets_no_token_of_the_clients_above() -> None:
    seen: list[Any] = []
    for own in ERAS:
        below = app(own, "below")

        async def tell(session: Any) -> str:
            request = session.http_request
            seen.append((request.headers.get("authorization"), session.principal))
            return "told"

        tell.__annotations__["session"] = pkg.load(own).Session
        below.add_tool(tell)
        async with run_app(below.http()) as port:
            above = app(OLD, "above")
            above.mount("below", connect_to=f"http://127.0.0.1:{port}/mcp")
            guard = telling(scopes={"read"})
            async with serving(above, pkg.REVISIONS, authentication=guard) as site:
                session = await site.initialize(OLD, allowing("read"))
                fields = allowing("read")
                for answer in (
                    await session.call("below_tell"),
                    await site.modern("tools/call", name="below_tell", headers=fields),
                ):
                    with case(own):
                        assert text_in(answer) == "told"
    assert seen == [(None, None)] * 4
