"""The authorization of requests to one server; they wait while a flow runs."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from inspect import isawaitable
from logging import getLogger
from math import inf
from typing import Final, TypeVar
from urllib.parse import urlsplit

from ....http.client.authorization import Exchange
from ..challenge import token_param
from ..errors import AuthorizationError
from ..steps import (
    Answer,
    Assertion,
    AssertionRequest,
    AuthorizationRequest,
    Fetch,
    Fetching,
    Flow,
    Step,
)
from ..urls import origin
from . import stored
from .documents import redact_url
from .flow import authorize, forget_step_ups, is_for_scopes, refresh
from .grants import AuthorizationCode
from .settings import OAuthSettings
from .user_agent import Redirection
from .values import Authorization, Refusal, Tokens

T = TypeVar("T")

_log: Final = getLogger(__name__)

# Tokens are replaced early, because clocks differ: by these seconds, at most this share of their
# lifetime.
_AHEAD: Final = 30.0
_SHARE: Final = 0.1

# The most responses to one request before it is given up.
_MOST_EXCHANGES: Final = 10

# The tokens tried for one request after status 401: a refreshed one, then a new one.
_MOST_TOKENS: Final = 2

_MOST_NONCES: Final = 2


class ResourceAuthorizer:
    def __init__(self, settings: OAuthSettings, fetch: Fetching, url: str) -> None:
        self._settings = settings
        self._fetch = fetch
        self._origin = origin(urlsplit(url))
        self._known = Authorization(url=url)
        self._is_loaded = False
        self._ahead = _AHEAD
        self._refused_refresh: Tokens | None = None
        self._running: _SharedWork | None = None

    def headers(self, verb: str, url: str) -> Mapping[str, str] | None:
        if verb != "DELETE" and (not self._is_loaded or self._is_due()):
            return None
        tokens = self._known.tokens
        if tokens is None or origin(urlsplit(url)) != self._origin:
            return {}
        fields = {"authorization": tokens.authorization}
        if tokens.token_type == "DPoP" and self._settings.dpop is not None:
            fields["dpop"] = self._settings.dpop.proof(verb, url, token=tokens.access_token)
        return fields

    async def prepare(self) -> None:
        # A refresh token works once: the new tokens must not be lost with a cancelled request.
        await self._alone("prepare", self._load_and_refresh, lasts=True)

    def refuses(self, exchange: Exchange) -> bool:
        if exchange.url != self._known.url and origin(urlsplit(exchange.url)) != self._origin:
            # Other origins must not decide where the user logs in.
            return False
        if self._settings.dpop is not None:
            for nonce in exchange.values("dpop-nonce"):
                self._settings.dpop.take_nonce(exchange.url, {"dpop-nonce": nonce})
        if self._known.step_ups and exchange.status not in (401, 403):
            self._known = forget_step_ups(self._known, exchange.operation)
        # Ending a session must not make the user log in.
        if exchange.verb == "DELETE" or exchange.status not in (401, 403):
            return False
        return exchange.status == 401 or is_for_scopes(_refusal(exchange))

    async def again(self, exchanges: Sequence[Exchange]) -> bool:
        last = exchanges[-1]
        if len(exchanges) >= _MOST_EXCHANGES:
            return False
        if _wants_nonce(last):
            return sum(map(_wants_nonce, exchanges)) <= _MOST_NONCES
        sent = last.fields.get("authorization")
        # If the first attempt had no token, the refused one is already new.
        most = _MOST_TOKENS if "authorization" in exchanges[0].fields else 1
        if last.status == 401 and sum(map(_is_unauthorized, exchanges)) > most:
            return False

        async def get_tokens() -> None:
            # Another request may have got other tokens meanwhile.
            tokens = self._known.tokens
            if (None if tokens is None else tokens.authorization) == sent:
                first = not any(map(_is_unauthorized, exchanges[:-1]))
                await self._authorize(_refusal(last), last.operation, may_refresh=first)

        # A failed login fails all waiting requests; more scopes are for one operation.
        purpose = "log in" if last.status == 401 else f"scopes for {last.operation}"
        await self._alone(purpose, get_tokens)
        return True

    @property
    def _url(self) -> str:
        return redact_url(self._known.url)

    def _is_due(self) -> bool:
        tokens = self._known.tokens
        if tokens is None or tokens.expires_at is None or tokens is self._refused_refresh:
            return False
        renewable = tokens.refresh_token is not None or not isinstance(
            self._settings.grant, AuthorizationCode
        )
        return renewable and self._settings.clock() > tokens.expires_at - self._ahead

    async def _load_and_refresh(self) -> None:
        if not self._is_loaded or self._is_due():
            # Another process may have replaced the tokens, and refresh tokens work once.
            await self._load()
        if self._is_due():
            try:
                await self._carry_out(refresh(self._settings, self._known))
            except AuthorizationError as error:
                _log.info("the token for %s could not be refreshed: %s", self._url, error)
        if self._is_due():
            # Tokens that last only a few seconds must be sent, too.
            self._refused_refresh = self._known.tokens

    async def _load(self) -> None:
        auth = await stored.load(self._settings, self._known.url)
        # The stored state may be older, if storing failed.
        if not self._is_loaded or _expires(auth) > _expires(self._known):
            self._known = replace(auth, step_ups=self._known.step_ups)
        self._is_loaded = True

    async def _authorize(self, refusal: Refusal, operation: str, *, may_refresh: bool) -> None:
        auth = self._known
        if not may_refresh and refusal.status == 401:
            # Refreshed tokens were refused, too.
            auth = replace(auth, tokens=None)
        opening: AbstractAsyncContextManager[Redirection | None] = nullcontext()
        if isinstance(self._settings.grant, AuthorizationCode):
            registered = auth.client.redirect_uris if auth.client else ()
            opening = self._settings.user_agent.redirection(registered)
        async with opening as place:
            flow = authorize(
                self._settings,
                auth,
                refusal,
                operation=operation,
                redirect_uri=None if place is None else place.redirect_uri,
                keep=self._keep,
            )
            try:
                await self._carry_out(flow, place)
            except AuthorizationError:
                await self._save(only_without_tokens=True)
                raise

    def _keep(self, auth: Authorization) -> None:
        self._known = auth

    async def _carry_out(self, flow: Flow[Authorization], place: Redirection | None = None) -> None:
        self._known = await run_flow(flow, self._fetch, place)
        self._refused_refresh = None
        tokens = self._known.tokens
        if tokens is not None and tokens.expires_at is not None:
            lasts = tokens.expires_at - self._settings.clock()
            self._ahead = min(_AHEAD, max(lasts, 0.0) * _SHARE)
        await self._save()

    async def _save(self, *, only_without_tokens: bool = False) -> None:
        try:
            if only_without_tokens:
                # Another process may have got tokens while this one's user said no.
                found = await stored.load(self._settings, self._known.url)
                if found.tokens is not None:
                    return
            await stored.save(self._settings, self._known)
        except Exception:
            # The tokens are valid: do not waste the login.
            _log.exception("the authorization for %s could not be stored", self._url)

    async def forget(self) -> None:
        await self._alone("forget", self._delete_stored)

    async def _delete_stored(self) -> None:
        await self._load()
        await stored.forget(self._settings.storage, self._known)
        self._known = Authorization(url=self._known.url)

    async def _alone(
        self, purpose: str, work: Callable[[], Awaitable[None]], *, lasts: bool = False
    ) -> None:
        """Run work exclusively; callers with the same purpose share one run."""
        while (running := self._running) is not None and running.is_open:
            if running.purpose == purpose:
                return await running.wait()
            try:
                await running.wait()
            except Exception as error:
                _log.info("another request was not authorized: %s", type(error).__name__)
        self._running = _SharedWork(purpose, work, lasts)
        await self._running.wait()


class _SharedWork:
    """Work that several callers await; without callers it is cancelled, unless it `lasts`."""

    def __init__(self, purpose: str, work: Callable[[], Awaitable[None]], lasts: bool) -> None:
        self.purpose: Final = purpose
        self._lasts = lasts
        self._task = asyncio.ensure_future(work())
        self._waiting = 0
        self._is_given_up = False

    @property
    def is_open(self) -> bool:
        # A timeout inside the task makes it `cancelling` for a while, too.
        ended = self._task.done() or self._is_given_up
        return not ended and self._task.get_loop() is asyncio.get_running_loop()

    async def wait(self) -> None:
        self._waiting += 1
        try:
            await asyncio.shield(self._task)
        finally:
            self._waiting -= 1
            if not self._waiting and not self._lasts:
                self._is_given_up = True
                self._task.cancel()


async def run_flow(flow: Flow[T], fetch: Fetching, place: Redirection | None = None) -> T:
    """Run a flow; `place` receives the redirect of the user, None without a user."""
    try:
        step = next(flow)
        while True:
            try:
                answer = await _answer(step, fetch, place)
            except AuthorizationError as error:
                step = flow.throw(error)
            else:
                step = flow.send(answer)
    except StopIteration as ended:
        result: T = ended.value
        return result
    finally:
        flow.close()


async def _answer(step: Step, fetch: Fetching, place: Redirection | None) -> Answer:
    match step:
        case Fetch():
            return await fetch(step)
        case AuthorizationRequest():
            if place is None:
                raise AuthorizationError("there is no user to ask")
            return await place.response(step)
        case AssertionRequest(source=source, audience=audience):
            given = source(audience)
            return Assertion(value=await given if isawaitable(given) else given)


def _expires(auth: Authorization) -> float:
    expires_at = None if auth.tokens is None else auth.tokens.expires_at
    return -inf if expires_at is None else expires_at


def _refusal(exchange: Exchange) -> Refusal:
    challenges = tuple(exchange.values("www-authenticate"))
    return Refusal(exchange.status, challenges, exchange.revision)


def _wants_nonce(exchange: Exchange) -> bool:
    """RFC 9449, section 9."""
    if exchange.status != 401 or "dpop" not in exchange.fields:
        return False
    error = token_param(exchange.values("www-authenticate"), "error")
    return error == "use_dpop_nonce" and bool(exchange.values("dpop-nonce"))


def _is_unauthorized(exchange: Exchange) -> bool:
    return exchange.status == 401 and not _wants_nonce(exchange)
