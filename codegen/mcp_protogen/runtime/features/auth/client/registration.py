"""The client's identity at an authorization server: known, described by a document, or registered.

basic/authorization/client-registration; RFC 7591.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic_core import to_json

from ..errors import AuthorizationError, OAuthError
from ..fetch_policy import is_loopback
from ..steps import Fetch, Fetched, Flow, fetch
from ..urls import is_metadata_document, split_url
from .client_authentication import auth_method
from .documents import error_in, read_registration
from .settings import OAuthSettings, same_issuer
from .values import ApplicationType, AuthMethod, ClientInformation, ClientMetadata, ServerMetadata

_PREFERRED: Final[Mapping[ApplicationType, tuple[AuthMethod, ...]]] = {
    "native": ("none", "client_secret_basic", "client_secret_post"),
    "web": ("client_secret_basic", "client_secret_post", "none"),
}
"""Programs on users' machines cannot keep a secret (RFC 8252, 8.5)."""

_GRANT_TYPES: Final = ("authorization_code", "refresh_token")
_OPTIONAL: Final = ("client_uri", "logo_uri", "contacts", "software_id", "software_version")


def identify(
    settings: OAuthSettings,
    server: ServerMetadata,
    redirect_uris: Sequence[str],
    known: ClientInformation | None,
) -> Flow[ClientInformation]:
    """Return the client at an authorization server; raise `AuthorizationError` without one.

    It is that of the settings, else its metadata document, else `known` from an earlier flow, else
    a new registration, which needs `redirect_uris`.
    """
    if settings.client is not None:
        return _configured_client(settings.client, settings, server, known)
    if settings.client_metadata_url and server.client_id_metadata_document_supported:
        return ClientInformation(
            client_id=settings.client_metadata_url,
            issuer=server.issuer,
            token_endpoint_auth_method="none",
            redirect_uris=tuple(redirect_uris),
        )
    if known is not None and _is_registered(known, settings, server.issuer, redirect_uris):
        return known
    if redirect_uris and server.registration_endpoint is not None:
        endpoint = server.registration_endpoint
        return (yield from _register(endpoint, settings.client_metadata, server, redirect_uris))
    raise AuthorizationError(
        f"{server.issuer} does not register clients by itself: register one there, and pass it"
        " as client=ClientInformation(client_id=…, issuer=…)"
    )


def _configured_client(
    client: ClientInformation,
    settings: OAuthSettings,
    server: ServerMetadata,
    known: ClientInformation | None,
) -> ClientInformation:
    """Return the client of the settings.

    Without an issuer, it belongs to the first server that saw it. A metadata document belongs to
    none.
    """
    issuer = client.issuer
    if issuer is None and known is not None and known.client_id == client.client_id:
        issuer = None if is_metadata_document(client.client_id) else known.issuer
    if issuer and not same_issuer(settings, issuer, server.issuer):
        raise AuthorizationError(
            f"The client is registered with {issuer}, but now {server.issuer} issues the tokens"
        )
    method = auth_method(client, server)
    return replace(client, issuer=server.issuer, token_endpoint_auth_method=method)


def _is_registered(
    known: ClientInformation, settings: OAuthSettings, issuer: str, redirect_uris: Iterable[str]
) -> bool:
    ends = known.client_secret_expires_at
    return (
        known.issuer is not None
        and same_issuer(settings, known.issuer, issuer)
        and not is_metadata_document(known.client_id)
        and set(redirect_uris) <= set(known.redirect_uris)
        and (ends is None or settings.clock() < ends)
    )


def application_type(metadata: ClientMetadata, redirect_uris: Iterable[str]) -> ApplicationType:
    if metadata.application_type is not None:
        return metadata.application_type
    hosts = (parts.hostname or "" for parts in filter(None, map(split_url, redirect_uris)))
    return "native" if all(map(is_loopback, hosts)) else "web"


def client_metadata_document(
    url: str,
    redirect_uris: Sequence[str],
    metadata: ClientMetadata | None = None,
    *,
    token_endpoint_auth_method: AuthMethod = "none",
) -> dict[str, Any]:
    """Return the document to serve as JSON at `url`, which becomes the client id.

    Draft "OAuth Client ID Metadata Document"; 2026-07-28, basic/authorization/client-registration.
    With `private_key_jwt`, `metadata.extra` needs `jwks` or `jwks_uri`. Raise `ValueError` unless
    `url` is https with a path, and without redirect URIs.
    """
    if not is_metadata_document(url):
        raise ValueError("url must be https, with a path")
    if not redirect_uris:
        raise ValueError("redirect_uris must not be empty")
    described = _describe_client(
        metadata or ClientMetadata(), redirect_uris, token_endpoint_auth_method
    )
    return {**described, "client_id": url}


def _describe_client(
    metadata: ClientMetadata,
    redirect_uris: Sequence[str],
    method: AuthMethod,
    grant_types: Sequence[str] = _GRANT_TYPES,
) -> dict[str, Any]:
    """RFC 7591, section 2."""
    return {
        "client_name": metadata.client_name,
        "application_type": application_type(metadata, redirect_uris),
        "redirect_uris": list(redirect_uris),
        "grant_types": list(grant_types),
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        **{name: value for name in _OPTIONAL if (value := getattr(metadata, name))},
        **metadata.extra,
    }


def _register(
    endpoint: str, metadata: ClientMetadata, server: ServerMetadata, redirect_uris: Sequence[str]
) -> Flow[ClientInformation]:
    """RFC 7591, section 3."""
    method = _method_to_register(application_type(metadata, redirect_uris), server)
    supported = server.grant_types_supported
    grant_types = [name for name in _GRANT_TYPES if supported is None or name in supported]
    request = _describe_client(metadata, redirect_uris, method, grant_types or _GRANT_TYPES[:1])
    headers = {"accept": "application/json", "content-type": "application/json"}
    answer = yield from fetch(
        Fetch(method="POST", url=endpoint, headers=headers, body=to_json(request))
    )
    if answer.status not in (200, 201):
        raise _failure(answer, server.issuer, request)
    client = read_registration(answer.body, server.issuer)
    if client.client_secret is None or client.token_endpoint_auth_method == "private_key_jwt":
        # Some servers repeat a method without giving its credentials.
        client = replace(client, token_endpoint_auth_method=None)
    elif client.token_endpoint_auth_method is None:
        methods = server.token_endpoint_auth_methods_supported
        if methods is not None and {*_PREFERRED["web"][:2]}.isdisjoint(methods):
            # Some give a secret, but do not accept one.
            client = replace(client, token_endpoint_auth_method="none")
    method = auth_method(client, server)
    return replace(client, token_endpoint_auth_method=method, redirect_uris=tuple(redirect_uris))


def _method_to_register(application: ApplicationType, server: ServerMetadata) -> AuthMethod:
    """Without a list, a document means Basic (RFC 8414, section 2)."""
    preferred = _PREFERRED[application]
    supported = server.token_endpoint_auth_methods_supported
    if supported is None:
        supported = ("client_secret_basic",) if server.is_document else preferred
    for method in preferred:
        if method in supported:
            return method
    raise AuthorizationError(f"{server.issuer} supports no method for registered clients")


def _failure(answer: Fetched, issuer: str, request: Mapping[str, Any]) -> AuthorizationError:
    if (error := error_in(answer.body)) is None:
        return AuthorizationError(f"{issuer} answered {answer.status} to a registration")
    asked = f"the request had the redirect URIs {', '.join(request['redirect_uris'])}"
    asked += f" and the application type {request['application_type']}"
    return OAuthError(error.error, f"{error.description or 'no reason given'}; {asked}")
