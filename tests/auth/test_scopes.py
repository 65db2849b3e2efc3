"""The scopes that a client requests, and how often."""

from dataclasses import replace
from typing import Any

import pytest
from mcp_protogen.runtime.features.auth.client.flow import (
    challenged_scopes,
    count_step_up,
    forget_step_ups,
    is_for_scopes,
    scopes_to_ask_for,
)
from mcp_protogen.runtime.features.auth.client.grants import ClientCredentials
from mcp_protogen.runtime.features.auth.client.settings import OAuthSettings
from mcp_protogen.runtime.features.auth.client.values import (
    Authorization,
    Refusal,
    ResourceMetadata,
    ServerMetadata,
    Tokens,
)
from mcp_protogen.runtime.features.auth.errors import AuthorizationError
from support.tables import case

URL = "https://mcp.example/mcp"
ISSUER = "https://login.example"


def refusal_of(scope: str | None, status: int = 401) -> Refusal:
    """A refusal that names scopes."""
    error = "insufficient_scope" if status == 403 else "invalid_token"
    named = "" if scope is None else f', scope="{scope}"'
    return Refusal(status=status, www_authenticate=(f'Bearer error="{error}"{named}',))


def knowing(
    *,
    supported: str | None = None,
    server: str | None = None,
    requested: str = "",
    granted: str | None = None,
) -> Authorization:
    """Return the client's knowledge, with scopes as texts."""
    tokens = Tokens(access_token="t", scopes=None if granted is None else split(granted))
    return Authorization(
        url=URL,
        resource_metadata=ResourceMetadata(
            resource=URL,
            authorization_servers=(ISSUER,),
            scopes_supported=None if supported is None else tuple(supported.split()),
        ),
        server=ServerMetadata(
            issuer=ISSUER,
            authorization_endpoint=f"{ISSUER}/authorize",
            token_endpoint=f"{ISSUER}/token",
            scopes_supported=None if server is None else tuple(server.split()),
        ),
        tokens=tokens,
        requested_scopes=split(requested),
    )


def split(text: str) -> frozenset[str]:
    return frozenset(text.split())


def settings(scopes: str | None = None, **options: Any) -> OAuthSettings:
    return OAuthSettings(scopes=None if scopes is None else split(scopes), **options)


@pytest.mark.shows("SC-02", "SC-03", "SC-04")
def test_the_scopes_of_the_challenge_count_then_those_that_are_supported_then_none() -> None:
    for challenge, chosen, supported, asked in [
        ("a", None, "b c", "a"),
        ("a", "d", "b c", "a"),
        ("a  x", None, None, "a x"),
        (None, None, "b c", "b c"),
        ("", None, "b c", "b c"),
        (None, "d", "b c", "d"),
        (None, "", "b c", ""),
        (None, None, "", ""),
        (None, None, None, ""),
    ]:
        with case((challenge, chosen, supported)):
            known = knowing(supported=supported)
            assert scopes_to_ask_for(settings(chosen), known, refusal_of(challenge)) == split(asked)
    assert scopes_to_ask_for(settings(), knowing(supported="b"), None) == split("b")
    assert scopes_to_ask_for(settings(), Authorization(url=URL), None) == split("")


@pytest.mark.shows("SC-09", "SC-12")
def test_earlier_scopes_are_requested_again() -> None:
    for challenge, status, requested, granted, asked in [
        ("write", 403, "read", None, "read write"),
        ("write", 403, "read", "read more", "read more write"),
        ("write", 403, "", "read", "read write"),
        ("write", 401, "read", "read", "read write"),
        # An expired token: nothing more than before.
        (None, 401, "read", "read", "read"),
        # A server that names no scopes.
        (None, 403, "read", "read", "read supported"),
    ]:
        with case((challenge, status, requested, granted)):
            known = knowing(supported="supported", requested=requested, granted=granted)
            refusal = refusal_of(challenge, status)
            assert scopes_to_ask_for(settings(), known, refusal) == split(asked)


