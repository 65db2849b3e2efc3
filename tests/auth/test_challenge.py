"""`WWW-Authenticate`: read leniently, and written strictly."""

from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_protogen.runtime.features.auth.challenge import Challenge, challenges_in, token_param
from mcp_protogen.runtime.http.server.protected_resource import challenge
from support.tables import case

TOKENS = st.from_regex(r"[!#$%&'*+.^_`|~0-9a-z-]{1,12}", fullmatch=True)
VALUES = st.from_regex(r"[ !#-\[\]-~]{0,20}", fullmatch=True)

Found: TypeAlias = list[tuple[str, dict[str, str]]]
"""Schemes, each with its parameters."""


@pytest.mark.shows("PR-06")
def test_all_challenges_are_read_with_their_parameters() -> None:
    cases: list[tuple[list[str], Found]] = [
        (["Bearer"], [("bearer", {})]),
        (['BEARER Realm="x"'], [("bearer", {"realm": "x"})]),
        (["Bearer realm=x"], [("bearer", {"realm": "x"})]),
        (['Bearer a="1", b=2 ,c = "3"'], [("bearer", {"a": "1", "b": "2", "c": "3"})]),
        (['Bearer a="x, y=\\"z\\", Basic \\\\"'], [("bearer", {"a": 'x, y="z", Basic \\'})]),
        (['Bearer a="", b=""'], [("bearer", {"a": "", "b": ""})]),
        (['Bearer a="é"'], [("bearer", {"a": "é"})]),
        (["Bearer, DPoP"], [("bearer", {}), ("dpop", {})]),
        (["Bearer", 'DPoP algs="ES256"'], [("bearer", {}), ("dpop", {"algs": "ES256"})]),
        (['Bearer a=1, DPoP b=2, c="3"'], [("bearer", {"a": "1"}), ("dpop", {"b": "2", "c": "3"})]),
        ([" ,, Bearer a=1,, ,DPoP ,"], [("bearer", {"a": "1"}), ("dpop", {})]),
        (["Bearer\ta=1"], [("bearer", {"a": "1"})]),
    ]
    for values, found in cases:
        with case(values):
            assert challenges_in(values) == tuple(Challenge(*parts) for parts in found)


def test_a_challenge_may_have_a_token_in_place_of_parameters() -> None:
    for value, found in [
        ("Negotiate YII=", Challenge("negotiate")),
        ("Negotiate a+/-._~==", Challenge("negotiate")),
        ("NTLM TlRM , Bearer", Challenge("ntlm")),
        ("Basic a=b", Challenge("basic", {"a": "b"})),
    ]:
        with case(value):
            assert challenges_in([value])[0] == found


def test_malformed_challenges_are_skipped() -> None:
    cases: list[tuple[list[str], Found]] = [
        ([], []),
        ([""], []),
        (["   "], []),
        ([",,="], []),
        (['realm="x"'], []),
        (['"Bearer" realm="x"'], []),
        # Parameters do not continue in the next field.
        (["Bearer a=1", "b=2"], [("bearer", {"a": "1"})]),
        # Of two values, the first one counts.
        (['Bearer a="1", A="2"'], [("bearer", {"a": "1"})]),
        # A comma is missing.
        (['Bearer a="1" b="2"'], [("bearer", {"a": "1", "b": "2"})]),
        # Quotes are missing.
        (["Bearer a=https://x/y?z=1, b=2"], [("bearer", {"a": "https://x/y?z=1", "b": "2"})]),
        (["Bearer a=x y, b=2"], [("bearer", {"a": "x", "b": "2"})]),
        (["Bearer a=x:1 y:2, b=2"], [("bearer", {"a": "x:1", "b": "2"})]),
        # A quoted string has no end.
        (['Bearer a=1, b="x, DPoP c=3'], [("bearer", {"a": "1"})]),
        (['Bearer a=1, b="x\\'], [("bearer", {"a": "1"})]),
        (["Bearer =, é=1, a=1"], [("bearer", {"a": "1"})]),
        (['Bearer a=1, "x, y", DPoP'], [("bearer", {"a": "1"}), ("dpop", {})]),
        (["Bearer a=1; b=2"], [("bearer", {"a": "1;", "b": "2"})]),
    ]
    for values, found in cases:
        with case(values):
            assert challenges_in(values) == tuple(Challenge(*parts) for parts in found)


def test_parameters_are_taken_from_challenges_for_access_tokens_only() -> None:
    for values, value in [
        (['Bearer a="1"'], "1"),
        (['DPoP a="1"'], "1"),
        (['Basic a="0"', 'Bearer b="2"', 'DPoP a="1"', 'Bearer a="3"'], "1"),
        (['Basic a="0"'], None),
        (['Bearer b="A"'], None),
        ([], None),
    ]:
        with case(values):
            assert token_param(values, "a") == value


def test_a_field_is_read_up_to_a_bound() -> None:
    assert len(challenges_in(["a, " * 100])) == 64
    assert len(challenges_in(["Bearer"] * 100)) == 64
    many = "Bearer " + ", ".join(f"p{number}=1" for number in range(1000))
    assert len(challenges_in([many])[0].params) == 63
    assert challenges_in([f'Bearer a="{"x" * 20_000}", b=1, DPoP']) == (Challenge("bearer"),)
    assert challenges_in([" " * 20_000 + "Bearer"]) == ()


@given(st.dictionaries(TOKENS, VALUES, max_size=5), TOKENS)
def test_written_challenge_is_read_back(params: dict[str, str], scheme: str) -> None:
    field = challenge(scheme, params)[1].decode()
    assert challenges_in([field]) == (Challenge(scheme, params),)
    assert challenges_in([f"Basic x=y, {field}, NTLM"])[1] == Challenge(scheme, params)


def test_no_server_writes_what_would_be_read_as_something_else() -> None:
    for value in ['"', "\\", "\r\nSet-Cookie: a=b", "\n", "\0", "\x7f", "é", "\t"]:
        with case(value), pytest.raises(ValueError, match=r"scope: .* is not allowed in a header"):
            challenge("Bearer", {"scope": f"a{value}b"})
    assert challenge("Bearer", {}) == (b"www-authenticate", b"Bearer")
