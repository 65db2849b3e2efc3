"""The page on verifying tokens: its programs run, and its tables match the code."""

import inspect
import re
from dataclasses import fields

import pytest
from mcp_protogen.runtime.features.auth.server import claims, jwt
from support.docs.pages import example, examples, page
from support.sessions.talking import pkg

NAME = "authorization-verifiers.md"


def options(cls: str) -> dict[str, str]:
    """Return the options of a class in a table of the page, with their descriptions."""
    table = page(NAME).split(f"| option of `{cls}` |")[1].split("\n\n")[0]
    rows = [line.split("|") for line in table.splitlines()[2:]]
    cells = [(row[1], row[2].strip()) for row in rows if len(row) > 2]
    return {
        name: value for cell, value in cells for name in re.findall(r"`(\w+)(?:=[^`]*)?`", cell)
    }


def test_the_programs_of_the_page_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES_SECRET", "a secret")
    assert examples(NAME)["dpop"]["authentication"].proofs.algorithms


async def test_the_memory_of_proofs_is_connected_in_the_lifespan() -> None:
    program = example(NAME, "replays")
    async with program["connected"](program["app"]):
        assert await program["replays"].first(b"a", 60)
        assert not await program["replays"].first(b"a", 60)


def test_the_tables_have_the_options_and_their_defaults() -> None:
    listed = {field.name for field in fields(pkg.JwtVerifier) if field.init}
    assert options("JwtVerifier").keys() == listed
    verifier = pkg.JwtVerifier(issuer="https://a.example", audience="b")
    table = options("JwtVerifier")
    assert table["algorithms"].split(", ") == [*verifier.algorithms]
    assert re.findall(r"`(.*?)`", table["scope_claims"]) == [*verifier.scope_claims]
    assert re.findall(r"`(.*?)`", table["types"]) == [*verifier.types]
    assert float(table["leeway"]) == verifier.leeway
    cache = inspect.signature(pkg.TokenCache).parameters
    assert options("TokenCache").keys() == cache.keys()
    for name in cache.keys() - {"clock"}:
        assert float(options("TokenCache")[name].replace(",", "")) == cache[name].default
    proofs = inspect.signature(pkg.DPoPProofs).parameters
    assert options("DPoPProofs").keys() == proofs.keys() - {"max_age", "clock"}


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    said = page(NAME)
    for name, default in inspect.signature(pkg.JwksUri).parameters.items():
        if name in ("lifetime", "min_interval"):
            assert f"`{name}` ({default.default:.0f} s)" in said
    for field in fields(pkg.Introspection):
        if field.name in ("max_requests", "timeout"):
            assert re.search(rf"`{field.name}` (seconds )?\({field.default:.0f}\)", said)


def test_the_descriptions_of_errors_are_those_of_the_code() -> None:
    table = page(NAME).split("## What is checked")[1].split("The principal has")[0]
    descriptions = re.findall(r'"(The [^"]+)"', table)
    assert len(descriptions) > 8
    code = "".join(inspect.getsource(module) for module in (claims, jwt))
    for description in descriptions:
        assert f'"{description}"' in code
