"""Who has a user log in."""

import asyncio
import hmac
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from inspect import isawaitable
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

from ..errors import AuthorizationError, UnsafeUrl
from ..fetch_policy import is_loopback
from ..steps import AuthorizationRequest, AuthorizationResponse
from ..urls import split_url


class Redirection(Protocol):
    """A place to which one user can be redirected now."""

    @property
    def redirect_uri(self) -> str: ...

    async def response(self, request: AuthorizationRequest) -> AuthorizationResponse:
        """Have the user open the page, and return where that ended; raise `AuthorizationError`."""
        ...


class UserAgent(Protocol):
    """What has users log in."""

    def redirection(self, registered: Sequence[str]) -> AbstractAsyncContextManager[Redirection]:
        """Open a place for a redirect; `registered` are the redirect URIs of an earlier one."""
        ...


def check_page(url: str) -> None:
    """Raise `UnsafeUrl` for a URL that no browser may be given (Security Best Practices)."""
    if not _is_safe(url):
        raise UnsafeUrl("the page to log in is not a URL of HTTPS")


def check_redirect_uri(uri: str) -> None:
    if not _is_safe(uri) or "#" in uri:
        raise ValueError(f"{uri!r} is no redirect URI: https, or http on this machine")


def _is_safe(url: str) -> bool:
    parts = split_url(url)
    if parts is None:
        return False
    return parts.scheme.lower() == "https" or is_loopback(parts.hostname or "")


def states_in(url: str) -> list[str]:
    try:
        return parse_qs(urlsplit(url).query, keep_blank_values=True).get("state", [])
    except ValueError:
        return []


def answers(url: str, request: AuthorizationRequest) -> bool:
    """Return whether a redirect has the state of this request, and no other."""
    states = states_in(url)
    wanted = request.state.encode()
    return len(states) == 1 and hmac.compare_digest(states[0].encode(), wanted)


class WebRedirect:
    """Has the users of a web application log in, who are in a browser already.

    `show` gets the URL to redirect the browser to. When the browser comes to `redirect_uri`, the
    application calls `redirected` with the whole URL.
    """

    def __init__(
        self,
        redirect_uri: str,
        show: Callable[[str], Awaitable[object] | object],
        *,
        timeout: float = 600.0,
    ) -> None:
        """Wait `timeout` seconds for a user; raise `ValueError` for an unsafe redirect URI."""
        check_redirect_uri(redirect_uri)
        self._redirect_uri = redirect_uri
        self._show = show
        self._timeout = timeout
        self._waiting: dict[str, asyncio.Future[AuthorizationResponse]] = {}

    @asynccontextmanager
    async def redirection(self, registered: Sequence[str]) -> AsyncGenerator[Redirection, None]:
        yield self

    @property
    def redirect_uri(self) -> str:
        return self._redirect_uri

    async def response(self, request: AuthorizationRequest) -> AuthorizationResponse:
        check_page(request.url)
        future = asyncio.get_running_loop().create_future()
        self._waiting[request.state] = future
        try:
            await called(self._show, request.url)
            return await within(self._timeout, future)
        finally:
            del self._waiting[request.state]

    def redirected(self, url: str) -> bool:
        """Take the URL that a browser was redirected to; return whether it was waited for."""
        states = states_in(url)
        future = self._waiting.get(states[0]) if len(states) == 1 else None
        if future is None or future.done():
            return False
        future.set_result(AuthorizationResponse(url=url))
        return True


async def called(function: Callable[[str], Awaitable[object] | object], url: str) -> object:
    returned = function(url)
    return await returned if isawaitable(returned) else returned


async def within(
    seconds: float, response: Awaitable[AuthorizationResponse]
) -> AuthorizationResponse:
    try:
        async with asyncio.timeout(seconds):
            return await response
    except TimeoutError:
        raise AuthorizationError(f"the user did not log in within {seconds:g} s") from None
