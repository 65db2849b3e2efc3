"""Which scopes to ask for, and how often (basic/authorization, "Scope Selection Strategy")."""

import re
from dataclasses import replace
from typing import Final

from ..challenge import token_param
from ..errors import AuthorizationError
from .grants import AuthorizationCode
from .settings import OAuthSettings
from .values import Authorization, Refusal

OFFLINE_ACCESS: Final = "offline_access"

_SCOPE: Final = re.compile(r"[!#-\[\]-~]+")
"""RFC 6749, section 3.3; no server could grant others."""

_MOST_SCOPES: Final = 1000
"""How many are asked for together."""

_MOST_OPERATIONS: Final = 256
"""How many operations are kept in mind."""


def challenged_scopes(refusal: Refusal | None) -> frozenset[str]:
    """Return the scopes that a request needs as the server says; none if it does not say."""
    text = token_param(refusal.www_authenticate, "scope") if refusal else None
    return frozenset(filter(_SCOPE.fullmatch, (text or "").split()))


def is_for_scopes(refusal: Refusal) -> bool:
    """Return whether a request was refused for its scopes (RFC 6750, section 3.1)."""
    error = token_param(refusal.www_authenticate, "error")
    return refusal.status == 403 and error == "insufficient_scope"


def scopes_to_ask_for(
    settings: OAuthSettings, known: Authorization, refusal: Refusal | None
) -> frozenset[str]:
    """Return the scopes of the next request for a token; none to leave the parameter out.

    They are those of the challenge, beside all that were asked for or granted before. What the
    resource supports counts only where neither says anything.
    """
    challenged = challenged_scopes(refusal)
    scopes = _before(known) | challenged
    if not scopes or (refusal and is_for_scopes(refusal) and not challenged):
        scopes |= _usual(settings, known)
    if len(scopes) > _MOST_SCOPES:
        raise AuthorizationError("The server wants more scopes than anybody could grant")
    return _with_offline_access(scopes, settings, known)


def _before(known: Authorization) -> frozenset[str]:
    granted = known.tokens.scopes if known.tokens else None
    return known.requested_scopes | (granted or frozenset())


def _usual(settings: OAuthSettings, known: Authorization) -> frozenset[str]:
    if settings.scopes is not None:
        return settings.scopes
    supported = known.resource_metadata.scopes_supported if known.resource_metadata else None
    return frozenset(filter(_SCOPE.fullmatch, supported or ()))


def _with_offline_access(
    scopes: frozenset[str], settings: OAuthSettings, known: Authorization
) -> frozenset[str]:
    """Return scopes with the one for a refresh token, where the server or the settings have it.

    Alone it is never asked for: without any scope, the authorization server chooses.
    """
    others = scopes - {OFFLINE_ACCESS}
    listed = known.server.scopes_supported if known.server else None
    is_known = OFFLINE_ACCESS in (*(listed or ()), *(settings.scopes or ()))
    if others and is_known and isinstance(settings.grant, AuthorizationCode):
        return others | {OFFLINE_ACCESS}
    return others


def count_step_up(
    settings: OAuthSettings, known: Authorization, refusal: Refusal, operation: str
) -> Authorization:
    """Return what is known, with one more time that an operation needed more scopes.

    Raise `AuthorizationError` after `max_step_ups` times, and already the second time if all of the
    scopes have been asked for before.
    """
    times = known.step_ups.get(operation, 0)
    adds = not challenged_scopes(refusal) <= _before(known)
    if times >= (settings.max_step_ups if adds else min(1, settings.max_step_ups)):
        raise AuthorizationError(_not_granted(operation, refusal))
    others = {name: count for name, count in known.step_ups.items() if name != operation}
    kept = dict(list(others.items())[-_MOST_OPERATIONS + 1 :])
    return replace(known, step_ups={**kept, operation: times + 1})


def _not_granted(operation: str, refusal: Refusal) -> str:
    needed = " ".join(sorted(challenged_scopes(refusal)))
    wanted = f", which needs the scopes {needed}" if needed else ""
    return f"The scopes that were granted are not enough for {operation or 'a request'}{wanted}"


def forget_step_ups(known: Authorization, operation: str) -> Authorization:
    if operation not in known.step_ups:
        return known
    others = {name: count for name, count in known.step_ups.items() if name != operation}
    return replace(known, step_ups=others)
