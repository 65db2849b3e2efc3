"""A client and a server of a revision, connected in memory: a list, a call, and an error.

It runs on a copy of the checkout, with the revision, the one before it, a JSON object with the new
methods of each extension, and one with new transports as its arguments. It sends each request, with
the smallest values that the schemas allow, and hears each notification on each stream. With only
the revision and the name of a transport, it serves.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, Final

import mcp_revisions as package
from mcp_protogen.base.names import extension_module, pascal
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.inputs.sources import load_pinned
from mcp_protogen.runtime.core.models.base import SUPPLIED
from mcp_revisions import McpError, client_of, connect, connect_config, load
from support.generated.instances import smallest
from support.sessions.transport_contract import OF_PROGRAMS, program_of

Json = dict[str, Any]

NEXT, *_ARGUMENTS = sys.argv[1:]
revision: Any = load(NEXT)
app = revision.App("rehearsal", version="1.0.0")


def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


app.tool(add)


async def use_tools(before: str, open: Callable[..., Any]) -> None:
    """Use a server in its own revision, then with a client of the revision before."""
    for only in (None, before):
        choice: dict[str, Any] = {"as_": load(only)} if only else {}
        async with open(**choice) as client:
            tools = [tool.name async for tool in client.iter_tools()]
            assert tools == ["add"], tools
            result = await client.call_tool("add", {"first": 1, "second": 2})
            assert result.text == "3", result
            try:
                await client.call_tool("subtract", {})
            except McpError:
                continue
            raise AssertionError("a tool that is not there was called")


class SmallestValues:
    """The smallest values of the types of an extension and of its revision."""

    def __init__(self, extension: str) -> None:
        file = schema_folder() / "extensions" / extension / "schema.json"
        core: Json = load_pinned(NEXT, schema_folder()).schema["$defs"]
        self._document: Final = {"$defs": core | json.loads(file.read_bytes())["$defs"]}

    def make(self, type_: Any) -> Any:
        """Return the smallest value of a generated type, with what a side adds to messages."""
        value = smallest(self._document, {"$ref": f"#/$defs/{type_.__name__}"})
        if "resultType" in value:
            value["resultType"] = "complete"
        made = type_.from_wire(value)
        if "_meta" not in value:
            return made
        others = {name: getattr(made, name) for name in made.model_fields_set - {"meta"}}
        return type_(meta=SUPPLIED, **others)


async def use_extension(name: str, methods: list[str]) -> None:
    """Send each new request of an extension, and hear each notification on its streams."""
    values, heard = SmallestValues(name), set[str]()
    module = import_module(f"{revision.__name__}.ext.{extension_module(name)}")
    # The runtime knows the methods of a further version by names with a suffix.
    suffix = getattr(module.EXTENSION, "suffix", "")
    requests, notifications = (
        [spec for method, spec in specs.items() if method.removesuffix(suffix) in methods]
        for specs in (module.methods.REQUESTS, module.methods.NOTIFICATIONS)
    )

    def answer(spec: Any) -> Any:
        async def handle(_: Any, session: Any, params: Any) -> Any:
            for notification in notifications if "long_lived" in spec.traits else ():
                await session.notify(notification, values.make(notification.params))
            return values.make(spec.results[0])

        return handle

    def hear(spec: Any) -> Any:
        async def handle(_: Any, params: Any) -> None:
            heard.add(spec.method)

        return handle

    server, client = (
        _make_side(module, name, role, handler)
        for role, handler in (("Server", answer), ("Client", hear))
    )
    async with connect(server, client) as connected:
        for spec in requests:
            result = await connected.request(spec, values.make(spec.params))
            assert isinstance(result, spec.results), result
    told = notifications if any("long_lived" in spec.traits for spec in requests) else []
    assert heard == {spec.method for spec in told}, heard


def _make_side(module: ModuleType, name: str, role: str, handler: Any) -> Any:
    """Return a side with an extension, if that binds it, and with handlers of all its messages."""
    usual, own = getattr(revision, role), f"{pascal(name)}{role}"
    if not hasattr(module, own):
        return usual()
    base = getattr(module, own)
    messages = {**base.REQUESTS, **base.NOTIFICATIONS}
    handlers = {method: handler(spec) for spec, method in messages.values()}
    return type(role, (base, usual), handlers)()


def program_over(transport: str) -> Any:
    """Return an opener of connections to the server as a program, over a transport."""
    words = {"command": sys.executable, "args": [__file__, NEXT, transport]}
    entry = {**words, "type": transport, "env": {"PYTHONPATH": os.pathsep.join(sys.path)}}
    return connect_config.opener({"mcpServers": {"trial": entry}}, "trial")


async def keep_contract(transport: Json) -> None:
    """Use a transport, by its functions, as each of ours is used."""
    open, serve = (transport[side].rpartition(".")[2] for side in ("client", "server"))
    words, env = program_of(serve)
    opener = getattr(package, open)(words, env=env)
    for keeps in OF_PROGRAMS:
        await keeps(opener)


async def talk(before: str, extensions: str, transports: str) -> None:
    """Use all that the arguments name."""
    await use_tools(before, partial(client_of, app))
    for name, transport in json.loads(transports).items():
        await use_tools(before, partial(connect, program_over(name)))
        await keep_contract(transport)
    for name, methods in json.loads(extensions).items():
        await use_extension(name, methods)


if len(_ARGUMENTS) == 1:
    app.run(*_ARGUMENTS)
else:
    asyncio.run(talk(*_ARGUMENTS))
