"""The browser of a user who signs in wherever a page asks, and agrees to everything.

As a program, which `BROWSER` in the environment can name, it opens the page in its only argument.
It needs only the standard library, so any interpreter runs it.
"""

import asyncio
import re
import sys
import time
from dataclasses import dataclass
from html import unescape
from http.cookiejar import CookieJar
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urljoin
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, Request, build_opener

_FORM: Final = re.compile(r"<form[^>]*action=\"([^\"]+)\".*?</form>", re.DOTALL)
_INPUT: Final = re.compile(r"<input[^>]*name=\"([^\"]+)\"(?:[^>]*value=\"([^\"]*)\")?")
_CANCEL: Final = re.compile(r"href=\"([^\"]+/abort)\"")

COMMAND: Final = f"{sys.executable} {__file__} %s &"
"""What `BROWSER` has to be: it runs beside the one who has opened it."""

# Pages and redirects before a loop is assumed.
_MOST: Final = 20

# Seconds for a program to start listening after it has opened a browser.
_PATIENCE: Final = 120


@dataclass(frozen=True, slots=True)
class Page:
    """The last page of a browser."""

    url: str
    status: int = 0
    text: str = ""


class Browser:
    """A browser with cookies; `name` is what its user logs in with."""

    def __init__(self, name: str = "ada", *, agrees: bool = True) -> None:
        self._opener = build_opener(HTTPCookieProcessor(CookieJar()), _Unfollowed())
        self._name = name
        self._agrees = agrees

    def open(self, url: str) -> Page:
        """Open a page and follow its links."""
        form: dict[str, str] | None = None
        for _ in range(_MOST):
            page, location = self._fetch(url, form)
            if location is not None:
                url, form = urljoin(url, location), None
                continue
            following = self._next(page)
            if following is None:
                return page
            url, form = following
        raise AssertionError(f"too many pages, the last one at {url}")

    def _fetch(self, url: str, form: dict[str, str] | None) -> tuple[Page, str | None]:
        data = None if form is None else urlencode(form).encode()
        try:
            response = self._open_retrying(Request(url, data))
        except HTTPError as refused:
            response = refused
        with response:
            page = Page(url, int(response.status or 0), response.read().decode(errors="replace"))
            return page, response.headers["location"]

    def _open_retrying(self, request: Request) -> Any:
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                return self._opener.open(request, timeout=30)
            except HTTPError:
                raise
            except URLError as error:
                if not isinstance(error.reason, ConnectionRefusedError) or time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def _next(self, page: Page) -> tuple[str, dict[str, str] | None] | None:
        """Return the next request of the user: a filled-in form, or a refusal."""
        form = _FORM.search(page.text)
        if page.status != 200 or form is None:
            return None
        cancel = _CANCEL.search(page.text)
        if not self._agrees and cancel is not None:
            return urljoin(page.url, unescape(cancel[1])), None
        fields = {name: unescape(value) for name, value in _INPUT.findall(form[0])}
        known = {"login": self._name, "password": "anything"}
        return urljoin(page.url, unescape(form[1])), {
            name: value or known.get(name, "") for name, value in fields.items()
        }


class User:
    """A user whose browser stays open; `pages` has the URLs that a program opened."""

    def __init__(self, name: str = "ada", *, agrees: bool = True) -> None:
        self.browser = Browser(name, agrees=agrees)
        self.pages: list[str] = []

    async def open(self, url: str) -> bool:
        """Open a page for a program that listens, as `LoopbackReceiver` wants it."""
        self.pages.append(url)
        await asyncio.to_thread(self.browser.open, url)
        return True


class _Unfollowed(HTTPRedirectHandler):
    """A handler that leaves redirects to the caller."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


if __name__ == "__main__":
    Browser().open(sys.argv[1])
