"""Answers of a server to tokens that are missing, malformed, bad or bound to a key."""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from itertools import product
from typing import Any

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.auth.guarding import (
    BOUND,
    METADATA,
    READING,
    RESOURCE,
    TOKENS,
    WRITING,
    allowing,
    authentication,
    bearing,
    read_challenges,
    telling,
)
from support.http.serving import calling, echo, run_app, serving
from support.revisions import OLD, REVISIONS, STATELESS
from support.sessions.talking import hello, pkg, tools
from support.tables import case

STREAMABLE = REVISIONS[1:]
HELD = f'resource_metadata="{METADATA}"'


def ours() -> Any:
    return tools(STATELESS, echo)


async def answers(guard: Any, fields: Mapping[str, str | None]) -> Any:
    """The answer to a handshake with these fields."""
    async with serving(ours(), pkg.REVISIONS, authentication=guard) as site:
        return await site.post(hello(), fields)


def error_params(error: str, text: str, *more: str) -> str:
    return ", ".join([f'error="{error}"', f'error_description="{text}"', *more])


MALFORMED = error_params("invalid_request", "The credentials are malformed", HELD)
INVALID = error_params("invalid_token", "The token is not valid", HELD)


@pytest.mark.shows("PR-03", "PR-04", "S3-12", "TK-03", "TK-11", "TK-12", "SC-01")
async def test_RJ17_invalid_credentials_set_status_and_challenge() -> None:
    rows: list[tuple[str | None, int, str]] = [
        (None, 401, HELD),
        ("", 401, HELD),
        (READING, 401, HELD),
        (f"Basic {READING}", 401, HELD),
        # Proofs are not checked here, so the scheme does not count.
        (f"DPoP {READING}", 401, HELD),
        ("Bearer", 400, MALFORMED),
        (f"Bearer {READING} {READING}", 400, MALFORMED),
        (f"Bearer {READING}, Bearer {READING}", 400, MALFORMED),
        (f'Bearer "{READING}"', 400, MALFORMED),
        ("Bearer é", 400, MALFORMED),
        (f"Bearer x{READING}", 401, INVALID),
        ("Bearer " + "e" * 16, 401, error_params("invalid_token", "The token has expired", HELD)),
        (
            f"Bearer {BOUND}",
            401,
            error_params("invalid_token", "The token is bound to a key: use DPoP", HELD),
        ),
        (f"Bearer {READING}", 200, ""),
        (f"bEARER  {READING}", 200, ""),
    ]
    async with serving(
        ours(), pkg.REVISIONS, authentication=authentication(resource=RESOURCE)
    ) as site:
        for (value, status, challenge), revision in product(rows, STREAMABLE):
            with case((value, revision)):
                given = None if value is None else value.encode("latin-1")
                fields = {"authorization": given}
                if revision == STATELESS:
                    answer = await site.modern("server/discover", headers=fields)
                else:
                    answer = await site.post(hello(revision), fields)
                assert answer.status_code == status, answer.text
                wanted = [f"Bearer {challenge}"] if challenge else []
                assert read_challenges(answer) == wanted


@pytest.mark.shows("SC-05", "SC-07")
async def test_RJ18_a_token_of_too_few_scopes_is_told_of_all_that_are_needed() -> None:
    guard = authentication(resource=RESOURCE, scopes=["write", "read"])
    refused = await answers(guard, bearing(READING))
    assert refused.status_code == 403
    text = "The token lacks required scopes"
    assert read_challenges(refused) == [
        "Bearer " + error_params("insufficient_scope", text, 'scope="read write"', HELD)
    ]
    # The same operation gets the same challenge, whatever scopes the token has.
    lacking = telling(resource=RESOURCE, scopes=["write", "read"])
    for scopes in (("read",), ("write",), ("other",), ()):
        with case(scopes):
            assert read_challenges(await answers(lacking, allowing(*scopes))) == read_challenges(
                refused
            )
    # A client without a token learns the required scopes, too.
    assert read_challenges(await answers(guard, {})) == [f'Bearer scope="read write", {HELD}']
    assert (await answers(guard, bearing(WRITING))).status_code == 200


async def test_two_tokens_in_one_request_are_refused() -> None:
    async with serving(ours(), authentication=authentication()) as site:
        twice = [("authorization", f"Bearer {READING}")] * 2
        answer = await site.http.post(site.path, headers=twice, json=hello())
        assert answer.status_code == 400


def judging(error: Exception) -> Any:
    async def verify(token: str) -> Any:
        raise error

    return authentication(verify=verify, resource=RESOURCE)


async def test_a_verifier_says_by_a_code_why_it_refuses_a_token() -> None:
    for code, status in (
        ("invalid_token", 401),
        ("invalid_request", 400),
        ("insufficient_scope", 403),
        ("something_else", 401),
    ):
        with case(code):
            refused = await answers(judging(pkg.TokenRefused(code, "Not for us")), bearing(READING))
            assert refused.status_code == status
            assert read_challenges(refused) == ["Bearer " + error_params(code, "Not for us", HELD)]


