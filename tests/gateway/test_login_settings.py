"""Settings of logins of users: what a file may say, the plan, and the check."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.runtime.features.auth.client.values import ClientInformation
from mcp_protogen.servers.gateway.pages.check import check_servers
from mcp_protogen.servers.gateway.reload import GatewayFile
from mcp_protogen.servers.gateway.settings.settings import LoginSettings
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
from support.http.serving import serving
from support.revisions import OLD
from support.running import Run
from support.tables import case
from support.toolkit.mounting import app

SECRET = "secret-of-the-gateway"
AUTH, OWN = "servers.s0.auth", "servers.s0"


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ID", "id-of-the-gateway")
    monkeypatch.setenv("SECRET", SECRET)


def logging_in(of_gateway: Json = OF_GATEWAY, host: Json = OF_HOST, **changes: Any) -> Json:
    """Return the content of a TOML file whose server wants logins of users."""
    return as_toml(of_gateway, (host, {"auth": "login", **changes}))


def test_both_forms_of_a_file_have_logins_with_and_without_a_client(tmp_path: Path) -> None:
    client = ClientInformation(client_id="id-of-the-gateway", client_secret=SECRET)
    for form in (as_json, as_toml):
        for said, wanted in (("login", None), ("login:ID,SECRET", client)):
            with case((form.__name__, said)):
                settings = read(tmp_path, form(OF_GATEWAY, (OF_HOST, {"auth": said})))
                (server,) = settings.servers
                assert (server.auth, server.login) == ("login", LoginSettings(client=wanted))
                assert server.open_as is not None and SECRET not in repr(server)
                assert settings.logins == str(tmp_path / "logins.json")


WRONG: dict[str, tuple[Json, str]] = {
    "too many variables": (logging_in(auth="login:ID,SECRET,ID"), AUTH),
    "variable that is not set": (logging_in(auth="login:NO"), AUTH),
    "gateway without tokens": (logging_in({}), AUTH),
    "gateway without HTTPS": (
        logging_in({"auth": {"issuer": "https://login.example", "audience": "http://mcp.example"}}),
        AUTH,
    ),
    "lists for all": (logging_in(catalogue="shared"), f"{OWN}.catalogue"),
    "program": (logging_in(host={"command": "x"}), AUTH),
    "another token": (logging_in(host={**OF_HOST, "headers": {"authorization": SECRET}}), AUTH),
    "server without HTTPS": (logging_in(host={"url": "http://api.example/mcp"}), OWN),
}


def test_each_mistake_is_one_problem_with_its_place_and_no_secret(tmp_path: Path) -> None:
    for name, (content, pointer) in WRONG.items():
        with case(name):
            (problem,) = problems_in(tmp_path, content)
            assert (problem.code, problem.pointer) == ("bad-gateway-config", pointer)
            text = f"{problem.message} {problem.hint}"
            assert problem.hint and SECRET not in text and "oauth" not in text


def test_clients_on_stdio_have_no_logins(tmp_path: Path) -> None:
    with pytest.raises(ProblemError) as raised:
        GatewayFile(write_file(tmp_path, logging_in()), None, telemetry=False)
    _, problem = raised.value.problems  # The first one is about sessions.
    assert (problem.pointer, "--http" in problem.hint) == (OWN, True)


def test_plan_has_logins_without_secrets(mcp_gen: Run, tmp_path: Path) -> None:
    file = str(write_file(tmp_path, logging_in(auth="login:ID,SECRET")))
    text = mcp_gen("gateway", file, "--dry-run").out
    assert "HTTP, authorized by login" in text and "logins.json" in text
    plan = json.loads(mcp_gen("gateway", file, "--dry-run", "--format", "json").out)
    assert formats.faults("gateway-plan", plan) == []
    assert plan["servers"][0]["login"] == {"isClient": True}
    assert SECRET not in text + json.dumps(plan)


def test_check_says_that_a_login_cannot_be_tried(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(app(OLD), authentication=authentication()) as site:
            settings = read(tmp_path, logging_in(host={"url": site.url}))
            (found,) = await check_servers(settings)
            assert found.problem is None
            assert "only users have tokens" in "".join(found.left_out)

    asyncio.run(check())
