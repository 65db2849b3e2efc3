"""Proofs that a client has the key of its tokens (RFC 9449; extension DPoP, SEP-1932)."""

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from secrets import token_urlsafe
from time import time
from typing import ClassVar, Final

from ...core.base64url import text_digest
from .signing import PrivateKey
from .urls import origin, split_url

_MOST_NONCES: Final = 100
# RFC 9449, section 8.1
_NONCE: Final = re.compile(r"[!#-\[\]-~]{1,4096}")


class DPoP:
    """A client's key, and the proofs signed with it.

    Tokens that outlive the process need a stored key. The last nonce of each server is kept.
    """

    extension: ClassVar = "io.modelcontextprotocol/auth/dpop"
    """The extension to declare (2026-07-28, basic/versioning, "Extension Negotiation")."""

    def __init__(
        self,
        private_key: str | None = None,
        *,
        algorithm: str | None = None,
        clock: Callable[[], float] = time,
        new_id: Callable[[], str] = token_urlsafe,
    ) -> None:
        """Take a key as PEM without a password, or a JWK as JSON; None creates an ES256 key.

        `clock` returns seconds since the epoch, `new_id` a unique id. Raise `InvalidKey`.
        """
        if private_key is None:
            key = PrivateKey.generate(algorithm or "ES256")
        else:
            key = PrivateKey(private_key, algorithm)
        self._key = key
        self.algorithm: Final = key.algorithm
        self._clock = clock
        self._new_id = new_id
        self._nonces = OrderedDict[object, str]()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(algorithm={self.algorithm!r})"

    @property
    def thumbprint(self) -> str:
        """The thumbprint of the key, `cnf.jkt` in tokens (RFC 7638)."""
        return self._key.public.thumbprint

    def proof(self, method: str, url: str, *, token: str | None = None) -> str:
        """Return the value of the `DPoP` header field for one request.

        `token` is the access token sent with it (RFC 9449, section 4.2).
        """
        claims: dict[str, object] = {
            "jti": self._new_id(),
            "htm": method,
            "htu": url.partition("#")[0].partition("?")[0],
            "iat": int(self._clock()),
        }
        if token is not None:
            claims["ath"] = text_digest(token)  # RFC 9449, section 4.2
        if nonce := self._nonces.get(_origin(url)):
            claims["nonce"] = nonce
        return self._key.sign(claims, typ="dpop+jwt", jwk={**self._key.public.jwk})

    def take_nonce(self, url: str, headers: Mapping[str, str]) -> bool:
        """Keep the nonce of a response for later proofs; return whether it has one.

        Names of `headers` are in lower case (RFC 9449, sections 8 and 9).
        """
        nonce = headers.get("dpop-nonce", "")
        if not _NONCE.fullmatch(nonce):
            return False
        place = _origin(url)
        self._nonces[place] = nonce
        self._nonces.move_to_end(place)
        while len(self._nonces) > _MOST_NONCES:
            self._nonces.popitem(last=False)
        return True


def _origin(url: str) -> object:
    parts = split_url(url)
    return url if parts is None else origin(parts)
