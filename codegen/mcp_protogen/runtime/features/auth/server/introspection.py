"""Access tokens that the authorization server is asked about (RFC 7662)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any, Final

from ....core.http_request import Principal
from ....core.json import is_array
from ....core.throttle import Throttle
from ....http.server.authentication import VerifierUnavailable
from ..client.client_authentication import form_post
from ..client.values import ClientInformation, ServerMetadata
from ..errors import AuthorizationError
from ..fetching import Fetcher
from ..steps import Fetching
from ..urls import server_metadata_urls
from .cache import ExpiringCache, TokenCache
from .claims import ClaimChecks, refuse
from .keys import endpoint, read_object, server_metadata
from .single_flight import SingleFlight

_log: Final = Throttle(__name__)

# The member of the metadata, and the seconds for which its value is used.
_ENDPOINT: Final = "introspection_endpoint"
_FOUND_FOR: Final = 3600.0

# Waiting tokens per token that is being asked about.
_WAITING: Final = 20

# In characters, so that the authorization server need not see more.
_LONGEST: Final = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Introspection(ClaimChecks):
    """The `verify` of an `Authentication` for tokens that only their issuer can read.

    The server asks as `client`, once for all requests with the same token. Answers are kept in
    `cache`, by default for a minute: for so long a revoked token may be accepted. Verifying raises
    `TokenRefused` and `VerifierUnavailable`, and needs httpx2.

    Raise `ValueError` for invalid options.
    """

    audience: str | Collection[str] | None
    """Values of which `aud` must have one: the URL of the endpoint, as clients know it. None if the
    authorization server calls a token active only for `client` (RFC 7662, section 4)."""
    client: ClientInformation
    """This server at the authorization server, with a secret or a private key."""
    endpoint: str | None = None
    """The URL to ask; by default the one in the issuer's metadata."""
    max_requests: int = 32
    """The most tokens to ask about at once. Some more wait; others get 503."""
    timeout: float = 10.0
    """The seconds after which verification fails for now."""
    # Introspection is chosen to learn of revocations.
    cache: TokenCache = field(default_factory=partial(TokenCache, lifetime=60.0), repr=False)
    """The memory of answers."""
    fetch: Fetching | None = field(default=None, repr=False)
    """The HTTP client; it decides which hosts are allowed."""
    _fetch: Fetching = field(init=False, repr=False)
    _requests: SingleFlight[Mapping[str, Any]] = field(init=False, repr=False)
    _discoveries: SingleFlight[ServerMetadata] = field(init=False, repr=False)
    _found: ExpiringCache[ServerMetadata] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.client.client_secret is None and self.client.private_key is None:
            raise ValueError("client needs a secret or a private key")
        if self.max_requests <= 0 or self.timeout <= 0:
            raise ValueError("max_requests and timeout must be more than 0")
        if self.endpoint is None and not server_metadata_urls(self.issuer):
            raise ValueError(f"the metadata of {self.issuer!r:.100} cannot be found: set endpoint")
        self._check_options(self.audience)
        waiting = self.max_requests * _WAITING
        derived: dict[str, object] = {
            "_fetch": self.fetch or Fetcher(),
            "_requests": SingleFlight[Any](self.max_requests, waiting, patience=self.timeout),
            "_discoveries": SingleFlight[ServerMetadata](1, patience=self.timeout),
            "_found": ExpiringCache[ServerMetadata](1),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    async def __call__(self, token: str) -> Principal:
        return await self.cache.verify(token, self._verify)

    async def _verify(self, token: str) -> Principal:
        if len(token) > _LONGEST:
            refuse("The token is too long")
        key = sha256(token.encode()).digest()
        try:
            answer = await self._requests.join(lambda: self._ask(token), key)
        except (AuthorizationError, TimeoutError) as error:
            why = f"{type(error).__name__}: {error}"
            _log.warning("an authorization server did not answer about a token: %s", why)
            raise VerifierUnavailable("tokens cannot be verified for now") from None
        return self._read_answer(answer)

    async def _ask(self, token: str) -> Mapping[str, Any]:
        form = {"token": token, "token_type_hint": "access_token"}
        server, now = await self._server(), self.clock()
        return read_object(await self._fetch(form_post(self.client, server, now, form)))

    async def _server(self) -> ServerMetadata:
        if self.endpoint is not None:
            return _metadata(self.issuer, self.endpoint)
        found = self._found.get(_ENDPOINT, self.clock())
        return found or await self._discoveries.join(self._discover)

    async def _discover(self) -> ServerMetadata:
        document = await server_metadata(self.issuer, self._fetch)
        methods = document.get("introspection_endpoint_auth_methods_supported")
        supported = tuple(methods) if is_array(methods) else None
        found = _metadata(self.issuer, endpoint(document, _ENDPOINT), supported)
        now = self.clock()
        self._found.put(_ENDPOINT, found, now + _FOUND_FOR, now)
        return found

    def _read_answer(self, answer: Mapping[str, Any]) -> Principal:
        if answer.get("active") is not True:
            refuse("The token is not active")
        if answer.get("iss", self.issuer) != self.issuer:
            refuse("The token is of another issuer")
        self._check_audience(answer)
        return self._principal(answer, self._check_times(answer))


def _metadata(issuer: str, endpoint: str, methods: tuple[str, ...] | None = None) -> ServerMetadata:
    return ServerMetadata(
        issuer=issuer, token_endpoint=endpoint, token_endpoint_auth_methods_supported=methods
    )
