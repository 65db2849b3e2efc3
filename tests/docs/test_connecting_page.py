"""What the page about connecting shows works as it stands there."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from support.folders import ROOT
from support.http.serving import serving
from support.revisions import STATELESS
from support.sessions.talking import pkg

PAGE = (ROOT / "docs" / "connecting.md").read_text(encoding="utf-8")
m = pkg.load(STATELESS).models


class Weather(pkg.Toolkit, pkg.v2026_07_28.Server):
    @pkg.tool
    def forecast(self, city: str) -> str:
        return f"{city}: sun"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """All that the programs of the page define."""
    for name in ("", ".v2026_07_28", ".v2025_11_25", ".v2026_07_28.models"):
        module = __import__(f"mcp_revisions{name}", fromlist=["models"])
        monkeypatch.setitem(sys.modules, f"pkg{name}", module)
    programs: dict[str, Any] = {}
    for program in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(program, programs)
    return programs


async def test_the_programs_of_the_page_run(
    shown: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with serving(Weather, pkg.REVISIONS) as site:
        url = f"http://127.0.0.1:{site.port}/mcp"
        assert await shown["ask"](url) == "Ulm: sun"
        await shown["each"](url, Weather)
        assert STATELESS in capsys.readouterr().out
        (config,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
        file = tmp_path / "mcp.json"
        servers = json.loads(config)["mcpServers"]
        assert servers["weather"]["env"] == {"API_KEY": "${WEATHER_KEY:-none}"}
        servers["weather"] = {"type": "http", "url": url}
        monkeypatch.setenv("MAPS_KEY", "key")
        servers["maps"]["url"] = url
        file.write_text(json.dumps({"mcpServers": servers}))
        await shown["all_of"](str(file))
        assert "weather_forecast\nmaps_forecast" in capsys.readouterr().out


def test_the_errors_on_the_page_are_those_that_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (config,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MAPS_KEY", raising=False)
    Path("mcp.json").write_text(config)
    with pytest.raises(pkg.ConfigError) as raised:
        pkg.connect_config("mcp.json")
    assert f"    {raised.value}\n" in PAGE


async def test_the_other_error_is_that_of_a_program_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    Path("mcp.json").write_text('{"mcpServers": {"weather": {"command": "python"}}}')
    with pytest.raises(pkg.ConfigError) as raised:
        async with pkg.connect_config("mcp.json"):
            pass
    assert f"    {raised.value}\n" in PAGE
