"""The code on the page about mounting works."""

import sys
from pathlib import Path
from typing import Any, cast

import pytest
from support.docs.pages import block_texts, page, run
from support.http.serving import run_app
from support.revisions import ERAS, OLD
from support.tables import case
from support.toolkit.kits import pkg
from support.toolkit.mounting import in_memory, names_of, program, text_of

SHOWN, ELSEWHERE, ENABLED = block_texts("mounting.md")


async def test_the_server_of_the_page_has_the_names_of_the_table() -> None:
    app = run(SHOWN)["app"]
    for spoken in ERAS:
        with case(spoken):
            async with in_memory(pkg.load(spoken).Client(), app) as one:
                assert await names_of(one) == {
                    "tools": ["weather_forecast"],
                    "prompts": ["weather_packing_list"],
                    "resources": [],
                    "templates": ["climate://weather/{place}"],
                }
                assert await text_of(one, "weather_forecast", place="Oslo") == "rain in Oslo"
                read = await one.read_resource("climate://weather/Oslo")
                assert read.contents[0].text == "Oslo is mild"


async def test_servers_elsewhere_are_mounted_as_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "files.py").write_text(program(f"weather({OLD!r})"))
    monkeypatch.chdir(tmp_path)
    names = run(SHOWN)
    served = names["weather"].http()
    async with run_app(served) as port:
        block = ELSEWHERE.replace("https://example.org", f"http://127.0.0.1:{port}")
        exec(block.replace('"python ', f'"{sys.executable} '), names)
        async with in_memory(pkg.load(OLD).Client(), names["app"]) as one:
            assert await text_of(one, "files_touch") == "touched"
            assert await text_of(one, "search_forecast", place="Rome") == "rain in Rome"
        await served.close()


async def test_page_lists_enabled_items() -> None:
    app = run(SHOWN + ENABLED)["app"]
    for spoken in ERAS:
        with case(spoken):
            async with in_memory(pkg.load(spoken).Client(), app) as one:
                tools = {"tools": ["unlock", "weather_forecast"]}
                assert await names_of(one) == {
                    **tools,
                    "prompts": [],
                    "resources": [],
                    "templates": [],
                }
                assert await text_of(one, "unlock") == "unlocked"
                assert await text_of(one, "reset") == "reset"


def test_errors_are_those_of_the_page() -> None:
    names = run(SHOWN)
    app, weather = names["app"], names["weather"]
    taken = cast(Any, pkg.load(OLD)).App("travel")
    taken.add_tool(lambda: None, name="weather_forecast")
    attempts: list[tuple[Any, tuple[Any, ...]]] = [
        (taken.mount, ("weather", weather)),
        (weather.mount, ("x", app)),
        (app.disable, ("rest",)),
    ]
    for attempt, given in attempts:
        with pytest.raises((ValueError, LookupError)) as refused:
            attempt(*given)
        said = str(refused.value).partition(": mount one")[0].partition(" called")[0]
        assert said.replace("travel and weather", "weather and travel") in page("mounting.md")
