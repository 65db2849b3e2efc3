"""Servers that others mount, and clients that record changes."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, cast, get_args

from mcp_protogen.runtime.toolkit.mounting import add_mount
from mcp_protogen.runtime.toolkit.mounts import Prefix
from mcp_protogen.runtime.toolkit.remote_mounts import Proxy, RemoteMount
from mcp_protogen.runtime.toolkit.remotes import RemoteSettings
from mcp_protogen.runtime.transports.base import Opener
from mcp_protogen.servers.gateway.fronts.proxies import proxy_for
from mcp_protogen.servers.gateway.settings.settings import Asking, ServerSettings
from mcp_revisions import v2025_11_25
from support.folders import GENERATED, ROOT
from support.http.serving import run_own_app
from support.revisions import HANDSHAKE, OLD, REVISIONS
from support.sessions.talking import client, pkg
from support.sessions.wiretap import until as until

mcp = v2025_11_25

ASKING = tuple(revision for revision in REVISIONS if hasattr(pkg.load(revision).Session, "elicit"))
"""The revisions in which a server can ask the user."""

LIMITS = ("revision", "questions", "concurrency")
"""Settings of a server that limit what its proxy does."""

PROGRAM = """
import sys

sys.path[:0] = {paths!r}

from support.toolkit.mounting import mounting, weather

