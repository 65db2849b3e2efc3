"""Fetches web pages as Markdown.

    mcp-gen --revision all --with all --out examples/pkg    # the package that it imports
    python examples/fetch_server.py                         # over standard input and output
    python examples/fetch_server.py --http 8000             # at http://127.0.0.1:8000/mcp

The tool, which models call by themselves, obeys the robots.txt of a site; the prompt, which users
choose, does not. Both reach private addresses only with --private or through a proxy.
"""

import re
from argparse import ArgumentParser, Namespace
from html.parser import HTMLParser
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, HTTPSConnection
from ipaddress import ip_address
from time import monotonic
from typing import IO, Annotated
from urllib import request as web
from urllib.error import HTTPError
from urllib.parse import urljoin, urlsplit
from urllib.request import Request
from urllib.robotparser import RobotFileParser

from pydantic import Field, HttpUrl

from pkg import ToolError
from pkg import v2026_07_28 as mcp
from pkg.v2026_07_28 import models as m

BYTES = 5_000_000
SECONDS = 30
MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`"}
HEADINGS = {f"h{level}": f"\n\n{'#' * level} " for level in range(1, 7)}
BLOCKS = {"p": "\n\n", "ul": "\n\n", "ol": "\n\n", "pre": "\n\n```\n", "blockquote": "\n\n> "}
LINES = {"div": "\n", "br": "\n", "tr": "\n", "li": "\n- ", "td": " | ", "th": " | "}
BEFORE = {**MARKS, **HEADINGS, **BLOCKS, **LINES, "title": "# "}
AFTER = {**MARKS, **dict.fromkeys([*HEADINGS, *BLOCKS, "title"], "\n\n"), "pre": "\n```\n\n"}
HIDDEN = {"script", "style", "nav", "footer", "aside", "form", "noscript", "template", "svg"}

ADVICE = "The user can still fetch it, with the prompt fetch."
Url = Annotated[HttpUrl, Field(description="The address of the page.")]


class Settings(Namespace):
    http: int | None = None
    user_agent: str | None = None
    ignore_robots_txt: bool = False
    proxy_url: str | None = None
    private: bool = False


settings = Settings()
app = mcp.App("fetch", version="1.0.0")


class Markdown(HTMLParser):
    """The text of a page, without menus, forms and other parts that each page of a site has."""

    def __init__(self, url: str, page: str) -> None:
        super().__init__()
        self.url = url
        self.parts: list[str] = []
        self.links: list[str | None] = []
        self.hidden = self.literal = 0
        self.feed(page)
        self.close()
        self.text = re.sub(r"\n\s*\n", "\n\n", "".join(self.parts)).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in HIDDEN
        self.literal += tag == "pre"
        self.parts += [] if self.hidden else [BEFORE.get(tag, "")]
        if tag == "a":
            self.links.append(dict(attrs).get("href"))
            self.parts += ["["] if self.links[-1] and not self.hidden else []

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self.links and (link := self.links.pop()) and not self.hidden:
            self.parts.append(f"]({urljoin(self.url, link)})")
        self.parts += [] if self.hidden else [AFTER.get(tag, "")]
        self.hidden = max(self.hidden - (tag in HIDDEN), 0)
        self.literal = max(self.literal - (tag == "pre"), 0)

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(data if self.literal else re.sub(r"\s+", " ", data))


class PublicConnection(HTTPConnection):
    def connect(self) -> None:
        super().connect()
        if not ip_address(self.sock.getpeername()[0]).is_global:
            raise PermissionError(f"{self.host} is not a public address")


class SecurePublicConnection(HTTPSConnection, PublicConnection):
    """The same with TLS."""


class PublicAddresses(web.HTTPHandler, web.HTTPSHandler):
    """Connections to public addresses, and to proxies anywhere."""

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(HTTPConnection if req.has_proxy() else PublicConnection, req)

    def https_open(self, req: Request) -> HTTPResponse:
        tunnels = vars(req).get("_tunnel_host")
        return self.do_open(HTTPSConnection if tunnels else SecurePublicConnection, req)


