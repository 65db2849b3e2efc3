"""The discovery of a server's authorization server."""

from typing import Any

import pytest
from mcp_protogen.runtime.features.auth.client.discovery import (
    choose_issuer,
    default_server,
    find_resource,
    find_server,
)
from mcp_protogen.runtime.features.auth.client.values import Refusal
from mcp_protogen.runtime.features.auth.errors import (
    AuthorizationError,
    InvalidMetadata,
    Unreachable,
)
from mcp_protogen.runtime.features.auth.steps import Fetched, Step
from mcp_protogen.runtime.features.auth.urls import covers, split_url
from support.auth.playing import NOT_FOUND, Given, document, fetches, play, urls
from support.revisions import OLD
from support.tables import case

ORIGIN = "https://mcp.example"
URL = f"{ORIGIN}/public/mcp"
AT_PATH = f"{ORIGIN}/.well-known/oauth-protected-resource/public/mcp"
AT_ROOT = f"{ORIGIN}/.well-known/oauth-protected-resource"
NAMED = f"{ORIGIN}/custom/metadata.json"
ISSUER = "https://login.example"
TENANT = f"{ISSUER}/tenant1"
OF_SERVERS = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"
PAGE = Fetched(status=200, headers={"content-type": "text/html; charset=utf-8"}, body=b"<p>Hi</p>")


def resource(identifier: str = URL, **members: Any) -> Fetched:
    """The metadata of a resource."""
    return document({"resource": identifier, "authorization_servers": [ISSUER], **members})


def server(_issuer: str = ISSUER, **members: Any) -> Fetched:
    """The metadata of an authorization server."""
    endpoints = {"authorization_endpoint": f"{_issuer}/go", "token_endpoint": f"{_issuer}/token"}
    return document({"issuer": _issuer, **endpoints, **members})


def refusal_of(*values: str) -> Refusal:
    """A response without a token, and its challenges."""
    return Refusal(status=401, www_authenticate=values)


def naming(url: str, scheme: str = "Bearer") -> Refusal:
    """Return a response that names the metadata of the resource."""
    return refusal_of(f'{scheme} error="invalid_token", resource_metadata="{url}"')


@pytest.mark.shows("PR-05", "PR-06", "PR-07")
def test_the_metadata_that_a_server_names_comes_before_the_well_known_places() -> None:
    for scheme in ("Bearer", "bearer", "DPoP"):
        asked: list[Step] = []
        found = play(
            find_resource(URL, naming(NAMED, scheme)),
            {NAMED: resource(scopes_supported=["a"]), AT_PATH: resource(), AT_ROOT: resource()},
            asked,
        )
        with case(scheme):
            assert urls(asked) == [NAMED]
            assert found is not None
            assert found.authorization_servers == (ISSUER,)
            assert found.scopes_supported == ("a",)


@pytest.mark.shows("PR-07")
def test_without_a_name_metadata_is_at_the_path_of_the_endpoint_or_at_the_root() -> None:
    for url, answers, places in [
        (URL, {AT_PATH: resource()}, [AT_PATH]),
        (URL, {AT_ROOT: resource(ORIGIN)}, [AT_PATH, AT_ROOT]),
        (URL, {AT_PATH: PAGE, AT_ROOT: resource()}, [AT_PATH, AT_ROOT]),
        (f"{URL}/", {f"{AT_PATH}/": resource()}, [f"{AT_PATH}/"]),
        (f"{URL}?tenant=7", {f"{AT_PATH}?tenant=7": resource()}, [f"{AT_PATH}?tenant=7"]),
        (ORIGIN, {AT_ROOT: resource(ORIGIN)}, [AT_ROOT]),
        (f"{ORIGIN}/", {AT_ROOT: resource(ORIGIN)}, [AT_ROOT]),
    ]:
        for refusal in (
            None,
            refusal_of(),
            refusal_of('Bearer realm="x"'),
            refusal_of("nonsense,,="),
        ):
            asked: list[Step] = []
            found = play(find_resource(url, refusal), answers, asked)
            with case((url, places)):
                assert found is not None
                assert urls(asked) == places
                assert all(step.method == "GET" and step.body is None for step in fetches(asked))


