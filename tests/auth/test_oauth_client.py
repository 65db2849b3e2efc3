"""A client with OAuth, its server, the authorization server and the user: on real sockets."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp_protogen.runtime.http.client.authorization import Exchange
from support.auth.authorization_server import Behaviour
from support.auth.browsing import User
from support.auth.guarded_server import GuardedServer, serve_guarded
from support.auth.issuing import Clock
from support.auth.messages import redirect_to
from support.http.serving import echo, serving
from support.revisions import OLD, STATELESS
from support.sessions.talking import client, content_of, pkg, tools
from support.tables import case

ERAS = (OLD, STATELESS)


def oauth_of(user: User, **settings: Any) -> Any:
    """Return OAuth for a client whose user has the test's browser."""
    return pkg.OAuth(user_agent=pkg.LoopbackReceiver(open=user.open), **settings)


@asynccontextmanager
async def connect(
    guard: GuardedServer, revision: str, oauth: Any, **settings: Any
) -> AsyncGenerator[Any, None]:
    async with pkg.connect_http(guard.url, client(revision), auth=oauth, **settings) as ours:
        yield ours


async def tool_text(ours: Any, revision: str, name: str = "x") -> str:
    """Return the text of the tool."""
    result = await ours.call_tool(name)
    return str(content_of(result)[0].text)


async def call_once(guard: GuardedServer, revision: str, oauth: Any, name: str = "x") -> str:
    """Call the tool once with a new client; return its text."""
    async with connect(guard, revision, oauth) as ours:
        return await tool_text(ours, revision, name)


def count_requests(guard: GuardedServer, endpoint: Any) -> int:
    """Count the requests to an endpoint."""
    return len(guard.server.requests_to(endpoint))


def count_refused(guard: GuardedServer) -> int:
    """Count the refused requests to the MCP server."""
    calls = [request for request in guard.resource.requests if request.url == guard.url]
    return len(calls) - len(guard.resource.accepted)


@pytest.mark.shows("TK-01", "TK-02", "GE-02")
async def test_a_user_logs_in_once_and_every_request_shows_the_token() -> None:
    for revision in ERAS:
        with case(revision):
            user = User()
            async with serve_guarded(revision) as guard:
                oauth = oauth_of(user)
                async with connect(guard, revision, oauth) as ours:
                    for _ in range(3):
                        assert await tool_text(ours, revision) == "x"
                assert await call_once(guard, revision, oauth) == "x"
            assert len(user.pages) == 1
            assert count_refused(guard) == 1
            verbs = {request.method for request in guard.resource.accepted}
            assert verbs == ({"POST", "GET", "DELETE"} if revision == OLD else {"POST"})
            shown = {request.headers["authorization"] for request in guard.resource.accepted}
            assert len(shown) == 1
            token = shown.pop().removeprefix("Bearer ")
            everything = [*guard.resource.requests, *guard.server.requests]
            assert not any(token in request.url for request in everything)


@pytest.mark.shows("GE-01")
async def test_a_server_that_asks_for_nothing_is_shown_nothing() -> None:
    for revision in ERAS:
        with case(revision):
            user = User()
            async with serving(tools(revision, echo)) as site:
                connecting = pkg.connect_http(site.url, client(revision), auth=oauth_of(user))
                async with connecting as ours:
                    assert await tool_text(ours, revision) == "x"
            assert user.pages == []


async def test_requests_at_the_same_time_wait_for_one_login() -> None:
    for revision in ERAS:
        with case(revision):
            user = User()
            async with serve_guarded(revision) as guard:
                oauth = oauth_of(user)
                calls = [call_once(guard, revision, oauth, f"call {n}") for n in range(5)]
                assert await asyncio.gather(*calls) == [f"call {n}" for n in range(5)]
                async with connect(guard, revision, oauth) as ours:
                    await tool_text(ours, revision)
                    guard.server.tokens.clear()
                    calls = [tool_text(ours, revision, f"call {n}") for n in range(5)]
                    assert await asyncio.gather(*calls) == [f"call {n}" for n in range(5)]
            assert len(user.pages) == 1
            assert count_requests(guard, "token") == 2


