"""The whole way to a token, without input or output."""

from .settings import OAuthSettings
from .steps import Flow
from .values import Authorization, Refusal


def authorize(
    settings: OAuthSettings,
    known: Authorization,
    refusal: Refusal | None = None,
    *,
    operation: str = "",
    redirect_uri: str | None = None,
) -> Flow[Authorization]:
    """Return an authorization with new tokens; raise `AuthorizationError`.

    `refusal` is why they are needed: a response with the status 401 or 403, or None before the
    first request. `operation` is what was refused, such as a method with the name of a tool.
    `redirect_uri` is where the user comes back to, for `AuthorizationCode`.
    """
    raise NotImplementedError


def refresh(settings: OAuthSettings, known: Authorization) -> Flow[Authorization]:
    """Return an authorization with new tokens, without the user; raise `AuthorizationError`."""
    raise NotImplementedError
