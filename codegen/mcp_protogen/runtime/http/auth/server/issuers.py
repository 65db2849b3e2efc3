"""Tokens of several issuers at one endpoint."""

from base64 import urlsafe_b64decode
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Protocol

from pydantic_core import from_json

from ....core.http_request import Principal
from ....core.json import is_object
from ...server.authentication import TokenRefused

# In characters; no verifier reads more.
_LONGEST: Final = 64 * 1024


class Verifier(Protocol):
    """Verifies the tokens of one issuer, such as a `JwtVerifier` or an `Introspection`."""

    @property
    def issuer(self) -> str: ...

    async def __call__(self, token: str) -> Principal | None: ...


class Issuers:
    """The `verify` of an `Authentication` for tokens of several issuers.

    A token is given to the verifier of the issuer that it names, and to no other: whether it says
    the truth, that verifier finds out. One that is no JWT is given to `opaque`, if there is one.

    The id of a principal begins with its issuer, so nobody of one issuer is somebody of another.
    Raise `ValueError` for two verifiers of one issuer.
    """

    __slots__ = ("_opaque", "_verifiers")

    def __init__(self, *verifiers: Verifier, opaque: Verifier | None = None) -> None:
        self._verifiers: Mapping[str, Verifier] = {one.issuer: one for one in verifiers}
        self._opaque = opaque
        if len(self._verifiers) < len(verifiers):
            raise ValueError("two verifiers are for the same issuer")

    async def __call__(self, token: str) -> Principal | None:
        """Return whose a token is; raise what the verifier of its issuer raises."""
        if token.count(".") == 2:
            verifier = self._verifiers.get(unverified_issuer(token) or "")
        else:
            verifier = self._opaque
        if verifier is None:
            raise TokenRefused("invalid_token", "The token is of an issuer that is not accepted")
        principal = await verifier(token)
        if principal is None or principal.id.startswith(_of(verifier.issuer)):
            return principal
        return replace(principal, id=f"{verifier.issuer}|{principal.id}")


def unverified_issuer(token: str) -> str | None:
    """Return which issuer a JWT names, which need not be true; None if it names none."""
    payload = token.split(".")[1]
    if len(payload) > _LONGEST:
        return None
    try:
        decoded = urlsafe_b64decode(payload.encode() + b"=" * (-len(payload) % 4))
        claims: object = from_json(decoded, allow_inf_nan=False)
    except ValueError:
        return None
    issuer = claims.get("iss") if is_object(claims) else None
    return issuer if isinstance(issuer, str) else None


def _of(issuer: str) -> tuple[str, str]:
    # How the ids of users and of clients begin, see `ClaimRules.principal`.
    return f"{issuer}|", f"{issuer}#"