def test_the_well_known_places_are_asked_if_there_is_nothing_where_the_server_says() -> None:
    asked: list[Step] = []
    found = play(find_resource(URL, naming(NAMED)), {AT_PATH: resource()}, asked)
    assert found is not None
    assert urls(asked) == [NAMED, AT_PATH]


def test_there_is_no_metadata_only_if_both_well_known_places_say_so() -> None:
    assert play(find_resource(URL, refusal_of("Bearer")), {}) is None
    for answer in (Fetched(status=401), Fetched(status=500), PAGE):
        for place in (AT_PATH, AT_ROOT):
            with case((answer, place)), pytest.raises(Unreachable, match=place):
                play(find_resource(URL), {place: answer})
    # Metadata that names a document is not from before documents.
    with pytest.raises(Unreachable, match="answered 404"):
        play(find_resource(URL, naming(NAMED)), {})


@pytest.mark.shows("PR-09")
def test_metadata_of_another_resource_is_refused() -> None:
    for url, identifier, is_right in [
        (URL, URL, True),
        (URL, f"{ORIGIN}/public", True),
        (URL, f"{ORIGIN}/public/", True),
        (URL, f"{URL}/", True),
        (URL, f"{ORIGIN}/", True),
        (URL, ORIGIN, True),
        (URL, f"{ORIGIN}:443/public/mcp", True),
        (URL, "HTTPS://MCP.example/public/mcp", True),
        (f"{URL}?a=1", URL, True),
        (f"{URL}?a=1", f"{URL}?a=1", True),
        (f"{URL}?a=1", f"{URL}?a=2", False),
        (URL, f"{URL}?a=1", False),
        (URL, f"{ORIGIN}/pub", False),
        (URL, f"{URL}/deeper", False),
        (URL, f"{ORIGIN}/PUBLIC/mcp", False),
        (URL, f"{URL}#part", False),
        (URL, f"{ORIGIN}/public/../other", False),
        (f"{ORIGIN}/public/%2E%2e/other", f"{ORIGIN}/public", False),
        (URL, "http://mcp.example/public/mcp", False),
        (URL, f"{ORIGIN}:8443/public/mcp", False),
        (URL, "https://evil.example/public/mcp", False),
        (URL, f"{ORIGIN}.evil.example/public/mcp", False),
        (URL, "https://mcp.example@evil.example/public/mcp", False),
        (URL, "https://evil.example\\@mcp.example/public/mcp", False),
        (URL, "mcp.example/public/mcp", False),
        (URL, "urn:mcp", False),
        (URL, "https://[mcp.example/public/mcp", False),
    ]:
        with case((url, identifier)):
            flow = find_resource(url, naming(NAMED))
            answers: dict[str, Given] = {NAMED: resource(identifier)}
            if is_right:
                found = play(flow, answers)
                assert found is not None
                # The text of the identifier is unchanged.
                assert found.resource == identifier
            else:
                with pytest.raises(InvalidMetadata, match="another resource"):
                    play(flow, answers)


def test_letters_that_only_look_like_those_of_ascii_are_in_no_url() -> None:
    for url in ("https://ban\u212a.example/", "https://\u017fite.example/", "http\u017f://a/"):
        with case(url):
            assert split_url(url) is None
    assert not covers("https://ban\u212a.example", "https://bank.example/mcp")


@pytest.mark.shows("PR-09")
def test_after_metadata_of_another_resource_nothing_else_is_asked() -> None:
    asked: list[Step] = []
    with pytest.raises(InvalidMetadata, match="evil"):
        play(find_resource(URL), {AT_PATH: resource("https://evil.example/mcp")}, asked)
    assert urls(asked) == [AT_PATH]