async def test_a_login_that_fails_fails_for_all_who_wait_for_it() -> None:
    for revision in ERAS:
        with case(revision):
            user = User()
            denied = Behaviour(redirected={"error": "access_denied", "code": None})
            async with serve_guarded(revision, {"behaviour": denied}) as guard:
                oauth = oauth_of(user)
                calls = [call_once(guard, revision, oauth) for _ in range(3)]
                failures = await asyncio.gather(*calls, return_exceptions=True)
                assert [str(failure) for failure in failures] == ["access_denied"] * 3
                assert all(isinstance(failure, pkg.OAuthError) for failure in failures)
                assert len(user.pages) == 1
                # A repeated request asks the user again.
                guard.server.behave(redirected={})
                assert await call_once(guard, revision, oauth) == "x"
            assert len(user.pages) == 2


@pytest.mark.shows("RF-01")
async def test_a_token_is_used_until_shortly_before_it_expires_and_then_refreshed() -> None:
    for revision in ERAS:
        with case(revision):
            user, clock = User(), Clock()
            async with serve_guarded(revision, {"clock": clock}) as guard:
                oauth = oauth_of(user, clock=clock)
                async with connect(guard, revision, oauth) as ours:
                    await tool_text(ours, revision)
                    clock.now += 260
                    await tool_text(ours, revision)
                    assert count_requests(guard, "token") == 1
                    clock.now += 20
                    calls = [tool_text(ours, revision) for _ in range(3)]
                    await asyncio.gather(*calls)
                    assert count_requests(guard, "token") == 2
                    # It was not even refused.
                    assert count_refused(guard) == 1
            assert len(user.pages) == 1


@pytest.mark.shows("RF-04")
async def test_without_a_refresh_token_the_user_logs_in_again() -> None:
    for refreshes in (False, True):
        with case(refreshes):
            user, clock = User(), Clock()
            setup = {"clock": clock, "behaviour": Behaviour(refreshes=refreshes)}
            async with serve_guarded(STATELESS, setup) as guard:
                oauth = oauth_of(user, clock=clock)
                await call_once(guard, STATELESS, oauth)
                guard.server.refresh_tokens.clear()
                clock.now += 301
                await call_once(guard, STATELESS, oauth)
            assert len(user.pages) == 2
            # The port of the first login was free, so the registration is still valid.
            assert count_requests(guard, "register") == 1


@pytest.mark.shows("SC-08", "SC-09", "SC-12")
async def test_more_scopes_are_asked_for_when_a_call_needs_them_and_it_is_repeated() -> None:
    for revision in ERAS:
        with case(revision):
            user = User()
            async with (
                serve_guarded(revision, resource={"scopes": ("read",)}) as guard,
                connect(guard, revision, oauth_of(user)) as ours,
            ):
                await tool_text(ours, revision)
                guard.resource.needed = frozenset({"write"})
                calls = [tool_text(ours, revision, f"call {n}") for n in range(3)]
                assert await asyncio.gather(*calls) == [f"call {n}" for n in range(3)]
            scopes = [
                set(request.query["scope"].split())
                for request in guard.server.requests_to("authorize")
            ]
            wanted = [scope - {"offline_access"} for scope in scopes]
            assert wanted == [{"read"}, {"read", "write"}]


@pytest.mark.shows("SC-10")
async def test_scopes_that_are_never_granted_are_given_up() -> None:
    for revision in ERAS:
        with case(revision):
            user = User()
            setup = {"behaviour": Behaviour(withheld=frozenset({"write"}))}
            async with (
                serve_guarded(revision, setup, {"scopes": ("read",)}) as guard,
                connect(guard, revision, oauth_of(user)) as ours,
            ):
                await tool_text(ours, revision)
                guard.resource.needed = frozenset({"write"})
                lacking = "not enough for tools/call x, which needs the scopes write$"
                with pytest.raises(pkg.AuthorizationError, match=lacking):
                    await tool_text(ours, revision)
                assert 2 <= len(user.pages) <= 4


