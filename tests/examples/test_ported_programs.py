"""The servers of `examples/` as programs, started as their heads say, and the page about them."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from support.examples.ported import (
    EDGES,
    EXAMPLES,
    SERVERS,
    code_lines,
    copy_servers,
    load_server,
    source,
    using,
)
from support.folders import ROOT
from support.http.serving import start_module
from support.revisions import NEWEST, REVISIONS
from support.sessions.talking import pkg
from support.tables import case

pytestmark = pytest.mark.long

# What a program is asked for, by server: a tool, its arguments, and a part of its answer.
ASKED: dict[str, tuple[str, dict[str, Any], str]] = {
    "elicitation": (
        "book_table",
        {"date": "2024-12-24", "time": "19:00", "party_size": 2},
        "A table is booked on 2024-12-24 at 19:00.",
    ),
    "fetch": ("fetch", {"url": "http://127.0.0.1:1/"}, "cannot be fetched"),
    "git": ("git_status", {"repo_path": "/"}, "not a git repository"),
    "memory": ("read_graph", {}, '{"entities":[],"relations":[]}'),
    "mounted": ("weather_get_weather_forecast", {"location": "Ulm"}, "sunny in Ulm"),
    "time": ("get_current_time", {"timezone": "UTC"}, '"timezone":"UTC"'),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the servers, the package, and nothing else."""
    return copy_servers(tmp_path_factory.mktemp("ported"))


async def check(name: str, client: Any) -> None:
    tool, given, part = ASKED[name]
    app = load_server(f"{name}_server").app
    assert client.server_info.name == name == app.info.name
    async with using(app, NEWEST) as near:
        expected = [listed.name async for listed in near.iter_tools()]
    assert [listed.name async for listed in client.iter_tools()] == expected
    assert part in (await client.call_tool(tool, given)).text


async def test_each_server_runs_over_standard_input_and_output(folder: Path) -> None:
    assert [f"{name}_server" for name in ASKED] == [*SERVERS]
    for name in ASKED:
        server = pkg.stdio_client([sys.executable, str(folder / f"{name}_server.py")])
        for revision in EDGES:
            async with pkg.connect(server, pkg.load(revision).Client()) as client:
                await check(name, client)


async def test_each_server_runs_over_http(folder: Path) -> None:
    for name in ASKED:
        environment = {"PYTHONPATH": str(folder)}
        command = (f"{name}_server", "--http", "PORT")
        async with start_module(*command, environment=environment) as served:
            for revision in (REVISIONS[1], NEWEST):
                url = f"http://127.0.0.1:{served.port}/mcp"
                async with pkg.connect_http(url, pkg.load(revision).Client()) as client:
                    await check(name, client)


def test_the_page_counts_the_lines_as_they_are() -> None:
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)\.py` \| (\d+) \| .* \| (\d+) \|$", page, re.MULTILINE)
    assert sorted(name for name, _, _ in rows) == [*SERVERS]
    assert {*re.findall(r"^\| `(\w+)\.py` \| \D", page, re.MULTILINE)} == {*SERVERS}
    for name, ours, theirs in rows:
        with case(name):
            assert int(ours) == code_lines(source(name)) <= int(theirs)


def test_lines_are_counted_where_there_is_code() -> None:
    lines = ('"""Says', 'hello."""', "", "# A comment.", "x = (", "    1,  # one", "", ")")
    function = ("def f():", '    """A."""', '    return """b', "", '"""', "")
    python = "\n".join((*lines, *function))
    assert code_lines(python) == 3 + 1 + 3
    script = "#!/usr/bin/env node\n// a comment\n/* more\n\n of it */\n\nconst a = 1; // one\n}\n"
    assert code_lines(script, of="ts") == 2


def test_each_head_says_how_the_server_is_started() -> None:
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    for name in SERVERS:
        head = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").partition('\n"""')[0]
        with case(name):
            commands = re.findall(r"^    (\S.*?)(?:  +#.*)?$", head, re.MULTILINE)
            run = f"python examples/{name}.py"
            made = "mcp-gen --revision all --with all --out examples/pkg"
            assert commands == [made, run, f"{run} --http 8000"]
            assert f"    {made}\n" in page
