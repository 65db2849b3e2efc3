"""The program of the page serves, and its settings match the code."""

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import mcp_revisions as package
import pytest
import yaml
from support import missing
from support.docs.pages import block_texts, example, page
from support.http.serving import calling, run_app, text_in
from support.programs import run_program
from support.tables import case

NAME = "deployment.md"
PAGE = page(NAME)
(PROGRAM,) = block_texts(NAME)
(DOCKERFILE,) = block_texts(NAME, "dockerfile")
(UNIT,) = block_texts(NAME, "ini")
(NGINX,) = block_texts(NAME, "nginx")
(CADDY,) = block_texts(NAME, "caddyfile")
(HAPROXY,) = block_texts(NAME, "haproxy")
COMPOSE, TRAEFIK, KUBERNETES = map(yaml.safe_load, block_texts(NAME, "yaml"))
READ = set(re.findall(r'environ\.get\("(\w+)"', PROGRAM))


async def test_the_program_serves_under_its_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", "mcp.example.com,other.example")
    monkeypatch.setenv("STATE_KEYS", "k" * 16)
    app: Any = example(NAME, "serve")["build_app"]()
    async with run_app(app) as port, calling(port) as site:
        for host, status in (
            ("mcp.example.com", 200),
            ("other.example", 200),
            ("evil.example", 421),
        ):
            fields = {"host": host}
            answer = await site.modern(
                "tools/call", name="count", arguments={"to": 3}, headers=fields
            )
            with case(host):
                assert answer.status_code == status
                assert status != 200 or text_in(answer) == "counted to 3"
        for path in ("/health", "/ready"):
            assert (await site.http.get(path)).status_code == 200
    assert (app.options.drain, app.options.state_keys) == (20, [b"k" * 16])


def test_a_worker_with_an_engine_shares_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1")
    shared = example(NAME, "serve")["build_app"]().http.shared
    assert isinstance(shared.engine, package.RedisEngine)


def test_page_lists_variables_that_program_reads() -> None:
    table = PAGE.split("| variable |")[1].split("\n\n")[0]
    named = {name for cell in re.findall(r"^\| (`.*?) \|", table, re.M) for name in _words(cell)}
    assert named == READ | {"FORWARDED_ALLOW_IPS"}
    worker = COMPOSE["services"]["server"]
    (pod,) = KUBERNETES["spec"]["template"]["spec"]["containers"]
    for place, settings in (
        ("compose", {*worker["environment"]}),
        ("Kubernetes", {variable["name"] for variable in pod["env"]}),
        ("Dockerfile", {*re.findall(r"(\w+)=", DOCKERFILE.partition("ENV")[2].partition("\n")[0])}),
        ("systemd", {*re.findall(r"^Environment=(\w+)=", UNIT, re.M)}),
    ):
        with case(place):
            assert settings and settings <= named
    assert {*re.findall(r"^COPY (\S+)", DOCKERFILE, re.M)} == {"pkg", "serve.py"}
    assert f'CMD ["python", "{PROGRAM.split()[1]}"]' in DOCKERFILE


def test_health_is_asked_for_where_it_is() -> None:
    usual = package.HttpOptions()
    (pod,) = KUBERNETES["spec"]["template"]["spec"]["containers"]
    assert pod["livenessProbe"]["httpGet"]["path"] == usual.health_path
    assert pod["readinessProbe"]["httpGet"]["path"] == usual.ready_path
    (service,) = TRAEFIK["http"]["services"].values()
    assert service["loadBalancer"]["healthCheck"]["path"] == usual.ready_path
    assert f":8000{usual.health_path}'" in DOCKERFILE
    for config in (HAPROXY, CADDY):
        assert re.search(rf"(GET|health_uri) {usual.ready_path}\n", config)


def test_whoever_stops_a_server_waits_longer_than_its_handlers_may_take() -> None:
    drain = example(NAME, "serve")["build_app"]().options.drain
    pod = KUBERNETES["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    pause = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod["terminationGracePeriodSeconds"] > pause + drain
    assert int(COMPOSE["services"]["server"]["stop_grace_period"].rstrip("s")) > drain
    assert int(re.findall(r"TimeoutStopSec=(\d+)", UNIT)[0]) > drain


def test_limits_of_proxies_are_those_of_the_server() -> None:
    usual, calls = package.HttpOptions(), package.Options()
    size = usual.max_body
    assert "buffering" not in TRAEFIK["http"]["middlewares"]["rates"]
    assert f"client_max_body_size {size // 1024**2}m;" in NGINX
    assert f"max_size {size // 1024**2}MiB" in CADDY
    for minutes in re.findall(
        r"(?:read_timeout|timeout (?:client|server)) (\d+)m", NGINX + HAPROXY
    ):
        assert int(minutes) * 60 > calls.max_timeout
    for said in (
        f"{usual.head_timeout:.0f} s, {usual.max_headers // 1024} KiB",
        f"{usual.body_timeout:.0f} s, {size // 1024**2} MiB",
        f"| `keep_alive` | {usual.keep_alive:.0f} s",
        f"| `send_timeout` | {usual.send_timeout:.0f} s",
        f"{usual.session_lifetime / 60:.0f} minutes",
        f"`max_bodies` ({usual.max_bodies // 1024**2} MiB)",
        f"drain` seconds ({calls.drain:.0f} unless",
    ):
        with case(said):
            assert said in PAGE


def test_systemd_can_read_the_unit(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        missing.skip_untested("systemd-analyze", "that it can read the unit for deployment")
    unit = tmp_path / "clock.service"
    unit.write_text(UNIT.replace("/opt/clock/.venv/bin/python", sys.executable))
    run_program(program, "verify", unit, timeout=60)


def _words(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)
