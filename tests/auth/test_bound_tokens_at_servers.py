"""Tokens that are bound to a key: the scheme and proof that a server wants (RFC 9449)."""

from typing import Any

import pytest
from support.auth.guarding import (
    BOUND,
    METADATA,
    READING,
    RESOURCE,
    authentication,
    bearing,
    read_challenges,
)
from support.http.exchanges import exchange_of
from support.http.serving import echo, post_request, serving
from support.revisions import STATELESS
from support.sessions.talking import hello, pkg, tools
from support.tables import case

HELD = f'resource_metadata="{METADATA}"'
ALGORITHMS = 'algs="ES256 EdDSA"'
PROOF = {"dpop": "a.proof"}


class Proving:
    """Proofs that are one text, with a record of checks."""

    algorithms = ("ES256", "EdDSA")

    def __init__(self, nonce: str | None = None) -> None:
        self._nonce = nonce
        self.checked: list[Any] = []

    def nonce(self) -> str | None:
        return self._nonce

    async def check(self, request: Any) -> None:
        self.checked.append(request)
        if request.proofs == ("stale.proof",):
            raise pkg.TokenRefused("use_dpop_nonce", "A nonce is needed")
        if request.proofs != ("a.proof",):
            raise pkg.TokenRefused("invalid_dpop_proof", "One proof is needed")


def site_of(proofs: Proving, **chosen: Any) -> Any:
    guard = authentication(**{"resource": RESOURCE, "proofs": proofs, **chosen})
    return serving(tools(STATELESS, echo), pkg.REVISIONS, authentication=guard, old_sse=True)


@pytest.mark.shows("DP-04")
async def test_a_server_may_take_nothing_but_bound_tokens() -> None:
    async with site_of(Proving(), require_proofs=True, scopes={"read"}) as site:
        for fields in ({}, bearing(READING), bearing(BOUND)):
            refused = await site.post(hello(), fields)
            wanted = [f'DPoP {ALGORITHMS}, scope="read", {HELD}']
            assert (refused.status_code, read_challenges(refused)) == (401, wanted)
        assert (await site.post(hello(), {**bearing(BOUND, "DPoP"), **PROOF})).status_code == 200
    with pytest.raises(ValueError, match="needs proofs"):
        authentication(require_proofs=True)


async def test_a_nonce_comes_with_every_answer_to_a_proof() -> None:
    fields = {**bearing(BOUND, "DPoP"), **PROOF}
    async with site_of(Proving("n0nce")) as site:
        session = await site.initialize(headers=fields)
        answers = [await session.call("x"), await site.post(hello(), {**fields, "dpop": "b"})]
        answers.append(await site.post(b"{", fields))
        answers.append(await site.modern("tools/call", name="x", headers=fields))
        async with session.get() as events:
            answers.append(events.response)
        stale = await site.post(hello(), {**fields, "dpop": "stale.proof"})
        assert 'error="use_dpop_nonce"' in read_challenges(stale)[1]
        for answer in [*answers, stale]:
            assert answer.headers.get_list("dpop-nonce") == ["n0nce"]
        assert [response.status_code for response in answers] == [200, 401, 400, 200, 200]
        # A client without a proof needs none.
        assert "dpop-nonce" not in (await site.post(hello(), bearing(READING))).headers


async def test_a_proof_is_checked_for_the_method_and_the_url_that_clients_know() -> None:
    fields = {**bearing(BOUND, "DPoP"), **PROOF}
    proving = Proving()
    async with site_of(proving) as site:
        await site.http.post("/mcp?a=b", **post_request(hello(), fields))
        async with site.get(fields, "/sse?x=y"):
            pass
        twice = [("authorization", f"DPoP {BOUND}"), ("dpop", "one"), ("dpop", "two")]
        await site.http.post(site.path, headers=twice, json=hello())
    made = [
        (checked.method, checked.url, checked.proofs, checked.token) for checked in proving.checked
    ]
    assert made == [
        ("POST", "https://mcp.example.com/mcp", ("a.proof",), BOUND),
        ("GET", "https://mcp.example.com/sse", ("a.proof",), BOUND),
        ("POST", "https://mcp.example.com/mcp", ("one", "two"), BOUND),
    ]
    assert BOUND not in repr(proving.checked)


async def test_the_url_of_a_request_is_that_of_the_resource_wherever_it_is_mounted() -> None:
    url = "https://mcp.example.com"
    fields = {"host": "localhost:1", **bearing(BOUND, "DPoP"), **PROOF}
    for resource, root, path, expected in (
        (f"{url}/mcp", "", "/mcp", f"{url}/mcp"),
        (f"{url}/mcp?tenant=1", "", "/mcp", f"{url}/mcp"),
        (f"{url}/a/mcp", "/a", "/mcp", f"{url}/a/mcp"),
        # A proxy has removed or changed a part of the path.
        (f"{url}/a/mcp", "", "/messages", f"{url}/a/messages"),
        (f"{url}/public", "", "/mcp", f"{url}/public"),
        (f"{url}/public", "", "/other", f"{url}/other"),
        (f"{url}/mcp", "", "/é b", f"{url}/%C3%A9%20b"),
        (None, "", "/mcp", "http://localhost:1/mcp"),
        (None, "/a", "/mcp", "http://localhost:1/a/mcp"),
    ):
        with case((resource, root, path)):
            known = resource and pkg.ProtectedResource(
                url=resource, authorization_servers=("https://login.example.com",)
            )
            proving = Proving()
            headers = [(name.encode(), value.encode()) for name, value in fields.items()]
            exchange = exchange_of(headers, path, root)
            exchange.read_head(1000)
            await authentication(resource=known, proofs=proving).authenticate(exchange, "/mcp")
            assert [checked.url for checked in proving.checked] == [expected]


def test_a_server_with_any_name_has_to_say_which_url_proofs_are_for() -> None:
    guard = authentication(proofs=Proving())
    pkg.HttpOptions(authentication=guard, allowed_hosts=["mcp.example.com"])
    pkg.HttpOptions(
        authentication=authentication(proofs=Proving(), resource=RESOURCE), allowed_hosts=["*"]
    )
    with pytest.raises(ValueError, match="resource"):
        pkg.HttpOptions(authentication=guard, allowed_hosts=["*"])
