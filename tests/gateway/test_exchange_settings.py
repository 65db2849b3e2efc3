"""Settings of the exchange of tokens: what a file may say, the plan, the check, and readiness."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.runtime.features.auth.client.values import ClientInformation
from mcp_protogen.servers.call.kinds import Kind
from mcp_protogen.servers.gateway.pages.check import check_servers
from mcp_protogen.servers.gateway.reload import GatewayFile
from mcp_protogen.servers.gateway.settings.settings import ExchangeSettings
from support import formats
from support.auth.guarding import authentication
from support.gateway.files import (
    OF_GATEWAY,
    OF_HOST,
    Json,
    as_json,
    as_toml,
    problems_in,
    read,
    write_file,
)
from support.gateway.gateways import serve_gateway
from support.http.serving import serving
from support.revisions import ERAS, OLD
from support.running import Run
from support.tables import case
from support.toolkit.mounting import app

FORMS = (as_json, as_toml)
EXCHANGE: Json = {"exchange": "https://login.example/token", "audience": "the api"}
ID, SECRET = "id-of-the-gateway", "secret-of-the-gateway"


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ID", ID)
    monkeypatch.setenv("SECRET", SECRET)
    (tmp_path / "secret").write_text(SECRET)


def exchanging(*, of_gateway: Json = OF_GATEWAY, host: Json = OF_HOST, **changes: Any) -> Json:
    """Return the content of a TOML file whose server wants exchanged tokens."""
    auth = {**EXCHANGE, **changes}
    return as_toml(of_gateway, (host, {"auth": auth}))


def test_both_forms_of_a_file_have_the_exchange(tmp_path: Path) -> None:
    for form in FORMS:
        for shown in ("SECRET", "${file:secret}"):
            client = f"client-credentials:ID,{shown}"
            auth = {**EXCHANGE, "scopes": ["read"], "client": client}
            with case((form.__name__, shown)):
                (server,) = read(tmp_path, form(OF_GATEWAY, (OF_HOST, {"auth": auth}))).servers
                assert (server.auth, server.transport) == ("exchange", "HTTP")
                assert server.token_exchange == ExchangeSettings(
                    exchange="https://login.example/token",
                    audience="the api",
                    scopes=frozenset({"read"}),
                    client=ClientInformation(client_id=ID, client_secret=SECRET),
                )
                assert server.open_as is not None and SECRET not in repr(server)


def test_endpoint_on_this_machine_needs_no_https(tmp_path: Path) -> None:
    for url in ("http://127.0.0.1:1/token", "http://localhost/token?tenant=a"):
        (server,) = read(tmp_path, exchanging(exchange=url)).servers
        assert server.token_exchange is not None and server.token_exchange.exchange == url


AUTH, OWN = "servers.s0.auth", "servers.s0"
WRONG: dict[str, tuple[Json, str]] = {
    "endpoint of another type": (exchanging(exchange=3), f"{AUTH}.exchange"),
    "endpoint that is no URL": (exchanging(exchange="login"), f"{AUTH}.exchange"),
    "endpoint without HTTPS": (exchanging(exchange="http://a.example/t"), f"{AUTH}.exchange"),
    "endpoint with a fragment": (exchanging(exchange="https://a.example/t#a"), f"{AUTH}.exchange"),
    "no endpoint": (
        as_toml(OF_GATEWAY, (OF_HOST, {"auth": {"audience": "a"}})),
        f"{AUTH}.exchange",
    ),
    "empty audience": (exchanging(audience=""), f"{AUTH}.audience"),
    "no audience": (
        as_toml(OF_GATEWAY, (OF_HOST, {"auth": {"exchange": EXCHANGE["exchange"]}})),
        f"{AUTH}.audience",
    ),
    "scopes in a text": (exchanging(scopes="read write"), f"{AUTH}.scopes"),
    "scope for lasting tokens": (exchanging(scopes=["offline_access"]), f"{AUTH}.scopes"),
    "unknown member": (exchanging(audiense="a"), f"{AUTH}.audiense"),
    "client of another kind": (exchanging(client=f"bearer:{SECRET}"), f"{AUTH}.client"),
    "client of another type": (exchanging(client=[SECRET]), f"{AUTH}.client"),
    "variable that is not set": (exchanging(client="client-credentials:NO,ID"), f"{AUTH}.client"),
    "gateway without tokens": (exchanging(of_gateway={}), f"{AUTH}.exchange"),
    "lists for all": (
        as_toml(OF_GATEWAY, (OF_HOST, {"auth": EXCHANGE, "catalogue": "shared"})),
        f"{OWN}.catalogue",
    ),
    "program": (exchanging(host={"command": "x"}), AUTH),
    "another token": (exchanging(host={**OF_HOST, "headers": {"authorization": SECRET}}), AUTH),
    "server without HTTPS": (exchanging(host={"url": "http://api.example/mcp"}), OWN),
}


def test_each_mistake_is_one_problem_with_its_place_and_no_secret(tmp_path: Path) -> None:
    for name, (content, pointer) in WRONG.items():
        with case(name):
            (problem,) = problems_in(tmp_path, content)
            assert (problem.code, problem.pointer) == ("bad-gateway-config", pointer)
            assert problem.message and problem.hint
            assert SECRET not in f"{problem.message} {problem.hint}"


def test_mistakes_of_other_servers_are_shown_with_those_of_an_exchange(tmp_path: Path) -> None:
    content = as_toml(OF_GATEWAY, (OF_HOST, {"auth": {}}), (OF_HOST, {"timeout": 0}))
    with pytest.raises(ProblemError) as raised:
        read(tmp_path, content)
    assert sorted(problem.pointer for problem in raised.value.problems) == [
        "servers.s0.auth.audience",
        "servers.s0.auth.exchange",
        "servers.s1.timeout",
    ]


def test_clients_on_stdio_have_no_tokens_to_exchange(tmp_path: Path) -> None:
    file = write_file(tmp_path, exchanging())
    with pytest.raises(ProblemError) as raised:
        GatewayFile(file, None, telemetry=False)
    _, problem = raised.value.problems  # The first one is about sessions.
    assert (problem.code, problem.pointer) == ("bad-gateway-config", OWN)
    assert "--http" in problem.hint


def test_plan_has_the_exchange_without_secrets(mcp_gen: Run, tmp_path: Path) -> None:
    url = "https://login.example/token?key=${SECRET}"
    content = exchanging(exchange=url, scopes=["a"], client="client-credentials:ID,SECRET")
    file = str(write_file(tmp_path, content))
    text = mcp_gen("gateway", file, "--dry-run").out
    assert "HTTP, authorized by exchange" in text
    assert "exchange   at https://login.example/token, for the api, with a" in text
    ran = mcp_gen("gateway", file, "--dry-run", "--format", "json")
    plan = json.loads(ran.out)
    assert formats.faults("gateway-plan", plan) == []
    assert plan["servers"][0]["exchange"] == {
        "endpoint": "https://login.example/token",
        "audience": "the api",
        "scopes": ["a"],
        "isClient": True,
    }
    assert SECRET not in ran.out + text


async def test_server_that_wants_the_token_of_a_user_is_reached(tmp_path: Path) -> None:
    for revision in ERAS:
        with case(revision):
            async with serving(app(revision), authentication=authentication()) as site:
                auth = {"auth": EXCHANGE, "required": True}
                content = as_toml({"auth": OF_GATEWAY["auth"]}, ({"url": site.url}, auth))
                settings = read(tmp_path, content)
                async with serve_gateway(settings) as front:
                    while (await front.http.get("/ready")).status_code != 200:
                        await asyncio.sleep(0.01)


async def test_check_of_a_server_that_wants_the_token_of_a_user_says_so(tmp_path: Path) -> None:
    async with serving(app(OLD), authentication=authentication()) as closed:
        servers: list[tuple[Json, Json]] = [
            ({"url": closed.url}, {"auth": EXCHANGE}),
            ({"command": "no-such-program"}, {}),
        ]
        found = await check_servers(read(tmp_path, as_toml(OF_GATEWAY, *servers)))
    assert [check.problem is None for check in found] == [True, False]
    (text,) = found[0].left_out
    assert "only users have tokens for the server" in text


async def test_check_shows_what_a_server_offers_without_a_token(tmp_path: Path) -> None:
    made = app(OLD)
    made.add_tool(lambda: "", name="open")
    async with serving(made) as site:
        content = as_toml(OF_GATEWAY, ({"url": site.url}, {"auth": EXCHANGE}))
        (check,) = await check_servers(read(tmp_path, content))
    assert check.problem is None and check.listed is not None and check.left_out == []
    assert [tool["name"] for tool in check.listed.lists[Kind.TOOLS]] == ["open"]
