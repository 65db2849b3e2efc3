"""Errors of authorization. No message has a token, a code or a secret in it."""

from typing import Final

from ...core.errors import ProtocolError


class AuthorizationError(ProtocolError):
    """No token could be had, or none that may be used."""


class InvalidMetadata(AuthorizationError):
    """A metadata document is malformed, or is not that of whoever was asked."""


class OAuthError(AuthorizationError):
    """An endpoint of the authorization server, or the redirect from it, answered with an error.

    `error` is its code, such as `access_denied` or `invalid_grant` (RFC 6749, sections 4.1.2.1 and
    5.2). `description` is what the server said, for the log.
    """

    def __init__(self, error: str, description: str | None = None) -> None:
        super().__init__(error if not description else f"{error}: {description}")
        self.error: Final = error
        self.description: Final = description


class UnsafeUrl(AuthorizationError):
    """A URL that may not be fetched or opened: not HTTPS, or at an address that is not public."""


class Unreachable(AuthorizationError):
    """A URL could not be fetched: no connection, no answer in time, or too large a one."""
