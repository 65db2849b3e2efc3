"""The shared options of commands for servers: their results and refusals."""

import asyncio
from pathlib import Path

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.cli.server_options import ServerOptions
from mcp_protogen.runtime.features.auth.client.grants import ClientCredentials
from mcp_protogen.runtime.features.auth.client.oauth import OAuth
from mcp_protogen.runtime.features.auth.client.storage import FileStorage, MemoryStorage
from mcp_protogen.runtime.features.auth.errors import AuthorizationError
from mcp_protogen.runtime.features.auth.steps import AuthorizationRequest
from mcp_protogen.servers.connect import authorization as module
from mcp_protogen.servers.connect.authorization import (
    Bearer,
    FixedFields,
    LoggingIn,
    WhereAllowed,
    authorization,
    user_config,
)
from mcp_protogen.servers.connect.named_server import NamedServer
from support.running import Ran, Run
from support.tables import case

URL = "https://mcp.example/mcp"
VARIABLES = {"ID": "me", "SECRET": "s3cret", "TOKEN": "t0ken", "BAD": "a\nb", "MCP_GEN_CONFIG": ""}

REFUSED = {
    "oaut": ("'oaut'", "did you mean oauth or auto?"),
    "bearer": ("'bearer'", "write bearer:TOKEN, with names of variables"),
    "none:ID": ("'none'", "write none alone"),
    "oauth:ID,SECRET,TOKEN": ("'oauth'", "write oauth:ID,SECRET, with names of variables"),
    "bearer:NOWHERE": ("the variable NOWHERE of --auth is not set", "never secrets"),
    "bearer:eyJhbGciOi.secret": ("a variable of --auth is not set", "never secrets"),
    "bearer:BAD": ("has spaces or control characters", "never secrets"),
    "client-credentials": ("the variable MCP_CLIENT_ID of --auth is not set", "never secrets"),
}


def test_invalid_auth_is_refused_without_repeating_secrets() -> None:
    for said, (message, hint) in REFUSED.items():
        with case(said):
            with pytest.raises(ProblemError) as caught:
                authorization(said, print, VARIABLES)
            problem = caught.value.problems[0]
            assert problem.code == "wrong-usage"
            assert message in problem.message and hint in problem.hint
            assert "secret" not in problem.message and "\n" not in problem.message


def test_auth_is_made_of_variables_and_hides_them() -> None:
    bearer = authorization("bearer:TOKEN", print, VARIABLES)
    assert isinstance(bearer, Bearer) and "t0ken" not in repr(bearer)
    authorizer = bearer.authorizer(URL)
    assert authorizer.headers("POST", URL) == {"authorization": "Bearer t0ken"}
    assert "t0ken" not in repr(authorizer)
    program = authorization("client-credentials:ID,SECRET", print, VARIABLES)
    assert isinstance(program, OAuth) and isinstance(program.grant, ClientCredentials)
    assert program.client is not None and "s3cret" not in repr(program)
    assert (program.client.client_id, program.client.client_secret) == ("me", "s3cret")
    registered = authorization("oauth:ID", print, VARIABLES)
    assert isinstance(registered, OAuth) and registered.client is not None
    assert registered.client.client_secret is None
    assert authorization("none", print, VARIABLES) is None
    auto = authorization("auto", print, VARIABLES)
    assert isinstance(auto, WhereAllowed) and isinstance(auto.authorization, OAuth)
    for oauth in (program, registered, auto.authorization):
        assert oauth.trailing_slash


def test_a_token_that_is_there_goes_over_https_or_to_this_machine_only() -> None:
    bearer = Bearer("t0ken")
    for url in (URL, "http://localhost:80/mcp", "http://127.0.0.1:1/", "http://[::1]:8000/mcp"):
        with case(url):
            assert bearer.authorizer(url).headers("POST", url)
    for url in ("http://mcp.example/mcp", "http://localhost.evil.example/", "ws://localhost/"):
        with case(url), pytest.raises(ValueError, match="over HTTPS only"):
            bearer.authorizer(url)


