"""The page on HTTP: its example runs, and its table of options matches the code."""

import asyncio
import re
from dataclasses import fields
from importlib import import_module

import mcp_revisions as package
import pytest
from support.docs.pages import example, page
from support.http.serving import calling, outcome, run_app

NAME = "http.md"
PAGE = page(NAME)


def test_the_example_works(capsys: pytest.CaptureFixture[str]) -> None:
    uvicorn = import_module("uvicorn")
    program = example(NAME, "http")

    async def script() -> None:
        server = uvicorn.Server(uvicorn.Config(program["app"], port=0, log_level="error"))
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        (listening,) = server.servers[0].sockets
        await program["main"](f"http://127.0.0.1:{listening.getsockname()[1]}/mcp")
        server.should_exit = True
        await serving

    asyncio.run(script())
    said = capsys.readouterr().out
    assert "noon" in said
    assert "looking" in said


async def test_the_example_of_a_request_works() -> None:
    async with run_app(example(NAME, "request")["app"].http()) as port, calling(port) as site:
        for fields, expected in (({"x-tenant": "one"}, (200, None)), ({}, (403, -32001))):
            answer = await site.modern("tools/call", name="whose", headers=fields)
            assert outcome(answer) == expected
            assert "one" in answer.text or "X-Tenant is missing" in answer.text


async def test_the_example_of_routes_works() -> None:
    async with run_app(example(NAME, "routes")["asgi"]) as port, calling(port) as site:
        assert (await site.http.get("/health")).json() == {"ok": True}
        answer = await site.http.post("/times", json={"time": "one"})
        assert (answer.status_code, answer.headers["x-count"]) == (201, "2")
        assert answer.json() == ["noon", "one"]


def test_the_example_of_workers_starts_none_when_it_is_imported() -> None:
    assert example(NAME, "workers")["app"].info.name == "clock"
    shared = example(NAME, "shared")["app"].http.shared
    assert isinstance(shared.engine, package.RedisEngine)


def test_the_example_of_web_pages_works() -> None:
    program = example(NAME, "cors")
    assert program["http"].cors == program["Cors"]()


def test_options_that_the_page_names_exist() -> None:
    names = ("Cors", "HttpOptions", "Options", "Reconnection", "Route")
    kinds = [getattr(package, name) for name in names]
    options = {field.name for kind in kinds for field in fields(kind)}
    named = set(re.findall(r"`([a-z_]+)=", PAGE)) | set(
        re.findall(r"`(max_\w+|\w+_lifetime)`", PAGE)
    )
    named -= {"auth", "http", "port", "reconnection"}
    assert named
    assert named <= options, named - options