async def test_a_verifier_that_fails_lets_nobody_in() -> None:
    failed = await answers(judging(RuntimeError("the token is secret")), bearing(READING))
    assert (failed.status_code, "secret" in failed.text) == (500, False)


async def test_quoted_token_text_cannot_break_header_or_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    text = 'of "kid\\" \r\nset-cookie: a=b\0é'
    refused = await answers(judging(pkg.TokenRefused("invalid_token", text)), bearing(READING))
    assert refused.status_code == 401
    shown = "of ?kid?? ??set-cookie: a=b??"
    assert read_challenges(refused) == ["Bearer " + error_params("invalid_token", shown, HELD)]
    assert "set-cookie" not in refused.headers
    logged = [
        record.getMessage() for record in caplog.records if "set-cookie" in record.getMessage()
    ]
    assert logged and all(line.isprintable() for line in logged)
    for code in ("", 'a"', "a\r\nb"):
        with pytest.raises(ValueError, match="not a valid error code"):
            pkg.TokenRefused(code, "x")


async def test_while_tokens_cannot_be_verified_clients_are_told_when_to_come_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    why = pkg.VerifierUnavailable("the keys cannot be fetched", retry_after=7)
    refused = await answers(judging(why), bearing(READING))
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "7")
    assert read_challenges(refused) == [] and "keys" not in refused.text
    assert "the keys cannot be fetched" in caplog.text and READING not in caplog.text


async def test_verifier_can_use_resources_of_lifespan() -> None:
    opened: list[str] = []

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncGenerator[None, None]:
        opened.append("lifespan")
        yield

    async def verify(token: str) -> pkg.Principal:
        if not opened:
            raise pkg.VerifierUnavailable("not connected")
        return TOKENS[token]

    for way in ("on", "off"):
        opened.clear()
        mcp = pkg.load(OLD)
        made = mcp.App("one", lifespan=lifespan)
        app = made.http(http=pkg.HttpOptions(authentication=authentication(verify=verify)))
        async with run_app(app, lifespan=way) as port, calling(port) as site:
            with case(way):
                assert (await site.post(hello(), bearing(READING))).status_code == 200
                assert opened == ["lifespan"]
            await app.close()


async def test_verifier_failures_do_not_fill_log(caplog: pytest.LogCaptureFixture) -> None:
    guard = judging(pkg.VerifierUnavailable("the keys cannot be fetched"))
    async with serving(ours(), pkg.REVISIONS, authentication=guard) as site:
        for _ in range(30):
            assert (await site.post(hello(), bearing(READING))).status_code == 503
    assert 0 < caplog.text.count("the keys cannot be fetched") < 10


@pytest.mark.shows("SC-11")
async def test_a_scope_that_implies_others_is_enough() -> None:
    implied = {"write": {"read", "list"}, "read": {"list"}}

    def expand(scopes: frozenset[str]) -> set[str]:
        return {implied_scope for scope in scopes for implied_scope in implied.get(scope, ())}

    seen: list[Any] = []

    async def note(session: Session, params: CallToolRequestParams) -> str:
        seen.append(session.principal)
        return "x"

    guard = authentication(scopes={"list"}, expand_scopes=expand)
    async with serving(tools(OLD, note), authentication=guard) as site:
        session = await site.initialize(OLD, bearing(READING))
        await session.call("x")
    assert [principal.scopes for principal in seen] == [{"read", "list"}]
    assert TOKENS[READING].scopes == {"read"}


@pytest.mark.shows("PR-10")
def test_invalid_scopes_are_refused_at_construction() -> None:
    verify = pkg.static_tokens(TOKENS)
    for wrong, error in (
        ("read", TypeError),
        ([1], TypeError),
        (['a"b'], ValueError),
        (["a b"], ValueError),
        (["a\r\nb"], ValueError),
        (["é"], ValueError),
        ([""], ValueError),
        # No resource needs the scope of refresh tokens.
        (["offline_access"], ValueError),
    ):
        with case(wrong):
            with pytest.raises(error):
                pkg.Authentication(verify=verify, scopes=wrong)  # type: ignore[arg-type]
            with pytest.raises(error):
                pkg.Authentication(verify=verify, method_scopes={"tools/call": wrong})  # type: ignore[dict-item]
            with pytest.raises(error):
                pkg.InsufficientScope(wrong)  # type: ignore[arg-type]


def test_settings_of_authentication_are_shown_without_what_follows_from_them() -> None:
    names = "scopes", "resource", "method_scopes", "expand_scopes", "require_proofs"
    assert re.findall(r"(\w+)=", repr(pkg.Authentication(verify=pkg.static_tokens({})))) == [*names]


def test_no_secret_is_shown_of_what_authenticates() -> None:
    assert READING not in repr(authentication(resource=RESOURCE))
    for wrong in ("short", "t" * 15, "t" * 16 + '"', "t" * 16 + "é", "t" * 16 + " "):
        with pytest.raises(ValueError, match="token"):
            pkg.static_tokens({wrong: pkg.Principal("x")})