def test_malformed_metadata_of_a_resource_is_refused_with_its_place() -> None:
    for body, why in [
        (b"", "not a JSON object"),
        (b"{", "not a JSON object"),
        (b'\xff"', "not a JSON object"),
        (b'{"resource": NaN}', "not a JSON object"),
        (b"[" * 5000, "not a JSON object"),
        (b"[]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b'{"resource": "r"}', "authorization_servers is missing"),
        (b'{"resource": "r", "authorization_servers": null}', "authorization_servers is missing"),
        (b'{"resource": "r", "authorization_servers": []}', "must not be empty"),
        (b'{"resource": "r", "authorization_servers": "x"}', "must be a list"),
        (b'{"resource": "r", "authorization_servers": [""]}', "must be a list"),
        (b'{"resource": "r", "authorization_servers": [1]}', "must be a list"),
        (b'{"authorization_servers": ["x"]}', "resource is missing"),
        (
            b'{"authorization_servers": ["x"], "resource": ["r"]}',
            "resource must be a non-empty string",
        ),
        (
            b'{"authorization_servers": ["x"], "resource": "r", "scopes_supported": "a"}',
            "must be a list",
        ),
    ]:
        with case(body[:60]), pytest.raises(InvalidMetadata, match=why) as refusal:
            play(find_resource(URL), {AT_PATH: Fetched(status=200, body=body)})
        assert AT_PATH in str(refusal.value)


def test_only_urls_of_http_are_asked_for_metadata() -> None:
    for named in (
        "file:///etc/passwd",
        "javascript:alert(1)",
        "/relative",
        "https://",
        "https://a b",
    ):
        with case(named), pytest.raises(InvalidMetadata, match="resource_metadata"):
            play(find_resource(URL, naming(named)), [])
    for issuer in ("login.example", "https:///x", "https://u:p@login.example", "https://h:x", ""):
        with case(issuer), pytest.raises(InvalidMetadata, match="issuer"):
            play(find_server(issuer), [])
    for issuer in (f"{ISSUER}?a=1", f"{ISSUER}#a", f"{TENANT}?", f"{TENANT}#"):
        with case(issuer), pytest.raises(InvalidMetadata, match="query"):
            play(find_server(issuer), [])


@pytest.mark.shows("AM-10", "AM-11", "AM-12", "AM-14")
def test_the_metadata_of_an_authorization_server_is_in_one_of_its_places_in_their_order() -> None:
    for issuer, places in [
        (ISSUER, [f"{ISSUER}{OF_SERVERS}", f"{ISSUER}{OPENID}"]),
        (f"{ISSUER}/", [f"{ISSUER}{OF_SERVERS}", f"{ISSUER}{OPENID}"]),
        (
            TENANT,
            [f"{ISSUER}{OF_SERVERS}/tenant1", f"{ISSUER}{OPENID}/tenant1", f"{TENANT}{OPENID}"],
        ),
        (
            f"{TENANT}/",
            [f"{ISSUER}{OF_SERVERS}/tenant1", f"{ISSUER}{OPENID}/tenant1", f"{TENANT}{OPENID}"],
        ),
    ]:
        for number, place in enumerate(places, 1):
            asked: list[Step] = []
            found = play(find_server(issuer), {place: server(issuer)}, asked)
            with case((issuer, place)):
                assert found.issuer == issuer
                assert urls(asked) == places[:number]
        tried: list[Step] = []
        with case(issuer):
            with pytest.raises(Unreachable, match="answered 404"):
                play(find_server(issuer), {}, tried)
            assert urls(tried) == places


@pytest.mark.shows("AM-08")
def test_server_metadata_is_read() -> None:
    members: dict[str, Any] = {
        "registration_endpoint": f"{ISSUER}/register",
        "scopes_supported": ["a", "offline_access"],
        "grant_types_supported": ["authorization_code"],
        "token_endpoint_auth_methods_supported": ["none", "tls_client_auth"],
        "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": True,
        "dpop_signing_alg_values_supported": ["ES256"],
        "authorization_grant_profiles_supported": ["urn:ietf:params:oauth:grant-profile:id-jag"],
    }
    # Unknown members are ignored, and null counts as absent.
    found = play(find_server(ISSUER), [server(**members, is_document=False, jwks_uri=None)])
    for name, value in members.items():
        assert getattr(found, name) == (value if isinstance(value, bool | str) else tuple(value))
    assert found.is_document
    nothing: dict[str, Any] = dict.fromkeys(members)
    bare = play(find_server(ISSUER), [server(**nothing)])
    assert {name: getattr(bare, name) for name in members} == {
        name: False if value is True else None for name, value in members.items()
    }


@pytest.mark.shows("AM-13")
def test_metadata_of_another_issuer_is_not_used() -> None:
    for issuer, stated in [
        (ISSUER, "https://honest.example"),
        (ISSUER, f"{ISSUER}/"),
        (f"{ISSUER}/", ISSUER),
        (TENANT, f"{TENANT}/"),
        (TENANT, ISSUER),
        (ISSUER, "https://LOGIN.example"),
        (ISSUER, f"{ISSUER}:443"),
        (TENANT, f"{ISSUER}/tenant%31"),
    ]:
        asked: list[Step] = []
        with case((issuer, stated)), pytest.raises(InvalidMetadata, match="belongs to another"):
            play(find_server(issuer), [server(stated)], asked)


@pytest.mark.shows("AM-13")
def test_issuer_option_accepts_only_trailing_slash(caplog: pytest.LogCaptureFixture) -> None:
    for issuer, stated, is_accepted in [
        (ISSUER, f"{ISSUER}/", True),
        (f"{ISSUER}/", ISSUER, True),
        (ISSUER, f"{ISSUER}//", False),
        (TENANT, f"{TENANT}/", True),
        (f"{TENANT}/", TENANT, True),
        (TENANT, f"{TENANT}//", False),
        (TENANT, f"{TENANT}/?", False),
        (f"{TENANT}/", ISSUER, False),
        (ISSUER, f"{ISSUER}/#/", False),
        (ISSUER, "https://evil.example/", False),
        (ISSUER, "https://LOGIN.example/", False),
        (ISSUER, f"{ISSUER}:443/", False),
        (ISSUER, f"{ISSUER}/?", False),
        (ISSUER, "http://login.example/", False),
    ]:
        with case((issuer, stated)):
            flow = find_server(issuer, trailing_slash=True)
            if is_accepted:
                # The document's issuer is used from then on.
                assert play(flow, [server(stated)]).issuer == stated
                assert f"{stated} and {issuer} count as the same" in caplog.messages[-1]
            else:
                with pytest.raises(InvalidMetadata):
                    play(flow, [server(stated)])


def test_malformed_metadata_of_an_authorization_server_is_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"issuer": None}, "issuer is missing"),
        ({"issuer": 1}, "issuer must be a non-empty string"),
        ({"token_endpoint": None}, "token_endpoint is missing"),
        ({"token_endpoint": "/token"}, "token_endpoint must be an http"),
        ({"token_endpoint": f"{ISSUER}/t#x"}, "token_endpoint must be an http"),
        (
            {"authorization_endpoint": "javascript:alert(1)"},
            "authorization_endpoint must be an http",
        ),
        ({"authorization_endpoint": f"{ISSUER}/\n"}, "authorization_endpoint must be an http"),
        ({"registration_endpoint": ""}, "registration_endpoint must be a non-empty string"),
        ({"scopes_supported": {}}, "scopes_supported must be a list"),
        ({"code_challenge_methods_supported": "S256"}, "must be a list"),
        ({"client_id_metadata_document_supported": "true"}, "must be true or false"),
        ({"authorization_response_iss_parameter_supported": 1}, "must be true or false"),
    ]
    for members, why in cases:
        with case(members), pytest.raises(InvalidMetadata, match=why):
            play(find_server(ISSUER), [server(**members)])


