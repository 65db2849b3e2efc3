"""Contracts of servers as data, the modules made from them, and their imported types."""

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from mcp_protogen.servers.call.kinds import Kind
from mcp_protogen.servers.clients.contract import Contract, contract
from mcp_protogen.servers.clients.lock import ClientLock
from mcp_protogen.servers.clients.making import build_module
from mcp_protogen.servers.clients.package import PackageTasks
from support.generated.golden_package import PACKAGE

Json = dict[str, Any]

OBJECT: Final[Json] = {"type": "object"}


def tool(name: str = "look", /, *, returns: Json | None = None, **members: Any) -> Json:
    """Return a tool as a server lists it; arguments are `properties` and `required`."""
    schema: Json = {"type": "object"}
    for key in ("properties", "required", "$defs"):
        if key in members:
            schema[key] = members.pop(key)
    listed: Json = {"name": name, "inputSchema": schema, **members}
    return listed if returns is None else {**listed, "outputSchema": returns}


def contract_of(
    *tools: Json,
    prompts: Iterable[Json] = (),
    templates: Iterable[Json] = (),
    version: str = "1.0",
    server: str = "weather",
    task_extension: bool = False,
) -> Contract:
    """Return the contract of a server with these tools, prompts and resource templates."""
    lists = {Kind.TOOLS: tools, Kind.PROMPTS: prompts, Kind.TEMPLATES: templates}
    about = {"name": server, "version": version}
    return contract(about, "2025-11-25", lists, task_extension=task_extension)


def lock_for(
    found: Contract,
    methods: Mapping[str, str] | None = None,
    tasks: PackageTasks = PackageTasks.NONE,
) -> ClientLock:
    return ClientLock(
        contract=found,
        package=PACKAGE.name,
        revision_module="v2026_07_28",
        methods=methods or {},
        tasks=tasks,
    )


def text_of(
    *tools: Json,
    methods: Mapping[str, str] | None = None,
    tasks: PackageTasks = PackageTasks.NONE,
    **others: Any,
) -> str:
    """Return the module for a server with these tools and arguments of `contract_of`."""
    lock = lock_for(contract_of(*tools, **others), methods, tasks)
    return build_module(lock, Path("weather_client.py"))[0].decode()


def problems_of(*tools: Json, tasks: PackageTasks = PackageTasks.NONE, **others: Any) -> list[str]:
    found = build_module(
        lock_for(contract_of(*tools, **others), None, tasks), Path("weather_client.py")
    )[1]
    return [problem.message for problem in found]


def module_of(*tools: Json, **others: Any) -> Any:
    """Import the module for the arguments of `text_of`."""
    module = ModuleType("weather_client")
    sys.modules[module.__name__] = module  # where Pydantic looks up the names of annotations
    source = text_of(*tools, **others)
    exec(compile(source, "weather_client.py", "exec"), vars(module))
    return module


@cache
def usual_module() -> Any:
    """Return the module for the usual tools; callers must not change it."""
    return module_of(*USUAL)


FORECAST: Final = tool(
    "get-forecast",
    title="Forecast",
    description="Get the forecast for a city.",
    properties={
        "city": {"type": "string", "description": "Where."},
        "days": {"type": "integer", "default": 3, "minimum": 1},
        "units": {"enum": ["celsius", "fahrenheit"]},
        "near": {
            "type": "object",
            "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}},
            "required": ["lat", "lon"],
        },
        "nick": {"type": ["string", "null"]},
        "class": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    },
    required=["city"],
    annotations={"readOnlyHint": True},
    returns={
        "title": "Forecast",
        "type": "object",
        "properties": {
            "high": {"type": "number", "description": "In degrees."},
            "hours": {
                "type": "array",
                "items": {"type": "object", "properties": {"at": {"type": "string"}}},
            },
        },
        "required": ["high"],
    },
)
ADD: Final = tool(
    "add",
    properties={"a": {"type": "integer"}, "b": {"type": "integer"}},
    required=["a", "b"],
    returns={
        "type": "object",
        "properties": {"result": {"type": "integer"}},
        "required": ["result"],
    },
)
ECHO: Final = tool("echo", properties={"text": {"type": "string"}}, required=["text"])
COUNTS: Final = tool(
    "counts", returns={"type": "object", "additionalProperties": {"type": "integer"}}
)
FREE: Final = tool("free") | {"inputSchema": {"additionalProperties": True}}
_NODE: Final[Json] = {"$ref": "#/$defs/Node"}
_DEFINED: Final[Json] = {
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "inner": {"type": "array", "items": _NODE},
            },
            "required": ["name"],
        }
    }
}
TREE: Final = tool(
    "grow",
    **_DEFINED,
    properties={"root": _NODE},
    required=["root"],
    returns={**_NODE, **_DEFINED},
)
PERHAPS: Final = tool("perhaps", returns={"anyOf": [{"type": "integer"}, {"type": "null"}]})
SIZE: Final = tool("size", returns={"type": "integer"})
ASK: Final[Json] = {
    "name": "ask-about",
    "description": "Ask about a city.",
    "arguments": [
        {"name": "city", "description": "Where.", "required": True},
        {"name": "style", "required": False},
    ],
}
PLACE: Final[Json] = {"name": "place", "uriTemplate": "places://{country}/{+path}{?days,tag*}"}
USUAL: Final = (FORECAST, ADD, ECHO, FREE, TREE, COUNTS, PERHAPS, SIZE)

USED: Final = '''
"""What type checkers know of a typed client."""

from typing import assert_type

from mcp_revisions import ToolFailed
from mcp_revisions.v2026_07_28.models import CallToolResult, GetPromptResult, ReadResourceResult
from weather_client import Forecast, GetForecastNear, SyncWeatherClient, WeatherClient


async def ask(server: str) -> float | None:
    async with WeatherClient.connect(server) as weather:
        near = GetForecastNear(lat=59.9, lon=10.7)
        forecast = await weather.get_forecast(city="Oslo", units="celsius", near=near)
        assert_type(forecast, Forecast)
        assert_type(await weather.add(a=1, b=2), int)
        assert_type(await weather.counts(), dict[str, int])
        assert_type(await weather.perhaps(), int | None)
        assert_type(await weather.size(), int)
        assert_type(await weather.echo(text="x"), CallToolResult)
        await weather.get_forecast(days=3)  # wrong
        await weather.get_forecast(city="Oslo", units="kelvin")  # wrong
        await weather.get_forecast("Oslo")  # wrong
        forecast.hihg  # wrong
        await weather.with_options(timeout=5).free({"anything": 1})
        assert_type(await weather.prompts.ask_about(city="Oslo"), GetPromptResult)
        await weather.prompts.ask_about()  # wrong
        page = await weather.resources.place(country="no", path="x", tag=["a"])
        assert_type(page, ReadResourceResult)
        await weather.resources.place(country="no", path="x", tag="a")  # wrong
        return forecast.high


def ask_and_wait(server: str) -> str:
    with SyncWeatherClient.connect(server) as weather:
        try:
            return str(weather.get_forecast(city="Oslo").high)
        except ToolFailed as failed:
            return str(failed.result)
'''
