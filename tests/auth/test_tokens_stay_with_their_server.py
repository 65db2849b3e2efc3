"""The token of a client goes only to the server it was issued for."""

from typing import Any

import pytest
from support.auth.guarding import allowing, telling
from support.http.serving import run_app, serving, text_in
from support.revisions import ERAS, OLD
from support.sessions.talking import pkg
from support.tables import case
from support.toolkit.mounting import app


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
