"""Logins that wait for their users, and the links that lead to them.

A link is for one use. The browser that used it last is the only one whose login counts.
"""

from asyncio import Future, Timeout, get_running_loop, timeout
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Final
from urllib.parse import urlsplit

from mcp_protogen.runtime.core.base64url import text_digest
from mcp_protogen.runtime.features.auth.client.user_agent import check_page
from mcp_protogen.runtime.features.auth.errors import AuthorizationError
from mcp_protogen.runtime.features.auth.steps import AuthorizationRequest, AuthorizationResponse

LIFETIME: Final = 600.0
"""The seconds for which a link is valid, and in which a user must log in."""
_FRESH: Final = LIFETIME / 2
"""The seconds for which a link that was not used is given again."""

MOST_WAITING, MOST_OF_PRINCIPAL = 1000, 20
_BYTES: Final = 32


@dataclass(slots=True, eq=False)
class WaitingLogin:
    """A login that waits for its user."""

    server: str
    principal: str
    request: AuthorizationRequest
    response: Future[AuthorizationResponse]
    limit: Timeout
    outcome: Future[str] = field(default_factory=lambda: get_running_loop().create_future())
    """Why it has failed; empty if it succeeded."""
    browser: str = field(default="", repr=False)
    """What the browser that used a link has as its cookie."""

    @property
    def host(self) -> str:
        """The host of the page at which the user logs in."""
        return urlsplit(self.request.url).netloc

    @property
    def cookie(self) -> str:
        """The name of its cookie: a browser may log in to several servers at once."""
        return f"mcp-login-{text_digest(self.request.state)[:16]}"


@dataclass(frozen=True, slots=True)
class _Link:
    login: WaitingLogin
    made_at: float


class WaitingLogins:
    """All logins that wait, by their state, and the links that were not used, by their id."""

    def __init__(self) -> None:
        self.clock: Callable[[], float] = lambda: get_running_loop().time()
        self._by_state: dict[str, WaitingLogin] = {}
        self._links: dict[str, _Link] = {}

    @property
    def count(self) -> int:
        """The number of logins that wait."""
        return len(self._by_state)

    def begin(self, server: str, principal: str, request: AuthorizationRequest) -> WaitingLogin:
        """Return a login that waits; raise `AuthorizationError` if too many do."""
        check_page(request.url)
        own = sum(login.principal == principal for login in self._by_state.values())
        if own >= MOST_OF_PRINCIPAL or len(self._by_state) >= MOST_WAITING:
            raise AuthorizationError("too many logins wait for their users")
        response = get_running_loop().create_future()
        login = WaitingLogin(server, principal, request, response, timeout(LIFETIME))
        self._by_state[request.state] = login
        return login

    async def wait(self, login: WaitingLogin) -> AuthorizationResponse:
        """Return the response for a login; raise `AuthorizationError` if its user does not come."""
        try:
            async with login.limit:
                return await login.response
        except TimeoutError:
            text = f"the user did not log in within {LIFETIME:g} s"
            raise AuthorizationError(text) from None
        finally:
            del self._by_state[login.request.state]
            for id in self._links_to(login):
                del self._links[id]

    def link_to(self, login: WaitingLogin) -> str:
        """Return the id of a link: the last one if it is fresh, or else a new one."""
        now, links = self.clock(), self._links_to(login)
        for id, link in links.items():
            if now - link.made_at < _FRESH:
                return id
            if now - link.made_at >= LIFETIME:
                del self._links[id]
        id = token_urlsafe(_BYTES)
        self._links[id] = _Link(login, now)
        _extend(login)
        return id

    def find(self, id: str) -> WaitingLogin | None:
        """Return the login that a link leads to, unless it was used or has expired."""
        link = self._links.get(id)
        if link is None or self.clock() - link.made_at >= LIFETIME:
            return None
        return link.login

    def use(self, id: str) -> WaitingLogin | None:
        """Use a link, and return its login for the browser that has the cookie of now."""
        login = self.find(id)
        self._links.pop(id, None)
        if login is not None:
            login.browser = token_urlsafe(_BYTES)
            _extend(login)
        return login

    def take(self, state: str, cookies: Mapping[str, str], url: str) -> WaitingLogin | None:
        """Take the response in the URL of a redirect; None unless a login waits for it.

        It must come from the browser that used a link (2025-11-25, client/elicitation, "Phishing").
        """
        login = self._by_state.get(state)
        if login is None or not login.browser or login.response.done():
            return None
        if not compare_digest(cookies.get(login.cookie, "").encode(), login.browser.encode()):
            return None
        login.response.set_result(AuthorizationResponse(url=url))
        return login

    def _links_to(self, login: WaitingLogin) -> dict[str, _Link]:
        return {id: link for id, link in self._links.items() if link.login is login}


def _extend(login: WaitingLogin) -> None:
    login.limit.reschedule(get_running_loop().time() + LIFETIME)
