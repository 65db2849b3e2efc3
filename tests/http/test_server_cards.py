"""Cards of servers: published beside the endpoint, and read by clients that others attack."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, cast

import httpx2
import pytest
from mcp_protogen.servers.call.listing import Listing
from mcp_protogen.servers.connect.named_server import NamedServer
from mcp_protogen.servers.connect.server_cards import card_of, policy_for
from mcp_revisions import (
    REVISIONS,
    Authentication,
    CardError,
    FetchPolicy,
    HttpOptions,
    Principal,
    ProtectedResource,
    connect,
    static_tokens,
)
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28.ext.server_card import ServerCardClient, ServerCardServer
from mcp_revisions.v2026_07_28.ext.server_card import models as c
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from support.http.serving import raw, run_app
from support.json_types import Json
from support.tables import case

CARD: Final = "/mcp/server-card"
CATALOG: Final = "/.well-known/ai-catalog.json"
TYPE: Final = "application/mcp-server-card+json"
FIELDS: Final = {
    "content-type": TYPE,
    "cache-control": "public, max-age=3600",
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "ETag",
}


class Weather(ServerCardServer, mcp.App): ...


class Host(ServerCardClient, mcp.Client): ...


def weather(**about: Any) -> Weather:
    app = Weather("com.example/weather", version="1.2", description="Tells the weather.", **about)

    @app.tool
    def look() -> str:
        return "rain"

    return app


async def test_card_is_served_with_its_fields_by_any_method_of_reading() -> None:
    async with run_app(weather(title="Weather").http()) as port, httpx2.AsyncClient() as http:
        url = f"http://127.0.0.1:{port}{CARD}"
        got = await http.get(url, headers={"origin": "https://page.example"})
        assert got.json() == {
            "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
            "name": "com.example/weather",
            "version": "1.2",
            "title": "Weather",
            "description": "Tells the weather.",
            "remotes": [
                {
                    "type": "streamable-http",
                    "url": f"http://127.0.0.1:{port}/mcp",
                    "supportedProtocolVersions": [revision.id for revision in REVISIONS],
                }
            ],
        }
        tag = got.headers["etag"]
        assert tag == f'"{sha256(got.content).hexdigest()[:32]}"'
        for method, field, status in (
            ("GET", {}, 200),
            ("HEAD", {}, 200),
            ("OPTIONS", {"origin": "https://page.example"}, 204),
            ("GET", {"if-none-match": f'"x", W/{tag}'}, 304),
            ("HEAD", {"if-none-match": "*"}, 304),
            ("OPTIONS", {"if-none-match": "*"}, 204),
            ("GET", {"if-none-match": '"x"'}, 200),
            ("POST", {}, 405),
            ("GET", {"host": "page.example"}, 421),
        ):
            with case((method, field)):
                answer = await http.request(method, url, headers=field)
                assert answer.status_code == status
                if status == 405:
                    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"
                elif status != 421:
                    shown = dict(answer.headers)
                    assert FIELDS.items() - {*shown.items()} <= (
                        {("content-type", TYPE)} if status == 304 else set()
                    )
                    assert answer.content == (
                        got.content if (method, status) == ("GET", 200) else b""
                    )


async def test_spaces_around_host_are_not_in_the_card() -> None:
    async with run_app(weather().http()) as port:
        head = f"GET {CARD} HTTP/1.1\r\nHost: localhost:{port} \t\r\nConnection: close\r\n\r\n"
        assert f'"url":"http://localhost:{port}/mcp"'.encode() in await raw(port, head.encode())


async def test_card_and_catalogue_name_the_endpoint_as_clients_know_it() -> None:
    issuer = "https://issuer.example"
    resource = ProtectedResource(url="https://a.example/x/mcp", authorization_servers=[issuer])
    verify = static_tokens({"t" * 16: Principal("one")})
    checked = Authentication(verify=verify, resource=resource)
    given = weather()
    given.public_url = "https://b.example/mcp"
    secured = weather().http(http=HttpOptions(authentication=checked))
    for name, app, root, expected in (
        ("mounted", weather().http(), "/srv", "http://127.0.0.1:{port}/srv/mcp"),
        ("with tokens", secured, "", resource.url),
        ("given", given.http(), "", given.public_url),
    ):
        mounted = Starlette(routes=[Mount(root, app)]) if root else app
        async with run_app(mounted) as port, httpx2.AsyncClient() as http:
            with case(name):
                base, url = f"http://127.0.0.1:{port}{root}", expected.format(port=port)
                card = (await http.get(base + CARD)).json()
                assert [remote["url"] for remote in card["remotes"]] == [url]
                (entry,) = (await http.get(base + CATALOG)).json()["entries"]
                assert entry == {
                    "identifier": "urn:air:example.com:mcp:weather",
                    "type": TYPE,
                    "url": f"{url}/server-card",
                }


class Secret(Weather):
    def server_card(self, remote: c.Remote) -> c.ServerCard:
        key = c.KeyValueInput(name="X-Key", is_secret=True, value="s3cret")
        remotes = [remote.model_copy(update={"headers": [key]})]
        return super().server_card(remote).model_copy(update={"remotes": remotes})


class Elsewhere(Weather):
    public_url = "b.example/mcp"


def test_server_without_a_valid_card_does_not_start() -> None:
    said: Json = {"description": "Tells the weather."}
    for app, options, expected in (
        (Weather("weather", **said), HttpOptions(), "/name: 'weather' must match .*com.example"),
        (Weather("a/b/c", **said), HttpOptions(), "/name"),
        (Weather("com.example/x"), HttpOptions(), "/description: .*say what the server does"),
        (Weather("com.example/x", description="x" * 101), HttpOptions(), "/description"),
        (Secret("com.example/x", **said), HttpOptions(), "/remotes/0/headers/0: a card is public"),
        (weather(), HttpOptions(allowed_hosts=["*"]), "public_url"),
        (Elsewhere("com.example/x", **said), HttpOptions(), "/remotes/0/url: 'b.example/mcp'"),
    ):
        with case(expected), pytest.raises(CardError, match=expected):
            app.http(http=options)


async def test_client_connects_by_card_catalogue_or_endpoint() -> None:
    async with run_app(weather().http()) as port:
        base = f"http://127.0.0.1:{port}"
        (entry,) = await Host.read_catalog(f"{base}/mcp")
        assert entry.url == base + CARD
        for url in (base + CARD, f"{base}/mcp", f"{base}/mcp/?key=value"):
            card = await Host.read_card(url)
            async with connect(Host.open_card(url), Host()) as client:
                assert (await client.call_tool("look")).text == "rain"
                assert client.differences(card) == []
                other = card.model_copy(update={"version": "2"})
                assert client.differences(other) == ["version"]


def a_card(**members: Any) -> Json:
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": "com.example/x",
        "version": "1",
        "description": "Answers.",
        **members,
    }


def remotes(url: str, **members: Any) -> Json:
    return a_card(remotes=[{"type": "streamable-http", "url": url, **members}])


def _attacks(content: Mapping[str, object]) -> Starlette:
    """Return hosts of documents, by path; a text is the place of a redirect."""

    def page(name: str, value: object) -> Route:
        async def answer(_: Request) -> Response:
            if isinstance(value, str):
                return RedirectResponse(value)
            if isinstance(value, tuple):
                return StreamingResponse(cast(tuple[bytes, ...], value), media_type=TYPE)
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            return Response(body, media_type=TYPE)

        return Route(f"/{name}/server-card", answer)

    return Starlette(routes=[page(name, value) for name, value in content.items()])


_TENANT: Final = {"tenant": {"description": "Who asks.", "isRequired": True}}
_TOKEN: Final = [
    {
        "name": "Authorization",
        "isRequired": True,
        "isSecret": True,
        "value": "Bearer {token}",
        "variables": {"token": {"isRequired": True, "isSecret": True}},
    },
    {"name": "X-Optional"},
]
_SECRET: Final = {"isSecret": True, "default": "s3cret"}
ATTACKS: Final[Mapping[str, tuple[object, str]]] = {
    "missing": ({}, "/\\$schema"),
    "text": (b"no JSON", "is not JSON"),
    "deep": (b"[" * 100_000, "is not JSON"),
    "large": (b" " * 2_000_000, "more than 1048576 bytes"),
    "loop": ("/loop/server-card", "redirects too often"),
    "elsewhere": ("http://10.0.0.1/server-card", "must be an https URL"),
    "name": (a_card(name="x"), "/name: 'x' must match"),
    "tools": (a_card(remotes="x"), "/remotes"),
    "no-remote": (a_card(), "names no endpoint"),
    "http": (remotes("http://example.com/mcp"), "must be an https URL"),
    "private": (remotes("https://10.0.0.1/mcp"), "is not public"),
    "user": (remotes("https://me:pw@example.com/mcp"), "no user name"),
    "url": (remotes("ftp://example.com"), "/remotes/0/url"),
    # A name that the system reads as 127.0.0.1.
    "short": (remotes("https://127.1/mcp"), "the address of 127.1 is not public"),
    "field": (remotes("http://127.0.0.1/", headers=[{"name": "A b"}]), "/remotes/0/headers/0/name"),
    "host": (remotes("http://127.0.0.1/", headers=[{"name": "Host", "value": "a"}]), "sets Host"),
    "break": (remotes("http://127.0.0.1/", headers=[{"name": "A", "value": "\n"}]), "header A"),
    "inputs": (
        remotes("http://127.0.0.1/{tenant}", variables=_TENANT, headers=_TOKEN),
        r"asks for inputs: tenant \('Who asks\.'\); token$",
    ),
    "choice": (
        remotes("http://127.0.0.1/{a}", variables={"a": {"choices": ["x"], "default": "y"}}),
        r"a must be one of \['x'\]",
    ),
    "secret": (
        remotes("http://127.0.0.1/", headers=[{"name": "A", "variables": {"b": _SECRET}}]),
        "/remotes/0/headers/0/variables/b: a card is public",
    ),
    # Its length is not known before.
    "endless": ((b" " * 65536,) * 64, "more than 1048576 bytes"),
}


async def test_client_ends_with_one_error_at_a_bad_card() -> None:
    async with run_app(_attacks({name: value for name, (value, _) in ATTACKS.items()})) as port:
        for name, (_, expected) in ATTACKS.items():
            opener = Host.open_card(f"http://127.0.0.1:{port}/{name}")
            with case(name), pytest.raises(CardError, match=expected):
                async with connect(opener, Host()):
                    raise AssertionError("connected")
        narrow = FetchPolicy(loopback=False)
        with pytest.raises(CardError, match="must be an https URL"):
            await Host.read_card(f"http://127.0.0.1:{port}/name", policy=narrow)


async def test_card_of_a_trusted_host_does_not_lead_to_this_machine() -> None:
    trusting = FetchPolicy(trusted_hosts=frozenset({"127.0.0.1"}))
    async with run_app(_attacks({"here": remotes("http://localhost/mcp")})) as port:
        opener = Host.open_card(f"http://127.0.0.1:{port}/here", policy=trusting)
        with pytest.raises(CardError, match="localhost/mcp, which is not public"):
            await opener()


async def test_catalogue_has_cards_or_leads_where_a_client_may_go() -> None:
    table: list[tuple[Json, str]] = [
        ({"url": "http://10.0.0.1/server-card"}, "must be an https URL"),
        ({"url": "https://10.0.0.1/server-card"}, "is not public"),
        ({"url": "file:///etc/passwd"}, "must have a host"),
        ({"url": "http://["}, "must be an https URL"),
        ({"url": "/server-card", "data": a_card()}, "#/entries/1: .* either url or data"),
        ({"url": "/server-card", "identifier": 1}, "#/entries/1: .* needs an identifier"),
        ({"data": {}}, "#/entries/1 is invalid"),
    ]
    for wrong, expected in table:
        entry = {"identifier": "urn:air:example.com:mcp:x", "type": TYPE, **wrong}
        page = Response(json.dumps({"entries": [{"type": "text/plain"}, entry]}))
        async with run_app(page) as port:
            with case(wrong), pytest.raises(CardError, match=expected):
                await Host.read_catalog(f"http://127.0.0.1:{port}")
    own = {"identifier": "x", "type": TYPE, "data": a_card()}
    async with run_app(Response(json.dumps({"entries": [{"type": "text/plain"}, own]}))) as port:
        (found,) = await Host.read_catalog(f"http://127.0.0.1:{port}")
        assert found.card is not None and (found.url, found.card.name) == (None, "com.example/x")
    for read in (Host.read_card, Host.read_catalog):
        with pytest.raises(CardError, match=r"'http://\[' is not a URL"):
            await read("http://[")


async def test_client_chooses_an_endpoint_and_fills_in_what_a_card_leaves_open() -> None:
    seen: list[str | None] = []
    app = weather().http()

    async def watch(scope: Any, receive: Any, send: Any) -> None:
        seen.append(dict(scope.get("headers", ())).get(b"authorization", b"").decode())
        await app(scope, receive, send)

    async with run_app(watch) as port:
        usual = {"type": "streamable-http", "url": "http://127.0.0.1:{port}/mcp"}
        others: list[Json] = [
            {"type": "sse", "url": "http://127.0.0.1/old"},
            {**usual, "url": "http://127.0.0.1/older", "supportedProtocolVersions": ["2000-01-01"]},
        ]
        card = Response(
            json.dumps(a_card(remotes=[*others, {**usual, "headers": _TOKEN}])),
            headers={"etag": '"1"'},
        )
        asked: list[bytes | None] = []

        async def publish(scope: Any, receive: Any, send: Any) -> None:
            asked.append(dict(scope.get("headers", ())).get(b"if-none-match"))
            known = asked[-1] == b'"1"'
            await (Response(status_code=304) if known else card)(scope, receive, send)

        async with run_app(publish) as host:
            # The card says what to send, so this is not used.
            opener = Host.open_card(
                f"http://127.0.0.1:{host}/server-card",
                inputs={"port": str(port), "token": "s3cret"},
                auth=cast(Any, object()),
            )
            for _ in range(2):
                async with connect(opener, Host()) as client:
                    assert (await client.call_tool("look")).text == "rain"
    assert {*seen} - {""} == {"Bearer s3cret"}
    assert asked[-2:] == [None, b'"1"']


async def test_command_shows_the_card_of_a_url_and_takes_the_url_of_a_card() -> None:
    async with run_app(weather().http()) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        card = await card_of(url, 5)
        assert card is not None and await card_of(f"{url}/other", 5) is None
        shown = Listing("2026-07-28", {"name": "x"}, {}, card=card)
        assert f"  card: com.example/weather 1.2  {url}\n      Tells the" in shown.page(80)
        assert shown.as_json()["card"] == card
        assert policy_for(url) == FetchPolicy()
        assert policy_for("http://inner/mcp").trusted_hosts == {"inner"}
        opener = NamedServer(name=f"{url}/server-card").opener()
        async with connect(opener, mcp.Client()) as client:
            assert (await client.call_tool("look")).text == "rain"
