"""New projects work: tests pass, official clients are served, programs end cleanly."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib import import_module
from importlib.metadata import distributions
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2
import pytest
from mcp_protogen.scaffold.choices import (
    ProjectChoices,
    ProjectEngine,
    ProjectKind,
    ProjectTransport,
)
from mcp_protogen.scaffold.files import project_files
from mcp_protogen.scaffold.requirements import dependencies, development
from support import tables
from support.engines import EngineServer
from support.peers.places import python_with
from support.programs import run_program
from support.revisions import NEWEST, REVISIONS
from support.scaffold import projects
from support.scaffold.projects import Project, answers, logged_url, run, start_project

pytestmark = pytest.mark.long

PROGRAMS = Path(__file__).parent / "programs"
OFFICIAL_CLIENT = PROGRAMS / "official_client.py"
UNASKED_TASK = PROGRAMS / "unasked_task.py"
SEEN = {
    "tools": ["time_in"],
    "zone": "Asia/Tokyo",
    "offset": "+09:00",
    "wrong": [True, "There is no time zone 'Europe/Lisboa'. Did you mean Europe/Lisbon"],
    "templates": ["zones://{region}"],
    "zones": True,
    "prompts": ["meeting"],
    "prompt": "Find two hours tomorrow that is within working hours in each of: Lisbon.",
}
# Modes and ways of the official client: the first two have each of them once.
PAIRS = [("auto", "stdio"), ("legacy", "http"), ("auto", "http"), ("legacy", "stdio")]

# A newcomer's view of a running project.
SHOWN = {
    ProjectKind.SERVER: "INFO test_server: waiting for a client on standard input",
    ProjectKind.CLIENT: "shout: Say something louder.",
    ProjectKind.GATEWAY: "INFO test_gateway: waiting for a client on standard input",
}
# Tests of a project to run: those for every revision or both transports run once.
WHOLE = f"not ({' or '.join(REVISIONS[:-1])} or (HTTP and (calls or fails)))"
# Tests that are independent of the transport run in projects with both.
ONE_WAY = (
    "test_client.py or test_gateway.py or test_server.py or test_shared.py or lists or not_there"
    f" or {NEWEST}"
)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("wanted", projects.VARIETY, ids=projects.describe_choices)
def test_a_new_project_can_be_tested_and_run_at_once(
    wanted: ProjectChoices, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    project = start_project(tmp_path, wanted)
    some = WHOLE if wanted.transport is ProjectTransport.BOTH else ONE_WAY
    chosen = "" if pytestconfig.getoption("--all") else some
    options = {"PYTEST_ADDOPTS": f"-W error -k '{chosen}'"}
    tested = run("make", "setup", "test", cwd=project.folder, env=options)
    assert re.search(r"^\d+ passed", tested, re.MULTILINE), tested
    if wanted.kind is not ProjectKind.CLIENT and wanted.transport is ProjectTransport.HTTP:
        serves_until_interrupted(project)
    else:
        # Without input, each of them ends successfully.
        assert SHOWN[wanted.kind] in run("make", "run", cwd=project.folder)


def serves_until_interrupted(project: Project) -> None:
    """Talk to `make run` once, and then interrupt it as a terminal does."""
    with logged_url(["make", "run", "ARGS=--port 0"], project.folder) as (make, url):
        assert answers(url) == 200
        os.killpg(make.pid, signal.SIGINT)
        _, said = make.communicate(timeout=30)
    assert "Finished server process" in said
    assert "Traceback" not in said


def test_setup_asks_for_nothing_that_is_not_there() -> None:
    """All kinds of projects find their requirements in the environment of `make setup`."""
    installed = {
        distribution.name.lower() for distribution in distributions(path=[str(projects.others())])
    }
    every = [
        *(projects.choices(*combination) for combination in product(ProjectKind, ProjectTransport)),
        *map(projects.sharing, ProjectEngine),
    ]
    for wanted in every:
        asked = {*dependencies(wanted), *development(wanted)}
        assert {re.split(r"[\[<>=]", requirement)[0] for requirement in asked} <= installed, wanted
    assert not [name for name in installed if name.startswith("mcp")]


@pytest.mark.parametrize(("left", "raised"), [(0, RuntimeError), (4, AssertionError)])
def test_pip_retry_does_not_excuse_failed_setup(
    left: int, raised: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        retry = f"Retrying (Retry(total={left}, read=None)) after connection broken by 'Refused'"
        raise RuntimeError(f"  WARNING: {retry}\n  ERROR: No matching one\nmake: *** Error 1")

    def make_now(_name: str, _state: str, make: Callable[[Path], None]) -> None:
        make(tmp_path)

    monkeypatch.setattr(projects, "run_command", fail)
    monkeypatch.setattr(projects, "make_once", make_now)
    with pytest.raises(raised):
        projects.others.__wrapped__()


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A new server with everything."""
    wanted = projects.choices(ProjectKind.SERVER, ProjectTransport.BOTH, name="word-clock")
    return start_project(tmp_path_factory.mktemp("clock"), wanted)


