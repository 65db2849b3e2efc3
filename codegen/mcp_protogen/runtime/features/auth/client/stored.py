"""Authorizations as they are stored.

Keys contain the issuer, so that its tokens are never found for another one (2026-07-28,
basic/authorization/client-registration, "Authorization Server Binding").
"""

from dataclasses import dataclass, replace
from json import dumps
from logging import getLogger
from typing import Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from .documents import redact_url
from .settings import OAuthSettings, same_issuer
from .storage import TokenStorage
from .values import Authorization, ClientInformation, ResourceMetadata, ServerMetadata, Tokens

T = TypeVar("T")

_log: Final = getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The known facts about a URL, without secrets; they lead to the client and the tokens."""

    resource_metadata: ResourceMetadata | None
    server: ServerMetadata
    client_id: str | None
    """None for a workload."""
    requested_scopes: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredTokens:
    tokens: Tokens
    thumbprint: str | None = None


async def load(settings: OAuthSettings, url: str) -> Authorization:
    nothing, storage = Authorization(url=url), settings.storage
    if (place := await _get(storage, _key("server", url), _Place)) is None:
        return nothing
    issuer = place.server.issuer
    auth = replace(
        nothing,
        resource_metadata=place.resource_metadata,
        server=place.server,
        requested_scopes=place.requested_scopes,
    )
    if place.client_id is not None:
        registered = await _get(storage, _key("client", issuer, place.client_id), ClientInformation)
        if (client := _usable(registered, settings)) is None:
            return nothing
        auth = replace(auth, client=client)
    found = await _get(storage, _tokens_key(auth), _StoredTokens)
    if found is None or (found.thumbprint and found.thumbprint != _thumbprint(settings)):
        return auth
    return replace(auth, tokens=found.tokens)


async def save(settings: OAuthSettings, auth: Authorization) -> None:
    server, client, tokens, storage = auth.server, auth.client, auth.tokens, settings.storage
    if server is None:
        return
    place = _Place(
        resource_metadata=auth.resource_metadata,
        server=server,
        client_id=None if client is None else client.client_id,
        requested_scopes=auth.requested_scopes,
    )
    if client is not None:
        if settings.client is not None:
            # The secrets of a configured client are not stored.
            client = replace(client, client_secret=None, private_key=None)
        await _set(storage, _key("client", server.issuer, client.client_id), client)
    if tokens is not None:
        bound = tokens.token_type == "DPoP"
        entry = _StoredTokens(tokens=tokens, thumbprint=_thumbprint(settings) if bound else None)
        await _set(storage, _tokens_key(auth), entry)
    await _set(storage, _key("server", auth.url), place)


async def forget(storage: TokenStorage, auth: Authorization) -> None:
    """Delete the tokens and the facts; other servers may use the registration."""
    await storage.delete(_tokens_key(auth))
    await storage.delete(_key("server", auth.url))


def _usable(client: ClientInformation | None, settings: OAuthSettings) -> ClientInformation | None:
    given = settings.client
    if client is None or given is None:
        return client
    if client.client_id != given.client_id or client.issuer is None:
        return None
    if given.issuer and not same_issuer(settings, given.issuer, client.issuer):
        # Its secret is for the issuer that is named now (2026-07-28, "Authorization Server
        # Binding").
        return None
    method = given.token_endpoint_auth_method or client.token_endpoint_auth_method
    return replace(given, issuer=client.issuer, token_endpoint_auth_method=method)


def _thumbprint(settings: OAuthSettings) -> str | None:
    return None if settings.dpop is None else settings.dpop.thumbprint


def _key(*parts: str) -> str:
    return dumps(parts)


def _tokens_key(auth: Authorization) -> str:
    issuer = "" if auth.server is None else auth.server.issuer
    client_id = "" if auth.client is None else auth.client.client_id
    return _key("tokens", issuer, auth.resource or auth.url, client_id)


async def _get(storage: TokenStorage, key: str, type: type[T]) -> T | None:
    if (text := await storage.get(key)) is None:
        return None
    try:
        value: T = TypeAdapter(type).validate_json(text)
    except ValidationError as error:
        # The text of the error may contain a secret.
        count = error.error_count()
        _log.warning("the stored value of %s is not usable: %d problems", redact_url(key), count)
        return None
    return value


async def _set(storage: TokenStorage, key: str, value: object) -> None:
    text = TypeAdapter(type(value)).dump_json(value, exclude_defaults=True).decode()
    await storage.set(key, text)
