"""Requests for authorization: their targets, responses and refusals."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp_protogen.runtime.features.auth.errors import Unreachable, UnsafeUrl
from mcp_protogen.runtime.features.auth.fetch_policy import FetchPolicy, is_public
from mcp_protogen.runtime.features.auth.fetching import Fetcher
from mcp_protogen.runtime.features.auth.steps import Fetch
from support.auth.certificates import certificate
from support.http.serving import run_app
from support.tables import case

HOST = "auth.example"


class Site:
    """An application that answers on command, and records requests."""

    def __init__(
        self, status: int = 200, body: bytes = b"{}", **headers: str | Sequence[str]
    ) -> None:
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        self.status = status
        self.body = body
        self.headers: Mapping[str, str | Sequence[str]] = headers
        self.port = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        fields = {name.decode(): value.decode() for name, value in scope["headers"]}
        path = scope["path"] + ("?" + scope["query_string"].decode()).rstrip("?")
        self.seen.append((scope["method"], path, fields, message["body"]))
        headers = [
            (name.replace("_", "-").encode(), text.replace("PORT", str(self.port)).encode())
            for name, value in self.headers.items()
            for text in ([value] if isinstance(value, str) else value)
        ]
        status = self.status if scope["path"] == "/" else 200
        begin = {"type": "http.response.start", "status": status, "headers": headers}
        await send(begin)
        await send({"type": "http.response.body", "body": self.body})


def at(*addresses: str) -> Callable[[str, int], Awaitable[Sequence[str]]]:
    """Resolve every host to these addresses."""

    async def resolve(host: str, port: int) -> Sequence[str]:
        return addresses

    return resolve


async def refusal_reason(url: str, policy: Any = None, *addresses: str) -> str:
    """Return the reason why a URL is not fetched."""
    fetch = Fetcher(policy or FetchPolicy(), resolve=at(*addresses or ("127.0.0.1",)))
    with pytest.raises(UnsafeUrl) as caught:
        await fetch(Fetch(url=url))
    return str(caught.value)


PUBLIC = ("1.1.1.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1")

NOT_PUBLIC = (
    *("0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.9.9.9", "169.254.169.254"),
    *("172.16.0.1", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1"),
    *("203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1"),
    *("2001:db8::1", "2001::1", "2002:a00:1::1", "3fff::1", "5f00::1", "fc00::1"),
    *("fe80::1", "fec0::1", "ff02::1"),
)


@pytest.mark.shows("SF-03")
def test_special_addresses_are_not_public() -> None:
    for address in PUBLIC:
        with case(address):
            assert is_public(ip_address(address))
    for address in NOT_PUBLIC:
        with case(address):
            assert not is_public(ip_address(address))


@pytest.mark.shows("SF-01", "SF-03")
async def test_a_name_with_an_address_that_is_not_public_is_refused() -> None:
    for address in NOT_PUBLIC:
        with case(address):
            assert HOST in await refusal_reason(f"https://{HOST}/", None, address)
            # One is enough: the next lookup could give only that one.
            assert HOST in await refusal_reason(f"https://{HOST}/", None, "1.1.1.1", address)


REFUSED = (
    *("http://auth.example/", "ftp://auth.example/", "file:///etc/passwd", "https:///x", "/x"),
    *("https://user@auth.example/", "https://u:secret@auth.example/", "https://a.example:99999/"),
    *("https://10.0.0.1/", "https://[fe80::1]/", "https://[::ffff:10.0.0.1]/", "https://127.1/"),
    *("https://169.254.169.254/latest", "https://2130706433/", "http://0x7f.1/", "https://[bad/"),
    "javascript:alert(1)",
)


@pytest.mark.shows("SF-01", "SF-02")
async def test_a_url_that_is_not_of_https_or_not_of_a_public_host_is_refused() -> None:
    for url in REFUSED:
        with case(url):
            assert "secret" not in await refusal_reason(url)


def test_urls_have_a_host_a_port_up_to_65535_and_no_user_name() -> None:
    for port in (1, 443, 65_535):
        with case(port):
            assert FetchPolicy().zone(httpx2.URL(f"https://{HOST}:{port}/")) == "public"
    for url in (f"https://{HOST}:65536/", f"https://user@{HOST}/", "https:///x"):
        with case(url), pytest.raises(UnsafeUrl, match="a valid port and no user name"):
            FetchPolicy().zone(httpx2.URL(url))


@pytest.mark.shows("SF-02")
async def test_this_machine_is_fetched_only_where_the_policy_allows_it() -> None:
    site = Site()
    hosted = FetchPolicy(loopback=False)
    async with run_app(site, lifespan="off") as port:
        for host in ("127.0.0.1", "localhost", "LOCALHOST.", "auth.localhost"):
            with case(host):
                fetch = Fetcher(resolve=at("127.0.0.1"))
                assert (await fetch(Fetch(url=f"http://{host}:{port}/"))).status == 200
                await refusal_reason(f"http://{host}:{port}/", hosted)
                await refusal_reason(f"https://{host}:{port}/", hosted)
    # The name could have changed its address.
    assert "not loopback" in await refusal_reason("http://localhost/", None, "10.0.0.1")


async def test_a_trusted_host_may_have_a_private_address_and_no_https() -> None:
    site = Site()
    policy = FetchPolicy(loopback=False, trusted_hosts=frozenset({"Auth.Example"}))
    async with run_app(site, lifespan="off") as port:
        fetch = Fetcher(policy, resolve=at("127.0.0.1"))
        assert (await fetch(Fetch(url=f"http://{HOST}:{port}/"))).status == 200
    assert site.seen[0][2]["host"] == f"{HOST}:{port}"
    await refusal_reason(f"http://other.{HOST}/", policy)


@pytest.mark.shows("SF-03")
async def test_the_checked_address_is_connected_to_under_the_name_of_the_url(
    tmp_path: Path,
) -> None:
    site = Site()
    file, trusting = certificate(tmp_path, HOST)
    hosts = frozenset({HOST, "other.example"})
    policy = FetchPolicy(trusted_hosts=hosts, ssl_context=trusting)
    lookups: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        lookups.append(host)
        # The first one does not answer.
        return ["127.9.9.9", "127.0.0.1"]

    async with run_app(site, lifespan="off", ssl_certfile=file) as port:
        fetch = Fetcher(policy, resolve=resolve)
        fetched = await fetch(Fetch(url=f"https://{HOST}:{port}/?q=1#part"))
        assert (fetched.status, fetched.body) == (200, b"{}")
        assert lookups == [HOST]
        verb, path, fields, _ = site.seen[0]
        assert (verb, path, fields["host"]) == ("GET", "/?q=1", f"{HOST}:{port}")
        # The same address is not that of another name.
        with pytest.raises(Unreachable, match="ConnectError"):
            await fetch(Fetch(url=f"https://other.example:{port}/"))
    assert len(site.seen) == 1


@pytest.mark.shows("SF-03")
async def test_each_redirect_of_a_get_is_checked() -> None:
    policy = FetchPolicy(trusted_hosts=frozenset({"inner.example"}))
    for location, reason in {
        "http://auth.example/": "must be an https URL",
        "https://10.0.0.1/": "not public",
        "https://auth.example/": "address of auth.example is not",
        "file:///etc/passwd": "must have a host",
        "http://inner.example/": "redirects to a host that is not public",
    }.items():
        site = Site(302, location=location)
        with case(location):
            async with run_app(site, lifespan="off") as port:
                fetch = Fetcher(policy, resolve=at("127.0.0.1"))
                kinds = (UnsafeUrl, Unreachable)
                with pytest.raises(kinds, match=reason):
                    await fetch(Fetch(url=f"http://127.0.0.1:{port}/"))


async def test_redirects_are_followed_a_few_times_and_without_credentials_elsewhere() -> None:
    site = Site(307, location="http://localhost:PORT/next")
    headers = {"Authorization": "Bearer secret", "mcp-protocol-version": "2025-03-26"}
    async with run_app(site, lifespan="off") as port:
        site.port = port
        fetch = Fetcher(resolve=at("127.0.0.1"))
        asked = Fetch(url=f"http://127.0.0.1:{port}/", headers=headers)
        assert (await fetch(asked)).status == 200
        first, second = site.seen
        assert first[2]["authorization"] == "Bearer secret"
        assert second[1] == "/next"
        assert "authorization" not in second[2]
        assert second[2]["mcp-protocol-version"] == "2025-03-26"
        site.headers = {"location": "/"}
        with pytest.raises(Unreachable, match="redirects too often"):
            await fetch(asked)
    assert len(site.seen) == 2 + 4


async def test_a_post_is_never_redirected() -> None:
    for status in (301, 302, 303, 307, 308):
        site = Site(status, location="/elsewhere")
        async with run_app(site, lifespan="off") as port:
            url = f"http://127.0.0.1:{port}/"
            fetched = await Fetcher()(Fetch(method="POST", url=url, body=b"x"))
        with case(status):
            assert fetched.status == status
            assert len(site.seen) == 1


async def test_large_or_compressed_body_is_not_read() -> None:
    policy = FetchPolicy(max_bytes=10)
    for site, reason in (
        (Site(body=b"x" * 11), "more than 10 bytes"),
        (Site(content_encoding="gzip"), "compressed"),
    ):
        async with run_app(site, lifespan="off") as port:
            with pytest.raises(Unreachable, match=reason):
                await Fetcher(policy)(Fetch(url=f"http://127.0.0.1:{port}/"))
    site = Site(body=b"x" * 10)
    async with run_app(site, lifespan="off") as port:
        url = f"http://127.0.0.1:{port}/"
        assert len((await Fetcher(policy)(Fetch(url=url))).body) == 10


@pytest.mark.skips_time
async def test_unreachable_host_is_reported_without_query() -> None:
    async def never(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    async def unknown(host: str, port: int) -> list[str]:
        raise OSError("no such host")

    for resolve, reason in ((never, "within 30 s"), (unknown, "OSError"), (at(), "no address")):
        with case(reason):
            fetch = Fetcher(FetchPolicy(timeout=30), resolve=resolve)
            with pytest.raises(Unreachable, match=reason) as caught:
                await fetch(Fetch(url=f"https://{HOST}/token?code=secret"))
            assert "secret" not in str(caught.value)


async def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy, site = Site(), Site()
    async with run_app(proxy, lifespan="off") as one, run_app(site, lifespan="off") as other:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{one}")
        monkeypatch.setenv("no_proxy", "")
        await Fetcher()(Fetch(url=f"http://127.0.0.1:{other}/"))
    assert (len(proxy.seen), len(site.seen)) == (0, 1)


async def test_a_client_of_the_users_is_used_and_left_open() -> None:
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(302, headers={"location": "https://10.0.0.1/"})

    transport = httpx2.MockTransport(answer)
    async with httpx2.AsyncClient(transport=transport, auth=("user", "secret")) as client:
        fetch = Fetcher(http=client)
        for _ in range(2):
            # The connection resolves names; addresses are visible before.
            with pytest.raises(UnsafeUrl, match="not public"):
                await fetch(Fetch(url=f"https://{HOST}/"))
    assert [str(fetched.url) for fetched in seen] == [f"https://{HOST}/"] * 2
    # Credentials of the client are not for every server.
    assert "authorization" not in seen[0].headers