{make}.run()
"""


def app(revision: str, name: str = "above", **options: Any) -> mcp.App:
    return cast(type[mcp.App], pkg.load(revision).App)(name, **options)


def only(server: Any) -> Any:
    """Return a server that speaks only its own revision."""
    server.REVISIONS = (revision_of(server),)
    return server


def weather(revision: str, **options: Any) -> Any:
    """Return an app with an item of each kind, which reports, asks, grows and publishes changes."""
    made = app(revision, "weather", **options)
    session_type: type[Any] = pkg.load(revision).Session

    async def forecast(place: str, session: Any) -> str:
        """Forecast the weather."""
        await session.progress(1, 2)
        await session.log("warning", "asked")
        return f"rain in {place}"

    async def age(session: Any) -> str:
        answer = await session.ask("How old are you?", int)
        return f"{answer.value} years"

    async def touch() -> str:
        await made.resource_updated("data://now")
        return "touched"

    for function in (forecast, age):
        function.__annotations__["session"] = session_type
    made.tool(forecast)
    # Not from `ASKING`: another process may know fewer revisions.
    if hasattr(session_type, "elicit"):
        made.tool(age)
    made.tool(touch)

    @made.resource("data://now")
    def now() -> str:
        return "dry"

    @made.resource("data://{place}", completions={"place": ["Oslo", "Rome"]})
    def data(place: str) -> str:
        return f"dry in {place}"

    @made.prompt
    def pack(place: str) -> str:
        return f"Pack for {place}"

    return made


def mounting(revision: str, own: str) -> Any:
    above = app(revision)
    above.mount("weather", weather(own))
    return above


def mount_remote(above: Any, prefix: str, address: Any, **settings: Any) -> None:
    """Mount a server to connect to in an app, with settings."""
    opener: Opener = pkg.connect.opener(address)
    proxy: Proxy = pkg.Bridge.proxy
    limits = {name: settings.pop(name) for name in LIMITS if name in settings}
    if limits:
        about: Any = dict.fromkeys(("name", "place", "address", "prefix"), prefix)
        questions = limits.pop("questions", frozenset(get_args(Asking)))
        server = ServerSettings(opener=opener, questions=questions, **about, **limits)
        proxy = proxy_for(pkg, server)
    chosen = RemoteSettings(**settings)
    mount = RemoteMount(above, Prefix(prefix, "_"), proxy, opener, chosen)
    add_mount(above.__mcp_runtime__, mount)


def app_with_remote(revision: str, opener: Any, **settings: Any) -> Any:
    """Return an app in which a server is mounted as `r`, by a connection with these settings."""
    above: Any = app(revision)
    mount_remote(above, "r", opener, **settings)
    return above


class Hearing:
    """A client with a record of its notifications."""

    def __init__(self, revision: str) -> None:
        self.heard: list[str] = []
        self.logged: list[Any] = []
        self.revision = revision
        m: Any = pkg.load(revision).models
        heard, logged = self.heard, self.logged

        def noting(word: str) -> Any:
            async def note(_: object, params: Any) -> None:
                heard.append(getattr(params, "uri", word))

            return note

        async def on_logging_message(_: object, params: Any) -> None:
            logged.append(params.data)

        async def on_elicit(*_: object) -> Any:
            return m.ElicitResult(action="accept", content={"value": 42})

        handlers = {f"on_{kind}_list_changed": noting(kind) for kind in KINDS}
        handlers |= {"on_resource_updated": noting(""), "on_logging_message": on_logging_message}
        if revision in ASKING:
            handlers["on_elicit"] = on_elicit
        if revision not in HANDSHAKE:
            handlers["on_subscriptions_acknowledged"] = noting("acknowledged")
        self.client: Any = client(revision, **handlers)

    async def hears(self, *expected: str) -> None:
        """Wait for these notifications in any order, and forget them."""
        await until(lambda: len(self.heard) >= len(expected))
        assert sorted(self.heard) == sorted(expected)
        self.heard.clear()

    async def logs(self, *expected: str) -> None:
        await until(lambda: self.logged == [*expected])

    @asynccontextmanager
    async def hearing(self, *uris: str) -> AsyncGenerator[Any, None]:
        """Listen for changes of all lists and of these resources."""
        if self.revision in HANDSHAKE:
            for uri in uris:
                await self.client.subscribe(uri)
            yield self.client
            return
        m: Any = pkg.load(self.revision).models
        lists = {f"{kind}s_list_changed": True for kind in KINDS}
        wanted = m.SubscriptionFilter(**lists, resource_subscriptions=[*uris])
        listening = asyncio.create_task(self.client.subscriptions_listen(wanted))
        await self.hears("acknowledged")
        try:
            yield self.client
        finally:
            listening.cancel()
            await asyncio.wait([listening])


KINDS = ("tool", "prompt", "resource")


class Waiting:
    """A tool that waits until it is cancelled."""

    def __init__(self) -> None:
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    async def wait(self) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()

    async def is_cancelled_by(self, one: Any, name: str) -> None:
        """Call it, cancel the call, and wait until it notices."""
        calling = asyncio.create_task(one.call_tool(name, {}))
        await self.begun.wait()
        calling.cancel()
        await self.ended.wait()


Wire = Callable[[Any, Any], AbstractAsyncContextManager[Any]]


async def wait_for_connections(server: Any, number: int) -> None:
    await until(lambda: len(server.sessions) == number)


Connect = Callable[..., Awaitable[Any]]


@asynccontextmanager
async def serving_over_http(server: Any, **options: Any) -> AsyncGenerator[Connect, None]:
    """Yield a function that connects a client, which speaks its own revision."""
    served = server.http(**options)
    async with run_own_app(served) as port, AsyncExitStack() as stack:

        async def connect(one: Any, **headers: str) -> Any:
            opener = pkg.open_http(f"http://127.0.0.1:{port}/mcp", headers=headers)
            opening = pkg.connect(opener, one, revisions=(revision_of(one),))
            return await stack.enter_async_context(opening)

        yield connect


@asynccontextmanager
async def over_http(one: Any, server: Any, **headers: str) -> AsyncGenerator[Any, None]:
    async with serving_over_http(server) as connect:
        yield await connect(one, **headers)


def revision_of(one: Any) -> Any:
    return next(known for known in pkg.REVISIONS if known.id == one.TABLE.revision)


def in_memory(one: Any, server: Any) -> AbstractAsyncContextManager[Any]:
    """Connect a client to a server in this process."""
    return pkg.connect_in_memory(one, server)


def program(make: str) -> str:
    """Return a program that runs a server, such as `mounting('2025-11-25', '2025-11-25')`."""
    return PROGRAM.format(paths=[str(GENERATED), str(ROOT / "tests")], make=make)


async def names_of(one: Any) -> dict[str, list[str]]:
    """Return the names and URIs that a client sees."""
    return {
        "tools": [item.name async for item in one.iter_tools()],
        "prompts": [item.name async for item in one.iter_prompts()],
        "resources": [item.uri async for item in one.iter_resources()],
        "templates": [item.uri_template async for item in one.iter_resource_templates()],
    }


async def text_of(one: Any, name: str, **arguments: Any) -> str:
    called = await one.call_tool(name, arguments)
    return "".join(block.text for block in called.content)


async def use_weather(hearing: Hearing, one: Any, above: str = OLD, own: str = OLD) -> None:
    """Use all of the weather of a revision, which is mounted in an app of another one."""
    m: Any = pkg.load(hearing.revision).models
    assert await names_of(one) == {
        "tools": ["weather_forecast", *(["weather_age"] if own in ASKING else []), "weather_touch"],
        "prompts": ["weather_pack"],
        "resources": ["data://weather/now"],
        "templates": ["data://weather/{place}"],
    }
    reports: list[Any] = []
    given: Any = {"place": "Oslo"}
    called = await one.call_tool("weather_forecast", given, on_progress=reports.append)
    assert called.content[0].text == "rain in Oslo"
    await until(lambda: [tuple(report)[:2] for report in reports] == [(1, 2)])
    if hearing.revision in HANDSHAKE:
        await hearing.logs("asked")
    if {own, above, hearing.revision} <= {*ASKING}:
        assert await text_of(one, "weather_age") == "42 years"
    for uri, text in (("now", "dry"), ("Rome", "dry in Rome")):
        (read,) = (await one.read_resource(f"data://weather/{uri}")).contents
        assert (read.uri, read.text) == (f"data://weather/{uri}", text)
    asked = await one.get_prompt("weather_pack", given)
    assert asked.messages[0].content.text == "Pack for Oslo"
    if hasattr(m, "ResourceTemplateReference"):
        about = m.ResourceTemplateReference(uri="data://weather/{place}")
        argument = m.CompleteRequestParamsArgument(name="place", value="r")
        assert (await one.complete(about, argument)).completion.values == ["Rome"]
