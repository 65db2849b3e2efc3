"""The code on the page about the bridge works."""

import json
import re
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from mcp_protogen.cli.app import app
from mcp_protogen.servers.bridge.recorder import Recorder, RecordOptions
from mcp_protogen.servers.connect.authorization import AUTH_CHOICES
from support.docs.pages import block_texts, page, run
from support.folders import ROOT
from support.sessions import talking
from typer.main import get_command

pkg: Any = talking.pkg
PAGE = page("bridge.md")


class Weather(talking.pkg.Toolkit, talking.pkg.v2026_07_28.Server):
    @talking.pkg.tool
    def forecast(self, city: str) -> str:
        return f"{city}: sun"


async def test_the_program_plays_back_what_was_recorded(tmp_path: Path) -> None:
    (program,) = block_texts("bridge.md")
    forecast = run(program)["forecast"]
    recorder = Recorder(RecordOptions(file=tmp_path / "traffic.jsonl", limit=100_000))
    opener: Any = recorder.opener(pkg.in_memory(Weather(), revisions=pkg.REVISIONS))
    async with pkg.connect(opener) as client:
        live = await client.call_tool("forecast", {"city": "Ulm"})
    assert await forecast(tmp_path / "traffic.jsonl") == live.text == "Ulm: sun"


def test_the_lines_of_a_recording_on_the_page_have_its_format() -> None:
    schema = json.loads((ROOT / "schema" / "formats" / "traffic.schema.json").read_text())
    validator: Any = Draft202012Validator(schema)
    lines = [line for line in PAGE.splitlines() if re.match(r'\{"(traffic|at)"', line)]
    assert len(lines) == 3
    for line in lines:
        validator.validate(json.loads(line))


def test_the_options_on_the_page_are_those_that_there_are() -> None:
    command: Any = get_command(app)
    bridge = command.get_command(None, "bridge")
    known = {name for option in bridge.params for name in option.opts}
    ours = PAGE.partition("## Beside")[0]
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", ours))
    assert named <= known, named - known
    assert known - named <= {"--help", "--path", "--allow-origin"}
    moved = re.findall(r"\| `(mcp-gen bridge [^`]*)`", PAGE.partition("| in place of |")[2])
    assert {option for line in moved for option in re.findall(r"--[a-z-]+", line)} <= known
    table = PAGE.partition("| `--auth` | |")[2].partition("\n\n")[0]
    assert {re.split(r"[:`]", row)[1] for row in re.findall(r"^\| `[a-z-]+", table, re.M)} == {
        *AUTH_CHOICES
    }
