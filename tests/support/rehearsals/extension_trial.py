"""A client and a server with each new extension of a revision, which send each other all of it.

It runs on a copy of the checkout, with the revision and a JSON object with the new methods of each
extension as its arguments. It sends each request in memory, over stdio and over HTTP, with the
smallest values that the schemas allow, and hears each notification on each stream. With the name of
an extension it is a server over stdio.
"""

import asyncio
import json
import os
import sys
from importlib import import_module
from typing import Any, Final

from mcp_protogen.base.names import extension_module, pascal
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.inputs.sources import load_pinned
from mcp_protogen.runtime.client.request_stream import RequestStream
from mcp_protogen.runtime.core.errors import METHOD_NOT_FOUND
from mcp_protogen.runtime.core.models.base import SUPPLIED
from mcp_protogen.runtime.core.options import CallOptions
from mcp_protogen.runtime.core.subscriptions import LISTEN
from mcp_revisions import (
    Authentication,
    HttpOptions,
    McpError,
    Principal,
    connect,
    connect_http,
    http_app,
    load,
    run_stdio,
    static_tokens,
    stdio_client,
)
from support.generated.instances import smallest
from support.http.serving import run_own_app

Json = dict[str, Any]

TOKEN: Final = "a-token-for-trials"
NEXT, EXTENSIONS, *SERVED = sys.argv[1:]
revision: Any = load(NEXT)


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


class ExtensionTrial:
    """A server and a client of the new messages of an extension.

    The server answers with the smallest values, tells of each new list at each request, and sends
    all notifications of a stream: every second time without the last one, until the client goes.
    """

    def __init__(self, name: str, methods: list[str]) -> None:
        self.name, self.heard, self.ended = name, set[str](), asyncio.Event()
        self._values = SmallestValues(name)
        self.module = import_module(f"{revision.__name__}.ext.{extension_module(name)}")
        # The runtime knows the methods of a further version by names with a suffix.
        suffix = getattr(self.module.EXTENSION, "suffix", "")
        self.requests, self._notifications = (
            [spec for method, spec in specs.items() if method.removesuffix(suffix) in methods]
            for specs in (self.module.methods.REQUESTS, self.module.methods.NOTIFICATIONS)
        )
        streams = {LISTEN, *(spec.method for spec in self.requests)}
        for spec in self._notifications:
            assert spec.stream is None or spec.stream.request in streams, spec.method
            if spec.stream and spec.stream.every:
                # Half a minute is too long for a trial.
                object.__setattr__(spec, "stream", spec.stream._replace(every=0.5))
        self._opened = 0
        self.server, self.client = self._make_side("Server"), self._make_side("Client")

    def carried_by(self, request: str) -> list[Any]:
        """Return the notifications on the stream of a request, in their order."""
        order = ("first", "", "last")
        placed = [told for told in self._notifications if told.stream]
        carried = [told for told in placed if told.stream.request == request]
        return sorted(carried, key=lambda told: order.index(told.stream.order))

    def refusal(self, spec: Any, is_authenticated: bool) -> int | None:
        """Return the code of the error that answers a request, if one should."""
        principals: dict[str, int] = getattr(self.server.SESSION, "PRINCIPALS", {})
        return None if is_authenticated else principals.get(spec.method)

    def make(self, spec: Any) -> Any:
        return self._values.make(spec.params)

    async def answer(self, spec: Any, session: Any) -> Any:
        for changed in self.carried_by(LISTEN):
            await self.server.__mcp_runtime__.publish(changed.known_as)
        carried = self.carried_by(spec.method)
        self._opened += bool(carried)
        ends = self._opened % 2 == 1
        try:
            for told in carried:
                if ends or told.stream.order != "last":
                    await session.notify(told, self.make(told))
            if carried and not ends:
                await asyncio.Event().wait()
        finally:
            self.ended.set()
        return self._values.make(spec.results[0])

    def _make_side(self, role: str) -> Any:
        """Return a side with the extension, if that binds it, and with handlers of its messages."""
        usual, own = getattr(revision, role), f"{pascal(self.name)}{role}"
        if not hasattr(self.module, own):
            return usual()
        base = getattr(self.module, own)
        make = self._answering if role == "Server" else self._hearing
        messages = {**base.REQUESTS, **base.NOTIFICATIONS}
        members = {method: make(spec) for spec, method in messages.values()}
        if role == "Server":
            members["SENDS"] = frozenset(told.method for told in self._notifications)
        return type(role, (base, usual), members)()

    def _answering(self, spec: Any) -> Any:
        async def handle(_: Any, session: Any, params: Any) -> Any:
            return await self.answer(spec, session)

        return handle

    def _hearing(self, spec: Any) -> Any:
        async def handle(_: Any, params: Any) -> None:
            self.heard.add(spec.method)

        return handle


