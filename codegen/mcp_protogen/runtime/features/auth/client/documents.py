"""Documents of resources and authorization servers: read strictly; null counts as missing."""

import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final, TypeVar

from ....core.json import is_array
from ..errors import InvalidMetadata, OAuthError
from ..json_objects import object_in
from ..urls import split_url
from .values import AUTH_METHODS, ClientInformation, ResourceMetadata, ServerMetadata

T = TypeVar("T")

_LONGEST: Final = 500
"""In characters, of a text for people."""
_ERROR: Final = re.compile(r"[ !#-\[\]-~]{1,100}")
"""RFC 6749, section 5.2."""


def resource_metadata(body: bytes) -> ResourceMetadata:
    """Read the metadata of a protected resource (RFC 9728, section 2); raise `InvalidMetadata`."""
    document = _Document(body, "metadata of a resource")
    servers = document.require(document.texts, "authorization_servers")
    if not servers:
        raise document.invalid("authorization_servers", "must not be empty")
    return ResourceMetadata(
        resource=document.require(document.text, "resource"),
        authorization_servers=servers,
        scopes_supported=document.texts("scopes_supported"),
    )


def server_metadata(body: bytes) -> ServerMetadata:
    """Read authorization server metadata (RFC 8414, section 2); the issuer is not checked."""
    document = _Document(body, "metadata of an authorization server")
    rest: dict[str, Any] = {
        member.name: (document.flag if member.type is bool else document.texts)(member.name)
        for member in fields(ServerMetadata)
        if member.name.endswith("_supported")
    }
    return ServerMetadata(
        issuer=document.require(document.text, "issuer"),
        authorization_endpoint=document.url("authorization_endpoint"),
        token_endpoint=document.require(document.url, "token_endpoint"),
        registration_endpoint=document.url("registration_endpoint"),
        **rest,
    )


def read_registration(body: bytes, issuer: str) -> ClientInformation:
    """Read the answer to a registration (RFC 7591, section 3.2.1); raise `InvalidMetadata`."""
    document = _Document(body, "answer to a registration")
    method = document.text("token_endpoint_auth_method")
    # 0 stands for a secret that does not expire.
    expires_at = document.number("client_secret_expires_at") or None
    return ClientInformation(
        client_id=document.require(document.text, "client_id"),
        client_secret=document.text("client_secret"),
        client_secret_expires_at=expires_at,
        issuer=issuer,
        token_endpoint_auth_method=next((name for name in AUTH_METHODS if name == method), None),
    )


def error_in(body: bytes) -> OAuthError | None:
    """Return the error that a body describes, if any (RFC 6749, section 5.2)."""
    try:
        document = _Document(body, "error")
        error = document.text("error")
    except InvalidMetadata:
        return None
    if error is None or not _ERROR.fullmatch(error):
        return None
    return OAuthError(error, document.printable_text("error_description"))


def printable(text: str) -> str:
    """Return a server's text, shortened and on one line, for a message."""
    shown = "".join(character if character.isprintable() else " " for character in text[:_LONGEST])
    return " ".join(shown.split())


def redact_url(url: str) -> str:
    """Return a URL without its query, which may be secret, for a message."""
    return printable(re.split(r"[?#]", url, maxsplit=1)[0])


class _Document:
    def __init__(self, body: bytes, of: str) -> None:
        self._of = of
        if (members := object_in(body)) is None:
            raise InvalidMetadata(f"The {of} is not a JSON object")
        self._members = members

    def invalid(self, name: str, why: str) -> InvalidMetadata:
        return InvalidMetadata(f"The {self._of}: {name} {why}")

    def require(self, read: Callable[[str], T | None], name: str) -> T:
        if (value := read(name)) is None:
            raise self.invalid(name, "is missing")
        return value

    def text(self, name: str) -> str | None:
        value = self._members.get(name)
        if value is not None and (type(value) is not str or not value):
            raise self.invalid(name, "must be a non-empty string")
        return value

    def printable_text(self, name: str) -> str | None:
        value = self._members.get(name)
        return (printable(value) or None) if isinstance(value, str) else None

    def url(self, name: str) -> str | None:
        """Return the URL of an endpoint, without a fragment (RFC 6749, sections 3.1 and 3.2)."""
        value = self.text(name)
        if value is not None and (split_url(value) is None or "#" in value):
            raise self.invalid(name, "must be an http(s) URL without a fragment")
        return value

    def texts(self, name: str) -> tuple[str, ...] | None:
        if (value := self._members.get(name)) is None:
            return None
        if not is_array(value) or any(type(item) is not str or not item for item in value):
            raise self.invalid(name, "must be a list of non-empty strings")
        return tuple(value)

    def flag(self, name: str) -> bool:
        if (value := self._members.get(name)) is not None and type(value) is not bool:
            raise self.invalid(name, "must be true or false")
        return bool(value)

    def number(self, name: str) -> float | None:
        value = self._members.get(name)
        if value is not None and type(value) not in (int, float):
            raise self.invalid(name, "must be a number")
        return value
