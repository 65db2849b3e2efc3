"""The code on the page about connecting works."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.docs.pages import block_texts, page, run_page
from support.http.serving import serving
from support.revisions import STATELESS
from support.sessions.talking import pkg

PAGE = page("connecting.md")
(CONFIG,) = block_texts("connecting.md", "json")
m = pkg.load(STATELESS).models


class Weather(pkg.Toolkit, pkg.v2026_07_28.Server):
    @pkg.tool
    def forecast(self, city: str) -> str:
        return f"{city}: sun"


async def test_the_programs_of_the_page_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    programs: dict[str, Any] = run_page("connecting.md")
    async with serving(Weather, pkg.REVISIONS) as site:
        url = f"http://127.0.0.1:{site.port}/mcp"
        assert await programs["ask"](url) == "Ulm: sun"
        await programs["each"](url, Weather)
        assert STATELESS in capsys.readouterr().out
        file = tmp_path / "mcp.json"
        servers = json.loads(CONFIG)["mcpServers"]
        assert servers["weather"]["env"] == {"API_KEY": "${WEATHER_KEY:-none}"}
        servers["weather"] = {"type": "http", "url": url}
        monkeypatch.setenv("MAPS_KEY", "key")
        servers["maps"]["url"] = url
        file.write_text(json.dumps({"mcpServers": servers}))
        await programs["all_of"](str(file))
        assert "weather_forecast\nmaps_forecast" in capsys.readouterr().out


def test_the_errors_on_the_page_are_those_that_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MAPS_KEY", raising=False)
    Path("mcp.json").write_text(CONFIG)
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
