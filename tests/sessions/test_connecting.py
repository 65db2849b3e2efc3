"""Connecting to all kinds of servers: commands, files, URLs, servers, and whole configurations."""

import json
import logging
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop
from mcp_protogen.runtime.client import servers
from mcp_protogen.runtime.client.config import read_variables
from mcp_revisions import v2025_11_25 as old
from mcp_revisions import v2026_07_28 as mcp
from support.docs.pages import beside_package
from support.folders import ROOT
from support.http.serving import serving
from support.revisions import OLD, STATELESS
from support.sessions.talking import pkg
from support.tables import case

m = mcp.models

PROGRAM = """
import os
from pkg import Toolkit, run_stdio, tool
from pkg import {module} as mcp


class Weather(Toolkit, mcp.Server):
    @tool
    def forecast(self, city: str) -> str:
        return f"{{city}}: {{os.environ.get('WEATHER', 'sun')}}"


if __name__ == "__main__":
    run_stdio(Weather)
"""
CALL = m.CallToolRequestParams(name="forecast", arguments={"city": "Ulm"})


class Weather(pkg.Toolkit, old.Server):
    @pkg.tool
    def forecast(self, city: str) -> str:
        return f"{city}: sun"


class Newer(pkg.Toolkit, mcp.Server):
    @pkg.tool
    def forecast(self, city: str) -> str:
        return f"{city}: rain"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose name has a space, with the package and a server of each era."""
    modules = {"old.py": "v2025_11_25", "new.py": "v2026_07_28"}
    files = {name: PROGRAM.format(module=module) for name, module in modules.items()}
    return beside_package(tmp_path_factory.mktemp("with space"), files)


async def weather(client: mcp.Client) -> str:
    (block,) = (await client.request(client.TABLE.requests["tools/call"], CALL)).content
    assert isinstance(block, m.TextContent)
    return block.text


async def test_whatever_a_server_is_reached_by_it_is_called_in_the_newest_revision(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    python = sys.executable
    servers: list[tuple[Any, str]] = [
        (folder / "old.py", OLD),
        ("new.py", STATELESS),
        (f"{python} '{folder / 'old.py'}'", OLD),
        ([python, folder / "old.py"], OLD),
        (Weather, OLD),
        (Newer(), STATELESS),
        (pkg.in_memory(Newer, revisions=pkg.REVISIONS), STATELESS),
    ]
    for server, revision in servers:
        with case(repr(server)[:60]):
            async with pkg.connect(server) as client:
                assert type(client) is mcp.Client
                assert client.revision == revision
                assert await weather(client) in ("Ulm: sun", "Ulm: rain")
    async with serving(Weather) as site, pkg.connect(f"http://127.0.0.1:{site.port}/mcp") as client:
        assert (client.revision, await weather(client)) == (OLD, "Ulm: sun")


WRONG: list[tuple[Any, type[Exception], str]] = [
    ((mcp.Client(), Weather), TypeError, r"connect\(server, client\)"),
    ((mcp.Client, "server.py"), TypeError, r"connect\(server, client\)"),
    ((Weather, mcp.Client), TypeError, "must be objects"),
    ((Weather, "server.py"), TypeError, "must be objects"),
    ((3,), TypeError, "3 is not a command, file, URL, server or opener"),
    (("nothing.py",), FileNotFoundError, "the file nothing.py does not exist"),
    (("say 'it",), ValueError, "not a valid command line"),
    (("mcp.json",), ValueError, "connect_config"),
    (("ws://example.com",), ValueError, "http:// or https://"),
    (("",), ValueError, "must name a program"),
    (([],), ValueError, "must name a program"),
]


def test_invalid_connection_is_refused_at_once() -> None:
    for arguments, error, message in WRONG:
        with case(repr(arguments)), pytest.raises(error, match=message):
            pkg.connect(*arguments)
    wrong: Any = mcp.Client()
    with pytest.raises(TypeError, match="the URL comes first"):
        pkg.connect_http(wrong, wrong)


def test_program_in_one_file_starts_no_python_file_by_itself(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(folder / "old.py")
    for where, mark in ((sys, "frozen"), (servers, "__compiled__")):
        with case(mark), monkeypatch.context() as patch:
            patch.setattr(where, mark, True, raising=False)
            with pytest.raises(ValueError, match=r'name one, connect\(\["python", '):
                pkg.connect(file)
            assert servers.program_words(["python", file]) == ["python", file]


async def test_in_memory_the_server_comes_first_and_the_order_of_before_is_taken() -> None:
    async with pkg.connect_in_memory(Newer, mcp.Client()) as client:
        assert await weather(client) == "Ulm: rain"
    async with pkg.connect_in_memory(mcp.Client(), Newer()) as client:
        assert await weather(client) == "Ulm: rain"
    wrong: list[Any] = [(Newer, Newer), (mcp.Client(), mcp.Client()), (Newer, mcp.Client)]
    for pair in wrong:
        with case(repr(pair)), pytest.raises(TypeError, match="pass a server first, then a client"):
            pkg.connect_in_memory(*pair)


# Configurations.


@asynccontextmanager
async def write_configuration(folder: Path) -> AsyncGenerator[dict[str, Any], None]:
    """A configuration of a server of each era as a process, and of one over HTTP."""
    async with serving(Newer) as site:
        yield {
            "old": {"command": sys.executable, "args": ["old.py"], "cwd": str(folder)},
            "new": {
                "type": "stdio",
                "command": "${PYTHON_HERE}",
                "args": ["new.py"],
                "cwd": "${NOWHERE:-" + str(folder) + "}",
                "env": {"WEATHER": "${env:SNOW}"},
                "autoApprove": ["forecast"],
            },
            "far": {"type": "http", "url": f"http://127.0.0.1:{site.port}/mcp", "headers": {}},
            "off": {"command": "nothing", "disabled": True},
        }


async def test_all_servers_of_a_file_are_one_each_in_its_revision(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_HERE", sys.executable)
    monkeypatch.setenv("SNOW", "snow")
    async with write_configuration(folder) as servers:
        for member in ("mcpServers", "servers"):
            file = tmp_path / "mcp.json"
            file.write_text(json.dumps({member: servers, "inputs": []}))
            async with pkg.connect_config(file) as several:
                assert list(several) == ["old", "new", "far"]
                found = {name: client.revision for name, client in several.items()}
                assert found == {"old": OLD, "new": STATELESS, "far": STATELESS}
                names = [tool.name async for tool in several.iter_tools()]
                assert names == ["old_forecast", "new_forecast", "far_forecast"]
                said = [await several.call_tool(name, {"city": "Ulm"}) for name in names]
                texts = [result.content[0].to_wire()["text"] for result in said]
                assert texts == ["Ulm: sun", "Ulm: snow", "Ulm: rain"]
                assert await weather(several["new"]) == "Ulm: snow"
                with pytest.raises(
                    LookupError, match="begin with the name of a server: old, new, far"
                ):
                    await several.call_tool("forecast")


async def test_names_of_tools_have_a_separator_and_clients_a_class() -> None:
    class Mine(mcp.Client):
        """A client with handlers, perhaps."""

    async with serving(Newer) as site:
        servers = {"a": {"url": f"http://127.0.0.1:{site.port}/mcp"}}
        servers["a_b"] = servers["a"]
        with pytest.raises(pkg.ConfigError, match="another separator than '_'"):
            pkg.connect_config({"mcpServers": servers})
        with pytest.raises(pkg.ConfigError, match="another separator than '__'"):
            alike = dict.fromkeys(("a", "a_"), servers["a"])
            pkg.connect_config({"servers": alike}, separator="__")
        joined = pkg.connect_config({"mcpServers": servers}, client=Mine, separator=".")
        async with joined as several:
            assert [tool.name async for tool in several.iter_tools()] == [
                "a.forecast",
                "a_b.forecast",
            ]
            assert type(several["a"]) is Mine


OF_HOSTS: dict[str, tuple[str, dict[str, Any]]] = {
    "Gemini CLI": ("mcpServers", {"httpUrl": "HERE", "url": "http://127.0.0.1:1/sse"}),
    "Windsurf": ("mcpServers", {"serverUrl": "${SITE}"}),
    "Zed": ("context_servers", {"source": "custom", "url": "HERE", "enabled": True}),
}
OF_ZED: dict[str, Any] = {"off": {"command": "x", "enabled": False}, "of": {"settings": {}}}


async def test_servers_are_found_where_other_hosts_have_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(Newer) as site:
        url = f"http://127.0.0.1:{site.port}/mcp"
        monkeypatch.setenv("SITE", url)
        for host, (member, entry) in OF_HOSTS.items():
            with case(host):
                here = {key: url if value == "HERE" else value for key, value in entry.items()}
                config = {member: {"far": here, **(OF_ZED if host == "Zed" else {})}}
                async with pkg.connect_config(config) as several:
                    assert list(several) == ["far"]
                    assert await weather(several["far"]) == "Ulm: rain"


async def test_disabled_server_is_called_disabled() -> None:
    off: tuple[dict[str, Any], ...] = (
        {"command": "x", "disabled": True},
        {"url": "http://127.0.0.1:1", "enabled": False},
        {"disabled": True, "type": "of another host"},
    )
    for entry in off:
        with case(str(entry)):
            config = {"mcpServers": {"off/1": entry, "on": {"command": "y"}}}
            with pytest.raises(pkg.ConfigError) as raised:
                pkg.connect_config.opener(config, "off/1")
            assert "#/mcpServers/off~11: the server off/1 is disabled" in str(raised.value)
            with pytest.raises(
                pkg.ConfigError, match=r"unknown server of; the servers are on, off/1 \(dis"
            ):
                pkg.connect_config.opener(config, "of")
            async with pkg.connect_config({"mcpServers": {"off/1": entry}}) as several:
                assert not several
    with pytest.raises(pkg.ConfigError, match="/disabled"):
        pkg.connect_config({"mcpServers": {"a": {"command": "x", "disabled": "yes"}}})


def test_server_is_found_by_name_beside_servers_with_mistakes() -> None:
    for wrong in ({"command": 5}, {"command": "x", "env": {"KEY": "${NOT_THERE}"}}, 3, {}):
        with case(wrong):
            config = {"mcpServers": {"wrong": wrong, "on": {"command": "y"}}}
            pkg.connect_config.opener(config, "on")
            with pytest.raises(pkg.ConfigError, match="#/mcpServers/wrong"):
                pkg.connect_config.opener(config, "wrong")


async def test_null_and_numbers_of_a_configuration_are_read(folder: Path) -> None:
    entry = {
        "command": sys.executable,
        "args": ["old.py", 5, True],
        "cwd": str(folder),
        "env": {"WEATHER": 1.5, "OTHER": None},
        "headers": {"X-Port": 80},
        "disabled": None,
    }
    async with pkg.connect_config({"mcpServers": {"s": entry}}) as several:
        assert await weather(several["s"]) == "Ulm: 1.5"


BAD: list[tuple[object, str]] = [
    ([], ": add an object mcpServers or servers or context_servers"),
    ({"mcpServers": []}, ": add an object mcpServers or servers or context_servers"),
    ({"servers": {"a/b": 3}}, "#/servers/a~1b: the server a/b: Input should be an object"),
    ({"mcpServers": {"a": {"command": "x", "args": "y"}}}, "#/mcpServers/a/args: the server a"),
    (
        {"mcpServers": {"a": {"command": "x", "env": {"N": [1]}}}},
        "#/mcpServers/a/env/N: the server",
    ),
    (
        {"mcpServers": {"a": {"type": "ws", "url": "x"}}},
        "#/mcpServers/a/type: the type of a must be http or streamable-http or ",
    ),
    (
        {"mcpServers": {"a": {"type": "http", "command": "x"}}},
        "#/mcpServers/a/type: the type of a must be stdio",
    ),
    ({"mcpServers": {"a": {}}}, "#/mcpServers/a: the server a needs either `command` or `url`"),
    (
        {"mcpServers": {"a": {"command": "x", "url": "http://x"}}},
        "#/mcpServers/a: the server a needs either `command` or `url`",
    ),
    (
        {"mcpServers": {"a": {"command": "x", "args": ["", "-${NOT_THERE}-"]}}},
        "#/mcpServers/a/args/1: ${NOT_THERE} of the server a: the environment variable is not set",
    ),
    (
        {"servers": {"a": {"command": "x", "env": {"K": "${input:key}"}}}},
        "#/servers/a/env/K: ${input:key} of the server a: the input has no value: "
        'give inputs={"key": …}',
    ),
    (
        {"servers": {"a": {"command": "x", "cwd": "${workspaceFolder:b}"}}},
        "#/servers/a/cwd: ${workspaceFolder:b} of the server a: only a host can fill it in",
    ),
    (
        {"servers": {"a": {"command": "x", "envFile": "no.env"}}},
        "#/servers/a/envFile: no.env of the server a: No such file or directory",
    ),
    (
        {"servers": {"a": {"command": "x", "envFile": "mcp.json"}}},
        "#/servers/a/envFile: mcp.json of the server a: line 1 is not NAME=value",
    ),
]


def test_a_configuration_that_is_wrong_is_refused_with_the_place(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    for config, message in BAD:
        with case(message):
            file.write_text(json.dumps(config))
            with pytest.raises(pkg.ConfigError) as raised:
                pkg.connect_config(file)
            assert str(raised.value).startswith(f"{file}{message}")
    file.write_text("{")
    with pytest.raises(pkg.ConfigError, match="is not JSON"):
        pkg.connect_config(str(file))
    with pytest.raises(FileNotFoundError):
        pkg.connect_config(tmp_path / "nothing.json")


# A configuration file of a host, in its place.
HOSTS: dict[str, str] = {
    ".vscode/mcp.json": """{
        // A comment, and "a text" in it.
        "inputs": [
            {"id": "sky", "type": "promptString", "password": true},
            {"id": "wind", "type": "pickString", "options": ["calm", "storm"], "default": "calm"},
        ],
        "servers": { /* one, } */
            "here": {
                "type": "stdio",
                "command": "${env:PYTHON_HERE}",
                "args": ["${workspaceFolder}${/}said.py", "${input:wind}", "http://a//b /* no */",],
                "env": {"SKY": "${input:sky}", "COUNT": 3},
                "envFile": "${workspaceFolder}/.env",
                "dev": {"watch": "**/*.py"},
            },
        },
    }""",
    ".cursor/mcp.json": """{"mcpServers": {"here": {
        "command": "${env:PYTHON_HERE}",
        "args": ["${workspaceFolder}/said.py", "calm", "http://a//b /* no */"],
        "env": {"SKY": "grey", "COUNT": "3"},
        "envFile": ".env"
    }}}""",
    ".mcp.json": """{"mcpServers": {"here": {
        "type": "stdio",
        "command": "${PYTHON_HERE}",
        "args": ["${NO_FOLDER:-.}/said.py", "calm", "http://a//b /* no */"],
        "env": {"SKY": "grey", "COUNT": "3", "LAND": "green #1", "SEA": "a\\nb", "FOG": ""}
    }}}""",
}
VARIABLES = """\ufeff# What the server needs

