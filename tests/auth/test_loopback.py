"""The login of a user: the opened pages, and the accepted redirects."""

import asyncio
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp_protogen.runtime.features.auth.client.user_agent import LoopbackReceiver, WebRedirect
from mcp_protogen.runtime.features.auth.errors import AuthorizationError, UnsafeUrl
from mcp_protogen.runtime.features.auth.steps import AuthorizationRequest, AuthorizationResponse
from support.tables import case

PAGE = "https://login.example/authorize?state=s1"


def authorization_request(redirect_uri: str, url: str = PAGE) -> AuthorizationRequest:
    return AuthorizationRequest(url=url, redirect_uri=redirect_uri, state="s1")


async def visit(url: str) -> httpx2.Response:
    async with httpx2.AsyncClient(verify=False, trust_env=False) as browser:
        return await browser.get(url)


class Visitor:
    """A browser that records the page to open, and visits URLs of the receiver."""

    def __init__(self, *queries: str) -> None:
        self.queries = queries
        self.opened: list[str] = []
        self.responses: list[httpx2.Response] = []
        self.redirect_uri = ""
        self.visit: asyncio.Task[None] | None = None

    async def open(self, url: str) -> None:
        self.opened.append(url)
        self.visit = asyncio.create_task(self._visit())

    async def _visit(self) -> None:
        for query in self.queries:
            self.responses.append(await visit(f"{self.redirect_uri}{query}"))

    async def log_in(self, receiver: LoopbackReceiver, *registered: str) -> AuthorizationResponse:
        """Return the last page of the user."""
        async with receiver.redirection(registered) as place:
            self.redirect_uri = place.redirect_uri
            response = await place.response(authorization_request(place.redirect_uri))
        if self.visit is not None:
            await self.visit
        return response


@pytest.mark.shows("IS-06")
async def test_callback_with_wrong_state_is_dropped() -> None:
    for query, status in {
        "?code=c1": 400,
        "?code=c1&state=": 400,
        "?code=c1&state=other": 400,
        "?code=c1&state=s1&state=other": 400,
        "?code=c1&state=other&state=s1": 400,
        "?error=access_denied&state=s2": 400,
        "/other?code=c1&state=s1": 404,
    }.items():
        with case(query):
            visitor = Visitor(query, "?error=x&state=s1")
            response = await visitor.log_in(LoopbackReceiver(open=visitor.open))
            assert response.url.endswith("?error=x&state=s1")
            assert [reply.status_code for reply in visitor.responses] == [status, 200]


async def test_malformed_callback_request_is_refused() -> None:
    async def rude(url: str) -> None:
        host, port = urlsplit(visitor.redirect_uri).netloc.split(":")
        for data in (b"POST /callback?state=s1 HTTP/1.1\r\n\r\n", b"x" * 70_000, b"\r\n\r\n", b""):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(data)
            if not data:
                # Browsers open unused connections.
                unused.append(writer)
                continue
            writer.write_eof()
            # A refusal may leave a part unread.
            with suppress(ConnectionResetError):
                assert b"200" not in await reader.read(20)
            writer.close()
        await Visitor.open(visitor, url)

    unused: list[asyncio.StreamWriter] = []
    visitor = Visitor("?code=c1&state=s1")
    response = await visitor.log_in(LoopbackReceiver(open=rude))
    assert response.url.endswith("?code=c1&state=s1")
    for writer in unused:
        writer.close()


@pytest.mark.shows("RD-08")
async def test_only_pages_of_https_or_of_this_machine_are_opened() -> None:
    visitor = Visitor("?state=s1")
    receiver = LoopbackReceiver(open=visitor.open)
    web = WebRedirect("https://app.example/callback", visitor.open)
    for url in (
        *("http://login.example/", "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd"),
        *("vscode://x", "https:login.example", "//login.example", "", "https://a.example/\nx"),
        *("-n https://a.example", "https://user@login.example/", "https://a.example/ & calc"),
    ):
        with case(url):
            async with receiver.redirection(()) as place:
                with pytest.raises(UnsafeUrl):
                    await place.response(authorization_request(place.redirect_uri, url))
            with pytest.raises(UnsafeUrl):
                await web.response(authorization_request(web.redirect_uri, url))
    assert visitor.opened == []
    for url in ("http://127.0.0.1:1/authorize", "http://localhost:1/", "HTTPS://login.example/"):
        with case(url):
            async with receiver.redirection(()) as place:
                visitor.redirect_uri = place.redirect_uri
                await place.response(authorization_request(place.redirect_uri, url))
            assert visitor.opened[-1] == url


