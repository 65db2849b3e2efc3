"""Tokens of several issuers at one endpoint."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from ....core.http_request import Principal
from ..signing import unverified_part
from .claims import refuse


class Verifier(Protocol):
    @property
    def issuer(self) -> str: ...
    async def __call__(self, token: str) -> Principal | None: ...


class Issuers:
    """The `verify` of an `Authentication` for tokens of several issuers.

    A token goes only to the verifier of the issuer that it names, and to `opaque` if it is not a
    JWT.

    Ids of principals begin with the issuer, so those of two issuers never match. Raise `ValueError`
    for two verifiers of one issuer.
    """

    def __init__(self, *verifiers: Verifier, opaque: Verifier | None = None) -> None:
        self._verifiers: Mapping[str, Verifier] = {
            verifier.issuer: verifier for verifier in verifiers
        }
        self._opaque = opaque
        if len(self._verifiers) < len(verifiers):
            raise ValueError("two verifiers are for the same issuer")

    async def __call__(self, token: str) -> Principal | None:
        if (claims := unverified_part(token, 1)) is None:
            verifier = self._opaque
        else:
            issuer = claims.get("iss")
            verifier = self._verifiers.get(issuer) if isinstance(issuer, str) else None
        if verifier is None:
            refuse("The token is of an issuer that is not accepted")
        principal, issuer = await verifier(token), verifier.issuer
        # The prefixes of users and of clients, see `ClaimChecks`.
        if principal is None or principal.id.startswith((f"{issuer}|", f"{issuer}#")):
            return principal
        return replace(principal, id=f"{issuer}|{principal.id}")
