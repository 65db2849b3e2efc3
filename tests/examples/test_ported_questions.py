"""The servers of `examples/` that use web sites or ask the user."""

import http.server
import threading
from collections.abc import Generator
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import pytest
from support.examples.ported import EDGES, failure, load_server, using
from support.json_types import JsonObject
from support.revisions import HANDSHAKE, NEWEST, OLD
from support.sessions.talking import models, pkg
from support.tables import case

PAGE = """<!doctype html><html><head><title>Tea</title><style>a { color: red }</style></head>
<body><nav>menu <a href="/">home</a></nav>
<h2>How to
  make tea</h2><p>Boil <b>water</b> in <a href="/kettle?x=1&amp;y=2">the kettle</a>.</p>
<ul><li>one</li><li>two &amp; <code>three</code></li></ul>
<pre>  if tea:

    drink()</pre><script>if (1 < 2) {}</script>
<form><input></form>
</body></html>"""
MARKDOWN = """# Tea

## How to make tea

Boil **water** in [the kettle](SITE/kettle?x=1&y=2).

- one
- two & `three`

```
  if tea:

    drink()
```"""
ROBOTS = "User-agent: *\nDisallow: /private\n"


class Site(http.server.ThreadingHTTPServer):
    """A web site that records requests."""

    robots: tuple[int, str] = (200, ROBOTS)

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Visit)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.seen: list[tuple[str, str]] = []


class Visit(http.server.BaseHTTPRequestHandler):
    @property
    def site(self) -> Site:
        return cast(Site, self.server)

    def do_GET(self) -> None:
        self.site.seen.append((self.path, self.headers["user-agent"]))
        status, kind, text = self.find_page(urlsplit(self.path))
        body = text.encode("latin-1" if "latin" in kind else "utf-8")
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("location", text)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def find_page(self, url: Any) -> tuple[int, str, str]:
        match url.path:
            case "/robots.txt":
                status, text = self.site.robots
                return status, "text/plain", text
            case "/to":
                return 302, "text/plain", parse_qs(url.query)["url"][0]
            case "/json":
                return 200, "application/json", '{"a": 1}'
            case "/latin":
                return 200, "text/plain; charset=latin-1", "é"
            case "/bogus":
                return 200, "text/plain; charset=bogus", "é"
            case "/long":
                return 200, "text/plain", "0123456789" * 2000
            case "/none":
                return 404, "text/html", "nothing here"
            case _:
                return 200, "text/html; charset=utf-8", PAGE

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def site() -> Generator[Site, None, None]:
    with Site() as one:
        thread = threading.Thread(target=one.serve_forever, args=(0.01,))
        thread.start()
        yield one
        one.shutdown()
        thread.join()