class Redirects(web.HTTPRedirectHandler):
    def __init__(self, robots: bool) -> None:
        self.robots = robots

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if urlsplit(newurl).scheme not in ("http", "https"):
            raise ToolError(f"{req.full_url} leads to {newurl}")
        if self.robots:
            check_robots(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def agent(autonomous: bool) -> str:
    return settings.user_agent or f"mcp-gen-fetch/1.0 ({'autonomous' if autonomous else 'user'})"


def download(url: str, autonomous: bool, robots: bool) -> tuple[str, str]:
    """Return a text and its type; with `robots`, redirects must obey robots.txt."""
    deadline = monotonic() + SECONDS
    proxy = settings.proxy_url
    proxies = {"http": proxy, "https": proxy} if proxy else web.getproxies()
    handlers = [web.ProxyHandler(proxies), Redirects(robots)]
    handlers += [] if settings.private else [PublicAddresses()]
    request = Request(url, headers={"User-Agent": agent(autonomous)})
    response: HTTPResponse = web.build_opener(*handlers).open(request, timeout=SECONDS)
    body = bytearray()
    with response:
        while chunk := response.read1(65_536):
            body += chunk
            if len(body) > BYTES or monotonic() > deadline:
                raise ToolError(f"{url} has more than {BYTES} bytes, or takes {SECONDS} s")
    charset = response.headers.get_content_charset("utf-8")
    return body.decode(charset, "replace"), response.headers.get("content-type", "text/html")


def check_robots(url: str) -> None:
    if settings.ignore_robots_txt:
        return
    place = urljoin(url, "/robots.txt")
    try:
        rules, _ = download(place, autonomous=True, robots=False)
    except HTTPError as error:
        if error.code in (401, 403) or error.code >= 500:
            raise ToolError(f"{place} answers {error.code}. {ADVICE}") from error
        return
    robots = RobotFileParser()
    robots.parse(rules.splitlines())
    if not robots.can_fetch(agent(autonomous=True), url):
        raise ToolError(f"{place} forbids programs to fetch {url}. {ADVICE}\n\n{rules[:2_000]}")


def page(url: str, autonomous: bool, raw: bool = False) -> tuple[str, str]:
    """Return a note about a page, and its text."""
    try:
        if autonomous:
            check_robots(url)
        text, kind = download(url, autonomous, robots=autonomous)
    except HTTPError as error:
        raise ToolError(f"{error.url} answers {error.code}") from error
    except (OSError, HTTPException, LookupError) as error:
        raise ToolError(f"{url} cannot be fetched: {error}") from error
    if not raw and ("text/html" in kind or "<html" in text[:100]):
        return "", Markdown(url, text).text
    return f"This is {kind}, unchanged.\n", text


@app.tool(annotations=m.ToolAnnotations(read_only_hint=True), structured=False)
def fetch(
    url: Url,
    max_length: Annotated[
        int, Field(gt=0, lt=1_000_000, description="The number of characters.")
    ] = 5000,
    start_index: Annotated[int, Field(ge=0, description="The first character.")] = 0,
    raw: Annotated[bool, Field(description="Show HTML unchanged.")] = False,
) -> str:
    """Fetch a web page, or a part of it, as Markdown. This gives you access to the web."""
    note, text = page(str(url), autonomous=True, raw=raw)
    part = text[start_index : start_index + max_length]
    answer = f"{note}Contents of {url}:\n{part or '<error>There is no more.</error>'}"
    end = start_index + len(part)
    return answer if end >= len(text) else f"{answer}\n\n<error>Go on at start_index {end}.</error>"


@app.prompt(name="fetch")
def fetch_for_user(url: Url) -> str:
    """Fetch a web page as Markdown."""
    try:
        return "".join(page(str(url), autonomous=False))
    except ToolError as error:
        return str(error)


if __name__ == "__main__":
    parser = ArgumentParser(description="let models read the web")
    parser.add_argument("--http", type=int, metavar="PORT", help="serve HTTP on this port")
    parser.add_argument("--user-agent", help="the User-Agent for sites")
    parser.add_argument("--ignore-robots-txt", action="store_true", help="fetch any page")
    parser.add_argument("--proxy-url", help="use this proxy in place of those in the environment")
    parser.add_argument("--private", action="store_true", help="reach private addresses")
    parser.parse_args(namespace=settings)
    app.run("http", port=settings.http) if settings.http else app.run()
