"""Requests to token endpoints, and their answers (RFC 6749, sections 3.2 and 5)."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from time import time
from typing import Any, Final, Literal, TypeAlias

from ..dpop import DPoP
from ..errors import AuthorizationError, OAuthError, Unreachable
from ..json_objects import object_in
from ..steps import Fetched, Flow, fetch
from .client_authentication import form_post
from .documents import error_in
from .values import ClientInformation, ServerMetadata, Tokens

_LARGEST: Final = 1024 * 1024
"""In bytes."""
_LONGEST_LIFETIME: Final = 10**9
"""In seconds; longer counts as this."""

# Members of a form that no message may quote.
_SECRETS: Final = ("assertion", "code", "code_verifier", "refresh_token", "subject_token")
_TELLING: Final = 20

# RFC 6749, appendix A.12 and A.17, without spaces, because tokens go into a header field.
_TOKEN: Final = re.compile(r"[!-~]+")

_TYPES: Final[Mapping[str, Literal["Bearer", "DPoP"]]] = {"bearer": "Bearer", "dpop": "DPoP"}

Object: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRequest:
    server: ServerMetadata
    client: ClientInformation | None = None
    """None for a client known by its assertion alone."""
    resource: str | None = None
    scopes: frozenset[str] = frozenset()
    redirect_uri: str | None = None
    dpop: DPoP | None = None
    trailing_slash: bool = False
    clock: Callable[[], float] = field(default=time, repr=False)


def request_tokens(request: TokenRequest, form: Mapping[str, str]) -> Flow[Tokens]:
    """Return the tokens for a grant, `form`; raise `AuthorizationError`."""
    if request.resource is not None:
        # RFC 8707, section 2.2
        form = {**form, "resource": request.resource}
    answer = yield from post_form(request, form)
    return _tokens(request, answer)


def refresh_tokens(request: TokenRequest, tokens: Tokens) -> Flow[Tokens]:
    """Return new tokens; without a new refresh token, keep the old one (RFC 6749, section 6)."""
    if tokens.refresh_token is None:
        raise AuthorizationError("There is no refresh token")
    form = {"grant_type": "refresh_token", "refresh_token": tokens.refresh_token}
    # The scopes stay the same, unless the answer changes them.
    request = replace(request, scopes=tokens.scopes or frozenset())
    new = yield from request_tokens(request, form)
    return replace(new, refresh_token=new.refresh_token or tokens.refresh_token)


def post_form(request: TokenRequest, form: Mapping[str, str]) -> Flow[Object]:
    """Return the JSON object from a token endpoint.

    Repeat the request once if the server requires a nonce (RFC 9449, section 8).
    """
    answer, has_nonce = yield from _post(request, form)
    if has_nonce and answer.status != 200:
        refusal = _refusal(answer)
        if isinstance(refusal, OAuthError) and refusal.error == "use_dpop_nonce":
            answer, _ = yield from _post(request, form)
    members: Object = _object(answer) if answer.status == 200 else {}
    # Some servers answer 200 with an error.
    if "access_token" not in members:
        raise _without_secrets(_refusal(answer), request, form)
    return members


def _post(request: TokenRequest, form: Mapping[str, str]) -> Flow[tuple[Fetched, bool]]:
    url, dpop = request.server.token_endpoint, request.dpop
    proof = {} if dpop is None else {"dpop": dpop.proof("POST", url)}
    post = form_post(request.client, request.server, request.clock(), form, **proof)
    answer = yield from fetch(post)
    return answer, dpop is not None and dpop.take_nonce(url, answer.headers)


def _refusal(answer: Fetched) -> AuthorizationError:
    text = f"The token endpoint answered with the status {answer.status}"
    # A busy or broken server has not judged the grant.
    if answer.status == 429 or answer.status >= 500:
        return Unreachable(text)
    return error_in(answer.body[:_LARGEST]) or AuthorizationError(text)


def _without_secrets(
    error: AuthorizationError, request: TokenRequest, form: Mapping[str, str]
) -> AuthorizationError:
    sent = [form.get(name) for name in _SECRETS]
    sent.append(request.client.client_secret if request.client is not None else None)
    if not isinstance(error, OAuthError) or error.description is None:
        return error
    # The description is shortened, and may end within a secret.
    tells = any(secret and secret[:_TELLING] in error.description for secret in sent)
    return OAuthError(error.error) if tells else error


def _object(answer: Fetched) -> Object:
    members = None if len(answer.body) > _LARGEST else object_in(answer.body)
    if members is None:
        raise AuthorizationError("The token endpoint did not answer with a JSON object")
    return members


def _tokens(request: TokenRequest, answer: Object) -> Tokens:
    kind = answer.get("token_type")
    token_type = _TYPES.get(kind.lower()) if isinstance(kind, str) else None
    if token_type is None or (token_type == "DPoP" and request.dpop is None):
        raise AuthorizationError("token_type must be Bearer, or DPoP if requested")
    scopes = answer.get("scope")
    # A missing scope means the requested ones (RFC 6749, section 5.1).
    granted = frozenset(scopes.split()) if isinstance(scopes, str) else request.scopes or None
    lifetime = _lifetime(answer.get("expires_in"))
    return Tokens(
        access_token=token_in(answer, "access_token"),
        token_type=token_type,
        refresh_token=token_in(answer, "refresh_token") if answer.get("refresh_token") else None,
        expires_at=None if lifetime is None else request.clock() + lifetime,
        scopes=granted,
    )


def token_in(answer: Object, name: str) -> str:
    value = answer.get(name)
    if not isinstance(value, str) or not _TOKEN.fullmatch(value):
        raise AuthorizationError(f"The token endpoint did not answer with a valid {name}")
    return value


def _lifetime(seconds: object) -> float | None:
    """Return the lifetime of a token in seconds; some servers write it as text."""
    if isinstance(seconds, str) and seconds.isdecimal() and len(seconds) < 20:
        seconds = int(seconds)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    return float(min(max(seconds, 0), _LONGEST_LIFETIME))
