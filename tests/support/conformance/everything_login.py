"""The authorization of the conformance suite's client, from the suite's settings."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import httpx2
from mcp_revisions import (
    AuthorizationCode,
    ClientCredentials,
    ClientInformation,
    DPoP,
    EnterpriseManaged,
    OAuth,
    WebRedirect,
    WorkloadIdentity,
)

Context: TypeAlias = Mapping[str, Any]
"""What the suite says about a scenario."""

Grant: TypeAlias = AuthorizationCode | ClientCredentials | EnterpriseManaged | WorkloadIdentity

# The suite knows this document; it is not served.
_DOCUMENT: Final = "https://conformance-test.local/client-metadata.json"
_REDIRECT: Final = "http://localhost:3000/callback"


def authorization(context: Context) -> OAuth:
    """Return the authorization of the client in a scenario."""
    return OAuth(
        grant=_grant(context),
        client=_client(context) if "client_id" in context else None,
        client_metadata_url=_DOCUMENT,
        dpop=DPoP(),
        user_agent=_user(),
    )


def _client(context: Context) -> ClientInformation:
    return ClientInformation(
        client_id=context["client_id"],
        client_secret=context.get("client_secret"),
        issuer=context.get("issuer"),
        private_key=context.get("private_key_pem"),
        signing_algorithm=context.get("signing_algorithm"),
    )


def _user() -> WebRedirect:
    """Return a user who is logged in everywhere, so that each page redirects at once."""

    async def open_page(url: str) -> None:
        async with httpx2.AsyncClient() as browser:
            page = await browser.get(url)
        user.take_redirect(page.headers["location"])

    user = WebRedirect(_REDIRECT, open_page)
    return user


def _grant(context: Context) -> Grant:
    """Return the grant for which the suite has given the credentials."""
    if "idp_id_token" in context:
        return EnterpriseManaged(
            identity_provider=context["idp_issuer"],
            subject_token=context["idp_id_token"],
            client=ClientInformation(client_id=context["idp_client_id"]),
            token_endpoint=context["idp_token_endpoint"],
        )
    if "valid_jwt" in context:
        return WorkloadIdentity(assertion=context["valid_jwt"])
    has_secret = not context.keys().isdisjoint(("client_secret", "private_key_pem"))
    # A client registered for users comes with its issuer.
    if has_secret and "issuer" not in context:
        return ClientCredentials()
    return AuthorizationCode()
