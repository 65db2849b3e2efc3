"""Exchanged tokens at a gateway: each user's go to the server, and to no other user's requests."""

import asyncio
import logging
from collections.abc import Mapping
from itertools import product
from typing import Any, cast

import pytest
from mcp_protogen.runtime.features.auth.errors import OAuthError, Unreachable
from mcp_protogen.servers.gateway.upstreams.circuit import MOST_FAILURES, OPENING, Circuit
from support.auth.guarding import ADA, BEN, OTHER, READING, WRITING, bearing
from support.gateway.exchanging import (
    ENDPOINT,
    SECRET,
    Exchanging,
    credential_server,
    exchanging,
)
from support.gateway.gateways import client_at
from support.http.serving import Site
from support.revisions import ERAS, HANDSHAKE, OLD
from support.sessions.talking import client, pkg
from support.tables import case
from support.tasks.gateway import CLIENTS, SERVERS
from support.toolkit.mounting import only, text_of

REFUSED = "The server of up refuses the credentials that it was sent"
DATA = {"server": "up", "reason": "unauthorized"}


def client_of(site: Site, revision: str, headers: Mapping[str, str]) -> Any:
    one: Any = pkg.load(revision).Client()
    return client_at(site.url, one, **headers)


async def owner_of(made: Exchanging, one: Any) -> str:
    """Call the server; return the token of a client that its credential was issued for."""
    return made.endpoint.owners[(await text_of(one, "up_tell")).removeprefix("Bearer ")]


async def error_of(one: Any) -> tuple[int, str, Any]:
    with pytest.raises(pkg.McpError) as raised:
        await text_of(one, "up_tell")
    return raised.value.code, raised.value.message, raised.value.data


async def test_each_user_has_own_tokens_and_no_token_of_a_client_reaches_a_server() -> None:
    for own in ERAS:
        async with exchanging(credential_server(own)) as made:
            for spoken in ERAS:
                with case((own, spoken)):
                    async with (
                        client_of(made.site, spoken, ADA) as ada,
                        client_of(made.site, spoken, BEN) as ben,
                    ):
                        assert [tool.name async for tool in ada.iter_tools()] == ["up_tell"]
                        for user, token in ((ada, WRITING), (ben, OTHER)) * 2:
                            assert await owner_of(made, user) == token
            # Clients of all revisions share a token.
            assert len(made.endpoint.asked) == 2
            assert {request.url for request in made.endpoint.asked} == {ENDPOINT}
            sent = "\n".join(made.server.seen)
            assert "Bearer issued-1" in sent and "Bearer issued-2" in sent
            assert not any(secret in sent for secret in (WRITING, OTHER, SECRET))


async def test_token_that_the_server_no_longer_accepts_is_renewed_once() -> None:
    for own in ERAS:
        async with exchanging(credential_server(own)) as made:
            asked = made.endpoint.asked
            for spoken in ERAS:
                with case((own, spoken)):
                    async with client_of(made.site, spoken, ADA) as one:
                        assert await owner_of(made, one) == WRITING
                        made.endpoint.owners.clear()
                        before = len(asked)
                        assert await owner_of(made, one) == WRITING
                        assert len(asked) == before + 1
                        made.server.refuses = 401
                        assert await error_of(one) == (-32603, REFUSED, DATA)
                        assert len(asked) == before + 2
                        made.server.refuses = 0
                        assert await owner_of(made, one) == WRITING


async def test_token_of_one_user_is_not_used_for_another_after_it_has_expired() -> None:
    for own in ERAS:
        async with exchanging(credential_server(own)) as made:
            endpoint = made.endpoint
            for spoken in ERAS:
                with case((own, spoken)):
                    async with (
                        client_of(made.site, spoken, ADA) as ada,
                        client_of(made.site, spoken, BEN) as ben,
                    ):
                        for _ in range(2):
                            before = len(endpoint.asked)
                            for user, token in ((ada, WRITING), (ben, OTHER), (ada, WRITING)):
                                assert await owner_of(made, user) == token
                            assert len(endpoint.asked) == before + 2
                            endpoint.clock.now += 600
                        # While the endpoint is gone, no user gets the token of another.
                        endpoint.failure = Unreachable("it is gone")
                        for user in (ada, ben):
                            _, message, data = await error_of(user)
                            assert data == DATA and "cannot be reached" in message
                        endpoint.failure = None
                        assert await owner_of(made, ben) == OTHER
                        endpoint.clock.now += 600


async def test_failed_exchange_is_told_to_the_client_when_connecting_and_later() -> None:
    why = "the token endpoint cannot be reached"
    text = f"No token for the server of up could be obtained: {why}"
    for own in ERAS:
        async with exchanging(credential_server(own)) as made:
            for spoken in ERAS:
                with case((own, spoken)):
                    async with client_of(made.site, spoken, ADA) as one:
                        for _ in range(2):
                            made.endpoint.failure = Unreachable("it is gone")
                            assert await error_of(one) == (-32603, text, DATA)
                            assert len([tool async for tool in one.iter_tools()]) < 2
                            made.endpoint.failure = None
                            assert await owner_of(made, one) == WRITING
                            made.endpoint.clock.now += 600


def fail_to_connect(circuit: Circuit, times: int) -> None:
    for _ in range(times):
        with pytest.raises(pkg.Disconnected), circuit.attempt(OPENING):
            raise pkg.Disconnected("it is gone")


