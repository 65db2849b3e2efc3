"""The pages on which users log in: a link's page, and that of the redirect afterwards.

A person who opens a link can log in for the principal whose client was given it (2025-11-25,
client/elicitation, "Phishing"), so the first page says for whom that is, and a button goes on.
"""

from collections.abc import Iterator
from html import escape
from typing import Final
from urllib.parse import parse_qs, urlencode, urlsplit

from mcp_protogen.runtime.http.server.routes import Route, RouteRequest, RouteResponse
from mcp_protogen.servers.gateway.logins.login import CALLBACK
from mcp_protogen.servers.gateway.logins.server_logins import Logins
from mcp_protogen.servers.gateway.logins.waiting import LIFETIME, WaitingLogin

_PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<body><h1>{title}</h1>{content}</body></html>
"""
_QUESTION: Final = """<p>A client of <strong>{principal}</strong> wants to use {server}. Go on only
if this is you, and if you have asked your client for it: with this login, it acts in your name.</p>
<form method="post"><input type="hidden" name="id" value="{id}">
<button>Log in at {host}</button></form>"""
_FIELDS: Final = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    "cache-control": "no-store",
    # With no-referrer, browsers hide the origin of a form.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
_NO_LINK: Final = "This link was used, or has expired. Repeat the request in your client."
_NOT_EXPECTED: Final = "No login of this browser is waiting for it."
_DONE: Final = "You can close this page, and repeat the request in your client."


class LoginPages:
    """The routes for the logins of a gateway, at the address that clients know it by."""

    def __init__(self, logins: Logins) -> None:
        self._logins, parts = logins, urlsplit(logins.address)
        self._origin = f"{parts.scheme}://{parts.netloc}".lower()
        self._path, self._is_https = parts.path, parts.scheme.lower() == "https"

    def routes(self) -> Iterator[Route]:
        yield Route(self._path, self.show)
        yield Route(self._path, self.begin, methods=["POST"])
        yield Route(self._path + CALLBACK, self.end)

    async def show(self, request: RouteRequest) -> RouteResponse:
        """Show for whom a link is; programs that look at links do not use it."""
        id = _only(request.query.get("id"))
        if (login := self._logins.waiting.find(id)) is None:
            return _page(410, "Not valid", _NO_LINK)
        texts = {"principal": login.principal, "server": login.server, "host": login.host, "id": id}
        content = _QUESTION.format_map({name: escape(text) for name, text in texts.items()})
        return RouteResponse(_PAGE.format(title="Log in", content=content), 200, _FIELDS)

    async def begin(self, request: RouteRequest) -> RouteResponse:
        """Use a link, and lead the browser to the authorization server."""
        if request.headers.get("origin", "").lower() != self._origin:
            # Another page must not log its visitors in.
            return _page(403, "Not allowed", "The form belongs to another page.")
        form = parse_qs(request.body.decode("latin-1"))
        if (login := self._logins.waiting.use(_only(form.get("id")))) is None:
            return _page(410, "Not valid", _NO_LINK)
        fields = {"location": login.request.url, "set-cookie": self._cookie(login)}
        return RouteResponse(None, 303, {**_FIELDS, **fields})

    def _cookie(self, login: WaitingLogin) -> str:
        secure = "; Secure" if self._is_https else ""
        place = f"Path={self._path}{CALLBACK}; Max-Age={LIFETIME:.0f}"
        return f"{login.cookie}={login.browser}; {place}; HttpOnly; SameSite=Lax{secure}"

    async def end(self, request: RouteRequest) -> RouteResponse:
        """Take the response of the authorization server; show what came of it."""
        url = f"{self._logins.address}{CALLBACK}?{urlencode(request.query, doseq=True)}"
        state = _only(request.query.get("state"))
        login = self._logins.waiting.take(state, _cookies(request), url)
        if login is None:
            return _page(400, "Not expected", _NOT_EXPECTED)
        if problem := await login.outcome:
            return _page(400, "Not logged in", f"The login has failed: {problem}.")
        return _page(200, f"Logged in to {login.server}", _DONE)


def _page(status: int, title: str, text: str) -> RouteResponse:
    page = _PAGE.format(title=escape(title), content=f"<p>{escape(text)}</p>")
    return RouteResponse(page, status, _FIELDS)


def _only(values: list[str] | None) -> str:
    return values[0] if values is not None and len(values) == 1 else ""


def _cookies(request: RouteRequest) -> dict[str, str]:
    """Return the cookies; others on the same host may be of any form (RFC 6265, section 5.4)."""
    pairs = ";".join(request.headers.getlist("cookie")).split(";")
    parts = (pair.partition("=") for pair in pairs)
    return {name.strip(): value.strip() for name, _, value in parts}