def test_by_default_a_server_that_may_get_no_tokens_is_called_without() -> None:
    auto = authorization("auto", print, VARIABLES)
    assert isinstance(auto, WhereAllowed)
    assert auto.authorizer("http://mcp.example/mcp") == FixedFields()
    assert auto.authorizer(URL).headers("POST", URL) is None  # stored tokens are read first
    wanted = authorization("oauth", print, VARIABLES)
    assert wanted is not None
    with pytest.raises(ValueError, match="over HTTPS only"):
        wanted.authorizer("http://mcp.example/mcp")


def test_where_nobody_can_log_in_nothing_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "browser", lambda: None)
    monkeypatch.setattr(module, "is_terminal", lambda: False)
    with pytest.raises(AuthorizationError, match="neither a browser nor a terminal"):
        LoggingIn(print).redirection(())


def test_the_page_to_log_in_is_shown_where_a_terminal_has_no_browser(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "browser", lambda: None)
    monkeypatch.setattr(module, "is_terminal", lambda: True)
    shown: list[str] = []

    async def open_receiver() -> str:
        async with LoggingIn(shown.append).redirection(()) as place:
            uri = place.redirect_uri
            page = "https://mcp.example/login"
            request = AuthorizationRequest(url=page, redirect_uri=uri, state="x")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(place.response(request), 0.2)
            return uri

    assert asyncio.run(open_receiver()).startswith("http://127.0.0.1:")
    assert shown == ["to log in, open https://mcp.example/login"]


def test_programs_inherit_safe_variables_or_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_OURS", "all")
    monkeypatch.setenv("LC_OURS", "safe")
    shown = "import os; print(os.environ.get('LC_OURS'), os.environ.get('OF_OURS'))"

    async def receive_text(inherit: bool) -> object:
        transport = await NamedServer(name=f'python -c "{shown}"', inherit=inherit).opener()()
        try:
            return await transport.receive()
        finally:
            await transport.close()

    assert asyncio.run(receive_text(False)) == [b"safe None"]
    assert asyncio.run(receive_text(True)) == [b"safe all"]


def test_tokens_are_kept_in_the_folder_of_the_user(tmp_path: Path) -> None:
    kept = authorization("oauth", print, {"XDG_CONFIG_HOME": str(tmp_path)})
    assert isinstance(kept, OAuth) and isinstance(kept.storage, FileStorage)
    assert str(tmp_path / "mcp-gen" / "tokens.json") in repr(kept.storage)
    assert user_config({"MCP_GEN_CONFIG": str(tmp_path)}) == tmp_path
    assert user_config({"XDG_CONFIG_HOME": "relative"}) is None
    forgetful = authorization("oauth", print, VARIABLES)
    assert isinstance(forgetful, OAuth) and isinstance(forgetful.storage, MemoryStorage)


def test_options_without_effect_are_refused() -> None:
    file = Path("mcp.json")
    table = {
        "--header": (ServerOptions(headers=["A:b"]), "server", "a program"),
        "--auth": (ServerOptions(auth="oauth"), "server", "a program"),
        "--env, --inherit": (ServerOptions(env=["A=b"], inherit=True), URL, "a URL"),
        "--cwd": (ServerOptions(cwd=Path(), config=file), "one", "a server of --config"),
        "--transport": (ServerOptions(transport="x", config=file), "one", "a server of --config"),
    }
    for names, (options, server, kind) in table.items():
        refused = pytest.raises(ProblemError, match=f"{kind} does not use {names}")
        with case(names), refused:
            options.named_server(server)
    with pytest.raises(ProblemError, match="--auth and a header Authorization"):
        ServerOptions(headers=["authorization: x"], auth="oauth").named_server(URL)


