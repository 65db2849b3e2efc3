"""The signing keys of an authorization server: a JWK set (RFC 7517, section 5).

Tokens cannot choose the place of keys: `jku`, `x5u` and `jwk` in their headers are ignored.
"""

from asyncio import timeout
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from math import inf
from time import monotonic
from typing import Any, Final, Protocol

from ....core.json import is_array, is_object
from ....core.throttle import Throttle
from ....http.server.authentication import VerifierUnavailable
from ..errors import InvalidMetadata
from ..fetching import Fetcher
from ..json_objects import object_in
from ..signing import InvalidKey, PublicKey, public_key
from ..steps import Fetch, Fetched, Fetching
from ..urls import server_metadata_urls
from .single_flight import SingleFlight

_JSON: Final = {"accept": "application/json"}

_log: Final = Throttle(__name__)

# The most keys read from a set, and the most tried for one token.
_MOST_KEYS: Final = 100
_MOST_TRIED: Final = 4

# The timeout of an attempt, and the pause after a failed one, in seconds.
_PATIENCE: Final = 20.0
_PAUSE: Final = 5.0


async def server_metadata(issuer: str, fetch: Fetching) -> Mapping[str, Any]:
    """Return the metadata document of an authorization server; raise `AuthorizationError`."""
    for url in server_metadata_urls(issuer):
        answer = await fetch(Fetch(url=url, headers=_JSON))
        if answer.is_document:
            document = read_object(answer)
            # Not normalised (RFC 8414, section 3.3).
            if document.get("issuer") != issuer:
                raise InvalidMetadata(f"the metadata at {url} belongs to another issuer")
            return document
    raise InvalidMetadata(f"the metadata of {issuer} was not found")


def endpoint(document: Mapping[str, Any], name: str) -> str:
    url = document.get(name)
    if not isinstance(url, str):
        raise InvalidMetadata(f"the metadata of {document['issuer']} has no {name}")
    return url


def read_object(answer: Fetched) -> dict[str, Any]:
    if answer.status != 200:
        raise InvalidMetadata(f"expected status 200, got {answer.status}")
    if (value := object_in(answer.body)) is None:
        raise InvalidMetadata("the answer is not a JSON object")
    return value


class Keys(Protocol):
    async def find(self, kid: str | None, algorithm: str) -> Sequence[PublicKey]:
        """Return keys that may have signed a token; raise `VerifierUnavailable`."""
        ...


class StaticKeys:
    """Fixed keys: JWKs, PEM texts, or both.

    Raise `ValueError` without a key, and for one that is private, weak or unreadable.
    """

    def __init__(self, *keys: Mapping[str, Any] | str) -> None:
        if not keys:
            raise ValueError("expected at least one public key")
        self._keys = tuple(map(public_key, keys))

    async def find(self, kid: str | None, algorithm: str) -> Sequence[PublicKey]:
        return matching(self._keys, kid, algorithm)


class JwksUri:
    """The JWK set at a URL, read at the first use. Times are in seconds.

    After `lifetime` it is read again, in the background; the old set is used for up to `max_stale`.
    It is also read for a token with an unknown key id, since keys change, but at most once in
    `min_interval`: made-up ids cause no more requests.

    `fetch` makes the requests; it decides which hosts are allowed. `clock` must be monotonic.
    """

    def __init__(
        self,
        url: str | Callable[[], Awaitable[str]],
        *,
        fetch: Fetching | None = None,
        lifetime: float = 600.0,
        max_stale: float = 24 * 3600.0,
        min_interval: float = 30.0,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        if not 0 < min_interval <= lifetime <= max_stale:
            raise ValueError("expected 0 < min_interval <= lifetime <= max_stale")
        self._url = url
        self._fetch: Fetching = fetch or Fetcher()
        self._lifetime, self._max_stale = lifetime, max_stale
        self._min_interval = min_interval
        self._clock = clock
        self._log = Throttle(__name__)
        self._requests = SingleFlight[None](1, patience=2 * _PATIENCE)
        self._keys: Sequence[PublicKey] = ()
        self._read_at = -inf
        self._next_attempt = -inf

    @classmethod
    def of_issuer(cls, issuer: str, *, fetch: Fetching | None = None, **options: Any) -> "JwksUri":
        """Return the set in the metadata of an issuer; `options` are those of the class.

        Raise `ValueError` for an issuer that can have no metadata.
        """
        fetching: Fetching = fetch or Fetcher()
        if not server_metadata_urls(issuer):
            raise ValueError(f"the metadata of {issuer!r:.100} cannot be found: set keys")

        async def locate() -> str:
            return endpoint(await server_metadata(issuer, fetching), "jwks_uri")

        return cls(locate, fetch=fetching, **options)

    async def find(self, kid: str | None, algorithm: str) -> Sequence[PublicKey]:
        age = self._clock() - self._read_at
        if age >= self._max_stale:
            await self._refresh()
            if self._clock() - self._read_at >= self._max_stale:
                raise VerifierUnavailable("the keys of the authorization server are not known")
        elif age >= self._lifetime and self._may_ask():
            self._requests.begin(self._read)
        found = matching(self._keys, kid, algorithm)
        if not found and kid is not None:
            await self._refresh()
            found = matching(self._keys, kid, algorithm)
        return found

    async def _refresh(self) -> None:
        if self._may_ask():
            await self._requests.join(self._read)

    def _may_ask(self) -> bool:
        return self._clock() >= self._next_attempt

    async def _read(self) -> None:
        try:
            async with timeout(_PATIENCE):
                url = self._url if isinstance(self._url, str) else await self._url()
                document = read_object(await self._fetch(Fetch(url=url)))
            keys = keys_of(document)
        except Exception as error:
            # For any error, so that not each token causes another attempt.
            why = f"{type(error).__name__}: {error}"
            self._log.warning("the keys of an authorization server cannot be read: %s", why)
            self._next_attempt = self._clock() + _PAUSE
            return
        self._keys, self._read_at = keys, self._clock()
        self._next_attempt = self._read_at + self._min_interval


def keys_of(document: Mapping[str, Any]) -> Sequence[PublicKey]:
    """Return the supported keys of a JWK set; raise `InvalidMetadata` if it is not one."""
    listed = document.get("keys")
    if not is_array(listed):
        raise InvalidMetadata("the document is not a JWK set")
    return tuple(_usable(listed[:_MOST_KEYS]))


def _usable(listed: Iterable[Any]) -> Iterable[PublicKey]:
    for jwk in listed:
        if not is_object(jwk) or jwk.get("use", "sig") != "sig":
            continue
        uses = jwk.get("key_ops", ["verify"])
        if is_array(uses) and "verify" in uses:
            try:
                yield public_key(jwk)
            except InvalidKey as error:
                _log.info("a key of a JWK set is left out: %s", error)


def matching(keys: Iterable[PublicKey], kid: str | None, algorithm: str) -> Sequence[PublicKey]:
    """Return a few keys that may have signed a token with this header.

    With a key id, keys without an id count only if none has it.
    """
    fit = [key for key in keys if algorithm in key.algorithms]
    if kid is not None:
        fit = [key for key in fit if key.kid == kid] or [key for key in fit if key.kid is None]
    return fit[:_MOST_TRIED]
