"""Client authentication at a token endpoint (RFC 6749, section 2.3; RFC 7523)."""

from base64 import b64encode
from collections.abc import Mapping
from secrets import token_urlsafe
from typing import Final
from urllib.parse import quote_plus, urlencode

from ..errors import AuthorizationError
from ..signing import InvalidKey, PrivateKey
from ..steps import Fetch
from .values import AuthMethod, ClientInformation, ServerMetadata

_ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ASSERTION_LIFETIME: Final = 60
"""In seconds."""


def auth_method(client: ClientInformation, server: ServerMetadata) -> AuthMethod:
    """Return the authentication method: the client's own, or the one its credentials fit.

    Basic is the fallback: all servers have it (RFC 6749, section 2.3.1).
    """
    if client.token_endpoint_auth_method is not None:
        return client.token_endpoint_auth_method
    if client.private_key is not None:
        return "private_key_jwt"
    if client.client_secret is None:
        return "none"
    supported = server.token_endpoint_auth_methods_supported or ()
    post = "client_secret_post" in supported and "client_secret_basic" not in supported
    return "client_secret_post" if post else "client_secret_basic"


def credentials(
    client: ClientInformation, server: ServerMetadata, now: float
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the credentials for one request: header fields, and members of its form."""
    form = {"client_id": client.client_id}
    match auth_method(client, server):
        case "none":
            return {}, form
        case "client_secret_basic":
            # Both are encoded as in a form, so that an id may have a colon (RFC 6749, 2.3.1).
            pair = f"{quote_plus(client.client_id)}:{quote_plus(_secret(client))}"
            basic = f"Basic {b64encode(pair.encode()).decode()}"
            # The id may be in the form as well (3.2.1); some servers look for it only there.
            return {"authorization": basic}, form
        case "client_secret_post":
            return {}, {**form, "client_secret": _secret(client)}
        case "private_key_jwt":
            shown = _assertion(client, server, now)
            return {}, {"client_assertion_type": _ASSERTION_TYPE, "client_assertion": shown}


def form_post(
    client: ClientInformation | None,
    server: ServerMetadata,
    now: float,
    form: Mapping[str, str],
    **headers: str,
) -> Fetch:
    """Return a request to the token endpoint; `now` is in seconds since the epoch."""
    fields, members = ({}, {}) if client is None else credentials(client, server, now)
    of_form = {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}
    return Fetch(
        method="POST",
        url=server.token_endpoint,
        headers={**of_form, **fields, **headers},
        body=urlencode({**form, **members}).encode("ascii"),
    )


def _secret(client: ClientInformation) -> str:
    if client.client_secret is None:
        raise AuthorizationError(f"The client {client.client_id!r:.200} has no secret")
    return client.client_secret


def _assertion(client: ClientInformation, server: ServerMetadata, now: float) -> str:
    """Return an assertion of the client's id.

    Its audience is the issuer, not the endpoint: a server that lies about its endpoint could use it
    elsewhere (draft-ietf-oauth-rfc7523bis, section 4).
    """
    key = _key(client, server)
    claims = {
        "iss": client.client_id,
        "sub": client.client_id,
        "aud": client.assertion_audience or server.issuer,
        "jti": token_urlsafe(),
        "iat": int(now),
        "exp": int(now) + _ASSERTION_LIFETIME,
    }
    named = {} if key.public.kid is None else {"kid": key.public.kid}
    return key.sign(claims, typ="JWT", **named)


def _key(client: ClientInformation, server: ServerMetadata) -> PrivateKey:
    if client.private_key is None:
        raise AuthorizationError(f"The client {client.client_id!r:.200} has no private key")
    try:
        key = PrivateKey(client.private_key, client.signing_algorithm)
    except InvalidKey as invalid:
        raise AuthorizationError(f"The client's private_key is invalid: {invalid}") from None
    accepted = server.token_endpoint_auth_signing_alg_values_supported
    if client.signing_algorithm is None and accepted is not None:
        algorithm = next((name for name in key.public.algorithms if name in accepted), None)
        if algorithm is None:
            raise AuthorizationError("The server accepts no algorithm of the client's private_key")
        return PrivateKey(client.private_key, algorithm)
    return key