async def test_failed_exchange_says_nothing_about_the_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # What describes the error may repeat the token.
    failure = OAuthError("access_denied", f"not {WRITING}")
    for own, spoken in product(ERAS, ERAS):
        with case((own, spoken)):
            async with exchanging(credential_server(own), transport="HTTP") as made:
                up, endpoint = made.gateway.upstreams["up"], made.endpoint
                async with client_of(made.site, spoken, ADA) as one:
                    # When connecting, and on an open connection.
                    for state in ("unknown", "up"):
                        up.health.state, endpoint.failure = state, failure
                        fail_to_connect(up.circuit, MOST_FAILURES - 1)
                        assert (await error_of(one))[2] == DATA
                        assert (up.health.state, up.health.failure) == (state, None)
                        fail_to_connect(up.circuit, 1)
                        assert up.circuit.is_open
                        vars(up.circuit).update(vars(Circuit("up")))
                        endpoint.failure = None
                        assert await owner_of(made, one) == WRITING
                        endpoint.clock.now += 600
    assert "could not be exchanged: access_denied: not (token)" in caplog.text
    assert WRITING not in caplog.text


async def test_server_that_refuses_a_user_can_be_reached() -> None:
    for spoken in ERAS:
        with case(spoken):
            async with exchanging(credential_server(spoken)) as made:
                made.server.refuses = 403
                async with client_of(made.site, spoken, ADA) as one:
                    assert (await error_of(one))[2] == DATA
                assert made.gateway.upstreams["up"].health.state == "up"


async def test_session_goes_on_with_the_newer_token_of_its_user() -> None:
    async with exchanging(credential_server(OLD)) as made:
        session = await made.site.initialize(OLD, bearing(WRITING))
        await session.call("up_tell")
        session.headers = {**session.headers, **bearing(READING)}
        await session.call("up_tell")
        assert [*made.endpoint.owners.values()] == [WRITING, READING]
        assert sum(line.startswith("mcp-session-id") for line in made.server.seen) > 1
        assert len({line for line in made.server.seen if line.startswith("mcp-session-id")}) == 1


async def test_client_with_fewer_scopes_has_its_own_connection_and_lists() -> None:
    for own in ERAS:
        with case(own):
            server, asked = credential_server(own), list[str]()

            async def note(call: Any, next: Any, seen: list[str] = asked) -> Any:
                seen.append(call.method)
                return await next(call)

            server.middleware = [note]
            async with exchanging(server) as made:
                for token in (WRITING, READING, WRITING):
                    fields = bearing(token)
                    called = await made.site.modern("tools/call", name="up_tell", headers=fields)
                    listed = await made.site.modern("tools/list", headers=fields)
                    assert (called.status_code, listed.status_code) == (200, 200)
                assert [*made.endpoint.owners.values()] == [WRITING, READING]
                ids = {line for line in made.server.seen if line.startswith("mcp-session-id")}
                assert len(ids) == (2 if own in HANDSHAKE else 0)
                assert asked.count("tools/list") == 2


async def test_server_without_a_stream_for_its_user_answers_calls() -> None:
    async with exchanging(credential_server(OLD)) as made, client_of(made.site, OLD, ADA) as one:
        made.server.refuses, made.server.verbs = 401, {"GET"}
        assert await owner_of(made, one) == WRITING
        while "GET" not in made.server.refused:
            await asyncio.sleep(0.01)
        assert await owner_of(made, one) == WRITING


async def test_only_connections_that_are_open_have_the_token_of_a_user() -> None:
    for spoken in ERAS:
        async with exchanging(credential_server(OLD), max_connections=2) as made:
            for number in range(4):
                info = pkg.load(spoken).models.Implementation(name=f"editor {number}", version="1")
                one = client(spoken, info=info)
                async with client_at(made.site.url, one, **ADA) as user:
                    await owner_of(made, user)
            (mount,) = made.front_of(spoken).__mcp_runtime__.catalogue.mounts
            with case(spoken):
                users = cast(dict[Any, Any], vars(mount)["_users"])
                assert len(users) <= 3
            assert len(made.endpoint.asked) == 1


async def test_no_token_is_in_the_log_or_in_an_answer(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for own in ERAS:
        async with exchanging(credential_server(own)) as made:
            for spoken in ERAS:
                with case((own, spoken)):
                    async with client_of(made.site, spoken, ADA) as one:
                        # When connecting, and on an open connection.
                        for status in (401, 403, 500, 0, 401, 403):
                            made.server.refuses = status
                            if status:
                                code, text, data = await error_of(one)
                                assert (code, data["server"]) == (-32603, "up")
                                assert "issued-" not in text
                            else:
                                await owner_of(made, one)
                            assert len([tool async for tool in one.iter_tools()]) < 2
    own_log = [entry.getMessage() for entry in caplog.records if "mcp_protogen" in entry.name]
    assert any("HTTP 403" in text and "no Bearer (token)" in text for text in own_log)
    for text in own_log:
        assert not any(token in text for token in (WRITING, "issued-", SECRET)), text


async def test_task_of_one_client_is_unknown_to_another_of_the_same_user() -> None:
    for revision in ERAS:
        theirs = SERVERS[revision]()
        async with exchanging(only(theirs)) as made:
            ada = client_at(made.site.url, CLIENTS[revision](), **ADA)
            other = client_at(made.site.url, CLIENTS[revision](), **bearing(READING))
            async with ada as one, other as two:
                handle = await one.start_task("up_slow")
                with case(revision), pytest.raises(pkg.McpError) as raised:
                    await two.task(handle.to_json()).status()
                assert raised.value.code == -32602
                theirs.go_on.set()
                assert (await handle.result()).text == "slow is done"
