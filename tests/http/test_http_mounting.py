"""Places of an application: inside others, below a path, and under several servers."""

from collections.abc import AsyncGenerator, MutableMapping
from contextlib import asynccontextmanager
from itertools import product
from typing import Any

from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from support.http.serving import WORKER, Site, app_of, calling, run_app, text_in
from support.peers.http_peers import serve_module
from support.revisions import STATELESS
from support.sessions.talking import hello, pkg, tools
from support.tables import case, some

CHANGED = "notifications/tools/list_changed"


async def call(session: Session, params: CallToolRequestParams) -> str:
    if params.name == "says":
        await session.log("info", "said")
    return str(params.name)


def ours() -> Any:
    return tools(STATELESS, call, SENDS={CHANGED, "notifications/message"})


async def works(site: Site) -> None:
    """Require that a session and a stateless request work, with streams."""
    session = await site.initialize()
    assert text_in(await session.call("x")) == "x"
    async with session.get() as standing:
        assert standing.response.status_code == 200
        async with session.calling("says", 2) as events:
            said = [event.message for event in await events.all() if event.data]
            assert [message.get("id") for message in said] == [None, 2]
    assert (await session.delete()).status_code == 204
    assert text_in(await site.modern("tools/call", name="x")) == "x"


@asynccontextmanager
async def inside(routes: Any, app: Any, **more: Any) -> AsyncGenerator[int, None]:
    """Run a Starlette application with the lifespan of ours."""

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncGenerator[None, None]:
        yield
        await app.close()

    async with run_app(Starlette(routes=routes, lifespan=lifespan, **more)) as port:
        yield port


async def hi(_: object) -> PlainTextResponse:
    return PlainTextResponse("hi")


async def test_app_mounts_inside_mount() -> None:
    app = app_of(ours(), pkg.REVISIONS, path="/")
    routes = [Mount("/a", routes=[Mount("/b", app=app)])]
    async with inside(routes, app) as port, calling(port, "/a/b/") as site:
        await works(site)


async def test_app_serves_as_single_route() -> None:
    app = app_of(ours(), pkg.REVISIONS)
    async with inside([Route("/mcp", endpoint=app)], app) as port, calling(port) as site:
        await works(site)


async def test_app_works_behind_compressing_middleware() -> None:
    app = app_of(ours(), pkg.REVISIONS)
    middleware = [Middleware(GZipMiddleware, minimum_size=1)]
    async with (
        inside([Mount("/", app=app)], app, middleware=middleware) as port,
        calling(port) as site,
    ):
        site.http.headers["accept-encoding"] = "gzip"
        await works(site)


async def test_a_server_may_be_told_of_a_path_in_front_of_it() -> None:
    app = app_of(ours(), pkg.REVISIONS)
    async with run_app(app, root_path="/behind/a/proxy") as port, calling(port) as site:
        await works(site)
        await app.close()


async def test_a_path_that_only_begins_like_that_of_the_mount_is_another() -> None:
    app = app_of(ours(), pkg.REVISIONS)

    async def mount(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "root_path": "/api"}, receive, send)

    async with run_app(mount, lifespan="off") as port:
        for path, status in (("/api/mcp", 200), ("/apimcp", 404), ("/api", 404), ("/ap", 404)):
            async with calling(port, path) as site:
                assert (await site.post(hello())).status_code == status
        await app.close()


async def test_the_lifespan_of_the_server_ends_what_is_under_way() -> None:
    server = ours()
    app = app_of(server, pkg.REVISIONS)
    said: list[str] = []
    come = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

    async def receive() -> dict[str, str]:
        if len(come) == 1:
            assert len(server.sessions) == 1
        return come.pop(0)

    async def send(message: MutableMapping[str, Any]) -> None:
        said.append(message["type"])

    async with run_app(app, lifespan="off") as port, calling(port) as site:
        session = await site.initialize()
        async with session.get() as events:
            await app({"type": "lifespan"}, receive, send)
            assert await events.take() is None
    assert said == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert server.sessions == ()


async def test_a_websocket_is_closed() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    await app_of(ours())({"type": "websocket", "path": "/mcp"}, receive, send)
    assert [event["type"] for event in sent] == ["websocket.close"]


async def test_uvicorn_runs_it_with_each_of_its_parsers_and_loops() -> None:
    kinds = list(product(["asyncio", "uvloop"], ["h11", "httptools"]))
    for loop, http in some(kinds, 2, of="parsers and loops"):
        with case((loop, http)):
            arguments = ["uvicorn", WORKER, "--port", "PORT", "--http", http, "--loop", loop]
            async with serve_module(*arguments) as process, calling(process.port) as site:
                await in_a_process(site)
                code, errors = await process.stop()
                assert code in (0, -15)
                assert "Traceback" not in errors


async def test_other_servers_run_it() -> None:
    for arguments in [
        ["hypercorn", WORKER, "--bind", "127.0.0.1:PORT"],
        ["granian", WORKER, "--interface", "asgi", "--host", "127.0.0.1", "--port", "PORT"],
    ]:
        with case(arguments):
            async with serve_module(*arguments) as process, calling(process.port) as site:
                await in_a_process(site)
                _, errors = await process.stop()
                assert "Traceback" not in errors


async def in_a_process(site: Site) -> None:
    """Run it as a process with its own application."""
    session = await site.initialize()
    pid = text_in(await session.call("who"))
    assert pid.isdigit()
    async with session.calling("says", 2) as events:
        said = [event.message for event in await events.all() if event.data]
        assert [message.get("id") for message in said] == [None, None, 2]
    async with session.get() as standing:
        assert standing.response.status_code == 200
    async with session.calling("lets_go", 3) as events:
        (only,) = await events.all()
    async with session.get(only.id) as events:
        assert (await events.take())["id"] == 3
    async with site.listening(resourceSubscriptions=[f"file:///{pid}"]) as events:
        arguments = {"pid": pid}
        answer = await site.modern("tools/call", name="publish", arguments=arguments)
        assert text_in(answer) == pid
        assert (await events.take())["params"]["uri"] == f"file:///{pid}"
    assert (await session.delete()).status_code == 204
    assert (await site.post(b"{")).status_code == 400
