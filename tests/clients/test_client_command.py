"""`mcp-gen client` and `mcp-gen diff --server`, with one server over HTTP and over stdio."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mcp_revisions
import pytest
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline import commands
from mcp_protogen.servers.clients import run, server_contract
from mcp_protogen.servers.connect import named_server
from support.folders import environment
from support.generated.golden_package import PACKAGE
from support.generating import trying_nothing
from support.made_once import generated_once
from support.running import Run
from support.tables import case
from support.typed_clients.contracts import ECHO, FORECAST, contract_of, lock_for, tool
from support.typed_clients.weather import over_http

PROGRAM = f"{sys.executable} -m support.typed_clients.weather"
IMPORTS = f"PYTHONPATH={environment()['PYTHONPATH']}"


@pytest.fixture(autouse=True)
def use_committed_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package that is committed, in place of the same one made anew."""
    monkeypatch.setattr(server_contract, "protocol", lambda: mcp_revisions)
    monkeypatch.setattr(named_server, "protocol", lambda: mcp_revisions)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The server of `support.typed_clients.weather` over HTTP."""
    with over_http() as found:
        yield found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory with importable modules."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    forget_modules()  # other tests make modules of the same name
    yield tmp_path
    forget_modules()


def forget_modules() -> None:
    for name in [name for name in sys.modules if name.startswith("weather_")]:
        del sys.modules[name]


def test_a_client_is_written_used_and_checked(mcp_gen: Run, project: Path, url: str) -> None:
    said = ("--out", "weather_client.py", "--package", PACKAGE.name)
    made = mcp_gen("client", url, *said)
    assert (made.code, made.out) == (
        0,
        "weather_client.py: 2 tools, 1 prompt, 1 template, written\n",
    )
    module: Any = import_module("weather_client")
    forecast = asyncio.run(ask_forecast(module, url))
    assert (forecast.city, forecast.high) == ("Oslo", 70.7)
    with module.SyncWeatherClient.connect(url) as weather:
        assert weather.add(a=1, b=2) == 3
        assert weather.with_options(timeout=9).get_forecast(city="Ulm").high == 21.5
        with pytest.raises(mcp_revisions.ToolFailed, match="it has no weather"):
            weather.get_forecast(city="Atlantis")
        (message,) = weather.prompts.describe(city="Ulm").messages
        assert message.content.text == "Describe the weather in Ulm, brief."
        (page,) = weather.resources.city_page(country="de", city="Bad Ems").contents
        assert page.text == "Bad Ems, de"

    lock = json.loads((project / "weather_client.lock").read_text())
    hints = lock["contract"]["tools"][1]
    hints["inputSchema"]["properties"]["units"]["enum"] = ["c", "f", "k"]
    hints["annotations"] = {"readOnlyHint": True}
    lock["contract"]["prompts"][0]["arguments"] = [{"name": "town", "required": True}]
    (project / "weather_client.lock").write_text(json.dumps(lock))
    compared = mcp_gen("diff", "weather_client.lock", "--server", url, "--fail-on", "breaking")
    assert compared.code == 1
    assert "get_forecast(units)" in compared.out
    assert "security-read-only-lost: host" in compared.out
    assert "argument-added-required: caller" in compared.out
    assert mcp_gen("diff", "weather_client.lock", "--server", url).code == 0


async def ask_forecast(module: Any, server: Any) -> Any:
    async with module.WeatherClient.connect(server) as weather:
        return await weather.get_forecast(city="Oslo", units="f")


Listed = Callable[..., None]


@pytest.fixture
def lists(monkeypatch: pytest.MonkeyPatch) -> Listed:
    """Sets the tools of all servers, which need not run."""

    def these(*tools: Any, **more: Any) -> None:
        found = contract_of(*tools, **more)

        def list_contract(server: object, timeout: float) -> object:
            return found

        monkeypatch.setattr(run, "listed_contract", list_contract)

    return these


WRITE = ("client", "x", "--out", "weather_client.py", "--package", PACKAGE.name)


def test_a_project_lists_its_clients(mcp_gen: Run, project: Path, lists: Listed) -> None:
    (project / "pyproject.toml").write_text(
        '[tool.mcp-gen]\nout = "src/own/protocol"\n'
        '[tool.mcp-gen.clients.weather]\nserver = "x"\nout = "src/own/weather.py"\n'
        '[tool.mcp-gen.clients.maps]\nserver = "y"\nout = "maps.py"\ntools = ["echo"]\n'
    )
    lists(ECHO, FORECAST)
    assert mcp_gen("client").out == (
        "src/own/weather.py: 2 tools, written\nmaps.py: 1 tool, written\n"
    )
    source = (project / "src/own/weather.py").read_text()
    assert "from own.protocol import" in source and "class WeatherClient(ToolClient)" in source
    assert mcp_gen("client", "--check").code == 0
    lists(ECHO, {**FORECAST, "description": "Another."}, tool("more"))
    checked = mcp_gen("client", "--check")
    assert checked.code == 1
    assert "maps.py is up to date\n" in checked.out  # it has one tool, which has not changed
    assert "src/own/weather.py is not up to date\n" in checked.out
    assert "tool-description-changed" in checked.out and "tool-added" in checked.out
    assert mcp_gen("client", "--check", "--fail-on", "breaking").code == 0
    assert mcp_gen("client", "--check", "--offline").code == 0
    document = json.loads(mcp_gen("client", "--check", "--format", "json").out)
    weather, maps = document["clients"]
    assert [change["code"] for change in weather["comparison"]["changes"]] == [
        "tool-description-changed",
        "tool-added",
    ] and maps["comparison"]["changes"] == []
    assert (
        "::error title=" not in mcp_gen("client", "--check", "--offline", "--format", "github").out
    )


SEVERAL = """\
[tool.mcp-gen]
out = "src/own/protocol"

