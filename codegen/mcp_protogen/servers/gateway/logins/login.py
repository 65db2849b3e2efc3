"""The login of one user at the authorization server of a server, by the part auth.

Requests never wait for the user: the flow goes on without them, and they are answered with a link.
"""

from asyncio import FIRST_COMPLETED, Future, Task, create_task, get_running_loop, wait
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from mcp_protogen.runtime.core.base64url import text_digest
from mcp_protogen.runtime.core.errors import INTERNAL_ERROR, McpError
from mcp_protogen.runtime.core.json import is_object
from mcp_protogen.runtime.core.throttle import Throttle
from mcp_protogen.runtime.features.auth.client.authorizer import ResourceAuthorizer
from mcp_protogen.runtime.features.auth.client.user_agent import Redirection
from mcp_protogen.runtime.features.auth.errors import AuthorizationError
from mcp_protogen.runtime.features.auth.steps import AuthorizationRequest, AuthorizationResponse
from mcp_protogen.runtime.http.client.authorization import Authorizer, Exchange
from mcp_protogen.runtime.server.context import RequestContext
from mcp_protogen.runtime.server.strategies import URLS_FIRST
from mcp_protogen.servers.connect.authorization import require_https
from mcp_protogen.servers.gateway.access.credentials import explain
from mcp_protogen.servers.gateway.logins.waiting import WaitingLogin, WaitingLogins

T = TypeVar("T")

OnLogin: TypeAlias = Callable[[str, str], object]
"""Called with the names of a server and of a principal who has logged in there."""

_log: Final = Throttle("mcp_protogen.gateway")

CALLBACK: Final = "/callback"
"""What the address of the redirect has after that of links."""

_ASKING: Final = frozenset({"tools/call", "prompts/get", "resources/read"})


class LoginNeeded(AuthorizationError):
    """The user must log in first."""