@pytest.mark.shows("RD-08")
async def test_the_browser_of_the_machine_gets_the_url_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[str] = []

    def open(url: str) -> bool:
        opened.append(url)
        return False

    monkeypatch.setattr(webbrowser, "open", open)
    with pytest.raises(AuthorizationError, match="no browser could be opened"):
        await Visitor().log_in(LoopbackReceiver())
    assert opened == [PAGE]


async def test_a_browser_that_is_still_open_is_not_waited_for() -> None:
    closed = asyncio.Event()
    visitor = Visitor("?code=c1&state=s1")

    async def stays(url: str) -> None:
        await visitor.open(url)
        await closed.wait()

    assert (await visitor.log_in(LoopbackReceiver(open=stays))).url.endswith("?code=c1&state=s1")


@pytest.mark.skips_time
async def test_a_user_who_does_not_come_is_not_waited_for_forever() -> None:
    web = WebRedirect("https://app.example/callback", lambda url: None, timeout=2)
    with pytest.raises(AuthorizationError, match=r"within 2 s"):
        await Visitor().log_in(LoopbackReceiver(open=lambda url: None, timeout=2))
    with pytest.raises(AuthorizationError, match=r"within 2 s"):
        await web.response(authorization_request(web.redirect_uri))
    assert not web.take_redirect("https://app.example/callback?state=s1")


def port_of(uri: str) -> int:
    return urlsplit(uri).port or 0


async def test_the_port_of_a_registration_is_taken_again_if_it_is_free() -> None:
    visitor = Visitor("?state=s1")
    receiver = LoopbackReceiver(open=visitor.open)
    await visitor.log_in(receiver)
    first = visitor.redirect_uri
    await visitor.log_in(receiver, "https://app.example/callback", first)
    assert visitor.redirect_uri == first
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port_of(first)))
        other.listen()
        await visitor.log_in(receiver, first)
        assert visitor.redirect_uri != first
        fixed = LoopbackReceiver(port=port_of(first), open=visitor.open)
        with pytest.raises(AuthorizationError, match="no port is free"):
            await visitor.log_in(fixed)
    # Otherwise it would be the URI of another path or host.
    await visitor.log_in(receiver, first.replace("callback", "other"), "http://10.0.0.1:1/callback")
    assert visitor.redirect_uri != first


async def test_the_name_of_the_machine_can_be_that_which_is_registered() -> None:
    visitor = Visitor("?state=s1")
    await visitor.log_in(LoopbackReceiver(host="localhost", path="/", open=visitor.open))
    assert visitor.redirect_uri.startswith("http://localhost:")
    assert visitor.redirect_uri.endswith("/")


@pytest.mark.shows("RD-02")
def test_a_redirect_uri_that_is_not_safe_is_refused() -> None:
    made: tuple[Callable[[], Any], ...] = (
        lambda: LoopbackReceiver(host="login.example"),
        lambda: LoopbackReceiver(host="127.0.0.1/x"),
        lambda: LoopbackReceiver(path="callback"),
        lambda: LoopbackReceiver(path="/callback?x=1"),
        lambda: LoopbackReceiver(path="/callback#x"),
        lambda: LoopbackReceiver(port=70_000),
        *(
            lambda uri=uri: WebRedirect(uri, print)
            for uri in ("http://app.example/callback", "app:/callback", "https://a.example/#x")
        ),
    )
    for number, make in enumerate(made):
        with case(number), pytest.raises(ValueError, match="redirect URI"):
            make()
    WebRedirect("http://localhost:8000/callback", print)


async def test_a_web_application_hands_each_redirect_to_who_waits_for_it() -> None:
    shown: list[str] = []
    web = WebRedirect("https://app.example/callback", shown.append)
    waiting = {
        state: asyncio.create_task(
            web.response(AuthorizationRequest(url=PAGE, redirect_uri="x", state=state))
        )
        for state in ("s1", "s2")
    }
    async with web.redirection(()) as place:
        assert place.redirect_uri == "https://app.example/callback"
    await asyncio.sleep(0)
    assert shown == [PAGE, PAGE]
    for state in ("s2", "s1"):
        url = f"https://app.example/callback?code={state}&state={state}"
        assert web.take_redirect(url)
        # It cannot be changed later.
        assert not web.take_redirect(url)
        assert (await waiting[state]).url == url
    for query in ("", "?state=s3", "?state=s1", "?state=s1&state=s2"):
        assert not web.take_redirect(f"https://app.example/callback{query}")
    assert not web.take_redirect("http://[/callback?state=s1"), "browsers choose what Host says"
