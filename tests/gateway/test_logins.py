"""Logins of users at a server behind a gateway: who is asked, how, and whose tokens are sent."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.servers.gateway.logins import waiting
from mcp_protogen.servers.gateway.settings.names import names_of
from mcp_protogen.servers.gateway.settings.settings import LoginSettings
from support.auth.authorization_server import LIFETIME
from support.auth.guarding import ADA, BEN
from support.gateway.exchanging import credential_server
from support.gateway.gateways import behind, client_at
from support.gateway.logging_in import Browser, LoggingIn, logging_in
from support.json_types import JsonObject
from support.revisions import ERAS, OLD
from support.sessions.talking import CAPABILITIES, META, pkg
from support.tables import case
from support.toolkit.mounting import text_of

OPENS_URLS: JsonObject = {"elicitation": {"url": {}}}
TOOL = "up_gateway_log_in"
TEXT = "Log in to up, and then repeat the request"


@asynccontextmanager
async def client_of(
    made: LoggingIn, headers: Mapping[str, str], revision: str = OLD
) -> AsyncGenerator[Any, None]:
    one: Any = pkg.load(revision).Client()
    async with client_at(made.site.url, one, **headers) as client:
        yield client


async def link_of(one: Any, tool: str = "up_tell") -> str:
    """Call the server without a login; return the link in the error."""
    with pytest.raises(pkg.McpError) as raised:
        await text_of(one, tool)
    link = str(raised.value.data["url"])
    assert raised.value.message == f"{TEXT}: open {link}"
    assert (raised.value.code, raised.value.data) == (
        -32603,
        {"server": "up", "reason": "unauthorized", "url": link},
    )
    return link


async def log_in(made: LoggingIn, one: Any) -> None:
    page = await made.browser().log_in(await link_of(one))
    assert (page.status_code, "Logged in to up" in page.text) == (200, True)


async def tools_of(one: Any) -> list[str]:
    return [tool.name async for tool in one.iter_tools()]


async def test_each_user_logs_in_and_has_own_tokens() -> None:
    for own in ERAS:
        for spoken in ERAS:
            with case((own, spoken)):
                async with (
                    logging_in(credential_server(own)) as made,
                    client_of(made, ADA, spoken) as ada,
                    client_of(made, BEN, spoken) as ben,
                ):
                    assert (await tools_of(ada), await tools_of(ben)) == ([TOOL], [TOOL])
                    await log_in(made, ada)
                    credential = await text_of(ada, "up_tell")
                    assert await tools_of(ada) == ["up_tell"]
                    # The login of one user is of no use for another.
                    assert await tools_of(ben) == [TOOL]
                    await log_in(made, ben)
                    other = await text_of(ben, "up_tell")
                    assert credential.startswith("Bearer ") and credential != other
                    assert await text_of(ada, "up_tell") == credential
                    sent = "\n".join(made.server.seen)
                    assert not any(fields["authorization"] in sent for fields in (ADA, BEN))


async def test_registration_of_the_gateway_is_for_all_users() -> None:
    async with logging_in(credential_server(OLD)) as made:
        for who in (ADA, BEN):
            async with client_of(made, who) as one:
                await log_in(made, one)
        assert len(made.issuer.clients) == 1


async def test_tool_is_listed_that_asks_a_user_to_log_in() -> None:
    for own in ERAS:
        for spoken in ERAS:
            with case((own, spoken)):
                async with (
                    logging_in(credential_server(own)) as made,
                    client_of(made, ADA, spoken) as one,
                ):
                    assert await tools_of(one) == [TOOL]
                    await made.browser().log_in(await link_of(one, TOOL))
                    assert await text_of(one, TOOL) == "You are logged in to up"
                    assert await tools_of(one) == ["up_tell"]


def test_patterns_of_tools_allow_the_one_that_asks_to_log_in() -> None:
    allow = {"tools": ("get_*",)}
    for login, offered in ((LoginSettings(), "gateway_log_in"), (None, None)):
        names = names_of(behind("up", allow=allow, login=login))
        assert names.strip("tools", TOOL) == offered
        assert names.strip("tools", "up_delete") is None


async def test_client_of_an_older_revision_gets_the_error_that_asks_for_urls() -> None:
    async with logging_in(credential_server(OLD)) as made:
        session = await made.site.initialize(OLD, ADA, **OPENS_URLS)
        error = (await session.call("up_tell")).json()["error"]
        assert (error["code"], error["message"]) == (-32042, TEXT)
        (asked,) = error["data"]["elicitations"]
        assert (asked["mode"], asked["message"]) == ("url", TEXT)
        assert asked["elicitationId"] and asked["elicitationId"] not in asked["url"]
        await made.browser().log_in(asked["url"])
        assert "result" in (await session.call("up_tell")).json()


async def test_client_without_a_handshake_is_asked_in_the_result() -> None:
    async with logging_in(credential_server(OLD)) as made:
        meta: JsonObject = {**META, CAPABILITIES: OPENS_URLS}
        about: JsonObject = {"name": "up_tell", "meta": meta, "headers": ADA}
        result = (await made.site.modern("tools/call", **about)).json()["result"]
        (key, question), *others = result["inputRequests"].items()
        assert question["method"] == "elicitation/create" and not others
        params = question["params"]
        assert (params["mode"], params["message"]) == ("url", TEXT)
        await made.browser().log_in(params["url"])
        answers = {key: {"action": "accept"}}
        again = await made.site.modern(
            "tools/call", inputResponses=answers, requestState=result["requestState"], **about
        )
        assert "Bearer " in again.json()["result"]["content"][0]["text"]


async def test_calls_and_lists_of_a_user_who_does_not_come_are_answered_at_once() -> None:
    async with logging_in(credential_server(OLD)) as made, client_of(made, ADA) as one:
        link = await link_of(one)
        calls = [link_of(one) for _ in range(5)]
        assert {*await asyncio.gather(*calls)} == {link}
        assert await tools_of(one) == [TOOL]
        # Only the first one has asked the authorization server.
        assert len(made.issuer.requests_to("register")) == 1


async def test_link_is_for_one_use_and_a_look_at_it_is_none() -> None:
    async with logging_in(credential_server(OLD)) as made, client_of(made, ADA) as one:
        link, browser = await link_of(one), made.browser()
        for _ in range(2):
            page = await browser.open(link)
            assert page.status_code == 200
            assert "<strong>ada</strong>" in page.text and "login.example.com" in page.text
        first = await browser.press_button(link)
        assert first.status_code == 303
        assert first.headers["location"].startswith(made.issuer.url("authorize"))
        asked = await made.browser().open(link), await made.browser().press_button(link)
        assert [response.status_code for response in asked] == [410, 410]
        assert "set-cookie" not in asked[1].headers
        # A user who has closed the page gets another link, which takes the place of the first.
        second = await link_of(one)
        assert second != link
        other = made.browser()
        location = (await other.press_button(second)).headers["location"]
        assert (await browser.open(browser.agree(location))).status_code == 400
        assert (await other.open(other.agree(location))).status_code == 200
        assert "Bearer " in await text_of(one, "up_tell")


async def test_link_and_login_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    async with logging_in(credential_server(OLD)) as made, client_of(made, ADA) as one:
        link, time = await link_of(one), asyncio.get_running_loop().time
        made.waiting.clock = lambda: time() + waiting.LIFETIME / 2
        assert await link_of(one) != link
        assert (await made.browser().open(link)).status_code == 200
        made.waiting.clock = lambda: time() + waiting.LIFETIME
        assert (await made.browser().open(link)).status_code == 410
        assert (await made.browser().press_button(link)).status_code == 410
        await log_in(made, one)
    monkeypatch.setattr(waiting, "LIFETIME", 0.05)
    async with logging_in(credential_server(OLD)) as made, client_of(made, ADA) as one:
        link = await link_of(one)
        while made.waiting.count:
            await asyncio.sleep(0.01)
        monkeypatch.undo()
        assert await link_of(one) != link
        await log_in(made, one)


async def _begin(made: LoggingIn, one: Any) -> tuple[Browser, str]:
    """Return the browser of a user who has agreed, and the redirect."""
    browser = made.browser()
    pressed = await browser.press_button(await link_of(one))
    return browser, browser.agree(pressed.headers["location"])


async def test_response_of_another_browser_or_request_is_refused_and_changes_nothing() -> None:
    async with logging_in(credential_server(OLD)) as made, client_of(made, ADA) as one:
        browser, redirect = await _begin(made, one)
        (name, _), *_ = browser.cookies.items()
        state = redirect.partition("state=")[2].partition("&")[0]
        wrong = {
            "no cookie": (Browser(made), redirect),
            "wrong cookie": (Browser(made, {name: "x" * 43}), redirect),
            "wrong state": (browser, redirect.replace(state, "x" * 43)),
            "no state": (browser, redirect.replace("state=", "stata=")),
            "two states": (browser, f"{redirect}&state={state}"),
        }
        for kind, (sender, url) in wrong.items():
            with case(kind):
                page = await sender.open(url)
                assert (page.status_code, "No login of this browser" in page.text) == (400, True)
        assert await browser.open(redirect) and "Bearer " in await text_of(one, "up_tell")
        # The response was used.
        assert (await browser.open(redirect)).status_code == 400


async def test_login_fails_if_the_response_does_and_another_link_works() -> None:
    for redirected, why in (
        ({"iss": "https://evil.example.com"}, "comes from another authorization server"),
        ({"iss": None}, "does not name its authorization server"),
        ({"code": None, "error": "access_denied", "error_description": "no"}, "access_denied"),
    ):
        with case(why):
            async with logging_in(credential_server(OLD)) as made, client_of(made, ADA) as one:
                made.issuer.behave(redirected=redirected)
                browser, redirect = await _begin(made, one)
                page = await browser.open(redirect)
                assert (page.status_code, why in page.text) == (400, True), page.text
                assert made.issuer.requests_to("token") == []
                made.issuer.behave(redirected={})
                await log_in(made, one)


async def test_form_of_another_page_logs_no_one_in() -> None:
    async with logging_in(credential_server(OLD)) as made, client_of(made, ADA) as one:
        link = await link_of(one)
        for origin in ("null", "https://mcp.example.com.evil.example", "http://mcp.example.com"):
            with case(origin):
                pressed = await made.browser().press_button(link, origin)
                assert pressed.status_code == 403 and "set-cookie" not in pressed.headers
        assert (await made.browser().log_in(link)).status_code == 200


async def test_cookie_is_for_the_redirect_alone() -> None:
    async with logging_in(credential_server(OLD)) as made, client_of(made, ADA) as one:
        pressed = await made.browser().press_button(await link_of(one))
        pair, *attributes = pressed.headers["set-cookie"].split("; ")
        assert len(pair.partition("=")[2]) == 43
        assert {*attributes} == {
            *("Path=/mcp/login/callback", "Max-Age=600"),
            *("HttpOnly", "SameSite=Lax", "Secure"),
        }


async def test_token_is_refreshed_and_a_refused_refresh_asks_again() -> None:
    for own in ERAS:
        async with logging_in(credential_server(own)) as made:
            for spoken in ERAS:
                with case((own, spoken)):
                    async with client_of(made, ADA, spoken) as one:
                        if spoken == ERAS[0]:
                            await log_in(made, one)
                        before = await text_of(one, "up_tell")
                        made.clock.now += LIFETIME
                        assert await text_of(one, "up_tell") != before
                        made.issuer.refresh_tokens.clear()
                        made.clock.now += LIFETIME
                        await log_in(made, one)
                        assert await text_of(one, "up_tell") != before


async def test_token_that_the_server_refuses_leads_to_another_login_and_no_status_401() -> None:
    async with logging_in(credential_server(OLD)) as made:
        session = await made.site.initialize(OLD, ADA, **OPENS_URLS)
        for _ in range(2):
            answer = await session.call("up_tell")
            assert answer.status_code == 200
            (asked,) = answer.json()["error"]["data"]["elicitations"]
            await made.browser().log_in(asked["url"])
            assert "result" in (await session.call("up_tell")).json()
            made.issuer.tokens.clear()
            made.issuer.refresh_tokens.clear()


async def test_clients_of_the_user_hear_that_lists_have_changed() -> None:
    async with logging_in(credential_server(OLD)) as made:
        ada, ben = [await made.site.initialize(OLD, who, **OPENS_URLS) for who in (ADA, BEN)]
        async with ada.get() as events, ben.get() as others:
            answer = (await ada.call("up_tell")).json()
            await made.browser().log_in(answer["error"]["data"]["elicitations"][0]["url"])
            changed = {(await events.take())["method"] for _ in range(3)}
            assert changed == {
                f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources")
            }
            assert await others.is_silent()


async def test_logins_in_a_file_outlast_the_gateway(tmp_path: Path) -> None:
    file = tmp_path / "logins.json"
    async with logging_in(credential_server(OLD), logins=str(file)) as made:
        async with client_of(made, ADA) as one:
            await log_in(made, one)
            credential = await text_of(one, "up_tell")
        assert file.stat().st_mode & 0o077 == 0
        async with (
            made.serve_again() as again,
            client_of(again, ADA) as one,
            client_of(again, BEN) as other,
        ):
            assert await text_of(one, "up_tell") == credential
            await link_of(other)


async def test_reload_keeps_logins_and_ends_those_that_wait_at_a_server_that_leaves() -> None:
    async with logging_in(credential_server(OLD)) as made:
        gateway, settings = made.gateway, made.gateway.settings
        async with client_of(made, ADA) as one, client_of(made, BEN) as other:
            await log_in(made, one)
            credential = await text_of(one, "up_tell")
            link = await link_of(other)
            (server,) = settings.servers
            gateway.apply(replace(settings, servers=(replace(server, timeout=7.0),)))
            assert await text_of(one, "up_tell") == credential
            assert await link_of(other) == link
            gateway.apply(replace(settings, servers=()))
            while (await made.browser().open(link)).status_code == 200:
                await asyncio.sleep(0)


async def test_too_many_logins_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MOST_WAITING", 1)
    async with (
        logging_in(credential_server(OLD)) as made,
        client_of(made, ADA) as one,
        client_of(made, BEN) as other,
    ):
        await link_of(one)
        with pytest.raises(pkg.McpError, match="too many logins") as raised:
            await text_of(other, "up_tell")
        assert raised.value.data == {"server": "up", "reason": "unauthorized"}


async def test_failed_discovery_is_told_without_addresses() -> None:
    async with logging_in(credential_server(OLD)) as made, client_of(made, ADA) as one:
        made.issuer.behave(stalled=frozenset({"metadata"}))
        with pytest.raises(pkg.McpError, match="authorization server cannot be reached") as raised:
            await text_of(one, "up_tell")
        assert "example.com" not in raised.value.message
        made.issuer.behave(stalled=frozenset())
        await log_in(made, one)


async def test_user_who_has_not_logged_in_is_no_failure_of_the_server() -> None:
    async with logging_in(credential_server(OLD)) as made, client_of(made, ADA) as one:
        upstream = made.gateway.upstreams["up"]
        for _ in range(7):
            await link_of(one)
        assert upstream.health.state != "down" and not upstream.circuit.is_open


async def test_no_secret_is_in_the_log_or_in_an_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secrets: set[str] = set()
    for spoken in ERAS:
        async with logging_in(credential_server(OLD)) as made, client_of(made, ADA, spoken) as one:
            link, browser = await link_of(one), made.browser()
            pressed = await browser.press_button(link)
            redirect = browser.agree(pressed.headers["location"])
            code = redirect.partition("code=")[2].partition("&")[0]
            state = redirect.partition("state=")[2].partition("&")[0]
            await browser.open(redirect)
            for status in (401, 403, 500):
                made.server.refuses = status
                with pytest.raises(pkg.McpError) as raised:
                    await text_of(one, "up_tell")
                assert not any(token in str(raised.value) for token in made.issuer.tokens)
            secrets |= {link.partition("?id=")[2], code, state, *browser.cookies.values()}
            secrets |= {*made.issuer.tokens, *made.issuer.refresh_tokens}
    own_log = [entry.getMessage() for entry in caplog.records if "mcp_protogen" in entry.name]
    assert any("ada must log in" in text for text in own_log)
    for text in own_log:
        assert not any(secret in text for secret in secrets), text