@pytest.mark.shows("RF-03")
def test_a_refresh_token_is_asked_for_where_the_server_knows_the_scope_and_only_there() -> None:
    offline = "offline_access"
    for challenge, supported, server, requested, asked in [
        ("a", None, f"a {offline}", "", f"a {offline}"),
        (None, "a b", offline, "", f"a b {offline}"),
        ("a", None, "a", "", "a"),
        ("a", None, None, "", "a"),
        (f"a {offline}", None, "a", "", "a"),
        (None, f"a {offline}", "a", "", "a"),
        (None, f"a {offline}", None, "", "a"),
        # The authorization server has changed.
        ("a", None, "a", f"a {offline}", "a"),
        # Alone it would remove the scopes that the server wants.
        (None, None, f"a {offline}", "", ""),
        (None, offline, offline, "", ""),
    ]:
        with case((challenge, supported, server, requested)):
            known = knowing(supported=supported, server=server, requested=requested)
            assert scopes_to_ask_for(settings(), known, refusal_of(challenge)) == split(asked)
    program = settings(grant=ClientCredentials())
    known = knowing(server=f"a {offline}")
    assert scopes_to_ask_for(program, known, refusal_of("a")) == split("a")
    # A client that claims the scope has it, whatever the server names.
    for challenge in ("a", None):
        both = f"a {offline}"
        assert scopes_to_ask_for(settings(both), knowing(), refusal_of(challenge)) == split(both)


@pytest.mark.shows("SC-08")
def test_a_request_is_refused_for_its_scopes_by_its_status_and_its_error() -> None:
    for status, value, is_so in [
        (403, 'Bearer error="insufficient_scope", scope="a"', True),
        (403, 'DPoP error="insufficient_scope"', True),
        (403, 'Basic error="insufficient_scope", Bearer error="insufficient_scope"', True),
        (401, 'Bearer error="insufficient_scope"', False),
        (403, 'Bearer error="invalid_token"', False),
        (403, 'Basic error="insufficient_scope"', False),
        (403, "", False),
    ]:
        with case((status, value)):
            assert is_for_scopes(Refusal(status=status, www_authenticate=(value,))) is is_so


def test_invalid_scopes_are_not_requested() -> None:
    odd = 'say" back\\slash \u00e4 a\x7f'
    assert challenged_scopes(refusal_of("read \u00e4 a\x7f write")) == {"read", "write"}
    assert scopes_to_ask_for(settings(), knowing(supported=f"a {odd} b"), None) == {"a", "b"}


def test_a_server_cannot_have_ever_more_scopes_asked_for() -> None:
    many = " ".join(map(str, range(1000)))
    assert len(scopes_to_ask_for(settings(), knowing(requested=many), None)) == 1000
    with pytest.raises(AuthorizationError, match="more than 1000 scopes"):
        scopes_to_ask_for(settings(), knowing(requested=many), refusal_of("one-more", 403))


@pytest.mark.shows("SC-10")
def test_step_ups_of_operation_are_limited() -> None:
    known = knowing(requested="read")
    for number in range(3):
        known = count_step_up(settings(), known, refusal_of(f"new{number}", 403), "tools/call a")
    with pytest.raises(AuthorizationError, match="not enough for tools/call a"):
        count_step_up(settings(), known, refusal_of("new3", 403), "tools/call a")
    # Each operation has its own tries, renewed by success.
    other = count_step_up(settings(), known, refusal_of("new3", 403), "tools/call b")
    assert other.step_ups == {"tools/call a": 3, "tools/call b": 1}
    again = forget_step_ups(other, "tools/call a")
    assert again.step_ups == {"tools/call b": 1}
    assert count_step_up(settings(), again, refusal_of("new3", 403), "tools/call a").step_ups == {
        "tools/call a": 1,
        "tools/call b": 1,
    }
    assert forget_step_ups(again, "tools/call a") is again


def test_operations_that_were_counted_longest_ago_are_forgotten_first() -> None:
    first, second, *others = names = [f"tools/call {number}" for number in range(256)]
    known = replace(knowing(requested="read"), step_ups=dict.fromkeys(names, 1))
    again = count_step_up(settings(), known, refusal_of("new", 403), second)
    assert again.step_ups == {**known.step_ups, second: 2}
    later = count_step_up(settings(), again, refusal_of("new", 403), "tools/call new")
    assert [*later.step_ups] == [*others, second, "tools/call new"] and first not in later.step_ups


@pytest.mark.shows("SC-10")
def test_the_user_is_asked_a_second_time_for_the_same_scopes_but_not_a_third_time() -> None:
    for scope in ("read", "read write", None):
        known = knowing(requested="read", granted="read write")
        known = count_step_up(settings(), known, refusal_of(scope, 403), "tools/call a")
        with case(scope), pytest.raises(AuthorizationError, match="not enough for"):
            count_step_up(settings(), known, refusal_of(scope, 403), "tools/call a")
    with pytest.raises(AuthorizationError, match="not enough for"):
        count_step_up(settings(max_step_ups=0), knowing(), refusal_of("a", 403), "")


def test_only_so_many_operations_are_kept_in_mind() -> None:
    known = knowing()
    for number in range(300):
        known = count_step_up(settings(), known, refusal_of("a", 403), f"{number}")
    assert list(known.step_ups) == [str(number) for number in range(44, 300)]