@pytest.fixture
def fetcher(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the server, which may reach this machine, and has no proxy."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    module = load_server("fetch_server")
    module.settings.private = True
    return module


async def test_pages_are_shown_as_markdown(fetcher: Any, site: Site) -> None:
    for revision in EDGES:
        async with using(fetcher.app, revision) as client:
            shown = await client.call_tool("fetch", {"url": f"{site.url}/tea"}, check=True)
            expected = MARKDOWN.replace("SITE", site.url)
            assert shown.text == f"Contents of {site.url}/tea:\n{expected}"
            prompt = await client.get_prompt("fetch", {"url": f"{site.url}/private"})
            assert prompt.messages[0].content.text == expected
            prompt = await client.get_prompt("fetch", {"url": f"{site.url}/none"})
            assert prompt.messages[0].content.text == f"{site.url}/none answers 404"
    robot, user = fetcher.agent(True), fetcher.agent(False)
    visits = [("/robots.txt", robot), ("/tea", robot), ("/private", user), ("/none", user)]
    assert site.seen == visits * len(EDGES)


async def test_the_rest_is_shown_as_it_came(fetcher: Any, site: Site) -> None:
    cases: dict[str, tuple[dict[str, Any], str]] = {
        "/json": ({}, 'This is application/json, unchanged.\nContents of SITE/json:\n{"a": 1}'),
        "/latin": (
            {},
            "This is text/plain; charset=latin-1, unchanged.\nContents of SITE/latin:\né",
        ),
        "/tea": ({"raw": True, "max_length": 15}, "<!doctype html>\n\n<error>Go on at"),
        f"/to?url={site.url}/json": ({}, '{"a": 1}'),
    }
    async with using(fetcher.app, NEWEST) as client:
        for path, (given, expected) in cases.items():
            with case(path):
                given = {"url": f"{site.url}{path}", **given}
                shown = await client.call_tool("fetch", given, check=True)
                assert expected.replace("SITE", site.url) in shown.text


async def test_long_pages_come_in_parts(fetcher: Any, site: Site) -> None:
    parts: list[str] = []
    async with using(fetcher.app, EDGES[0]) as client:
        for start in (0, 7000, 14000, 21000):
            given = {"url": f"{site.url}/long", "max_length": 7000, "start_index": start}
            shown = (await client.call_tool("fetch", given, check=True)).text
            parts.append(shown.partition(":\n")[2].partition("\n\n")[0])
            assert shown.endswith(f"<error>Go on at start_index {start + 7000}.</error>") == (
                start < 14000
            )
    assert parts[-1] == "<error>There is no more.</error>"
    assert "".join(parts[:-1]) == "0123456789" * 2000


async def test_failed_fetch_says_why(
    fetcher: Any, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetcher, "BYTES", 10_000)
    cases = {
        "/private/x": "forbids programs to fetch SITE/private/x. The user can still",
        "/to?url=/private": "forbids programs to fetch SITE/private.",
        "/to?url=ftp://127.0.0.1/x": "leads to ftp://127.0.0.1/x",
        "/to?url=file:///etc/passwd": "answers 302",
        "/none": "/none answers 404",
        "/bogus": "cannot be fetched: unknown encoding: bogus",
        "/long": "/long has more than 10000 bytes",
    }
    for revision in EDGES:
        async with using(fetcher.app, revision) as client:
            for path, expected in cases.items():
                with case((revision, path)):
                    said = await failure(client, "fetch", url=f"{site.url}{path}")
                    assert expected.replace("SITE", site.url) in said, said
            for url in ("file:///etc/passwd", "ftp://example.org/", "no url"):
                with case((revision, url)):
                    assert "/url: " in await failure(client, "fetch", url=url)


async def test_robots_are_asked_for_what_models_fetch(fetcher: Any, site: Site) -> None:
    url = f"{site.url}/private"
    # A status and a text of robots.txt, and whether the page may be fetched.
    cases: dict[tuple[int, str], bool] = {
        (200, ROBOTS): False,
        (200, ""): True,
        (200, "User-agent: other\nDisallow: /"): True,
        (200, "User-agent: mcp-gen-fetch\nDisallow: /"): False,
        (401, ""): False,
        (403, ""): False,
        (404, ""): True,
        (503, ""): False,
    }
    async with using(fetcher.app, NEWEST) as client:
        for site.robots, allowed in cases.items():
            with case(site.robots):
                assert (await client.call_tool("fetch", {"url": url})).is_error is not allowed
        fetcher.settings.ignore_robots_txt = True
        site.robots = (403, "")
        await client.call_tool("fetch", {"url": url}, check=True)


async def test_addresses_that_are_not_public_are_not_reached(fetcher: Any, site: Site) -> None:
    fetcher.settings.private = False
    places = (("http", "127.0.0.1"), ("http", "localhost"), ("https", "127.0.0.1"))
    async with using(fetcher.app, NEWEST) as client:
        for scheme, name in places:
            with case((scheme, name)):
                url = f"{scheme}://{name}:{site.server_port}/tea"
                assert f"{name} is not a public address" in await failure(client, "fetch", url=url)
    assert not site.seen


async def test_address_without_proxy_must_be_public(
    fetcher: Any, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetcher.settings.private = False
    cases = (
        {"no_proxy": "example.org"},
        {"ftp_proxy": site.url},
        {"http_proxy": site.url, "no_proxy": "127.0.0.1"},
    )
    async with using(fetcher.app, NEWEST) as client:
        for environment in cases:
            with case(environment), monkeypatch.context() as patched:
                for name, value in environment.items():
                    patched.setenv(name, value)
                text = await failure(client, "fetch", url=f"{site.url}/tea")
                assert "127.0.0.1 is not a public address" in text
    assert not site.seen


async def test_a_proxy_is_asked(fetcher: Any, site: Site) -> None:
    fetcher.settings.proxy_url = site.url
    fetcher.settings.private = False
    async with using(fetcher.app, NEWEST) as client:
        await client.call_tool("fetch", {"url": "http://example.org/tea"}, check=True)
    assert [path for path, _ in site.seen] == [
        "http://example.org/robots.txt",
        "http://example.org/tea",
    ]


# The revisions with a handshake that have questions.
ASKING = HANDSHAKE[2:]
BOOKING = {"date": "2024-12-25", "time": "19:00", "party_size": 2}
ACCEPT = {"action": "accept"}
# What the user answers, and what the tool then says.
BOOKINGS: tuple[tuple[Any, str], ...] = (
    ({**ACCEPT, "content": {"other_day": True}}, "A table is booked on 2024-12-26 at 19:00."),
    (
        {**ACCEPT, "content": {"other_day": True, "day": "2025-01-02"}},
        "A table is booked on 2025-01-02 at 19:00.",
    ),
    ({**ACCEPT, "content": {"other_day": False}}, "No table is booked."),
    ({"action": "decline"}, "The user has given up."),
    ({"action": "cancel"}, "The user has given up."),
)


class User:
    """A user with fixed answers, who records questions."""

    def __init__(self) -> None:
        self.answer: Any = None
        self.asked: list[Any] = []

    def members(self, revision: str, *ways: str) -> Any:
        """The members of a client that asks this user, in these ways."""

        async def on_elicit(client: object, params: Any) -> Any:
            self.asked.append(params)
            answer = self.answer(params) if callable(self.answer) else self.answer
            return models(revision).ElicitResult.from_wire(answer)

        declared: JsonObject = {"elicitation": {way: {} for way in ways}}
        return {"on_elicit": on_elicit, "DECLARES": declared}


async def test_a_table_is_booked_on_the_day_that_the_user_wants() -> None:
    free = {**BOOKING, "date": "2024-12-24"}
    async with using(load_server("elicitation_server").app, EDGES[0]) as client:
        booked = await client.call_tool("book_table", free, check=True)
        assert booked.text == "A table is booked on 2024-12-24 at 19:00."
    for revision in (*ASKING, NEWEST):
        user, module = User(), load_server("elicitation_server")
        async with using(module.app, revision, **user.members(revision)) as client:
            booked = await client.call_tool("book_table", free, as_=str)
            assert (booked, user.asked) == ("A table is booked on 2024-12-24 at 19:00.", [])
            for user.answer, expected in BOOKINGS:
                with case((revision, expected)):
                    booked = await client.call_tool("book_table", BOOKING, as_=str)
                    assert booked == expected
            assert {question.message for question in user.asked} == {
                "There is no table for 2 on 2024-12-25. Try another day?"
            }
            user.answer = {**ACCEPT, "content": {"other_day": True, "day": "soon"}}
            with pytest.raises(pkg.ProtocolError, match="Invalid answers"):
                await client.call_tool("book_table", BOOKING)


async def test_a_payment_is_confirmed_on_a_page() -> None:
    for revision in (OLD, NEWEST):
        user, module = User(), load_server("elicitation_server")
        async with using(module.app, revision, **user.members(revision, "url")) as client:
            for action, outcome in module.OUTCOMES.items():
                user.answer = {"action": action}
                paid = await client.call_tool("secure_payment", {"amount": 2.5}, as_=str)
                assert paid == f"The payment of $2.50 {outcome}."
        urls = [question.url for question in user.asked]
        assert len({*urls}) == len(module.OUTCOMES)
        assert all(url.startswith("https://payments.example.com/confirm?") for url in urls)


async def test_the_user_signs_in_before_a_service_is_connected() -> None:
    given = {"service_name": "hub"}
    module = load_server("elicitation_server")
    async with using(module.app, OLD) as client:
        with pytest.raises(pkg.McpError) as raised:
            await client.call_tool("connect_service", given)
        assert raised.value.code == -32042
        (page,) = raised.value.data["elicitations"]
        assert page["url"].startswith("https://hub.example.com/oauth/authorize?elicit=")
        module.tokens["hub"] = "token"
        assert await client.call_tool("connect_service", given, as_=str) == "Connected to hub."
    module.tokens.clear()
    user = User()

    def sign_in(params: Any) -> Any:
        module.tokens["hub"] = "token"
        return ACCEPT

    # There the question comes in the result, and the client calls again by itself.
    async with using(module.app, NEWEST, **user.members(NEWEST, "url")) as client:
        user.answer = {"action": "decline"}
        said = await failure(client, "connect_service", **given)
        assert said == f"Sign in to hub. {user.asked.pop().url}"
        user.answer = sign_in
        assert await client.call_tool("connect_service", given, as_=str) == "Connected to hub."
        assert [question.message for question in user.asked] == ["Sign in to hub."]
        assert "/service_name" in await failure(client, "connect_service", service_name="a.b/")


async def test_clients_that_cannot_ask_are_told_so() -> None:
    module = load_server("elicitation_server")
    for revision in EDGES:
        async with using(module.app, revision) as client:
            for tool, given in (("book_table", BOOKING), ("secure_payment", {"amount": 1})):
                with case((revision, tool)), pytest.raises(pkg.McpError, match="elicitation"):
                    await client.call_tool(tool, given)
    async with using(module.app, EDGES[0]) as client:
        said = await failure(client, "connect_service", service_name="hub")
        assert said.startswith("Sign in to hub. https://hub.example.com/")