[tool.mcp-gen.clients.weather]
server = "weather"
out = "weather.py"

[tool.mcp-gen.clients.dead]
server = "nobody"
out = "dead.py"

[tool.mcp-gen.clients]
maps = { server = "maps", out = "maps.py" }
lost = { server = "https://lost.example/mcp", headers = ["Key: ${LOST_KEY}"], out = "lost.py" }
"""


@pytest.fixture
def several(
    mcp_gen: Run, project: Path, lists: Listed, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Four clients: the contract of the first has changed, and two cannot be checked any more."""
    (project / "pyproject.toml").write_text(SEVERAL)
    monkeypatch.setenv("LOST_KEY", "x")
    lists(ECHO)
    assert mcp_gen("client").code == 0

    def list_contract(server: named_server.NamedServer, timeout: float) -> object:
        if server.name == "nobody":
            message = f"not answered within {timeout:g} s"
            raise ProblemError(Problem("request-timeout", message, server.safe_text))
        return contract_of(
            {**ECHO, "inputSchema": {"type": "object"}} if "w" in server.name else ECHO
        )

    monkeypatch.setattr(run, "listed_contract", list_contract)
    monkeypatch.delenv("LOST_KEY")
    yield


@pytest.mark.usefixtures("several")
def test_a_client_that_cannot_be_checked_hides_no_other_one(mcp_gen: Run, project: Path) -> None:
    checked = mcp_gen("client", "--check")
    assert checked.code == 2
    assert checked.out.endswith(
        "maps.py is up to date\nweather.py is not up to date\n"
        "dead.py could not be checked\nlost.py could not be checked\n"
    )
    table = "pyproject.toml#/tool/mcp-gen/clients"
    assert f"error[request-timeout]: {table}/dead: nobody: not answered" in checked.err
    assert f"error[wrong-usage]: {table}/lost: --header names the variable LOST_KEY" in checked.err
    found = json.loads(mcp_gen("client", "--check", "--format", "json").out)["clients"]
    assert [len(client["problems"]) for client in found] == [0, 1, 0, 1]
    (project / "maps.py").unlink()
    (project / "weather.lock").unlink()
    assert mcp_gen("client", "--check").out.startswith(
        "not-generated: weather.py: there is no lock"
    )
    (project / "dead.lock").unlink()
    (project / "lost.lock").unlink()
    assert mcp_gen("client", "--check").code == 1
    assert mcp_gen("client").code == 2


@pytest.mark.usefixtures("several")
def test_annotations_are_on_the_line_where_a_client_is_listed(
    mcp_gen: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = mcp_gen("client", "--check", "--format", "github")
    assert (checked.code, checked.err) == (2, "")
    dead, lost, weather, *changes = checked.out.splitlines()
    assert dead.startswith("::error file=pyproject.toml,line=8,title=request-timeout::nobody: not")
    assert lost.startswith("::error file=pyproject.toml,line=14,title=wrong-usage::--header names")
    assert weather == (
        "::error file=pyproject.toml,line=4,title=server-changed"
        "::weather.lock -> weather: 1 warning"
    )
    assert changes[1].startswith("::warning file=pyproject.toml,line=4,title=argument-")
    (project / "maps.py").unlink()
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.parent))
    checked = mcp_gen("client", "--check", "--format", "github", "--fail-on", "breaking")
    member = f"{project.name}/pyproject.toml"
    assert f"::error file={member},line=13,title=missing::maps.py: the module is" in checked.out
    assert "server-changed" not in checked.out


