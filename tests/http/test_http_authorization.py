"""The authorization of a client's requests: its calls, and the effect of its answers."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.http.serving import app_of, echo, run_app
from support.revisions import OLD, STATELESS
from support.sessions.talking import client, content_of, pkg, tools
from support.tables import case

KEY = "letmein"


class Guard:
    """An ASGI application in front of another that requires a key, and records requests."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.key = KEY
        self.seen: list[tuple[str, str | None]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        fields = dict(scope["headers"])
        shown = fields.get(b"authorization")
        self.seen.append((scope["method"], shown and shown.decode()))
        # Old servers check the method first.
        if shown == self.key.encode() or (scope["method"], scope["path"]) == ("POST", "/sse"):
            await self.app(scope, receive, send)
            return
        challenges = [(b"www-authenticate", value) for value in (b"A", b'B realm="x"')]
        await send({"type": "http.response.start", "status": 401, "headers": challenges})
        await send({"type": "http.response.body", "body": b"no"})


class KeyAuthorizer:
    """An authorizer by a key that it has, or gets when it is refused."""

    def __init__(self, key: str | None = None, get: Callable[[], Awaitable[str]] | None = None):
        self.key = key
        self.get = get
        self.prepared = True
        self.url = ""
        self.exchanges: list[Any] = []

    def authorizer(self, url: str) -> "KeyAuthorizer":
        self.url = url
        return self

    def headers(self, verb: str, url: str) -> Mapping[str, str] | None:
        if not self.prepared:
            return None
        return {} if self.key is None else {"authorization": self.key}

    async def prepare(self) -> None:
        self.prepared = True
        if self.get is not None:
            self.key = await self.get()

    def refuses(self, exchange: Any) -> bool:
        return bool(exchange.status == 401)

    async def again(self, exchanges: Sequence[Any]) -> bool:
        self.exchanges.append(exchanges[-1])
        if self.get is None or len(exchanges) > 1:
            return False
        self.key = await self.get()
        return True


async def gives() -> str:
    return KEY


@asynccontextmanager
async def serve_guarded(revision: str, **chosen: Any) -> AsyncGenerator[tuple[Guard, str], None]:
    """A server in one revision behind a guard, and its URL."""
    app = app_of(tools(revision, echo), **chosen)
    guard = Guard(app)
    async with run_app(guard, lifespan="off") as port:
        yield guard, f"http://127.0.0.1:{port}/mcp"
        await app.close()


async def call_tool(url: str, revision: str, auth: Any, name: str = "x", **settings: Any) -> str:
    """Call a tool with an authorized client; return its text."""
    async with pkg.connect_http(url, client(revision), auth=auth, **settings) as ours:
        return str(content_of(await ours.call_tool(name))[0].text)


async def test_a_refused_request_is_sent_once_more_with_what_was_got_meanwhile() -> None:
    for revision in (OLD, STATELESS):
        with case(revision):
            async with serve_guarded(revision) as (_, url):
                authorizer = KeyAuthorizer(get=gives)
                assert await call_tool(url, revision, authorizer, "echo") == "echo"
                first = authorizer.exchanges[0]
                assert (first.status, first.fields, first.url) == (401, {}, url)
                assert list(first.values("WWW-Authenticate")) == ["A", 'B realm="x"']
                async with pkg.connect_http(url, client(revision), auth=authorizer) as ours:
                    await ours.call_tool("before")
                    authorizer.key = "old"
                    await ours.call_tool("echo")
            assert authorizer.exchanges[-1].operation == "tools/call echo"


async def test_a_refusal_that_stands_is_an_error_of_http() -> None:
    for revision in (OLD, STATELESS):
        with case(revision):
            async with serve_guarded(revision) as (_, url):
                with pytest.raises(pkg.HttpError, match="401"):
                    await call_tool(url, revision, KeyAuthorizer())


async def test_login_exception_ends_request() -> None:
    class Denied(Exception):
        pass

    async def denies() -> str:
        raise Denied

    for revision in (OLD, STATELESS):
        for prepared in (True, False):
            with case((revision, prepared)):
                async with serve_guarded(revision) as (_, url):
                    authorizer = KeyAuthorizer(get=denies)
                    authorizer.prepared = prepared
                    with pytest.raises(Denied):
                        await call_tool(url, revision, authorizer)


SHORT = pkg.Options(timeout=1, timeouts={}, max_timeout=1, initialize_timeout=1)


def late(monkeypatch: pytest.MonkeyPatch, seconds: float = 2) -> Callable[[], Awaitable[str]]:
    """Give the key only after these seconds; all due timers run."""
    loop = asyncio.get_running_loop()
    real, ahead = loop.time, 0.0
    monkeypatch.setattr(loop, "time", lambda: real() + ahead)

    async def get() -> str:
        nonlocal ahead
        for passing in (0.0, seconds):
            ahead += passing
            for _ in range(10):
                await asyncio.sleep(0)
        return KEY

    return get


async def test_the_time_of_a_login_is_none_of_the_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    for revision in (OLD, STATELESS):
        for prepared in (True, False):
            with case((revision, prepared)), monkeypatch.context() as patch:
                async with serve_guarded(revision) as (_, url):
                    authorizer = KeyAuthorizer(get=late(patch))
                    authorizer.prepared = prepared
                    connecting = pkg.connect_http(
                        url, client(revision), auth=authorizer, options=SHORT
                    )
                    async with connecting as ours:
                        await ours.call_tool("x")
                        authorizer.key, authorizer.prepared = "old", prepared
                        result = await ours.call_tool("x")
                        assert content_of(result)[0].text == "x"


async def test_the_time_of_a_login_is_none_of_the_older_transports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serve_guarded("2024-11-05", old_sse=True) as (guard, url):
        authorizer = KeyAuthorizer(get=late(monkeypatch, 6))
        old = url.replace("/mcp", "/sse")
        assert await call_tool(old, "2024-11-05", authorizer, options=SHORT) == "x"
    assert guard.seen[1:3] == [("GET", None), ("GET", KEY)]


async def test_a_request_that_waits_for_its_answer_after_a_login_can_be_late() -> None:
    never = asyncio.Event()

    async def silent(session: Any, params: Any) -> str:
        await never.wait()
        return ""

    app = app_of(tools(STATELESS, silent))
    guard = Guard(app)
    async with run_app(guard, lifespan="off") as port:
        authorizer = KeyAuthorizer(KEY, gives)
        url = f"http://127.0.0.1:{port}/mcp"
        async with pkg.connect_http(url, client(STATELESS), auth=authorizer) as ours:
            authorizer.key = "old"
            with pytest.raises(pkg.RequestTimeout):
                await ours.call_tool("x", timeout=1)
        assert authorizer.key == KEY
        never.set()
        await app.close()


@pytest.mark.shows("GE-03")
async def test_authorization_is_for_http_alone_and_comes_from_one_place() -> None:
    with pytest.raises(ValueError, match="Authorization is set by auth"):
        pkg.open_http("https://a.example/", headers={"authorization": KEY}, auth=KeyAuthorizer())
    connect: Any = pkg.connect
    with pytest.raises(TypeError, match="auth"):
        connect(["server"], client(OLD), auth=KeyAuthorizer())
    stdio: Any = pkg.stdio_client
    with pytest.raises(TypeError, match="auth"):
        stdio(["server"], auth=KeyAuthorizer())