def listening(project: Project) -> AbstractContextManager[tuple["subprocess.Popen[str]", str]]:
    """The new server over HTTP."""
    return logged_url([project.python, "-m", project.package, "--http", "--port", "0"])


@pytest.fixture(scope="module")
def url(clock: Project) -> Iterator[str]:
    """Where the new server listens."""
    with listening(clock) as (_, place):
        yield place


@pytest.mark.xdist_group("clock")
@pytest.mark.parametrize(("mode", "way"), PAIRS[: tables.count(2, len(PAIRS))])
def test_the_official_client_uses_a_new_server(
    mode: str, way: str, clock: Project, request: pytest.FixtureRequest
) -> None:
    python = python_with("mcp-2")
    where = [clock.python, "-m", clock.package]
    server = [request.getfixturevalue("url")] if way == "http" else where
    output = run_program(python, OFFICIAL_CLIENT, mode, *server, timeout=60)
    seen = json.loads(output)
    revision = seen.pop("revision")
    assert revision == {"auto": "2026-07-28", "legacy": "2025-11-25"}[mode]
    assert (seen.pop("server"), seen.pop("version")) == ("word-clock", "0.1.0")
    # Each revision has its own code for a resource that is not there (server/resources).
    assert seen.pop("missing") == {"2025-11-25": -32002, "2026-07-28": -32602}[revision]
    seen["wrong"][1] = seen["wrong"][1].split(" or ")[0].rstrip("?")
    assert seen == SEEN


@pytest.mark.xdist_group("clock")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_server_on_stdio_ends_without_a_word(ending: signal.Signals, clock: Project) -> None:
    program: list[str | Path] = [clock.python, "-m", clock.package, "--log-level", "warning"]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(program, text=True, **pipes) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["id"] == 1  # it serves
        server.send_signal(ending)
        _, said = server.communicate(timeout=30)
    assert (server.returncode, said) == (0, "")


@pytest.mark.xdist_group("clock")
def test_a_server_over_http_ends_with_0_on_ctrl_c(clock: Project) -> None:
    with listening(clock) as (server, place):
        assert answers(place) == 200
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=30)
    assert server.returncode == 0
    assert "Traceback" not in said