@pytest.mark.shows("PR-08")
def test_of_several_authorization_servers_a_known_one_is_asked_or_the_first() -> None:
    cases: list[tuple[list[str | None], str]] = [
        ([], "https://a.example"),
        ([None, "https://c.example"], "https://a.example"),
        (["https://b.example"], "https://b.example"),
        (["https://c.example", "https://b.example", "https://a.example"], "https://b.example"),
        (["https://b.example/"], "https://a.example"),
    ]
    for known, chosen in cases:
        with case(known):
            assert choose_issuer(("https://a.example", "https://b.example"), known) == chosen
    listed = ("https://a.example", "https://b.example/")
    assert choose_issuer(listed, ["https://b.example"], trailing_slash=True) == listed[1]


@pytest.mark.shows("AM-01", "AM-04", "AM-06")
def test_a_server_that_issues_its_tokens_itself_has_its_metadata_at_its_origin() -> None:
    asked: list[Step] = []
    for revision, named in ((OLD, OLD), ("", None)):
        asked.clear()
        flow = default_server(URL, revision)
        found = play(flow, {f"{ORIGIN}{OF_SERVERS}": server(ORIGIN)}, asked)
        assert found.token_endpoint == f"{ORIGIN}/token"
        assert found.is_document
        [request] = fetches(asked)
        assert request.headers.get("mcp-protocol-version") == named


