"""The flow that obtains a token, without input or output.

Status 401 restarts discovery: the MCP server may have changed its authorization server, and the new
one must see nothing of the old one (2026-07-28, basic/authorization/client-registration,
"Authorization Server Binding").
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from ....core.oauth_scopes import OFFLINE_ACCESS, SCOPE, format_scopes
from ..challenge import challenges_in, token_param
from ..dpop import DPoP
from ..errors import AuthorizationError, OAuthError, Unreachable
from ..steps import Flow
from .discovery import choose_issuer, default_server, find_resource, find_server
from .grants import AuthorizationCode, WorkloadIdentity, require_code_grant
from .registration import identify
from .settings import OAuthSettings, same_issuer
from .token_endpoint import TokenRequest, refresh_tokens
from .values import Authorization, Refusal, ServerMetadata, Tokens

_MOST_SCOPES: Final = 1000

_MOST_OPERATIONS: Final = 256


def challenged_scopes(refusal: Refusal | None) -> frozenset[str]:
    text = token_param(refusal.www_authenticate, "scope") if refusal else None
    return frozenset(filter(SCOPE.fullmatch, (text or "").split()))


def is_for_scopes(refusal: Refusal) -> bool:
    """Return whether a request was refused for its scopes (RFC 6750, section 3.1)."""
    error = token_param(refusal.www_authenticate, "error")
    return refusal.status == 403 and error == "insufficient_scope"


def scopes_to_ask_for(
    settings: OAuthSettings, auth: Authorization, refusal: Refusal | None
) -> frozenset[str]:
    """Return the scopes of the next token request; empty to omit the parameter.

    They are those of the challenge, and all requested or granted before. Without any, they are
    those that the resource supports (2025-11-25 and 2026-07-28, basic/authorization, "Scope
    Selection Strategy").
    """
    challenged = challenged_scopes(refusal)
    scopes = _all_scopes(auth) | challenged
    if not scopes or (refusal and is_for_scopes(refusal) and not challenged):
        resource = auth.resource_metadata
        supported = resource.scopes_supported if resource else None
        sound = frozenset(filter(SCOPE.fullmatch, supported or ()))
        scopes |= sound if settings.scopes is None else settings.scopes
    if len(scopes) > _MOST_SCOPES:
        raise AuthorizationError("The server asks for more than 1000 scopes")
    return _with_offline_access(scopes, settings, auth)


def _all_scopes(auth: Authorization) -> frozenset[str]:
    granted = auth.tokens.scopes if auth.tokens else None
    return auth.requested_scopes | (granted or frozenset())


def _with_offline_access(
    scopes: frozenset[str], settings: OAuthSettings, auth: Authorization
) -> frozenset[str]:
    """Add the scope for a refresh token, if the server or the settings list it.

    Without other scopes, the authorization server chooses.
    """
    others = scopes - {OFFLINE_ACCESS}
    listed = auth.server.scopes_supported if auth.server else None
    is_known = OFFLINE_ACCESS in (*(listed or ()), *(settings.scopes or ()))
    if others and is_known and isinstance(settings.grant, AuthorizationCode):
        return others | {OFFLINE_ACCESS}
    return others


def count_step_up(
    settings: OAuthSettings, auth: Authorization, refusal: Refusal, operation: str
) -> Authorization:
    """Count one more step-up of an operation.

    Raise `AuthorizationError` after `max_step_ups`, or at the second one if all scopes were
    requested before.
    """
    times = auth.step_ups.get(operation, 0)
    challenged = challenged_scopes(refusal)
    adds = not challenged <= _all_scopes(auth)
    if times >= (settings.max_step_ups if adds else min(1, settings.max_step_ups)):
        wanted = f", which needs the scopes {format_scopes(challenged)}" if challenged else ""
        reason = f"{operation or 'a request'}{wanted}"
        raise AuthorizationError(f"The granted scopes are not enough for {reason}")
    others = forget_step_ups(auth, operation).step_ups.items()
    kept = dict(list(others)[-_MOST_OPERATIONS + 1 :])
    return replace(auth, step_ups={**kept, operation: times + 1})


def forget_step_ups(auth: Authorization, operation: str) -> Authorization:
    if operation not in auth.step_ups:
        return auth
    others = {name: count for name, count in auth.step_ups.items() if name != operation}
    return replace(auth, step_ups=others)


Keep: TypeAlias = Callable[[Authorization], object]
"""Takes the state that must survive a later failure of the flow."""


def authorize(
    settings: OAuthSettings,
    known: Authorization,
    refusal: Refusal | None = None,
    *,
    operation: str = "",
    redirect_uri: str | None = None,
    keep: Keep = lambda known: None,
) -> Flow[Authorization]:
    """Return an authorization with new tokens; raise `AuthorizationError`.

    `refusal` is the reason; None before the first request. `operation` is the refused one. `keep`
    gets the state that a refusal by the user must not undo: the step-ups, and the registration.
    """
    if refusal is not None and refusal.status == 403:
        if not is_for_scopes(refusal):
            raise AuthorizationError("The server refuses the request, and not for its scopes")
        known = count_step_up(settings, known, refusal, operation)
        keep(known)
        if known.server is None:
            known = yield from _discover(settings, known, refusal)
        return (yield from _get_tokens(settings, known, refusal, redirect_uri, keep))
    known = yield from _discover(settings, known, refusal)
    tokens = known.tokens
    granted = (tokens and tokens.scopes) or known.requested_scopes
    if tokens and tokens.refresh_token is not None and challenged_scopes(refusal) <= granted:
        try:
            return (yield from refresh(settings, known, refusal))
        except Unreachable:
            raise
        except AuthorizationError as failure:
            client = None if _is_of_unknown_client(failure) else known.client
            known = replace(known, tokens=None, client=client)
    return (yield from _get_tokens(settings, known, refusal, redirect_uri, keep))


def refresh(
    settings: OAuthSettings, auth: Authorization, refusal: Refusal | None = None
) -> Flow[Authorization]:
    """Return an authorization with new tokens, without the user; `refusal` is as in `authorize`."""
    if auth.tokens is None:
        raise AuthorizationError("There are no tokens to refresh")
    request = _token_request(settings, auth, refusal)
    if auth.tokens.refresh_token is not None or isinstance(settings.grant, AuthorizationCode):
        tokens = yield from refresh_tokens(request, auth.tokens)
    else:
        tokens = yield from settings.grant.tokens(request)
    return replace(auth, tokens=_check_bound(settings, tokens))


def _discover(
    settings: OAuthSettings, auth: Authorization, refusal: Refusal | None
) -> Flow[Authorization]:
    slash = settings.trailing_slash
    resource = yield from find_resource(auth.url, refusal)
    if resource is None:
        revision = refusal.revision if refusal is not None else ""
        server = yield from default_server(auth.url, revision, trailing_slash=slash)
    else:
        sources = (settings, settings.client, auth.server)
        issuers = [source.issuer for source in sources if source is not None]
        issuer = choose_issuer(resource.authorization_servers, issuers, trailing_slash=slash)
        server = yield from find_server(issuer, trailing_slash=slash)
    before = auth.server
    if before and not same_issuer(settings, before.issuer, server.issuer):
        # Tokens belong to their issuer. A client names its own issuer.
        auth = Authorization(url=auth.url, client=auth.client, step_ups=auth.step_ups)
    return replace(auth, resource_metadata=resource, server=server)


def _is_of_unknown_client(failure: AuthorizationError) -> bool:
    # RFC 6749, section 5.2.
    return isinstance(failure, OAuthError) and failure.error == "invalid_client"


def _get_tokens(
    settings: OAuthSettings,
    auth: Authorization,
    refusal: Refusal | None,
    redirect_uri: str | None,
    keep: Keep,
) -> Flow[Authorization]:
    scopes = scopes_to_ask_for(settings, auth, refusal)
    before = auth.client
    auth = yield from _identify_client(settings, auth, redirect_uri)
    keep(auth)
    request = replace(
        _token_request(settings, auth, refusal), scopes=scopes, redirect_uri=redirect_uri
    )
    try:
        tokens = yield from settings.grant.tokens(request)
    except OAuthError as failure:
        # An earlier registration may be gone; one from this flow is not.
        if before is None or before != auth.client or settings.client is not None:
            raise
        if before.client_id == settings.client_metadata_url or not _is_of_unknown_client(failure):
            raise
        auth = yield from _identify_client(settings, replace(auth, client=None), redirect_uri)
        keep(auth)
        tokens = yield from settings.grant.tokens(replace(request, client=auth.client))
    return replace(
        auth, tokens=_check_bound(settings, tokens), requested_scopes=auth.requested_scopes | scopes
    )


def _identify_client(
    settings: OAuthSettings, auth: Authorization, redirect_uri: str | None
) -> Flow[Authorization]:
    if isinstance(settings.grant, WorkloadIdentity) and settings.client is None:
        # Its assertion says who it is.
        return replace(auth, client=None)
    redirect_uris: tuple[str, ...] = ()
    if isinstance(settings.grant, AuthorizationCode):
        # Do not register where the server cannot ask users, or without a redirect URI.
        require_code_grant(_server(settings, auth))
        redirect_uris = () if redirect_uri is None else (redirect_uri,)
    client = yield from identify(settings, _server(settings, auth), redirect_uris, auth.client)
    return replace(auth, client=client)


def _server(settings: OAuthSettings, auth: Authorization) -> ServerMetadata:
    server = auth.server
    if server is None:
        raise AuthorizationError("The authorization server is not known")
    only = settings.issuer
    if only and not same_issuer(settings, only, server.issuer):
        raise AuthorizationError(f"Tokens are issued by {server.issuer}, not by {only}")
    return server


def _token_request(
    settings: OAuthSettings, auth: Authorization, refusal: Refusal | None
) -> TokenRequest:
    return TokenRequest(
        server=_server(settings, auth),
        client=auth.client,
        resource=auth.resource,
        scopes=auth.requested_scopes,
        dpop=_proofs(settings, auth, refusal),
        trailing_slash=settings.trailing_slash,
        clock=settings.clock,
    )


def _proofs(settings: OAuthSettings, auth: Authorization, refusal: Refusal | None) -> DPoP | None:
    """Return the DPoP key, if it is required or supported.

    It is required if the MCP server takes only bound tokens, or the earlier ones were bound (RFC
    9449, sections 5 and 7.1).
    """
    values = refusal.www_authenticate if refusal is not None else ()
    schemes = {challenge.scheme for challenge in challenges_in(values)}
    is_needed = "dpop" in schemes and "bearer" not in schemes
    if settings.dpop is None:
        if is_needed:
            raise AuthorizationError("The server requires DPoP: set dpop=DPoP()")
        return None
    was_bound = auth.tokens is not None and auth.tokens.token_type == "DPoP"
    supported = _server(settings, auth).dpop_signing_alg_values_supported or ()
    is_wanted = settings.dpop.algorithm in supported or settings.dpop_required
    return settings.dpop if is_needed or was_bound or is_wanted else None


def _check_bound(settings: OAuthSettings, tokens: Tokens) -> Tokens:
    if settings.dpop_required and tokens.token_type != "DPoP":
        raise AuthorizationError("The authorization server did not bind the token to a key")
    return tokens