class UserLogin:
    """The login of one user at one server: the `HttpAuthorization` of the user's connections.

    It also is the `Authorizer` of their requests, and the `UserAgent` of the part auth.
    """

    def __init__(self, site: "LoginSite", principal: str) -> None:
        self.server, self.principal = site.server, principal
        self.redirect_uri: Final = site.redirect_uri
        self.problem: AuthorizationError | None = None
        """Why the latest request has got no token."""
        self._site, self._waiting = site, site.waiting
        self._inner: ResourceAuthorizer | None = None
        self._url = ""
        self._flow: Task[bool] | None = None
        self._login: WaitingLogin | None = None
        self._asked: Future[None] = get_running_loop().create_future()
        """Done while the flow waits for the user."""

    def authorizer(self, url: str) -> Authorizer:
        """Return the authorizer; raise `ValueError` if others could read the tokens."""
        require_https(url)
        if self._inner is None:
            self._inner, self._url = self._site.make_authorizer(self, url), url
        return self

    @property
    def is_idle(self) -> bool:
        return self._flow is None

    @property
    def waits_for_user(self) -> bool:
        return self._asked.done()

    def end(self) -> Task[bool] | None:
        """End a login that waits for its user; return what is left of its flow."""
        if self._login is not None and not self._login.response.done():
            self._login.response.set_exception(AuthorizationError("the server has left"))
        elif self._flow is not None:
            self._flow.cancel()
        return self._flow

    def headers(self, verb: str, url: str) -> Mapping[str, str] | None:
        fields = self._tokens.headers(verb, url)
        if fields == {} and self._asked.done() and verb != "DELETE":
            return None
        if fields:
            self.problem = None
        return fields

    async def prepare(self) -> None:
        if self._asked.done():
            self._refuse()
        preparing = create_task(self._tokens.prepare())
        try:
            await self._unless_asked(preparing)
        finally:
            preparing.cancel()

    def refuses(self, exchange: Exchange) -> bool:
        return self._tokens.refuses(exchange)

    async def again(self, exchanges: Sequence[Exchange]) -> bool:
        if self._flow is None:
            self._flow = create_task(self._tokens.again(exchanges))
            self._flow.add_done_callback(self._note_end)
        return await self._unless_asked(self._flow)

    @property
    def _tokens(self) -> ResourceAuthorizer:
        assert self._inner is not None
        return self._inner

    async def _unless_asked(self, work: Task[T]) -> T:
        """Return the outcome of work; raise `AuthorizationError` if it waits for the user."""
        either: list[Future[Any]] = [work, self._asked]
        await wait(either, return_when=FIRST_COMPLETED)
        if not work.done():
            self._refuse()
        try:
            if work.cancelled():
                raise AuthorizationError("the server has left")
            return work.result()
        except AuthorizationError as error:
            self.problem = error
            raise

    def _refuse(self) -> None:
        self.problem = LoginNeeded("the user must log in first")
        raise self.problem

    @asynccontextmanager
    async def redirection(self, registered: Sequence[str]) -> AsyncGenerator[Redirection, None]:
        yield self

    async def response(self, request: AuthorizationRequest) -> AuthorizationResponse:
        """Wait for the user; from now on, requests are answered with a link."""
        login = self._waiting.begin(self.server, self.principal, request)
        self._end_login("another login is needed: repeat the request")
        self._login = login
        if not self._asked.done():
            self._asked.set_result(None)
            _log.info("%s: %s must log in", self.server, self.principal)
        return await self._waiting.wait(login)

    def _note_end(self, flow: Task[bool]) -> None:
        self._flow = None
        if flow.cancelled():
            return
        error, asked = flow.exception(), self._asked.done()
        if asked:
            self._asked = get_running_loop().create_future()
        if error is not None:
            _log.warning("%s: no login of %s: %s", self.server, self.principal, error)
        self._end_login("" if error is None else _why(error))
        if asked and error is None:
            self._site.on_login(self.server, self.principal)

    def _end_login(self, outcome: str) -> None:
        if self._login is not None and not self._login.outcome.done():
            self._login.outcome.set_result(outcome)
        self._login = None

    def hide(self, text: str) -> str:
        """Return a text without the token of the user."""
        fields = self._tokens.headers("DELETE", self._url) or {}
        token = fields.get("authorization", "").partition(" ")[2]
        return text.replace(token, "(token)") if token else text

    def failure(self, problem: AuthorizationError, outer: RequestContext) -> McpError:
        """Return the answer to a request without a token: a question, if that helps."""
        login = self._login
        is_waiting = login is not None and not login.response.done()
        if login is not None and is_waiting and isinstance(problem, LoginNeeded):
            method = "" if outer.call is None else outer.call.spec.method
            if method in _ASKING:
                return self._question(login, outer)
        text = f"No login of the user at the server of {self.server}: {_why(problem)}"
        return McpError(INTERNAL_ERROR, text, {"server": self.server, "reason": "unauthorized"})

    def _question(self, login: WaitingLogin, outer: RequestContext) -> McpError:
        id = self._waiting.link_to(login)
        url = f"{self.redirect_uri.removesuffix(CALLBACK)}?id={id}"
        text = f"Log in to {self.server}, and then repeat the request"
        if _asks_by_url(outer):
            asked = {"mode": "url", "message": text, "url": url, "elicitationId": text_digest(id)}
            return McpError(URLS_FIRST, text, {"elicitations": [asked]})
        data = {"server": self.server, "reason": "unauthorized", "url": url}
        return _Unasked(INTERNAL_ERROR, f"{text}: open {url}", data)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginSite:
    """What the logins at one server have in common."""

    server: str
    redirect_uri: str
    waiting: WaitingLogins
    make_authorizer: Callable[[UserLogin, str], ResourceAuthorizer]
    """Return the authorizer of a user at the URL of the server."""
    on_login: OnLogin


class _Unasked(McpError):
    """A question for a client that cannot be asked; logs do not have the link."""

    def __str__(self) -> str:
        return self.message.partition(": open ")[0]


def _asks_by_url(outer: RequestContext) -> bool:
    """Return whether a client opens URLs, and can be asked to in the answer of its request."""
    modes = outer.peer_capabilities().get("elicitation")
    asks_in_results = "may_require_input" in outer.call.spec.traits if outer.call else False
    can_answer = asks_in_results or URLS_FIRST in outer.spoken.errors
    return can_answer and is_object(modes) and "url" in modes


def _why(error: BaseException) -> str:
    return explain(error, "its authorization server cannot be reached")