def test_every_invalid_client_of_a_project_is_named_with_its_line(
    mcp_gen: Run, project: Path
) -> None:
    (project / "pyproject.toml").write_text(
        '[tool.mcp-gen.clients.weather]\nserver = "x"\n\n'
        '[tool.mcp-gen.clients]\nmaps = { server = "y", out = "m.py", tool = "a" }\n'
        'fine = { server = "y", out = "f.py" }\nroutes = { server = 1, out = "r.py" }\n'
    )
    ran = mcp_gen("client", "--check", "--format", "github")
    assert ran.code == 2
    weather, maps, routes = ran.out.splitlines()
    begin = "::error file=pyproject.toml,line={},title=bad-config::clients in [tool.mcp-gen] {}"
    assert weather.startswith(begin.format(1, "lacks server or out in weather"))
    assert maps.startswith(begin.format(5, "has no setting 'tool' in maps; did you mean tools?"))
    assert routes.startswith(begin.format(7, "has a setting in routes that must be a non-empty"))


def test_an_edited_module_is_found_and_not_overwritten(
    mcp_gen: Run, project: Path, lists: Listed
) -> None:
    lists(ECHO)
    assert mcp_gen(*WRITE).code == 0
    assert mcp_gen(*WRITE).out == "weather_client.py: 1 tool, unchanged\n"
    module = project / "weather_client.py"
    written = module.read_bytes()
    module.write_bytes(written + b"# mine\n")
    checked = mcp_gen("client", "--check", "--offline", "--out", "weather_client.py")
    assert (checked.code, "edited: weather_client.py" in checked.out) == (1, True)
    lists(ECHO, FORECAST)
    refused = mcp_gen(*WRITE)
    assert (refused.code, "edited-file" in refused.err) == (2, True)
    assert module.read_bytes() == written + b"# mine\n"
    lists(ECHO)
    assert mcp_gen(*WRITE, "--force").code == 0
    assert module.read_bytes() == written


def test_chosen_tools_and_names_are_remembered(mcp_gen: Run, project: Path, lists: Listed) -> None:
    lists(ECHO, FORECAST)
    assert mcp_gen(*WRITE, "--tool", "echo", "--name", "echo=say").code == 0
    assert "def say(self" in (project / "weather_client.py").read_text()
    lists({**ECHO, "title": "Echo"}, FORECAST)
    assert mcp_gen(*WRITE).out == "weather_client.py: 1 tool, written\n"
    assert "def say(self" in (project / "weather_client.py").read_text()


def test_two_locks_are_compared(mcp_gen: Run, project: Path) -> None:
    (project / "a.lock").write_bytes(lock_for(contract_of(ECHO, FORECAST)).content())
    (project / "b.lock").write_bytes(lock_for(contract_of(FORECAST)).content())
    compared = mcp_gen("diff", "a.lock", "b.lock", "--for", "caller", "--fail-on", "breaking")
    assert (compared.code, "echo  removed: echo  [tool-removed]" in compared.out) == (1, True)
    for options in ((), *(("--format", name) for name in ("json", "markdown", "github", "html"))):
        with case(options):
            assert "tool-removed" in mcp_gen("diff", "a.lock", "b.lock", *options).out


def test_mistakes_are_said(mcp_gen: Run, project: Path, lists: Listed) -> None:
    lists(ECHO, FORECAST)
    (project / "bad.lock").write_text("{}")
    (project / "new.lock").write_text('{"kind": "typed client", "format": 9}')
    injected = json.loads(lock_for(contract_of(ECHO)).content()) | {"package": "os; evil()"}
    (project / "evil.lock").write_text(json.dumps(injected))
    cases = (
        (("client", "x"), "wrong-usage"),
        (("client",), "wrong-usage"),
        (("client", "--out", "a.py"), "wrong-usage"),
        (("client", "x", "--out", "a.txt"), "wrong-usage"),
        ((*WRITE, "--name", "echo=a b"), "wrong-usage"),
        ((*WRITE, "--name", "echo=connect"), "wrong-usage"),
        ((*WRITE, "--name", "echo=say", "--name", "get-forecast=say"), "wrong-usage"),
        ((*WRITE, "--name", "ecko=say"), "no-such-tool"),
        ((*WRITE, "--tool", "ecko"), "no-such-tool"),
        (("client", "x", "--out", "a.py"), "no-client-package"),
        (("client", "x", "--out", "a.py", "--package", "os; evil()"), "no-client-package"),
        (("client", "--offline", "--out", "a.py"), "no-client-lock"),
        (("client", "--offline", "--out", "bad.py"), "bad-lock"),
        (("client", "--offline", "--out", "new.py"), "newer-lock"),
        (("client", "--offline", "--out", "evil.py"), "bad-lock"),
        (("diff", "a.lock"), "wrong-usage"),
        (("diff", "no.lock", "--server", "x"), "no-client-lock"),
        (("diff", "no.lock", "--server", "x", "--auth", "oauth"), "conflicting-options"),
        (("diff", "a.lock", "b.lock", "--auth", "oauth"), "conflicting-options"),
        ((*WRITE, "--auth", "oauth"), "conflicting-options"),
        (("client", "--auth", "oauth"), "wrong-usage"),
    )
    for arguments, code in cases:
        with case(arguments):
            ran = mcp_gen(*arguments)
            assert (ran.code, f"error[{code}]" in ran.err) == (2, True), ran.err


