"""An authorization server for verifiers of its tokens, without sockets."""

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import count
from json import dumps
from typing import Any, Final
from urllib.parse import parse_qs

from mcp_protogen.runtime.features.auth.signing import PrivateKey
from mcp_protogen.runtime.features.auth.steps import Fetch, Fetched
from support.auth.playing import NOT_FOUND, document

ISSUER: Final = "https://auth.example"
RESOURCE: Final = "https://mcp.example/mcp"

KEY: Final = PrivateKey.generate()
"""A key for tests that need no other one."""

_LATER: Final = 3600.0

# FIPS 186-4, appendix D.1.2.3: the order of P-256.
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


class Clock:
    """A clock that only moves when told."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@dataclass
class Issuer:
    """An issuer that signs tokens, and answers for its metadata, its keys and introspection."""

    url: str = ISSUER
    keys: dict[str, PrivateKey] = field(default_factory=lambda: {"first": KEY})
    clock: Clock = field(default_factory=Clock)
    more_keys: list[Any] = field(default_factory=list[Any])
    """What else is in the JWK set."""
    known: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """What is answered about tokens."""
    answers: dict[str, Fetched] = field(default_factory=dict[str, Fetched])
    """What else is answered, by URL."""
    failure: Exception | None = None
    """Why nothing can be fetched."""
    gate: asyncio.Event | None = None
    """What answers wait for."""
    asked: list[Fetch] = field(default_factory=list[Fetch])
    most_at_once: int = 0
    _at_once: int = 0

    def token(
        self,
        kid: str | None = "first",
        /,
        *,
        header: Mapping[str, Any] | None = None,
        **claims: Any,
    ) -> str:
        """Return a token for RESOURCE; a claim that is None is left out."""
        now = self.clock()
        key = self.keys.get(kid or "first") or KEY
        said = {"iss": self.url, "sub": "ada", "aud": RESOURCE, "iat": now, "exp": now + _LATER}
        fields = {"typ": "at+jwt", "kid": kid, **(header or {})}
        return key.sign(_without_none({**said, **claims}), **_without_none(fields))

    async def fetch(self, request: Fetch) -> Fetched:
        """Answer a request, as the `fetch` of a verifier."""
        self.asked.append(request)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            if self.gate is not None:
                await self.gate.wait()
            if self.failure is not None:
                raise self.failure
            return self._answer(request)
        finally:
            self._at_once -= 1

    def count_requests_for(self, name: str) -> int:
        """Count the requests for a URL with this ending."""
        return sum(request.url.endswith(name) for request in self.asked)

    def _answer(self, request: Fetch) -> Fetched:
        if request.url in self.answers:
            return self.answers[request.url]
        if request.url == f"{self.url}/.well-known/oauth-authorization-server":
            endpoints = {name: f"{self.url}/{name}" for name in ("jwks_uri", "token_endpoint")}
            endpoints["introspection_endpoint"] = f"{self.url}/introspect"
            return document({"issuer": self.url, **endpoints})
        if request.url == f"{self.url}/jwks_uri":
            named = [{**key.public.jwk, "kid": kid} for kid, key in self.keys.items()]
            return document({"keys": [*named, *self.more_keys]})
        if request.url == f"{self.url}/introspect":
            token = parse_qs((request.body or b"").decode())["token"][0]
            return document(self.known.get(token, {"active": False}))
        return NOT_FOUND


_ids: Final = partial(next, count(1))


def proof(key: PrivateKey, method: str, url: str, token: str, now: float, **changed: Any) -> str:
    """Return a DPoP proof with changed claims; names with `head_` are for the header."""
    ath = urlsafe_b64encode(sha256(token.encode()).digest()).rstrip(b"=").decode()
    claims = {"jti": f"proof-{_ids()}", "htm": method, "htu": url, "iat": now, "ath": ath}
    header = {"typ": "dpop+jwt", "jwk": key.public.jwk}
    for name, value in changed.items():
        of, member = (header, name[5:]) if name.startswith("head_") else (claims, name)
        of[member] = value
    return key.sign(_without_none(claims), **_without_none(header))


def forge_token(
    header: Mapping[str, Any], claims: Mapping[str, Any], signature: bytes = b""
) -> str:
    """Return a JWT with exactly these parts."""
    parts = (dumps(dict(header)).encode(), dumps(dict(claims)).encode(), signature)
    return ".".join(urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def with_other_signature(token: str) -> str:
    """Return the token with the other valid ES256 signature, which needs no key."""
    signed, _, encoded = token.rpartition(".")
    signature = urlsafe_b64decode(encoded + "==")
    other = _ORDER - int.from_bytes(signature[32:])
    changed = urlsafe_b64encode(signature[:32] + other.to_bytes(32)).rstrip(b"=")
    return f"{signed}.{changed.decode()}"


def _without_none(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
