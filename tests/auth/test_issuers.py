"""Tokens of several issuers at one endpoint, each verified by its own issuer's verifier."""

from typing import Any

import pytest
from mcp_protogen.runtime.core.http_request import Principal
from mcp_protogen.runtime.features.auth.client.values import ClientInformation
from mcp_protogen.runtime.features.auth.server.introspection import Introspection
from mcp_protogen.runtime.features.auth.server.issuers import Issuers
from mcp_protogen.runtime.features.auth.server.jwt import JwtVerifier
from mcp_protogen.runtime.features.auth.signing import PrivateKey
from mcp_protogen.runtime.http.server.authentication import TokenRefused
from support.auth.issuing import ISSUER, RESOURCE, Issuer, forge_token
from support.tables import case

OTHER = "https://other.example"


def jwt_verifier(issuer: Issuer) -> JwtVerifier:
    return JwtVerifier(issuer=issuer.url, audience=RESOURCE, fetch=issuer.fetch, clock=issuer.clock)


class Custom:
    """A custom verifier with a fixed answer."""

    def __init__(self, issuer: str, principal: Principal | None) -> None:
        self.issuer = issuer
        self.principal = principal

    async def __call__(self, token: str) -> Principal | None:
        return self.principal


@pytest.mark.shows("TK-03")
async def test_a_key_of_one_issuer_signs_nothing_for_another() -> None:
    one, two = Issuer(), Issuer(OTHER, keys={"first": PrivateKey.generate()})
    verify = Issuers(jwt_verifier(one), jwt_verifier(two))
    for signer, named in ((one, two), (two, one)):
        with case(signer.url), pytest.raises(TokenRefused, match="signature"):
            await verify(signer.token(iss=named.url))


async def test_a_token_of_nobody_who_is_known_is_refused_without_asking() -> None:
    issuer = Issuer()
    verify = Issuers(jwt_verifier(issuer))
    for token in (
        issuer.token(iss="https://evil.example"),
        issuer.token(iss=f"{ISSUER}/"),
        issuer.token(iss=None),
        issuer.token(iss=[ISSUER]),
        *("opaque", "", "..", "a.b.c", f"a.{'A' * 100_000}.c", "a.ü.c"),
        forge_token({}, {}).replace("e30", "W10"),
        forge_token({}, {"iss": ISSUER, "more": "a" * 100_000}),
    ):
        with case(token[:50]), pytest.raises(TokenRefused, match="issuer that is not accepted"):
            await verify(token)
    assert not issuer.asked


async def test_other_tokens_can_be_asked_about() -> None:
    one, two = Issuer(), Issuer(OTHER)
    # Some have dots like JWTs.
    opaque = ("opaque", "v4.public.opaque", "a.b.c")
    two.known = {
        opaque_token: {"active": True, "sub": "ada", "aud": RESOURCE} for opaque_token in opaque
    }
    client = ClientInformation(client_id="a", client_secret="b")
    introspection = Introspection(issuer=OTHER, audience=RESOURCE, client=client, fetch=two.fetch)
    verify: Any = Issuers(jwt_verifier(one), opaque=introspection)
    for token in opaque:
        assert (await verify(token)).id == f"{OTHER}|ada"
    assert (await verify(one.token())).id == f"{ISSUER}|ada"
    assert all(b"token=ey" not in (request.body or b"") for request in two.asked)


async def test_whatever_a_verifier_says_nobody_is_somebody_of_another_issuer() -> None:
    token = forge_token({}, {"iss": OTHER})
    for said, id in (
        ("ada", f"{OTHER}|ada"),
        (f"{OTHER}|ada", f"{OTHER}|ada"),
        (f"{OTHER}#ada", f"{OTHER}#ada"),
        (f"{ISSUER}|ada", f"{OTHER}|{ISSUER}|ada"),
        ("", f"{OTHER}|"),
    ):
        with case(said):
            verify: Any = Issuers(Custom(OTHER, Principal(said, frozenset({"a"}))))
            assert await verify(token) == Principal(id, frozenset({"a"}))
    assert await Issuers(Custom(OTHER, None))(token) is None


def test_an_issuer_has_one_verifier() -> None:
    with pytest.raises(ValueError, match="same issuer"):
        Issuers(jwt_verifier(Issuer()), Custom(ISSUER, None))
