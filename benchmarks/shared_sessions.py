"""The cost of sessions in the engine that many workers share: calls, and bytes of memory.

    python -m benchmarks.shared_sessions

A whole server without a network begins sessions, whose streams are then opened and written. Calls
are calls of the methods of an engine, nearly all one script or one statement each. Bytes are those
that Redis and PostgreSQL report for keys and tables. Both start empty, as for the topic `share`.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, asynccontextmanager
from secrets import token_urlsafe
from typing import Any, Final, cast

import mcp_revisions as package
from mcp_revisions import v2025_11_25 as mcp

from .share_engines import Engine, engines, sizes

SESSIONS: Final = 10_000
_AT_ONCE: Final = 100
# Random text, which a database cannot compress.
_TEXT: Final = token_urlsafe(750)
_FIELDS: Final = {
    "host": "localhost",
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}
_REVISION: Final = "2025-11-25"
# Client information of a usual length.
_HELLO: Final = {
    "protocolVersion": _REVISION,
    "capabilities": {"elicitation": {}, "roots": {"listChanged": True}, "sampling": {}},
    "clientInfo": {"name": "an-application", "title": "An application", "version": "1.20.3"},
}


class Counting:
    """An object of an engine that counts its calls by name."""

    def __init__(self, counted: Any, calls: Counter[str], prefix: str = "") -> None:
        self._counted = counted
        self._calls = calls
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._counted, name)
        if name in ("sessions", "events", "mail"):
            return Counting(value, self._calls, f"{name}.")
        if self._prefix:
            self._calls[self._prefix + name] += 1
        return value


class CountingEngine:
    """An engine that counts calls."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.calls: Counter[str] = Counter()

    @asynccontextmanager
    async def connect(self, *arguments: Any) -> AsyncGenerator[Any, None]:
        async with self.engine.connect(*arguments) as connection:
            yield Counting(connection, self.calls)


class Site:
    """An application without a network that takes requests as from a server."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._streams: set[asyncio.Task[Any]] = set()

    async def ask(
        self, method: str, session: str = "", message: object = None, *, open_for: float = 0
    ) -> tuple[int, str, bytes]:
        """Return status, session and body; a client with `open_for` leaves after these seconds."""
        fields = {**_FIELDS, **({"mcp-session-id": session} if session else {})}
        if session:
            fields["mcp-protocol-version"] = _REVISION
        body = b"" if message is None else json.dumps(message).encode()
        received = [{"type": "http.request", "body": body, "more_body": False}]
        status, begun, content = 0, session, b""
        written = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if received:
                return received.pop()
            await asyncio.sleep(open_for or 3600)
            return {"type": "http.disconnect"}

        async def send(event: dict[str, Any]) -> None:
            nonlocal status, begun, content
            if event["type"] == "http.response.start":
                status = event["status"]
                given = dict(event["headers"])
                begun = given.get(b"mcp-session-id", session.encode()).decode()
            content += event.get("body", b"")
            written.set()

        scope: dict[str, Any] = {"type": "http", "http_version": "1.1", "method": method}
        scope |= {"path": "/mcp", "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1)}
        scope["headers"] = [(name.encode(), value.encode()) for name, value in fields.items()]
        await self._app(scope, receive, send)
        return status, begun, content


def request(method: str, params: object, id: int = 1) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


app = mcp.App("measured")


@app.tool
def plain() -> str:
    """Answer at once."""
    return _TEXT


@app.tool
async def telling(session: mcp.Session) -> str:
    """Answer on a stream, after a report of progress."""
    await session.progress(1, 2)
    return _TEXT


async def each(site: Site, sessions: list[str], act: Callable[[str], Any]) -> None:
    """Run an action in each session, in some at a time."""
    waiting = list(reversed(sessions))

    async def work() -> None:
        while waiting:
            await act(waiting.pop())

    await asyncio.gather(*(work() for _ in range(_AT_ONCE)))


async def measure(server: Engine) -> None:
    """Print the cost of each step for one session."""
    is_redis = server.url.startswith("redis:")
    made = package.RedisEngine if is_redis else package.PostgresEngine
    engine = CountingEngine(made(server.url, timeout=30))
    shared = package.Shared(engine=cast(Any, engine), lease=60)
    http = package.HttpOptions(shared=shared, max_sessions=2 * SESSIONS, max_streams=2 * SESSIONS)
    served = app.http(http=http, options=package.Options(state_keys=[b"k" * 32]))
    site = Site(served)
    sessions: list[str] = []

    async def begin(nothing: str) -> None:
        status, session, _ = await site.ask("POST", message=request("initialize", _HELLO))
        assert status == 200, status
        sessions.append(session)
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        status, _, _ = await site.ask("POST", session, done)
        assert status == 202, status

    async def call(session: str, name: str, **meta: object) -> None:
        params = {"name": name, "arguments": {}, **({"_meta": meta} if meta else {})}
        status, _, said = await site.ask("POST", session, request("tools/call", params))
        assert status == 200 and _TEXT.encode() in said, (status, said)

    async def listen(session: str) -> None:
        status, _, _ = await site.ask("GET", session, open_for=0.5)
        assert status == 200, status

    async def level(session: str) -> None:
        wanted = request("logging/setLevel", {"level": "error"})
        status, _, said = await site.ask("POST", session, wanted)
        assert status == 200 and b"result" in said, (status, said)

    steps: dict[str, Callable[[str], Any]] = {
        "begin": begin,
        "call, answered with JSON": lambda one: call(one, "plain"),
        "listen, and go": listen,
        "call, answered on a stream": lambda one: call(one, "telling", progressToken=1),
        "choose a log level": level,
    }
    before = sizes(server)
    for name, act in steps.items():
        engine.calls.clear()
        await each(site, list(sessions) or [""] * SESSIONS, act)
        await asyncio.sleep(1)
        calls, now = Counter(engine.calls), sizes(server)
        said = ", ".join(f"{n / SESSIONS:.2f} {what}" for what, n in calls.most_common() if n >= 50)
        grown = (f"{(now[way] - before[way]) / SESSIONS:6,.0f} ({way})" for way in now)
        print(f"{name:28} {' '.join(grown)}  {said or 'no calls'}")
        before = now
    await served.close()


def main() -> None:
    with ExitStack() as stack:
        for name, server in engines(stack).items():
            print(f"{name}: {SESSIONS:,} sessions; bytes and calls of each")
            asyncio.run(measure(server))


if __name__ == "__main__":
    main()
