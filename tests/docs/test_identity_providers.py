"""The page on identity providers: its settings accept their tokens."""

from dataclasses import replace
from typing import Any

import pytest
from support.auth.authorization_server import Behaviour
from support.auth.browsing import User
from support.auth.hosting import authorization_server
from support.auth.issuing import KEY
from support.docs.pages import example, page
from support.http.serving import run_app
from support.ports import free_port
from support.sessions.talking import pkg
from support.tables import case

NAME = "identity-providers.md"
NOW = 1_800_000_000
PLACES = {
    "server": "https://mcp.example.com",
    "host": "mcp.example.com",
    "issuer": "https://login.example.com/tenant",
}


async def scopes_of_token(program: dict[str, Any], **claims: Any) -> frozenset[str]:
    """Return the scopes of a token with these claims, and their implied scopes."""
    authentication = program["authentication"]
    verify = replace(
        authentication.verify, keys=pkg.StaticKeys(KEY.public.jwk), clock=lambda: float(NOW)
    )
    token = KEY.sign({"iss": program["ISSUER"], "sub": "ada", "exp": NOW + 60, **claims})
    scopes: frozenset[str] = (await verify(token)).scopes
    expand = authentication.expand_scopes
    return scopes if expand is None else scopes.union(expand(scopes))


async def test_tokens_as_providers_issue_them_are_accepted() -> None:
    plain, entra = example(NAME, "plain"), example(NAME, "entra")
    rows: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
        ("oidc-provider", plain, {"aud": plain["URL"], "scope": "notes:read notes:write"}),
        ("Keycloak", plain, {"aud": [plain["URL"], "account"], "scope": "email notes:read"}),
        ("Auth0", plain, {"aud": [plain["URL"], "https://x/userinfo"], "scope": "notes:read"}),
        ("Okta", plain, {"aud": plain["URL"], "scp": ["notes:read"]}),
        ("Microsoft Entra ID", entra, {"aud": entra["APPLICATION"], "scp": "notes.read"}),
    )
    for name, program, claims in rows:
        with case(name):
            assert name in page(NAME)
            assert await scopes_of_token(program, **claims) >= program["authentication"].needed


async def test_tokens_for_others_are_refused() -> None:
    plain, entra = example(NAME, "plain"), example(NAME, "entra")
    rows: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
        (plain, {"scope": "notes:read"}),
        (plain, {"aud": "account", "scope": "notes:read"}),
        (entra, {"aud": "00000003-0000-0000-c000-000000000000", "scp": "notes.read"}),
    )
    for program, claims in rows:
        with case(claims), pytest.raises(pkg.TokenRefused):
            await scopes_of_token(program, **claims)


async def test_metadata_of_the_server_itself_lists_what_the_provider_does_not() -> None:
    unlisted = Behaviour(
        metadata={"code_challenge_methods_supported": None}, redirected={"iss": None}
    )
    port = free_port()
    origin = f"http://127.0.0.1:{port}"
    async with authorization_server("/tenant", behaviour=unlisted) as issuer:
        others = {"server": origin, "host": "127.0.0.1", "issuer": issuer.issuer}
        changes = {f'"{PLACES[name]}"': f'"{value}"' for name, value in others.items()}
        program = example(NAME, "listed", changes)
        async with run_app(program["asgi"], port=port):
            agent = pkg.LoopbackReceiver(open=User().open)
            url, oauth = program["URL"], pkg.OAuth(user_agent=agent)
            async with pkg.connect_http(url, auth=oauth) as client:
                assert client.server_info is not None
        (request,) = issuer.requests_to("token")
        assert request.form["resource"] == url