@pytest.mark.parametrize("engine", ProjectEngine)
def test_a_client_can_go_on_at_any_worker_of_a_new_server(
    engine: ProjectEngine, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server: EngineServer = request.getfixturevalue(f"{engine}_server")
    project = start_project(tmp_path, projects.sharing(engine, name="word-clock"))
    files = project_files(project.choices)
    services = import_module("yaml").safe_load(files["compose.yaml"])["services"]
    given = services["worker"]["environment"]
    env = {name: server.url if name.endswith("_URL") else "k" * 32 for name in given}
    program: list[str | Path] = [project.python, "-m", project.package, "--port", "0"]
    with logged_url(program, env=env) as (_, one), logged_url(program, env=env) as (_, other):
        assert ready(one) == ready(other) == 200
        session = begin_session(one)
        for place in (other, one):
            message = {"jsonrpc": "2.0", "id": place, "method": "tools/list"}
            said = httpx2.post(place, json=message, headers=session).raise_for_status()
            assert "time_in" in said.text


def ready(url: str) -> int:
    """Return the status of a worker's readiness check."""
    return httpx2.get(urljoin(url, "/ready")).status_code


def begin_session(url: str) -> dict[str, str]:
    """The fields of requests in a session that was begun."""
    fields = {"Accept": "application/json, text/event-stream"}
    info = {"name": "test", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    began = httpx2.post(url, json=message, headers=fields).raise_for_status()
    fields |= {"Mcp-Session-Id": began.headers["mcp-session-id"]}
    confirmed = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    httpx2.post(url, json=confirmed, headers=fields).raise_for_status()
    return fields


@pytest.mark.xdist_group("clock")
def test_the_log_level_is_followed(clock: Project) -> None:
    program: list[str | Path] = [clock.python, "-m", clock.package, "--log-level", "debug"]
    done = subprocess.run(program, input="", capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")
    assert " DEBUG " in done.stderr
    usual = subprocess.run(program[:3], input="", capture_output=True, text=True, timeout=60)
    assert [" INFO " in line for line in usual.stderr.splitlines()] == [True]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A new gateway for clients of either transport."""
    wanted = projects.choices(ProjectKind.GATEWAY, ProjectTransport.BOTH, ["2025-11-25"])
    return start_project(tmp_path_factory.mktemp("gateway"), wanted)


def start_gateway(gateway: Project, **server: Any) -> "subprocess.Popen[str]":
    """Start the gateway to a server of its file, and have its client list the tools."""
    file = gateway.folder / "own.json"
    file.write_text(json.dumps({"mcpServers": {"one": server}}))
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program: list[str | Path] = [gateway.python, "-m", gateway.package, "--servers", file]
    process = subprocess.Popen(program, text=True, **pipes)
    assert process.stdin is not None and process.stdout is not None
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    for message in (
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()
    process.stdout.readline()
    tools = json.loads(process.stdout.readline())["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["servers", "one_shout"]
    return process


@pytest.mark.xdist_group("gate")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_gateway_ends_with_the_server_it_has_started(
    ending: signal.Signals, gateway: Project, tmp_path: Path
) -> None:
    server = gateway.folder / "tests" / "example_server.py"
    note = tmp_path / "pid"
    wrapper = f"import os, runpy; open({str(note)!r}, 'w').write(str(os.getpid()));"
    wrapper += f" runpy.run_path({str(server)!r}, run_name='__main__')"
    arguments = ["-P", "-c", wrapper]
    with start_gateway(gateway, command=str(gateway.python), args=arguments) as process:
        process.send_signal(ending)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Traceback" not in said
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


@pytest.mark.xdist_group("gate")
def test_the_log_of_a_gateway_has_no_keys_that_are_in_a_url(
    gateway: Project, client: Project
) -> None:
    server = client.folder / "tests" / "example_server.py"
    with (
        logged_url([client.python, "-P", server, "--http"]) as (_, url),
        start_gateway(gateway, url=f"{url}?key=SECRET") as process,
    ):
        _, said = process.communicate(timeout=30)
    assert "INFO" in said
    assert "SECRET" not in said


@pytest.mark.xdist_group("gate")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "No such file or directory"),
        ("{", "Expecting property name"),
        ("{}", "'mcpServers'"),
        ('{"mcpServers": {"a": {}}}', "the server a needs either `command` or `url`"),
    ],
)
def test_a_gateway_without_servers_says_why_in_one_line(
    content: str | None, reason: str, gateway: Project, tmp_path: Path
) -> None:
    file = tmp_path / "mcp.json"
    if content is not None:
        file.write_text(content)
    program = (gateway.python, "-m", gateway.package, "--servers", file)
    said = run(*program, cwd=gateway.folder, wanted=2).splitlines()[-1]
    assert f"error: {file} cannot be used: " in said and reason in said


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A new client of servers of either transport."""
    wanted = projects.choices(ProjectKind.CLIENT, ProjectTransport.BOTH, ["2025-11-25"])
    return start_project(tmp_path_factory.mktemp("client"), wanted)


@pytest.mark.xdist_group("client")
def test_the_commands_in_the_readme_of_a_client_do_what_they_say(client: Project) -> None:
    readme = (client.folder / "README.md").read_text()
    program = f".venv/bin/{client.choices.name.distribution}"
    commands = [line.strip() for line in readme.splitlines() if f"    {program} " in line]
    said: list[str] = []
    for command in commands:
        words = shlex.split(command)
        assert words[0] == program
        said.append(run(client.python, "-m", client.package, *words[1:], cwd=client.folder))
    assert said == ["shout: Say something louder.\n", "HELLO\n"]


@pytest.mark.xdist_group("client")
@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["http://127.0.0.1:1/mcp", "more"], 2, "error: unexpected argument after the URL: more"),
        (
            ["--", sys.executable, str(UNASKED_TASK)],
            1,
            "returned CreateTaskResult; use request_once",
        ),
    ],
)
def test_client_failure_is_reported_in_single_line(
    arguments: list[str], code: int, reason: str, client: Project
) -> None:
    called = ("-m", client.package, "--call", "x", *arguments)
    said = run(client.python, *called, cwd=client.folder, wanted=code)
    assert said.splitlines()[-1].endswith(reason)
    assert "Traceback" not in said