@pytest.mark.shows("TK-07")
async def test_stored_tokens_serve_next_run(tmp_path: Path) -> None:
    for revision in ERAS:
        with case(revision):
            user, clock = User(), Clock()
            path = tmp_path / f"{revision}.json"
            async with serve_guarded(revision, {"clock": clock}) as guard:
                oauth = pkg.OAuth()
                for _ in range(3):
                    oauth = oauth_of(user, clock=clock, storage=pkg.FileStorage(path))
                    assert await call_once(guard, revision, oauth) == "x"
                    clock.now += 290
                assert (len(user.pages), count_requests(guard, "token"), count_refused(guard)) == (
                    1,
                    3,
                    1,
                )
                await oauth.forget(guard.url)
                # The registration is still valid.
                await call_once(guard, revision, oauth_of(user, storage=pkg.FileStorage(path)))
            assert len(user.pages) == 2


async def test_tokens_that_cannot_be_stored_are_used_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Filling(pkg.MemoryStorage):
        room = True

        async def set(self, key: str, value: str) -> None:
            if not self.room:
                raise OSError("no space left")
            await super().set(key, value)

    user, clock, storage = User(), Clock(), Filling()
    async with serve_guarded(STATELESS, {"clock": clock}) as guard:
        oauth = oauth_of(user, clock=clock, storage=storage)
        for room in (True, False, False):
            storage.room = room
            assert await call_once(guard, STATELESS, oauth) == "x"
            clock.now += 290
    assert "could not be stored" in caplog.text
    # Earlier stored tokens are not taken for newer.
    assert (len(user.pages), count_requests(guard, "token"), count_refused(guard)) == (1, 3, 1)


async def test_the_servers_of_a_configuration_are_authorized_unless_they_have_a_header() -> None:
    user = User()
    async with serve_guarded(STATELESS) as guard:
        auth = oauth_of(user)
        own = {"Authorization": f"Bearer {guard.server.access_token(guard.url)}"}
        servers = {"one": {"url": guard.url}, "other": {"url": guard.url, "headers": own}}
        for denied, names in ((False, ["one", "other"]), (True, ["other"])):
            guard.server.behave(redirected={"error": "access_denied"} if denied else {})
            config = {"mcpServers": servers}
            connecting = pkg.connect_config(config, auth=auth, skip_failed=True)
            async with connecting as several:
                assert [*several] == names
            await auth.forget(guard.url)
    assert len(user.pages) == 2


@pytest.mark.shows("DP-03")
async def test_a_request_is_repeated_with_the_nonce_that_its_server_asks_for() -> None:
    for revision in ERAS:
        with case(revision):
            async with serve_guarded(revision) as guard:
                guard.server.proofs.nonce = "of-the-login"
                oauth = oauth_of(User(), dpop=pkg.DPoP())
                async with connect(guard, revision, oauth) as ours:
                    await tool_text(ours, revision)
                    for nonce in ("first", "second"):
                        before, guard.resource.proofs.nonce = count_refused(guard), nonce
                        assert await tool_text(ours, revision) == "x"
                        assert await tool_text(ours, revision) == "x"
                        assert count_refused(guard) == before + 1
            # Again for the nonce, but only once.
            assert count_requests(guard, "token") == 2