async def use_extension(tried: ExtensionTrial, connected: Any, is_authenticated: bool) -> None:
    """Send each new request over a connection, and hear each notification on each stream."""
    followed = {told.stream.member: True for told in tried.carried_by(LISTEN)}
    listen = connected.TABLE.requests[LISTEN]
    listening = asyncio.ensure_future(
        connected.request(listen, listen.params(notifications=followed))
    )
    for spec in tried.requests:
        carried = tried.carried_by(spec.method)
        if (code := tried.refusal(spec, is_authenticated)) is not None:
            await expect_refusal(connected, tried, spec, code)
        elif carried:
            await use_stream(tried, connected, spec, [told.method for told in carried])
        else:
            result = await connected.request(spec, tried.make(spec))
            assert isinstance(result, spec.results), result
    heard = {told.method for told in tried.carried_by(LISTEN)}
    async with asyncio.timeout(10):
        while not heard <= tried.heard:
            await asyncio.sleep(0.01)
    listening.cancel()


async def use_stream(tried: ExtensionTrial, connected: Any, spec: Any, methods: list[str]) -> None:
    """Follow a stream to the end that the server sets, then leave it before."""
    whole, left = (
        RequestStream[Any](connected, spec, tried.make(spec), CallOptions()) for _ in range(2)
    )
    async with whole as stream:
        assert [told.method async for told in stream] == methods
    beats = [told.method for told in tried.carried_by(spec.method) if told.stream.every]
    tried.ended.clear()
    async with left as stream:
        seen = [(await anext(stream)).method]
        # It comes by itself again, while nothing else does.
        while beats and seen.count(beats[0]) < 2:
            seen.append((await anext(stream)).method)


async def expect_refusal(connected: Any, tried: ExtensionTrial, spec: Any, code: int) -> None:
    try:
        await connected.request(spec, tried.make(spec))
    except McpError as error:
        assert error.code == code, error
        return
    raise AssertionError(f"{spec.method} was not refused")


async def use_everywhere(name: str, methods: list[str]) -> None:
    """Use an extension in memory, over stdio and HTTP, then with a server that lacks it."""
    tried = ExtensionTrial(name, methods)
    async with connect(tried.server, tried.client) as connected:
        await use_extension(tried, connected, is_authenticated=False)
    if any(map(tried.carried_by, (spec.method for spec in tried.requests))):
        await asyncio.wait_for(tried.ended.wait(), 10)

    tried = ExtensionTrial(name, methods)
    here = (sys.executable, "-m", "support.rehearsals.extension_trial", NEXT, EXTENSIONS, name)
    environment = {"PYTHONPATH": os.environ["PYTHONPATH"]}
    async with connect(stdio_client(here, env=environment), tried.client) as connected:
        await use_extension(tried, connected, is_authenticated=False)

    tried = ExtensionTrial(name, methods)
    guard = Authentication(verify=static_tokens({TOKEN: Principal("ada")}))
    app = http_app(tried.server, http=HttpOptions(authentication=guard))
    bearer = {"authorization": f"Bearer {TOKEN}"}
    async with run_own_app(app) as port:
        opened = connect_http(f"http://127.0.0.1:{port}/mcp", tried.client, headers=bearer)
        async with opened as connected:
            await use_extension(tried, connected, is_authenticated=True)

    tried = ExtensionTrial(name, methods)
    declared = tried.server.__mcp_runtime__.declaration()
    async with connect(revision.Server(), tried.client) as connected:
        # As if the client did not look.
        connected.__mcp_runtime__.endpoint.connection.declared["server"] = declared
        for spec in tried.requests:
            await expect_refusal(connected, tried, spec, METHOD_NOT_FOUND)


async def talk() -> None:
    """Use all that the arguments name."""
    for name, methods in json.loads(EXTENSIONS).items():
        await use_everywhere(name, methods)


if SERVED:
    run_stdio(ExtensionTrial(SERVED[0], json.loads(EXTENSIONS)[SERVED[0]]).server)
else:
    asyncio.run(talk())