export LAND='green #1'  # not this
SEA="a\\nb"
FOG= # nothing
SKY=blue
"""
SAID = """
import os, sys
sys.path.insert(0, {path!r})
from mcp_revisions import run_stdio, v2025_11_25 as mcp

app = mcp.App("said")

@app.tool
def said() -> list[str]:
    named = [os.environ[name] for name in ("SKY", "COUNT", "LAND", "SEA", "FOG")]
    return [*sys.argv[1:], *named]

app.run()
"""


async def test_files_are_taken_as_hosts_write_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_HERE", sys.executable)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "said.py").write_text(SAID.format(path=str(ROOT / "generated")))
    (tmp_path / ".env").write_text(VARIABLES)
    for name, text in HOSTS.items():
        with case(name):
            file = tmp_path / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
            async with pkg.connect_config(file, inputs={"sky": "grey"}) as several:
                said = await several.call_tool("here_said")
            heard = ["calm", "http://a//b /* no */", "grey", "3", "green #1", "a\nb", ""]
            assert said.data == {"result": heard}


# A line of a file of variables, and its value; nothing if it is refused.
LINES: dict[str, str | None] = {
    "A=1": "1",
    " export A = two words # more": "two words",
    "A=a#b": "a#b",
    "A=a\fB=2": "a\fB=2",
    "A=a\u2028b": "a\u2028b",
    "A='$x # \\n'": "$x # \\n",
    'A="\\"x\\" \\\\ \\d"': '"x" \\ \\d',
    "A": None,
    "1A=2": None,
    'A="x': None,
    "A='x' y": None,
}


def test_lines_of_a_file_of_variables_are_read_or_refused() -> None:
    for line, value in LINES.items():
        with case(line):
            if value is None:
                with pytest.raises(ValueError, match="line 2 is not NAME=value"):
                    read_variables(f"B=1\n{line}")
            else:
                assert read_variables(line) == {"A": value}


async def test_a_server_that_does_not_start_is_one_error_or_is_left_out(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good = {"command": sys.executable, "args": [str(folder / "old.py")]}
    for name, bad, message in (
        ("program", {"command": "no-such-program"}, "cannot start no-such-program"),
        (
            "code",
            {"command": sys.executable, "args": ["-c", "input(); exit(3)"]},
            "ended with code 3",
        ),
        (
            "unread",
            {"command": sys.executable, "args": ["-c", "import os; os.close(0); os._exit(4)"]},
            "ended with code 4",
        ),
        ("url", {"url": "ftp://example.com"}, "begins with http://"),
    ):
        with case(name):
            config = {"mcpServers": {"good": good, name: bad}}
            at = f"the configuration#/mcpServers/{name}: the server {name} does not start: "
            with pytest.raises(pkg.ConfigError) as raised:
                async with pkg.connect_config(config):
                    pass
            assert str(raised.value).startswith(at)
            assert message in str(raised.value)
            caplog.clear()
            with caplog.at_level(logging.WARNING):
                async with pkg.connect_config(config, skip_failed=True) as several:
                    assert list(several) == ["good"]
            assert any(line.startswith(at) for line in caplog.messages)


def test_a_program_is_reached_in_the_event_loop_of_servers_over_http(folder: Path) -> None:
    # uvicorn runs uvloop where it is installed; its transports are of no class of asyncio.
    async def call() -> str:
        async with pkg.connect(folder / "old.py", old.Client()) as client:
            return str((await client.call_tool("forecast", {"city": "Ulm"})).text)

    assert uvloop.run(call()).startswith("Ulm: ")
