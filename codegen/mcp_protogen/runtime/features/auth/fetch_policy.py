"""The URLs that may be fetched for authorization.

They come from documents of others, which could name hosts in a private network (2026-07-28,
Security Best Practices, "Server-Side Request Forgery"; RFC 9728, section 7.7).
"""

import ssl
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final, Literal, TypeAlias

from ...http.httpx2 import URL, redact_url
from .errors import UnsafeUrl

Zone: TypeAlias = Literal["public", "loopback", "trusted"]

# Non-public blocks that some releases of Python count as global (the IANA registries of
# special-purpose addresses for IPv4 and IPv6; RFC 3879 for site-local ones).
_SPECIAL: Final = tuple(
    ip_network(block)
    for block in (
        *("192.0.0.0/24", "192.88.99.0/24"),
        *("64:ff9b:1::/48", "2001::/23", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10"),
    )
)

# IPv4 addresses embedded in IPv6 by a translator (RFC 6052, section 2.1).
_NAT64: Final = ip_network("64:ff9b::/96")

_LAST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPolicy:
    """The URLs that may be fetched, and the limits of a fetch.

    URLs must be HTTPS, and all addresses of their hosts public. Redirects must lead to public
    hosts, or stay in the zone where they begin.
    """

    loopback: bool = True
    """Whether URLs may name this machine, also without HTTPS; False in a program for others."""
    trusted_hosts: frozenset[str] = frozenset()
    """Hosts whose addresses may be private, and whose URLs may lack HTTPS."""
    timeout: float = 10.0
    """The longest time for a request and its redirects, in seconds."""
    max_bytes: int = 1024 * 1024
    """The largest body of a response."""
    max_redirects: int = 3
    """The most redirects that a GET follows."""
    ssl_context: ssl.SSLContext | None = None
    """The certificates to accept; None for those that the system trusts."""

    def zone(self, url: URL) -> Zone:
        """Return the zone of a URL; raise `UnsafeUrl` if it may not be fetched.

        Addresses of names are unknown here: `check_address` checks them.
        """
        host = _plain(host_of(url))
        if url.userinfo or not host or (url.port or 0) > _LAST_PORT:
            raise UnsafeUrl(f"{redact_url(url)} must have a host, a valid port and no user name")
        zone: Zone = "public"
        if self.trusts(url):
            zone = "trusted"
        elif is_loopback(host) and self.loopback:
            zone = "loopback"
        if url.scheme != "https" and (url.scheme != "http" or zone == "public"):
            raise UnsafeUrl(f"{redact_url(url)} must be an https URL")
        if (address := _address_in(host)) is not None:
            check_address(zone, address, host)
        return zone

    def trusts(self, url: URL) -> bool:
        return _plain(host_of(url)) in map(_plain, self.trusted_hosts)


def check_address(zone: Zone, address: IPv4Address | IPv6Address, host: str) -> None:
    allowed = address.is_loopback if zone == "loopback" else is_public(address)
    if zone != "trusted" and not allowed:
        hint = "FetchPolicy(trusted_hosts=...) can allow it"
        raise UnsafeUrl(f"the address of {host} is not {zone}; {hint}")


def is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped
        if inner is None and address in _NAT64:
            inner = IPv4Address(int(address) & 0xFFFF_FFFF)
        if inner is not None:
            return is_public(inner)
    special = any(address in block for block in _SPECIAL)
    return address.is_global and not (special or address.is_multicast or address.is_reserved)


def is_loopback(host: str) -> bool:
    """Return whether a host names this machine (RFC 6761, section 6.3)."""
    name = _plain(host)
    if (address := _address_in(name)) is not None:
        return address.is_loopback
    return name == "localhost" or name.endswith(".localhost")


def host_of(url: URL) -> str:
    """Return the host for a lookup; IPv6 addresses without brackets."""
    host: bytes = url.raw_host
    return host.decode("ascii")


def _plain(host: str) -> str:
    return host.lower().removesuffix(".")


def _address_in(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
