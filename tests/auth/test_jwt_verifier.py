"""JWTs are accepted only if issued for this server."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from mcp_protogen.runtime.features.auth.server.cache import TokenCache
from mcp_protogen.runtime.features.auth.server.dpop_proofs import DPoPProofs
from mcp_protogen.runtime.features.auth.server.jwt import JwtVerifier
from mcp_protogen.runtime.features.auth.server.keys import StaticKeys
from mcp_protogen.runtime.features.auth.signing import InvalidKey, PrivateKey, PublicKey
from mcp_protogen.runtime.http.server.authentication import TokenRefused
from support.auth.issuing import ISSUER, KEY, RESOURCE, Issuer, forge_token
from support.auth.pem import pem_of
from support.tables import case


def verifier(issuer: Issuer, **options: Any) -> JwtVerifier:
    given: dict[str, Any] = {
        "issuer": issuer.url,
        "audience": RESOURCE,
        "fetch": issuer.fetch,
        "clock": issuer.clock,
        "cache": TokenCache(clock=issuer.clock),
    }
    return JwtVerifier(**{**given, **options})


async def refusal(verify: JwtVerifier, token: str) -> str:
    """Return the reason why a token is refused."""
    with pytest.raises(TokenRefused) as caught:
        await verify(token)
    assert caught.value.error == "invalid_token"
    return caught.value.description


def test_missing_dependency_is_reported_at_construction(monkeypatch: pytest.MonkeyPatch) -> None:
    makers: list[tuple[str, str, Callable[[], object]]] = [
        ("joserfc", "joserfc.jwk", lambda: verifier(Issuer())),
        ("joserfc", "joserfc.jwk", DPoPProofs),
        ("httpx2", "httpx2", lambda: JwtVerifier(issuer=ISSUER, audience=RESOURCE)),
    ]
    for package, module, make in makers:
        with case((package, make)), monkeypatch.context() as without:
            without.setitem(sys.modules, module, None)
            with pytest.raises(ImportError, match=f"pip install {package}"):
                make()


async def test_claims_are_read_only() -> None:
    issuer = Issuer()
    claims: Any = (await verifier(issuer)(issuer.token())).claims
    with pytest.raises(TypeError):
        claims["sub"] = "eve"


AUDIENCE, ISSUED = "The token is for another audience", "The token is of another issuer"
EXPIRED, EARLY = "The token has expired", "The token is not valid yet"
MALFORMED, NOBODY = "A claim of the token is malformed", "The token has neither sub nor client_id"

REFUSED: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "of another server": ({"aud": "https://other.example/mcp"}, AUDIENCE),
    "of the whole host": ({"aud": "https://mcp.example"}, AUDIENCE),
    "with a slash": ({"aud": f"{RESOURCE}/"}, AUDIENCE),
    "in upper case": ({"aud": RESOURCE.upper()}, AUDIENCE),
    "for nobody": ({"aud": None}, AUDIENCE),
    "for none of several": ({"aud": []}, AUDIENCE),
    "for an object": ({"aud": {RESOURCE: True}}, MALFORMED),
    "for this and a number": ({"aud": [RESOURCE, 1]}, MALFORMED),
    "of another issuer": ({"iss": "https://evil.example"}, ISSUED),
    "of the issuer with a slash": ({"iss": f"{ISSUER}/"}, ISSUED),
    "of no issuer": ({"iss": None}, ISSUED),
    "of several issuers": ({"iss": [ISSUER]}, ISSUED),
    "that never ends": ({"exp": None}, "The token has no exp"),
    "that ends some time": ({"exp": "tomorrow"}, MALFORMED),
    "that ends as True": ({"exp": True}, MALFORMED),
    "that ends beyond all numbers": ({"exp": 10**400}, MALFORMED),
    "that ended long ago": ({"exp": -(10**400)}, MALFORMED),
    "that begins some time": ({"nbf": "now"}, MALFORMED),
    "that was issued some time": ({"iat": []}, MALFORMED),
    "of a number": ({"sub": 1}, MALFORMED),
    "of nobody": ({"sub": None}, NOBODY),
    "of somebody without a name": ({"sub": ""}, NOBODY),
    "with a number as scope": ({"scope": 1}, MALFORMED),
    "with numbers as scopes": ({"scope": [1]}, MALFORMED),
}


@pytest.mark.shows("TK-03", "TK-04")
async def test_a_token_that_says_something_else_is_refused() -> None:
    issuer = Issuer()
    verify = verifier(issuer)
    for name, (claims, why) in REFUSED.items():
        with case(name):
            assert await refusal(verify, issuer.token(**claims)) == why


@pytest.mark.shows("TK-03")
async def test_a_token_is_valid_for_its_time_and_a_little_longer() -> None:
    issuer = Issuer()
    verify, now = verifier(issuer, leeway=30), issuer.clock()
    table: list[tuple[dict[str, Any], str | None]] = [
        ({"exp": now + 1}, None),
        ({"exp": now - 29}, None),
        ({"exp": now - 30}, EXPIRED),
        ({"nbf": now + 30}, None),
        ({"nbf": now + 31}, EARLY),
        ({"iat": now + 30}, None),
        ({"iat": now + 31}, EARLY),
        ({"iat": None}, None),
    ]
    for claims, why in table:
        with case(claims):
            token = issuer.token(**claims)
            if why is None:
                assert (await verify(token)).id == f"{ISSUER}|ada"
            else:
                assert await refusal(verify, token) == why


async def test_scopes_are_read_from_the_claims_that_issuers_use() -> None:
    issuer = Issuer()
    table: list[tuple[dict[str, Any], dict[str, Any], set[str]]] = [
        ({"scope": "a  b a"}, {}, {"a", "b"}),
        ({"scope": ["a", "b"]}, {}, {"a", "b"}),
        ({"scp": "a b"}, {}, {"a", "b"}),
        ({"scope": "a", "scp": ["b"]}, {}, {"a", "b"}),
        ({"permissions": ["a"], "scope": "b"}, {"scope_claims": ["permissions"]}, {"a"}),
        ({"scope": ""}, {}, set()),
        ({}, {}, set()),
    ]
    for claims, options, scopes in table:
        with case(claims):
            principal = await verifier(issuer, **options)(issuer.token(**claims))
            assert principal.scopes == scopes


async def test_a_client_without_a_user_is_nobody_else() -> None:
    issuer = Issuer()
    verify = verifier(issuer)
    program = await verify(issuer.token(sub=None, client_id="ada"))
    user = await verify(issuer.token(sub="ada", client_id="ada"))
    assert {program.id, user.id} == {f"{ISSUER}#ada", f"{ISSUER}|ada"}


async def test_a_token_for_another_purpose_is_refused() -> None:
    issuer = Issuer()
    usual, strict = verifier(issuer), verifier(issuer, types=["at+jwt"])
    for type, accepted, strictly in (
        ("at+jwt", True, True),
        ("application/at+jwt", True, True),
        ("AT+JWT", True, True),
        ("JWT", True, False),
        (None, True, False),
        ("dpop+jwt", False, False),
        ("logout+jwt", False, False),
        ("oauth-id-jag+jwt", False, False),
    ):
        for verify, expected in ((usual, accepted), (strict, strictly)):
            with case((type, expected)):
                # joserfc adds a type to a header without one.
                header = {"typ": type or "JWT"}
                token = issuer.token(header=header, jti=f"{type} {expected}")
                if expected:
                    assert (await verify(token)).id == f"{ISSUER}|ada"
                else:
                    assert await refusal(verify, token) == "The token is not an access token"


async def test_a_type_that_is_no_text_is_refused() -> None:
    token = forge_token({"alg": "ES256", "typ": ["at+jwt"]}, {})
    assert await refusal(verifier(Issuer()), token) == "The token is not an access token"


async def test_only_the_algorithms_of_the_list_are_accepted() -> None:
    rsa = PrivateKey.generate("RS256")
    issuer = Issuer(keys={"first": KEY, "rsa": rsa})
    for algorithms, kid, accepted in (
        (["ES256"], "first", True),
        (["RS256", "ES384"], "first", False),
        (["RS256"], "rsa", True),
        (["PS256"], "rsa", False),
    ):
        with case((algorithms, kid)):
            verify = verifier(issuer, algorithms=algorithms)
            if accepted:
                assert (await verify(issuer.token(kid))).id == f"{ISSUER}|ada"
            else:
                why = "The algorithm of the token is not accepted"
                assert await refusal(verify, issuer.token(kid)) == why


class KeysOfMine(dict[str, PublicKey]):
    """Countable keys, empty at first."""

    async def find(self, kid: str | None, algorithm: str) -> Sequence[PublicKey]:
        return [*self.values()]


async def test_keys_that_are_given_count_also_while_there_are_none() -> None:
    issuer, keys = Issuer(), KeysOfMine()
    verify = verifier(issuer, keys=keys, fetch=None)
    assert await refusal(verify, issuer.token()) == "The signature of the token is not valid"
    assert not issuer.asked


async def test_claims_with_scopes_stay_as_they_were_given() -> None:
    issuer, names = Issuer(), ["permissions"]
    verify = verifier(issuer, scope_claims=names)
    names.append("scope")
    principal = await verify(issuer.token(permissions=["a"], scope="b"))
    assert principal.scopes == {"a"}


def test_keys_for_verifying_are_public() -> None:
    with pytest.raises(ValueError, match="expected at least one"):
        StaticKeys()
    with pytest.raises(InvalidKey, match="private"):
        StaticKeys(pem_of(KEY))


def test_options_that_are_not_safe_are_refused() -> None:
    good: dict[str, Any] = {"issuer": ISSUER, "audience": RESOURCE}
    table: list[tuple[dict[str, Any], str]] = [
        ({"audience": ""}, "audience"),
        ({"audience": []}, "audience"),
        ({"audience": [RESOURCE, ""]}, "audience"),
        ({"issuer": ""}, "issuer"),
        ({"issuer": "https://a|b"}, "issuer"),
        ({"issuer": "https://a#b"}, "issuer"),
        ({"algorithms": ["none"]}, "algorithms"),
        ({"algorithms": ["ES256", "HS256"]}, "algorithms"),
        ({"algorithms": []}, "algorithms"),
        ({"algorithms": "ES256"}, "algorithms"),
        ({"scope_claims": "scope"}, "scope_claims"),
        ({"types": "at+jwt"}, "types"),
        ({"issuer": "login"}, "metadata"),
        ({"issuer": "https://a?b"}, "metadata"),
        ({"keys": StaticKeys(KEY.public.jwk), "fetch": Issuer().fetch}, "fetch"),
        ({"leeway": -1}, "leeway"),
        ({"leeway": 301}, "leeway"),
    ]
    for wrong, why in table:
        with case(wrong), pytest.raises((TypeError, ValueError), match=why):
            JwtVerifier(**{**good, **wrong})