def test_a_server_that_does_not_start_is_a_problem(mcp_gen: Run, project: Path) -> None:
    ran = mcp_gen("client", f"{sys.executable} -c pass", "--out", "a.py", "--package", "pkg")
    assert (ran.code, "error[no-connection]" in ran.err) == (2, True)
    assert not (project / "a.py").exists()


def test_a_package_is_generated_beside_it(
    mcp_gen: Run, project: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = commands.write
    settings: list[Any] = []

    def write_one(given: Any) -> Any:
        settings.append(given)
        return write(given._replace(revisions=("2025-11-25",)))

    monkeypatch.setattr(commands, "write", write_one)
    monkeypatch.setattr("mcp_protogen.pipeline.generate.generate", generated_once)
    # The package is used below.
    monkeypatch.setattr("mcp_protogen.pipeline.output.trial.try_package", trying_nothing)
    said = ("--out", "weather_client.py", "--with-package", "weather_wire")
    counts = "2 tools, 1 prompt, 1 template"
    for outcome in ("written", "unchanged"):
        made = mcp_gen("client", url, *said)
        assert (made.code, made.out) == (0, f"weather_client.py: {counts}, {outcome}\n"), made.err
    # The second time, the package is there.
    assert [(setting.revisions, str(setting.out)) for setting in settings] == [
        (("all",), "weather_wire")
    ]
    # By its command line alone, it would get a safe environment, without our packages.
    name, _, value = IMPORTS.partition("=")
    wire = import_module("weather_wire")
    server = wire.stdio_client(PROGRAM.split(), env={name: value})
    assert asyncio.run(ask_forecast(import_module("weather_client"), server)).high == 70.7

    lock = project / "weather_wire" / "mcp-gen.lock"
    lock.write_text(lock.read_text().replace('"tool-client"', '"testing"'))
    lacking = mcp_gen("client", url, *said)
    assert (lacking.code, "error[no-client-package]" in lacking.err) == (2, True)
    assert "--with tool-client" in lacking.err


def test_package_that_is_generated_has_tasks_if_the_server_needs_them(
    mcp_gen: Run, project: Path, lists: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []

    def write(settings: Any) -> Any:
        found.append((settings.extensions, "tasks" in settings.parts))
        return SimpleNamespace(problems=())

    monkeypatch.setattr(commands, "write", write)
    required = {**ECHO, "execution": {"taskSupport": "required"}}
    said = ("client", "x", "--out", "a.py", "--with-package", "wire")
    lists(ECHO)
    assert "no-tasks" not in mcp_gen(*said).err
    lists(required)
    ran = mcp_gen(*said)
    assert ran.code == 0 and "warning[no-tasks]" in ran.err  # nothing was written there
    lists(ECHO, task_extension=True)
    assert mcp_gen(*said).code == 0
    assert found == [(None, False), (("tasks",), True), (("tasks",), True)]


def test_servers_are_told_what_authorizes(
    mcp_gen: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers: list[Any] = []

    def list_contract(server: Any, timeout: float) -> object:
        servers.append(server)
        return contract_of(ECHO)

    monkeypatch.setattr(run, "listed_contract", list_contract)
    monkeypatch.setenv("WEATHER_KEY", "secret")
    url, out = "https://weather.example/mcp", ("--out", "a.py", "--package", PACKAGE.name)
    (project / "pyproject.toml").write_text(
        f"[tool.mcp-gen.clients.a]\nserver = '{url}'\nout = 'a.py'\npackage = '{PACKAGE.name}'\n"
        "auth = 'none'\nheaders = ['X-Key: ${WEATHER_KEY}']\n"
    )
    for command in (
        ("client", url, *out),
        ("client", url, *out, "--auth", "bearer:WEATHER_KEY"),
        ("client",),
        ("diff", "a.lock", "--server", url, "--auth", "none"),
    ):
        ran = mcp_gen(*command)
        assert ran.code == 0, ran.err
    assert [server.auth is not None for server in servers] == [True, True, False, False]
    assert servers[2].headers == {"X-Key": "secret"}
    assert "secret" not in "".join(path.read_text() for path in project.glob("a.*"))
