"""Bounded requests for authorization, to hosts that the policy allows.

The connection goes to the checked address: a second lookup could return another.
"""

import asyncio
from asyncio import get_running_loop
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from ipaddress import ip_address
from socket import SOCK_STREAM
from typing import Any, Final, TypeAlias

from ...http.httpx2 import URL, HttpClient, httpx2, origin_of, redact_url, trust
from .errors import Unreachable, UnsafeUrl
from .fetch_policy import FetchPolicy, Zone, check_address, host_of
from .steps import Fetch, Fetched
from .urls import DEFAULT_PORTS

Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]

# RFC 9110, section 15.4
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

# Not sent to another origin after a redirect (RFC 9110, section 15.4).
_CREDENTIALS: Final = frozenset({"authorization", "cookie", "dpop", "proxy-authorization"})

# The addresses of one host.
_MOST_TRIED: Final = 4

_ANY: Final = FetchPolicy()


async def resolve_host(host: str, port: int) -> list[str]:
    addresses = await get_running_loop().getaddrinfo(host, port, type=SOCK_STREAM)
    return [str(address[0]) for *_, address in addresses]


class Fetcher:
    """The HTTP client of flows and verifiers; `FetchPolicy` decides which URLs it refuses.

    A GET follows redirects and checks each one like the first URL; a POST returns its 3xx. Only
    trusted certificates come from the environment, and cookies are not kept.

    With `http`, requests go through that client, with its proxies and certificates. It looks up
    addresses by itself, so the addresses of names are not checked.

    Raise `ImportError` if httpx2 is not installed and `http` is None.
    """

    def __init__(
        self,
        policy: FetchPolicy = _ANY,
        http: HttpClient | None = None,
        *,
        resolve: Resolve = resolve_host,
    ) -> None:
        if http is None:
            httpx2()
        self._policy = policy
        self._http = http
        self._resolve = resolve

    async def __call__(self, request: Fetch) -> Fetched:
        """Return the response, of any status; raise `UnsafeUrl` or `Unreachable`."""
        package = httpx2()
        try:
            url = package.URL(request.url)
        except package.InvalidURL:
            raise UnsafeUrl("the URL to fetch is invalid") from None
        within = self._policy.timeout
        try:
            async with asyncio.timeout(within):
                return await self._follow_redirects(request, url)
        except TimeoutError:
            raise Unreachable(f"{redact_url(url)} did not answer within {within:g} s") from None
        except (package.RequestError, package.InvalidURL, OSError, UnicodeError) as error:
            # The text of an error may contain the URL.
            kind = type(error).__name__
            raise Unreachable(f"{redact_url(url)} could not be fetched: {kind}") from None

    async def _follow_redirects(self, request: Fetch, url: URL) -> Fetched:
        zone = self._policy.zone(url)
        count = self._policy.max_redirects
        while True:
            fetched = await self._fetch_once(request, url, zone)
            location = fetched.headers.get("location")
            if request.method != "GET" or fetched.status not in _REDIRECTS or location is None:
                return fetched
            if not count:
                raise Unreachable(f"{redact_url(url)} redirects too often")
            count -= 1
            new_url = url.join(location)
            found = self._policy.zone(new_url)
            if found not in ("public", zone):
                raise UnsafeUrl(f"{redact_url(url)} redirects to a host that is not public")
            if origin_of(new_url) != origin_of(url):
                headers = request.headers.items()
                safe = {name: value for name, value in headers if name.lower() not in _CREDENTIALS}
                request = replace(request, headers=safe)
            url, zone = new_url, found

    async def _fetch_once(self, request: Fetch, url: URL, zone: Zone) -> Fetched:
        if self._http is not None:
            return await self._send(nullcontext(self._http), request, url)
        package = httpx2()
        host, addresses = host_of(url), await self.look_up(url, zone)
        # The pinned URL has an address, so the field Host must have the name.
        named = replace(request, headers={**request.headers, "host": url.netloc.decode("ascii")})
        for address in addresses:
            # TLS has verified one name, so the connection is not reused: the next request may be
            # for another host at the same address.
            client = package.AsyncClient(
                verify=self._policy.ssl_context or trust(),
                trust_env=False,
                timeout=self._policy.timeout,
            )
            try:
                return await self._send(client, named, url.copy_with(host=address), host)
            except (package.ConnectError, package.ConnectTimeout):
                if address is addresses[-1]:
                    raise
        raise Unreachable(f"{host} has no address")

    async def look_up(self, url: URL, zone: Zone) -> Sequence[str]:
        """Return the addresses of a host; raise `UnsafeUrl`."""
        host = host_of(url)
        addresses = await self._resolve(host, url.port or DEFAULT_PORTS[url.scheme])
        for address in addresses:
            check_address(zone, ip_address(address), host)
        return addresses[:_MOST_TRIED]

    async def _send(
        self,
        clients: AbstractAsyncContextManager[Any],
        request: Fetch,
        url: URL,
        name: str | None = None,
    ) -> Fetched:
        async with clients as client:
            made = client.build_request(
                request.method,
                url.copy_with(fragment=None),
                # The size of a compressed body is unknown until it is read.
                headers={**request.headers, "accept-encoding": "identity"},
                content=request.body,
                extensions={} if name is None else {"sni_hostname": name},
            )
            response = await client.send(made, stream=True, follow_redirects=False, auth=None)
            try:
                body = await self._body(response)
            finally:
                await response.aclose()
        # httpx2 has the names in lower case, and joins repeated values by commas.
        return Fetched(status=response.status_code, headers=dict(response.headers), body=body)

    async def _body(self, response: Any) -> bytes:
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise Unreachable("the response is compressed, which the request does not allow")
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > self._policy.max_bytes:
                raise Unreachable(f"a response has more than {self._policy.max_bytes} bytes")
        return bytes(body)