@pytest.mark.shows("DP-03")
async def test_a_server_that_always_wants_another_nonce_is_given_up() -> None:
    def wants(nonce: str) -> Callable[[str], list[str]]:
        fields = {"dpop-nonce": [nonce], "www-authenticate": ['DPoP error="use_dpop_nonce"']}
        return lambda name: fields[name]

    async with serve_guarded(STATELESS) as guard:
        oauth = oauth_of(User(), dpop=pkg.DPoP())
        await call_once(guard, STATELESS, oauth)
        authorizer = oauth.authorizer(guard.url)
        exchanges: list[Exchange] = []
        for number in range(3):
            sent = authorizer.headers("POST", guard.url)
            exchanges.append(Exchange("POST", guard.url, sent, 401, wants(f"nonce-{number}")))
            assert authorizer.refuses(exchanges[-1])
            assert await authorizer.again(exchanges) is (number < 2)
        assert count_requests(guard, "token") == 1


@pytest.mark.shows("TK-06")
async def test_a_token_is_for_the_origin_of_its_server_alone() -> None:
    async with serve_guarded(STATELESS) as guard:
        oauth = oauth_of(User())
        await call_once(guard, STATELESS, oauth)
        authorizer = oauth.authorizer(guard.url)
        assert "authorization" in authorizer.headers("POST", guard.url)
        for url in (
            *("https://other.example/mcp", guard.url.replace("http:", "https:")),
            *("http://127.0.0.1:1/mcp", guard.url.replace("127.0.0.1", "localhost")),
        ):
            with case(url):
                assert authorizer.headers("POST", url) == {}
        # Another path of the same server has other tokens.
        assert oauth.authorizer(f"{guard.url}/other").headers("POST", guard.url) is None


async def test_a_token_is_not_sent_without_encryption() -> None:
    trusting = pkg.FetchPolicy(trusted_hosts=frozenset({"mcp.internal"}))
    for url in ("http://mcp.example/mcp", "http://10.0.0.1/mcp", "ftp://mcp.example/"):
        with case(url), pytest.raises(ValueError, match=r"HTTPS only.*trusted_hosts"):
            pkg.OAuth().authorizer(url)
    pkg.OAuth(fetch_policy=trusting).authorizer("http://mcp.internal/mcp")


async def test_a_server_elsewhere_names_no_place_on_this_machine() -> None:
    url, challenge = "https://mcp.example/mcp", 'Bearer resource_metadata="http://127.0.0.1:9/"'
    refused = Exchange("POST", url, {}, 401, {"www-authenticate": [challenge]}.__getitem__)
    with pytest.raises(pkg.UnsafeUrl, match="must be an https URL"):
        await pkg.OAuth().authorizer(url).again([refused])


@pytest.mark.shows("SF-01", "SF-02", "SF-03")
async def test_neither_documents_nor_redirects_send_a_client_on_the_web_to_an_inner_service() -> (
    None
):
    policy = pkg.FetchPolicy(loopback=False, trusted_hosts=frozenset({"127.0.0.1"}))
    async with serve_guarded(STATELESS) as guard:
        inner = guard.origin.replace("127.0.0.1", "localhost")
        rows: list[tuple[dict[str, Any], dict[str, Any]]] = [
            ({}, {"document": {"authorization_servers": [inner]}}),
            ({}, {"document": {"authorization_servers": ["file:///etc/passwd"]}}),
            ({"metadata": {"registration_endpoint": f"{inner}/secret"}}, {}),
            ({"metadata": {"token_endpoint": f"{inner}/secret"}}, {}),
            ({"instead": {"metadata": redirect_to(f"{inner}/secret")}}, {}),
            ({"instead": {"register": redirect_to(f"{inner}/secret")}}, {}),
            ({"instead": {"token": redirect_to(f"{inner}/secret")}}, {}),
            ({}, {"challenge": {"resource_metadata": f"{inner}/secret"}}),
        ]
        for behaviour, resource in rows:
            guard.server.behave(**{"metadata": {}, "instead": {}, **behaviour})
            guard.resource.change(**{"document": {}, **resource})
            with case((behaviour, resource)), pytest.raises(pkg.AuthorizationError):
                await call_once(guard, STATELESS, oauth_of(User(), fetch_policy=policy))
        shown = {request.headers["host"] for request in guard.requests}
        assert shown == {guard.origin.removeprefix("http://")}


