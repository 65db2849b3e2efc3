"""A server to attack, and the tools for it: raw sockets, and a watched log.

As a program it serves with `run_http` until it is stopped.
"""

import asyncio
import json
import logging
import sys
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Generator,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from functools import partial, wraps
from inspect import signature
from itertools import chain
from logging.handlers import BufferingHandler
from typing import Any, NamedTuple

import uvicorn
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import (
    CallToolRequestParams,
    PaginatedRequestParams,
)
from support.coroutines import run as run
from support.coroutines import until as until
from support.http import behind, serving
from support.json_types import Json, JsonObject
from support.revisions import OLD, STATELESS
from support.sessions.talking import INITIALIZED, META, hello, models, pkg, request, stub
from support.tables import case

STACKS = ("httptools", "h11")
"""The parsers of uvicorn; the first comes with uvloop, the second with asyncio's own loop."""
_USUAL = {
    "host": "localhost",
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}

Fields = Mapping[str, str | bytes | None]


class AttackedServer:
    """The server under attack: tools that wait, send much, ask and give much."""

    def __init__(self) -> None:
        self.begun = self.cancelled = self.finished = 0
        self.go = asyncio.Event()
        m = self._m = models(OLD)

        async def on_list_tools(
            _: object, session: Session, params: PaginatedRequestParams
        ) -> object:
            return m.ListToolsResult(tools=[])

        async def on_call_tool(
            _: object, session: Session, params: CallToolRequestParams
        ) -> object:
            text = await self._call(session, params.name, params.arguments or {})
            return m.CallToolResult(content=[m.TextContent(text=text)])

        self.server = stub(
            pkg.load(OLD).Server,
            SENDS=("notifications/message", "notifications/tools/list_changed"),
            on_list_tools=on_list_tools,
            on_call_tool=on_call_tool,
        )

    async def _call(self, session: Session, name: str, arguments: JsonObject) -> str:
        self.begun += 1
        try:
            return await self._do(session, name, arguments)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.finished += 1

    async def _do(self, session: Session, name: str, arguments: JsonObject) -> str:
        m = self._m
        size: int = arguments.get("size", 1)
        if name == "flood":
            for _ in range(arguments["times"]):
                await session.log("info", "x" * size)
        elif name in ("talk", "wait"):
            if name == "talk":
                await session.progress(1)
            await self.go.wait()
        elif name == "ask":
            question = m.SamplingMessage(role="user", content=m.TextContent(text="?"))
            await session.create_message([question], 1)
        return "x" * size


class Answer(NamedTuple):
    status: int
    head: bytes
    body: bytes

    def field(self, name: str) -> str | None:
        for line in self.head.decode("latin-1").split("\r\n")[1:]:
            key, _, value = line.partition(":")
            if key.lower() == name:
                return value.strip()
        return None

    @property
    def message(self) -> Json:
        """Return the message in the body, or the last one of an event stream."""
        streamed = self.field("content-type") == "text/event-stream"
        return json.loads(self.body.rpartition(b"data: ")[2] if streamed else self.body)


