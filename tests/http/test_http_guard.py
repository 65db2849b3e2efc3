"""Admission: hosts and origins, tokens, and limits."""

import json
from itertools import product
from typing import Any

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.http.serving import POSTED, chosen_of_runs, serving
from support.revisions import REVISIONS, STATELESS
from support.sessions.talking import hello, pkg, tools, whose
from support.tables import case

TOKEN = "t" * 16
EVIL = "http://evil.example"
# The first revision has another transport.
STREAMABLE = REVISIONS[1:]


async def echo(session: Session, params: CallToolRequestParams) -> str:
    return str(whose(session))


def ours() -> Any:
    return tools(STATELESS, echo)


class TestOrigin:
    @pytest.mark.shows("S3-10")
    async def test_RJ01_SS01_a_page_from_elsewhere_gets_403(self) -> None:
        async with serving(ours(), pkg.REVISIONS) as site:
            for verb, revision in product(["POST", "GET", "DELETE"], STREAMABLE):
                with case((verb, revision)):
                    fields = {**POSTED, "origin": EVIL, "mcp-protocol-version": revision}
                    body = json.dumps(hello()).encode()
                    refused = await site.http.request(verb, site.path, headers=fields, content=body)
                    assert refused.status_code == 403
                    assert "id" not in refused.json()


class TestHost:
    @pytest.mark.shows("S3-11")
    def test_a_server_for_others_has_to_be_given_its_names(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(ValueError, match="allowed_hosts"):
            pkg.run_http(ours(), host="0.0.0.0")
        chosen = chosen_of_runs(monkeypatch)
        pkg.run_http(ours())
        assert [options.host for options in chosen] == ["127.0.0.1"]


class TestTokens:
    async def test_a_verifier_that_fails_lets_nobody_in(self) -> None:
        async def verify(token: str) -> Any:
            raise RuntimeError("the token is secret")

        guard = pkg.Authentication(verify=verify)
        async with serving(ours(), authentication=guard) as site:
            refused = await site.post(hello(), {"authorization": f"Bearer {TOKEN}"})
            assert refused.status_code == 500
            assert "secret" not in refused.text


class TestLimits:
    async def test_a_header_that_is_too_large_gets_431(self) -> None:
        async with serving(ours(), pkg.REVISIONS, max_headers=1000) as site:
            for size, status in ((100, 200), (2000, 431)):
                answer = await site.post(hello(), {"x-long": "x" * size})
                assert answer.status_code == status
            many = {f"x-{number}": "1" for number in range(250)}
            assert (await site.post(hello(), many)).status_code == 431