async def test_other_programs_send_authorized_requests_with_httpx() -> None:
    user = User()
    async with serve_guarded(STATELESS, resource={"scopes": ("read",)}) as guard:
        auth = oauth_of(user).httpx_auth(guard.url)
        async with httpx2.AsyncClient(auth=auth, verify=False) as http:
            for _ in range(2):
                # The accepted request is not a message, as the server answers.
                assert (await http.post(guard.url, content=b"{")).status_code == 415
        with (
            httpx2.Client(auth=auth, verify=False) as http,
            pytest.raises(pkg.AuthorizationError, match="AsyncClient"),
        ):
            http.get(guard.url)
    assert len(user.pages) == 1


async def test_a_web_application_redirects_its_users_and_hands_in_where_they_come_back() -> None:
    shown: asyncio.Queue[str] = asyncio.Queue()
    oauth = pkg.OAuth(user_agent=pkg.WebRedirect("https://app.example/callback", shown.put))
    async with serve_guarded(STATELESS) as guard:
        calling = asyncio.create_task(call_once(guard, STATELESS, oauth))
        url = await shown.get()
        async with httpx2.AsyncClient(verify=False) as browser:
            location = (await browser.get(url)).headers["location"]
        assert location.startswith("https://app.example/callback?")
        assert oauth.take_redirect(location)
        assert await calling == "x"
        assert not oauth.take_redirect(location)
    with pytest.raises(TypeError, match="WebRedirect"):
        pkg.OAuth().take_redirect(location)


async def test_a_request_that_is_cancelled_ends_the_login_unless_others_wait_for_it() -> None:
    opened = asyncio.Event()
    pages: list[str] = []

    def open(url: str) -> None:
        pages.append(url)
        opened.set()

    oauth = pkg.OAuth(user_agent=pkg.LoopbackReceiver(open=open))
    async with serve_guarded(STATELESS) as guard:
        calls = [asyncio.create_task(call_once(guard, STATELESS, oauth)) for _ in range(2)]
        await opened.wait()
        while count_refused(guard) < 2:
            await asyncio.sleep(0)
        calls[0].cancel()
        await asyncio.wait(calls[:1])
        await User().open(pages[0])
        assert await calls[1] == "x"
        assert len(pages) == 1
        # Without a waiting login, the port is closed.
        await oauth.forget(guard.url)
        opened.clear()
        call = asyncio.create_task(call_once(guard, STATELESS, oauth))
        await opened.wait()
        call.cancel()
        await asyncio.wait([call])
        async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
            with pytest.raises(httpx2.ConnectError):
                await browser.get(pages[1])


async def test_no_secret_is_logged_or_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    user, clock = User(), Clock()
    async with serve_guarded(OLD, {"clock": clock}) as guard:
        oauth = oauth_of(user, clock=clock, dpop=pkg.DPoP(clock=clock))
        await call_once(guard, OLD, oauth)
        clock.now += 290
        await call_once(guard, OLD, oauth)
        guard.server.refresh_tokens.clear()
        clock.now += 290
        await call_once(guard, OLD, oauth)
        authorizer = oauth.authorizer(guard.url)
        fields = authorizer.headers("POST", guard.url)
    posted = [request.form for request in guard.server.requests_to("token")]
    names = ("code", "code_verifier", "refresh_token")
    secrets = {form[name] for form in posted for name in names if name in form}
    secrets |= {fields["authorization"].split()[1], fields["dpop"]}
    secrets |= {request.query["state"] for request in guard.server.requests_to("authorize")}
    assert len(secrets) >= 7
    ours = [
        record.getMessage() for record in caplog.records if not record.name.startswith("uvicorn")
    ]
    assert any("could not be refreshed" in record for record in ours)
    everything = "\n".join([*ours, repr(oauth), repr(authorizer), repr(oauth.storage)])
    assert [secret for secret in secrets if secret in everything] == []