def http(
    message: object = b"",
    method: str = "POST",
    target: str = "/mcp",
    /,
    **changed: str | bytes | None,
) -> bytes:
    """The bytes of a request; `changed` are header fields, None leaves one out."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    named = {name.replace("_", "-"): value for name, value in changed.items()}
    listed: dict[str, str | bytes | None] = {**_USUAL, "content-length": str(len(body)), **named}
    head = f"{method} {target} HTTP/1.1\r\n".encode()
    for name, value in listed.items():
        if value is not None:
            raw = value if isinstance(value, bytes) else value.encode("latin-1")
            head += b"%b: %b\r\n" % (name.encode(), raw)
    return head + b"\r\n" + body


def call(name: str, id: object = 1, **arguments: object) -> JsonObject:
    """A tool call that asks for progress, as JSON."""
    asked = {"progressToken": f"p{id}"}
    return request("tools/call", id, name=name, arguments=arguments, _meta=asked)


def modern(method: str, id: object = 1, **params: object) -> JsonObject:
    """A request of the stateless era that asks for progress and log entries, as JSON."""
    level = {"io.modelcontextprotocol/logLevel": "debug", "progressToken": f"p{id}"}
    return request(method, id, _meta={**META, **level}, **params)


def modern_call(name: str, id: object = 1, **arguments: object) -> bytes:
    """A tool call of the stateless era, as HTTP."""
    message = modern("tools/call", id, name=name, arguments=arguments)
    return http(message, **of_modern("tools/call", name))


def of_modern(method: str, name: str | None = None) -> dict[str, str | bytes | None]:
    """Return the header fields of a request of the stateless era."""
    return {"mcp-protocol-version": STATELESS, "mcp-method": method, "mcp-name": name}


class Wire:
    """One connection, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        """Write bytes; a closed connection shows when reading."""
        self.writer.write(data)
        try:
            await self.writer.drain()
        except ConnectionError:
            return

    async def head(self) -> Answer:
        head = await self.reader.readuntil(b"\r\n\r\n")
        return Answer(int(head.split(b" ", 2)[1]), head[:-4], b"")

    async def answer(self) -> Answer:
        answer = await self.head()
        length, coding = answer.field("content-length"), answer.field("transfer-encoding")
        if coding == "chunked":
            return answer._replace(body=b"".join([piece async for piece in self.pieces()]))
        if answer.status == 204:
            return answer
        if length is None:
            return answer._replace(body=await self.reader.read())
        return answer._replace(body=await self.reader.readexactly(int(length)))

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """The chunks of a chunked body, to its end."""
        while (size := int(await self.reader.readuntil(b"\r\n"), 16)) > 0:
            yield (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readuntil(b"\r\n")

    async def event(self) -> bytes:
        """Return the next event or comment of a stream."""
        return await anext(self.pieces())

    async def is_closed(self) -> bool:
        """Wait for the end; return whether nothing more came."""
        try:
            return not await self.reader.read()
        except ConnectionError:
            return True

    def vanish(self) -> None:
        """Disappear at once: further writes of the server are answered with a reset."""
        self.writer.transport.abort()

    def read(self, on: bool) -> None:
        """Continue or stop reading."""
        transport: Any = self.writer.transport
        transport.resume_reading() if on else transport.pause_reading()


@asynccontextmanager
async def wire(port: int) -> AsyncGenerator[Wire, None]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    try:
        yield Wire(reader, writer)
    finally:
        writer.transport.abort()


async def ask(port: int, data: bytes) -> Answer:
    """Return the response to one request over its own connection."""
    async with wire(port) as one:
        await one.send(data)
        return await one.answer()


app_of: Callable[..., Any] = partial(serving.app_of, revisions=pkg.REVISIONS)


def leftovers(app: Any) -> dict[str, int]:
    """Return the number of parts still open or running, except sessions."""
    if isinstance(app, behind.Workers):
        found = Counter[str]()
        for mounted in app.apps:
            found.update(leftovers(mounted))
        return found
    if app._running is None:
        return {}
    state = app._running.state
    open = sum(session.under_way for session in state.sessions)
    streams = len(state.keep_alive.open)
    counts = {"streams": streams, "requests": state.working, "under way": open}
    counts["tasks"] = len([task for task in state.tasks.running if not _is_of_session(task)])
    return {name: count for name, count in counts.items() if count}


def _is_of_session(task: asyncio.Task[Any]) -> bool:
    """Return whether a task of a gateway lasts as long as the session of a client."""
    work: Any = task.get_coro()
    return bool(work.__qualname__ == "RemoteMount._watch")


async def wait_until_idle(app: Any) -> None:
    """Wait until nothing is open or running."""
    try:
        await until(lambda: not leftovers(app))
    except TimeoutError:
        raise AssertionError(leftovers(app)) from None


@contextmanager
def quiet(but: str = "") -> Generator[None, None, None]:
    """Require that nothing worse than a warning is logged, and no traceback, except `but`."""
    root, trap = logging.getLogger(), BufferingHandler(1_000_000)
    root.addHandler(trap)
    try:
        yield
    finally:
        root.removeHandler(trap)
    heard = [record for record in trap.buffer if record.getMessage() != but]
    bad = [record for record in heard if record.levelno > logging.WARNING or record.exc_info]
    assert not bad, "\n".join(map(logging.Formatter().format, bad))


def loop_of(stack: str) -> asyncio.AbstractEventLoop:
    """Return a loop of the kind that goes with a parser."""
    if stack == "h11":
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


def on_each_stack(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a test with each `stack`, in a loop of its kind."""
    given = signature(test)

    @wraps(test)
    def on_each(*fixtures: object, **named: object) -> None:
        for stack in STACKS:
            with case(stack):
                run(test(*fixtures, **named, stack=stack), loop=partial(loop_of, stack))

    left = [parameter for parameter in given.parameters.values() if parameter.name != "stack"]
    on_each.__signature__ = given.replace(parameters=left)  # type: ignore[attr-defined]
    return on_each


class Site:
    """A server on a socket, with the tools to attack it."""

    def __init__(
        self, attacked: AttackedServer, app: Any, port: int, servers: Sequence[uvicorn.Server]
    ) -> None:
        self.attacked = attacked
        self.app = app
        self.port = port
        self._servers = servers

    def _is_stuck(self) -> bool:
        states = [server.server_state for server in self._servers]
        connections: Iterator[Json] = chain.from_iterable(state.connections for state in states)
        return any(connection.flow.write_paused for connection in connections)

    async def stuck(self) -> None:
        """Wait until a connection cannot be written to."""
        await until(self._is_stuck)

    async def ask(self, data: bytes) -> Answer:
        """See `ask`."""
        return await ask(self.port, data)

    async def session(self, revision: str = OLD, /, **fields: str | bytes | None) -> Fields:
        """Begin a session; return its header fields."""
        answer = await self.ask(http(hello(revision, sampling={}), **fields))
        mine = {"mcp-session-id": answer.field("mcp-session-id"), **fields}
        assert (await self.ask(http(INITIALIZED, **mine))).status == 202
        return mine

    async def is_fine(self, **fields: str | bytes | None) -> None:
        """Require that a normal call works in both eras, and nothing is left of the attack."""
        await wait_until_idle(self.app)
        mine = await self.session(**fields)
        answers = [
            await self.ask(http(call("echo"), **mine)),
            await self.ask(modern_call("echo")) if not fields else None,
            await self.ask(http(b"", "DELETE", **mine)),
        ]
        assert [answer.status for answer in answers if answer] in ([200, 200, 204], [200, 204])


@asynccontextmanager
async def serve_under_attack(
    stack: str = "h11", but: str = "", **chosen: Any
) -> AsyncGenerator[Site, None]:
    """Serve on a socket in the test's loop; require that it stays unharmed, quiet and idle."""
    attacked, servers = AttackedServer(), list[uvicorn.Server]()

    @asynccontextmanager
    async def boot(app: Any) -> AsyncGenerator[int, None]:
        async with serving.run_server(app, http=stack) as server:
            servers.append(server)
            yield serving.port_of(server)

    with quiet(but):
        async with serving.serving(attacked.server, pkg.REVISIONS, boot, **chosen) as site:
            yield Site(attacked, site.app, site.port, servers)
    assert not attacked.server.sessions


if __name__ == "__main__":
    logging.basicConfig(format="%(levelname)s %(message)s")
    chosen = pkg.HttpOptions(**json.loads(sys.argv[2]))
    pkg.run_http(
        AttackedServer().server, port=int(sys.argv[1]), revisions=pkg.REVISIONS, http=chosen
    )