@pytest.mark.shows("AM-05")
def test_without_metadata_a_server_that_issues_its_tokens_itself_has_default_endpoints() -> None:
    asked: list[Step] = []
    found = play(default_server("https://mcp.example:8443/v1/mcp?a=1"), [NOT_FOUND], asked)
    origin = "https://mcp.example:8443"
    assert urls(asked) == [f"{origin}{OF_SERVERS}"]
    assert found.issuer == origin
    assert found.authorization_endpoint == f"{origin}/authorize"
    assert found.token_endpoint == f"{origin}/token"
    assert found.registration_endpoint == f"{origin}/register"
    assert found.code_challenge_methods_supported == ("S256",)
    assert not found.is_document


def test_default_endpoints_are_not_used_where_metadata_is_refused_or_of_another() -> None:
    for answer, error in [
        (Fetched(status=401), Unreachable),
        (Fetched(status=503), Unreachable),
        (PAGE, Unreachable),
        (Fetched(status=200, body=b"{"), InvalidMetadata),
        (server(f"{ORIGIN}/"), InvalidMetadata),
        (server("https://evil.example"), InvalidMetadata),
    ]:
        with case(answer), pytest.raises(error):
            play(default_server(URL), [answer])
    assert play(default_server(URL, trailing_slash=True), [server(f"{ORIGIN}/")]).is_document


def test_no_error_shows_the_query_of_a_url() -> None:
    url = f"{URL}?key=s3cret"
    place = f"{AT_PATH}?key=s3cret"
    for flow, answers in [
        (find_resource(url), {place: Fetched(status=500)}),
        (find_resource(url), {place: resource("https://evil.example/mcp?s3cret")}),
        (find_resource(url), {place: Fetched(status=200, body=b"s3cret")}),
        (find_resource(url, naming("/mcp?s3cret")), {}),
        (find_resource("mcp.example?key=s3cret"), {}),
    ]:
        with case(answers), pytest.raises(AuthorizationError) as error:
            play(flow, answers)
        assert "s3cret" not in str(error.value)
        assert "mcp" in str(error.value)


def test_unreachable_metadata_ends_search() -> None:
    asked: list[Step] = []
    with pytest.raises(Unreachable, match="no answer"):
        play(find_server(TENANT), [Unreachable("no answer")], asked)
    assert len(asked) == 1
