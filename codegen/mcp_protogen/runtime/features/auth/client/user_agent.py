"""Browsers in which a user logs in."""

import asyncio
import hmac
import webbrowser
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from inspect import isawaitable
from logging import getLogger
from typing import Final, Protocol, TypeAlias
from urllib.parse import parse_qs, urlsplit

from ..errors import AuthorizationError, UnsafeUrl
from ..fetch_policy import is_loopback
from ..steps import AuthorizationRequest, AuthorizationResponse
from ..urls import split_url

_log: Final = getLogger(__name__)

# The port is open during a login only, on the loopback interface (RFC 8252, sections 7.3 and 8.3).
_ADDRESS: Final = "127.0.0.1"

# The limits for reading one request, in bytes and in seconds.
_LONGEST_HEAD: Final = 16 * 1024
_LONGEST_READ: Final = 10.0

_PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<body><h1>{title}</h1><p>{text}</p></body></html>
"""

_FIELDS: Final = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Connection": "close",
}


ShowPage: TypeAlias = Callable[[str], Awaitable[object] | object]


class Redirection(Protocol):
    @property
    def redirect_uri(self) -> str: ...

    async def response(self, request: AuthorizationRequest) -> AuthorizationResponse:
        """Have the user open the page; return the final URL; raise `AuthorizationError`."""
        ...


class UserAgent(Protocol):
    def redirection(self, registered: Sequence[str]) -> AbstractAsyncContextManager[Redirection]:
        """Open a place for a redirect; `registered` are the redirect URIs from before."""
        ...


def check_page(url: str) -> None:
    """Raise `UnsafeUrl` unless a browser may open the URL (Security Best Practices)."""
    if not _is_safe(url):
        raise UnsafeUrl("the login page must be an https URL")


def check_redirect_uri(uri: str) -> None:
    if not _is_safe(uri) or "#" in uri:
        raise ValueError(f"{uri!r} must be a redirect URI: https, or http on this machine")


def _is_safe(url: str) -> bool:
    if (parts := split_url(url)) is None:
        return False
    return parts.scheme.lower() == "https" or is_loopback(parts.hostname or "")


def _state_in(url: str) -> str:
    """Return the state in the URL of a redirect; empty without one, or with several."""
    try:
        states = parse_qs(urlsplit(url).query, keep_blank_values=True).get("state", [])
    except ValueError:
        states = []
    return states[0] if len(states) == 1 else ""


class WebRedirect:
    """The login of a web application's users, who already have a browser.

    `show` gets the URL to redirect the browser to. When the browser comes to `redirect_uri`, the
    application calls `take_redirect` with the whole URL.
    """

    def __init__(self, redirect_uri: str, show: ShowPage, *, timeout: float = 600.0) -> None:
        """Wait `timeout` seconds for a user; raise `ValueError` for an unsafe redirect URI."""
        check_redirect_uri(redirect_uri)
        self.redirect_uri: Final = redirect_uri
        self._show = show
        self._timeout = timeout
        self._waiting: dict[str, asyncio.Future[AuthorizationResponse]] = {}

    @asynccontextmanager
    async def redirection(self, registered: Sequence[str]) -> AsyncGenerator[Redirection, None]:
        yield self

    async def response(self, request: AuthorizationRequest) -> AuthorizationResponse:
        check_page(request.url)
        future = asyncio.get_running_loop().create_future()
        self._waiting[request.state] = future
        try:
            await call_function(self._show, request.url)
            return await wait_for_response(self._timeout, future)
        finally:
            del self._waiting[request.state]

    def take_redirect(self, url: str) -> bool:
        """Take the URL of a redirect; return whether a login waits for it."""
        if (future := self._waiting.get(_state_in(url))) is None or future.done():
            return False
        future.set_result(AuthorizationResponse(url=url))
        return True


async def call_function(function: ShowPage, url: str) -> object:
    returned = function(url)
    return await returned if isawaitable(returned) else returned


async def wait_for_response(
    seconds: float, response: Awaitable[AuthorizationResponse]
) -> AuthorizationResponse:
    try:
        async with asyncio.timeout(seconds):
            return await response
    except TimeoutError:
        raise AuthorizationError(f"the user did not log in within {seconds:g} s") from None


async def open_browser(url: str) -> bool:
    return await asyncio.to_thread(webbrowser.open, url)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopbackReceiver:
    """The login of this machine's user, with a browser.

    Raise `ValueError` if the redirect URI would not be on this machine.
    """

    port: int = 0
    """0 for the port of an earlier registration if it is free, else any."""
    host: str = _ADDRESS
    """For authorization servers that accept only `localhost`."""
    path: str = "/callback"
    open: ShowPage = field(default=open_browser, repr=False)
    """Opens a page; it may return an awaitable, and False if it failed."""
    timeout: float = 300.0
    """The seconds to wait for the user."""

    def __post_init__(self) -> None:
        uri = f"http://{self.host}:{self.port or 1}{self.path}"
        check_redirect_uri(uri)
        parts = split_url(uri)
        if not self.path or parts is None or (parts.hostname, parts.path) != (self.host, self.path):
            raise ValueError(f"{uri!r} must be a redirect URI on this machine")

    @asynccontextmanager
    async def redirection(self, registered: Sequence[str]) -> AsyncGenerator[Redirection, None]:
        """Listen until the block ends; raise `AuthorizationError` if no port is free."""
        waiting = _RedirectServer(self.open, self.timeout)
        ports = [self.port] if self.port else [*self._ports(registered), 0]
        server = await _listen(waiting, ports)
        port = server.sockets[0].getsockname()[1]
        waiting.redirect_uri = f"http://{self.host}:{port}{self.path}"
        try:
            yield waiting
            await waiting.wait_for_answers()
        finally:
            server.close()
            await waiting.close()

    def _ports(self, registered: Sequence[str]) -> list[int]:
        return [
            parts.port
            for parts in filter(None, map(split_url, registered))
            if is_loopback(parts.hostname or "") and parts.port and parts.path == self.path
        ]


async def _listen(waiting: "_RedirectServer", ports: Sequence[int]) -> asyncio.Server:
    for port in ports:
        try:
            return await asyncio.start_server(waiting.serve, _ADDRESS, port, limit=_LONGEST_HEAD)
        except OSError as error:
            _log.info("port %d cannot be used to log in: %s", port, error)
    raise AuthorizationError(f"no port is free to log in: {', '.join(map(str, ports))}")


class _RedirectServer:
    """A server that takes one redirect, and turns away all other requests."""

    def __init__(self, open: ShowPage, timeout: float) -> None:
        self.redirect_uri = ""
        self._open = open
        self._timeout = timeout
        self._request: AuthorizationRequest | None = None
        self._response: asyncio.Future[AuthorizationResponse] | None = None
        self._serving = set[asyncio.Task[None]]()
        self._answering = set[asyncio.Task[None]]()

    async def response(self, request: AuthorizationRequest) -> AuthorizationResponse:
        check_page(request.url)
        self._request = request
        self._response = asyncio.get_running_loop().create_future()
        # Some terminal browsers return only when they are closed.
        opening = asyncio.ensure_future(call_function(self._open, request.url))
        try:
            return await wait_for_response(self._timeout, self._wait(opening, self._response))
        finally:
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)

    async def _wait(
        self, opening: asyncio.Future[object], response: asyncio.Future[AuthorizationResponse]
    ) -> AuthorizationResponse:
        await asyncio.wait((opening, response), return_when=asyncio.FIRST_COMPLETED)
        if not response.done() and opening.result() is False:
            text = "no browser could be opened: LoopbackReceiver(open=print) shows the URL instead"
            raise AuthorizationError(text)
        return await response

    async def wait_for_answers(self) -> None:
        if self._answering:
            await asyncio.wait(self._answering)

    async def close(self) -> None:
        """Close the other connections: browsers open more than they use."""
        serving = list(self._serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            async with asyncio.timeout(_LONGEST_READ):
                head = await reader.readuntil(b"\r\n\r\n")
                self._answering.add(task)
                writer.write(self._answer(head))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            _log.info("an invalid request came to the login port: %s", type(error).__name__)
        except ConnectionError as error:
            _log.info("a browser closed its connection before the answer: %s", error)
        finally:
            self._serving.discard(task)
            self._answering.discard(task)
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        verb, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        target = rest.partition(" ")[0]
        origin, _, path = self.redirect_uri.removeprefix("http://").partition("/")
        if verb != "GET" or target.partition("?")[0] != f"/{path}":
            return _page(404, "Not found", "This page does not exist.")
        request, future, state = self._request, self._response, _state_in(target).encode()
        is_expected = request is not None and hmac.compare_digest(state, request.state.encode())
        if future is None or not is_expected:
            # It may be of an earlier login, or from an attacker.
            return _page(400, "Not expected", "No login is waiting for this response.")
        if not future.done():
            future.set_result(AuthorizationResponse(url=f"http://{origin}{target}"))
        text = "You can close this page and go back to the program."
        return _page(200, "Thank you", text)


def _page(status: int, title: str, text: str) -> bytes:
    body = _PAGE.format(title=title, text=text).encode()
    fields = {**_FIELDS, "Content-Length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} {title}\r\n{head}\r\n".encode() + body
