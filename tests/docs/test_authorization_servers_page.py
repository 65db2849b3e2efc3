"""The page on servers that want tokens: its programs run, and its tables match the code."""

import re
from dataclasses import fields
from functools import partial
from typing import Any

import mcp_revisions as package
import pytest
from support.auth.guarding import bearing, read_challenges
from support.auth.issuing import KEY
from support.docs.pages import example, page
from support.http.serving import calling, run_app, text_in

NAME = "authorization-servers.md"


async def test_the_server_lets_in_who_may_call_and_challenges_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The keys of the issuer, which it has nowhere.
    verifier = partial(package.JwtVerifier, keys=package.StaticKeys(KEY.public.jwk))
    monkeypatch.setattr(package, "JwtVerifier", verifier, raising=False)
    program = example(NAME, "server")
    issued = {"iss": program["ISSUER"], "aud": program["URL"], "exp": 4e9}
    writing = {**issued, "sub": "ben", "scope": "notes notes:write"}
    known = {
        "reader": KEY.sign({**issued, "sub": "ada", "scope": "notes"}),
        "writer": KEY.sign(writing),
        "expired": KEY.sign({**writing, "exp": 1}),
        "for another server": KEY.sign({**writing, "aud": "https://other.example/mcp"}),
    }
    async with run_app(program["asgi"]) as port, calling(port) as site:

        async def call(token: str, tool: str, **arguments: str) -> Any:
            fields = {"host": "mcp.example.com", **bearing(known.get(token, token))}
            return await site.modern("tools/call", name=tool, arguments=arguments, headers=fields)

        assert text_in(await call("reader", "count")) == "0"
        refused = await call("reader", "add", text="x")
        assert refused.status_code == 403
        assert 'scope="notes notes:write"' in read_challenges(refused)[0]
        assert text_in(await call("writer", "add", text="x")) == f"{program['ISSUER']}|ben"
        for token in ("expired", "for another server", "unknown"):
            assert (await call(token, "count")).status_code == 401
        where = "/.well-known/oauth-protected-resource/mcp"
        assert f'resource_metadata="https://mcp.example.com{where}"' in read_challenges(refused)[0]
        document = (await site.http.get(where, headers={"host": "mcp.example.com"})).json()
        assert document["authorization_servers"] == [program["ISSUER"]]


async def test_the_server_below_a_path_says_where_to_get_a_token() -> None:
    async with (
        run_app(example(NAME, "mounted")["site"]) as port,
        calling(port, "/notes/mcp") as site,
    ):
        refused = await site.modern("tools/list")
        found = re.search(r'resource_metadata="https://example\.com([^"]+)"', str(refused.headers))
        assert (refused.status_code, found is not None) == (401, True)
        assert found is not None
        document = (await site.http.get(found[1])).json()
        assert document["resource"] == "https://example.com/notes/mcp"


def table(heading: str) -> set[str]:
    """The names in the first column of the table below a heading."""
    section = re.search(rf"\n## {heading}\n(.*?)(\n## |\Z)", page(NAME), re.S)
    assert section is not None
    rows = re.findall(r"^\| ([^|]+) \|", section[1], re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_the_tables_name_what_there_is() -> None:
    resource = {field.name for field in fields(package.ProtectedResource)}
    assert table("Where to get a token") == resource
    assert table("Who calls") == {field.name for field in fields(package.Principal)}
    guard = {field.name for field in fields(package.Authentication) if field.init}
    missing = {name for name in guard if f"{name}" not in page(NAME)}
    assert missing == set()