def test_transport_is_refused_where_it_is_unknown_or_does_not_suit() -> None:
    table = {
        ("ws", "server"): ("wrong-usage", "those that reach a program are stdio"),
        ("ws", URL): ("wrong-usage", "those that reach a URL are http, streamable-http, "),
        ("http", "server"): ("conflicting-options", "choose one of stdio"),
        ("stdio", URL): ("conflicting-options", "choose one of http, "),
        ("http", f"{URL}/server-card"): ("conflicting-options", "leave out --transport, or give"),
    }
    for (name, server), (code, hint) in table.items():
        with case((name, server)):
            with pytest.raises(ProblemError) as refused:
                ServerOptions(transport=name).named_server(server)
            (problem,) = refused.value.problems
            assert problem.code == code
            assert problem.hint.startswith(hint)
    assert ServerOptions(transport="stdio").named_server("server").transport == "stdio"


def test_a_header_that_authorizes_takes_the_place_of_the_default() -> None:
    assert ServerOptions(headers=["Authorization: Bearer x"]).named_server(URL).auth is None
    assert isinstance(ServerOptions().named_server(URL).auth, WhereAllowed)
    assert ServerOptions(env=["A=b=c"]).named_server("server").env == {"A": "b=c"}


def test_a_header_has_secrets_from_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "s3cret")
    server = ServerOptions(headers=["X-Key: a ${API_KEY} $b {c}"]).named_server(URL)
    assert server.headers == {"X-Key": "a s3cret $b {c}"}
    assert "s3cret" not in repr(server)
    with pytest.raises(ProblemError, match="the variable NOWHERE, which is not set"):
        ServerOptions(headers=["X-Key: ${NOWHERE}"]).named_server(URL)


def test_a_header_that_cannot_be_sent_is_refused_without_its_value() -> None:
    for header in ("X Key: s3cret", "X-Key: s3cret\x7f", "X-Key: s3cr\u00e9t"):
        with case(header), pytest.raises(ProblemError, match="characters that a header") as caught:
            ServerOptions(headers=[header]).named_server(URL)
        assert "s3cr" not in str(caught.value)


def test_malformed_pair_is_not_repeated() -> None:
    for options, message in (
        (ServerOptions(headers=["X-A: b", "X-Key=s3cret"]), "--header number 2 is not NAME:VALUE"),
        (ServerOptions(headers=[": s3cret"]), "--header number 1 is not NAME:VALUE"),
        (ServerOptions(env=["s3cret"]), "--env number 1 is not NAME=VALUE"),
    ):
        with case(message), pytest.raises(ProblemError, match=message) as caught:
            options.named_server(URL)
        assert "s3cret" not in f"{caught.value} {options!r}"


def test_a_server_is_shown_without_what_may_be_secret() -> None:
    rows = {
        "https://me:s3cret@mcp.example/mcp?key=s3cret#s3cret": "https://mcp.example/mcp",
        "http://[/?s3cret": "http://[/",
        "/opt/bin/server --key s3cret": "server",
        "python -B": "python",
        "/usr/bin/node ./dist/index.js --key=s3cret": "index.js",
        "npx -y @example/server --key s3cret": "@example/server",
        "": "",
    }
    for name, shown in rows.items():
        with case(name):
            assert NamedServer(name=name).safe_text == shown


def test_options_of_a_bridge_that_would_have_no_effect_are_refused(mcp_gen: Run) -> None:
    wrong = {
        ("--to", "x", "--path", "/y"): "--path needs --http",
        ("--to", "x", "--max-sessions", "3"): "--max-sessions needs --http",
        ("--to", "x", "--allow-host", "y"): "--allow-host needs --http",
        ("--to", "x", "--redact", "token"): "--redact needs --record",
        ("--replay", "x", "--inherit"): "--replay takes no options for a server",
        (): "bridge needs either --to or --replay",
    }
    for given, message in wrong.items():
        with case(given):
            ran = mcp_gen("bridge", *given)
            assert ran == Ran(2, "", f"error[conflicting-options]: {message}\n")
