"""How the client of the conformance suite is authorized, from what the suite says about it."""

from collections.abc import Callable, Mapping
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

# The suite knows this document; nobody serves it.
_DOCUMENT: Final = "https://conformance-test.local/client-metadata.json"
_REDIRECT: Final = "http://localhost:3000/callback"


def authorization(scenario: str, context: Context) -> OAuth:
    """Return what authorizes the requests of the client in a scenario."""
    return OAuth(
        grant=_GRANTS.get(scenario, _code)(context),
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
        user.redirected(page.headers["location"])

    user = WebRedirect(_REDIRECT, open_page)
    return user


def _code(context: Context) -> Grant:
    return AuthorizationCode()


def _client_credentials(context: Context) -> Grant:
    return ClientCredentials()


def _enterprise(context: Context) -> Grant:
    return EnterpriseManaged(
        identity_provider=context["idp_issuer"],
        subject_token=context["idp_id_token"],
        client=ClientInformation(client_id=context["idp_client_id"]),
        token_endpoint=context["idp_token_endpoint"],
    )


def _workload(context: Context) -> Grant:
    return WorkloadIdentity(assertion=context["valid_jwt"])


_GRANTS: Final[Mapping[str, Callable[[Context], Grant]]] = {
    "auth/client-credentials-basic": _client_credentials,
    "auth/client-credentials-jwt": _client_credentials,
    "auth/enterprise-managed-authorization": _enterprise,
    "auth/wif-jwt-bearer": _workload,
}
