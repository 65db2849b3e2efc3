"""Errors of authorization. No message contains a token, a code or a secret."""

from typing import ClassVar, Final

from ...core.errors import ProtocolError


class AuthorizationError(ProtocolError):
    """No usable token could be obtained."""

    status: ClassVar = 401


class InvalidMetadata(AuthorizationError):
    """A metadata document is malformed, or belongs to another resource or issuer."""


class OAuthError(AuthorizationError):
    """The authorization server answered with an error, at an endpoint or in a redirect.

    `error` is the code, such as `access_denied` or `invalid_grant` (RFC 6749, sections 4.1.2.1 and
    5.2). `description` is the server's text, for the log.
    """

    def __init__(self, error: str, description: str | None = None) -> None:
        super().__init__(error if not description else f"{error}: {description}")
        self.error: Final = error
        self.description: Final = description


class UnsafeUrl(AuthorizationError):
    """A URL that may not be fetched or opened: not HTTPS, or without a public address."""


class Unreachable(AuthorizationError):
    """A URL could not be fetched: no connection, no answer in time, or too large an answer."""
