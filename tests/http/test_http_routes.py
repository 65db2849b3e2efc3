"""Routes beside the endpoint: functions of a request, and ASGI applications."""

import asyncio
import json
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import pytest
from mcp_protogen.runtime.http.server.routes import Routes
from mcp_revisions import HttpRequest, Route, RouteRequest, RouteResponse
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route as Page
from support.http.serving import Site, app_of, calling, echo, run_app, serving, text_in
from support.json_types import Json
from support.revisions import OLD, STATELESS
from support.sessions.talking import pkg, tools
from support.tables import case
from support.toolkit.kits import mcp

TEXT, BYTES, JSON = "text/plain; charset=utf-8", "application/octet-stream", "application/json"
TOKEN = "t" * 16


@dataclass
class Point:
    x: int


def ours() -> Any:
    return tools(STATELESS, echo)


def serve_routes(*routes: Route, **options: Any) -> Any:
    return serving(ours(), pkg.REVISIONS, routes=routes, **options)


# Return values of functions, and the status, type and content of their responses.
GIVEN: dict[str, tuple[object, int, str | None, bytes]] = {
    "text": ("é", 200, TEXT, "é".encode()),
    "bytes": (b"\x00", 200, BYTES, b"\x00"),
    "an object": ({"a": 1}, 200, JSON, b'{"a":1}'),
    "a number": (7, 200, JSON, b"7"),
    "a dataclass": (Point(1), 200, JSON, b'{"x":1}'),
    "nothing": (None, 204, None, b""),
    "an empty text": ("", 200, None, b""),
    "a response": (RouteResponse("x", 404, {"Content-Type": "text/html"}), 404, "text/html", b"x"),
    "one without content": (RouteResponse(status=304), 304, None, b""),
    "one that may have none": (RouteResponse({"a": 1}, 204), 204, None, b""),
    "a response of Starlette": (JSONResponse([1], 202), 202, JSON, b"[1]"),
}


async def test_return_value_of_route_is_response() -> None:
    async def in_loop(request: RouteRequest) -> object:
        return GIVEN[request.query["case"][0]][0]

    def in_thread(request: HttpRequest) -> object:
        assert threading.current_thread() is not threading.main_thread()
        return GIVEN[request.query["case"][0]][0]

    async with serve_routes(Route("/async", in_loop), Route("/sync", in_thread)) as site:
        for path in ("/async", "/sync"):
            for name, (_, status, kind, content) in GIVEN.items():
                with case((path, name)):
                    answer = await site.http.get(path, params={"case": name})
                    assert (answer.status_code, answer.content) == (status, content)
                    assert answer.headers.get("content-type") == kind
                    head = await site.http.head(path, params={"case": name})
                    assert (head.status_code, head.content) == (status, b"")
                    length = None if status in (204, 304) else str(len(content))
                    assert head.headers.get("content-length") == length


async def test_a_request_has_its_body_and_all_that_one_of_a_call_has() -> None:
    async def echo(request: RouteRequest) -> object:
        return [request.method, request.path, request.query, request.headers["x-a"], request.json()]

    async with serve_routes(Route("/echo", echo, methods=["POST", "PUT"])) as site:
        for method in ("POST", "PUT"):
            answer = await site.http.request(
                method, "/echo?q=1", content=b'{"a": [1]}', headers={"x-a": "b"}
            )
            assert answer.json() == [method, "/echo", {"q": ["1"]}, "b", {"a": [1]}]
        for wrong in (b"", b"{", b"\xff", b"NaN"):
            answer = await site.http.post("/echo", content=wrong, headers={"x-a": "b"})
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)


async def test_limits_apply_to_bodies() -> None:
    seen: list[int] = []

    def size(request: RouteRequest) -> int:
        seen.append(len(request.body))
        return len(request.body)

    async def read(request: Request) -> PlainTextResponse:
        return PlainTextResponse(str(len(await request.body())))

    app = Starlette(routes=[Page("/{any:path}", read, methods=["POST"])])

    async def pieces() -> AsyncGenerator[bytes, None]:
        for _ in range(11):
            yield b"x" * 100

    routes = Route("/size", size, methods=["POST"]), Route("/app", app)
    async with serve_routes(*routes, max_body=1000) as site:
        for path in ("/size", "/app/x"):
            with case(path):
                whole = await site.http.post(path, content=b"x" * 1000)
                assert (whole.status_code, whole.text) == (200, "1000")
                assert (await site.http.post(path, content=b"x" * 1001)).status_code == 413
        assert (await site.http.post("/size", content=pieces())).status_code == 413
        # A body that the application has begun to read is its own to refuse.
        assert (await site.http.post("/app/x", content=pieces())).is_error
        assert text_in(await site.modern("tools/call", name="x")) == "x"
    assert seen == [1000]


@pytest.mark.parametrize("is_response", [False, True])
async def test_a_stream_without_an_end_ends_with_its_client(
    is_response: bool, caplog: pytest.LogCaptureFixture
) -> None:
    begun: list[int] = []

    async def stream(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(1000):
            begun.append(number)
            await send({"type": "http.response.body", "body": b"x", "more_body": True})

    async def respond(_: RouteRequest) -> object:
        return stream

    async def does_not_read(message: Any) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def is_gone(message: Any) -> None:
        if message["type"] == "http.response.body":
            raise OSError

    for send in (does_not_read, is_gone):
        received = [{"type": "http.request"}, *[{"type": "http.disconnect"}] * 9]

        async def receive(received: list[Any] = received) -> Any:
            return received.pop(0)

        begun.clear()
        route = Route("/", respond if is_response else stream)
        app = app_of(ours(), routes=[route], send_timeout=0.01)
        head = [(b"host", b"localhost")]
        with case(send.__name__):
            await app(
                {"type": "http", "method": "GET", "path": "/", "headers": head}, receive, send
            )
            assert begun == [0]
        await app.close()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_exception_of_application_is_not_disclosed() -> None:
    async def asks(scope: Any, receive: Any, send: Any) -> None:
        raise (pkg.Disconnected if scope["path"] == "/gone" else pkg.RemoteError)("secret")

    async with serve_routes(Route("/", asks)) as site:
        for path in ("/gone", "/asked"):
            answer = await site.http.get(path)
            assert (answer.status_code, "secret" in answer.text) == (500, False)


def test_the_parts_of_a_long_path_are_not_tried_one_by_one() -> None:
    calls: list[str] = []

    def count(frame: object, event: str, arg: object) -> None:
        calls.append(event)

    routes = Routes([Route("/app", asgi_app)], ())
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        found = routes.find("/a" * 10_000, "GET"), routes.find("/app" + "/a" * 10_000, "GET")
    finally:
        sys.setprofile(before)
    assert found == (None, Route("/app", asgi_app))
    assert len(calls) < 100


async def test_unknown_path_gets_404_and_wrong_method_405() -> None:
    async def plain(_: RouteRequest) -> str:
        return "plain"

    async def answer_posted(_: RouteRequest) -> str:
        return "posted"

    routes = (
        Route("/a", plain),
        Route("/a", answer_posted, methods=["POST"]),
        Route("/head", plain, methods=["HEAD"]),
    )
    expected = [
        ("GET", "/a", 200, None),
        ("POST", "/a", 200, None),
        ("PUT", "/a", 405, {"GET", "HEAD", "POST"}),
        ("OPTIONS", "/a", 405, {"GET", "HEAD", "POST"}),
        ("HEAD", "/head", 200, None),
        ("GET", "/head", 405, {"HEAD"}),
        ("GET", "/a/", 404, None),
        ("GET", "/a/b", 404, None),
        ("GET", "/", 404, None),
        ("HEAD", "/mcp", 405, {"POST", "GET", "DELETE"}),
    ]
    async with serve_routes(*routes) as site:
        for method, path, status, allowed in expected:
            with case((method, path)):
                answer = await site.http.request(method, path)
                assert answer.status_code == status
                found = answer.headers.get("allow")
                assert (None if found is None else set(found.split(", "))) == allowed
        for fields, status in (({"host": "evil"}, 421), ({"origin": "http://evil"}, 403)):
            assert (await site.http.get("/a", headers=fields)).status_code == status


async def test_an_application_has_its_path_and_all_below() -> None:
    async def tell(request: Request) -> JSONResponse:
        scope = request.scope
        return JSONResponse([request.method, scope["root_path"], scope["path"]])

    async def streams(_: Request) -> StreamingResponse:
        async def parts() -> AsyncGenerator[str, None]:
            yield "a"
            await asyncio.sleep(0)
            yield "b"

        return StreamingResponse(parts())

    pages = [Page("/streams", streams), Page("/{rest:path}", tell, methods=["GET", "PATCH"])]
    app = Starlette(routes=pages)

    async def near(_: Request) -> PlainTextResponse:
        return PlainTextResponse("nearer")

    nearer = Starlette(routes=[Page("/", near)])
    mounted = app_of(
        ours(),
        pkg.REVISIONS,
        routes=[Route("/", app), Route("/in", nearer), Route("/in/fact", lambda _: "function")],
    )

    async def outer(scope: Any, receive: Any, send: Any) -> None:
        await mounted({**scope, "root_path": "/api"}, receive, send)

    for asgi, root in ((mounted, ""), (outer, "/api")):
        async with run_app(asgi, lifespan="off") as port, calling(port, f"{root}/mcp") as site:
            for method, path in (("GET", "/x"), ("PATCH", "/x/y"), ("GET", "/inner")):
                answer = await site.http.request(method, f"{root}{path}")
                assert answer.json() == [method, root, f"{root}{path}"]
            assert (await site.http.get(f"{root}/in/")).text == "nearer"
            assert (await site.http.get(f"{root}/in/fact")).text == "function"
            assert (await site.http.get(f"{root}/streams")).text == "ab"
            assert text_in(await site.modern("tools/call", name="x")) == "x"
            assert (await site.http.put(f"{root}/mcp")).status_code == 405
            await mounted.close()


async def test_a_route_wants_a_token_only_where_that_is_said() -> None:
    ada = pkg.Principal("ada", frozenset({"read"}))
    tokens = pkg.Authentication(verify=pkg.static_tokens({TOKEN: ada}))

    async def who(request: RouteRequest) -> Json:
        return None if request.principal is None else [*request.principal.scopes]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse("app")(scope, receive, send)

    routes = (
        Route("/open", who),
        Route("/closed", who, authenticated=True),
        Route("/closed", who, methods=["POST"]),
        Route("/", app),
        Route("/admin", app, authenticated=True),
    )
    fields = {"authorization": f"Bearer {TOKEN}"}
    async with serve_routes(*routes, authentication=tokens, cors=pkg.Cors()) as site:
        for method, path, without, with_token in [
            ("GET", "/open", 204, 204),
            ("GET", "/closed", 401, 200),
            ("POST", "/closed", 204, 204),
            ("GET", "/any", 200, 200),
            ("GET", "/admin/x", 401, 200),
            ("OPTIONS", "/admin/x", 401, 200),
            ("POST", "/mcp", 401, 415),
            ("GET", "/mcp", 401, 400),
            ("POST", "/mcp/", 401, 415),
        ]:
            with case((method, path)):
                request = site.http.request
                assert (await request(method, path)).status_code == without
                assert (await request(method, path, headers=fields)).status_code == with_token
        assert (await site.http.get("/closed", headers=fields)).json() == ["read"]


@asynccontextmanager
async def counting(app: object) -> AsyncGenerator[list[str], None]:
    entered.append("in")
    yield ["state"]
    entered.append("out")


entered: list[str] = []


async def test_the_lifespan_is_entered_for_them() -> None:
    def state(request: RouteRequest) -> object:
        return request.state

    one = mcp.App("one", lifespan=counting)
    one.route("/state")(state)
    tokens = pkg.Authentication(verify=pkg.static_tokens({}))
    for lifespan in ("on", "off"):
        for authentication in (None, tokens):
            with case((lifespan, authentication)):
                entered.clear()
                options = pkg.HttpOptions(authentication=authentication)
                asgi = one.http(routes=[Route("/other", state)], http=options)
                async with run_app(asgi, lifespan=lifespan) as port, calling(port) as site:
                    assert entered == ["in"] * (lifespan == "on")
                    assert (await site.http.get("/state")).json() == ["state"]
                    assert (await site.http.get("/other")).json() == ["state"]
                    assert entered == ["in"]
                    if lifespan == "off":
                        await asgi.close()
                assert entered == ["in", "out"]


async def test_where_each_session_has_a_server_there_is_no_state_of_all() -> None:
    async def state(request: RouteRequest) -> object:
        return request.state

    asgi = pkg.http_app(type(tools(OLD, echo)), routes=[Route("/state", state)])
    async with run_app(asgi) as port, calling(port) as site:
        assert (await site.http.get("/state")).status_code == 500


async def test_a_function_that_fails_tells_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fails(_: object) -> None:
        raise RuntimeError("secret")

    async def fails_later(_: object) -> None:
        raise RuntimeError("secret")

    def stops(_: object) -> None:
        next(iter(()))

    def no_field(_: object) -> RouteResponse:
        return RouteResponse("", headers={"x": "a\r\nset-cookie: b=c"})

    paths = {"/fails": fails, "/later": fails_later, "/stops": stops, "/field": no_field}
    async with serve_routes(*(Route(path, endpoint) for path, endpoint in paths.items())) as site:
        for path in paths:
            with case(path):
                caplog.clear()
                answer = await site.http.get(path)
                assert answer.status_code == 500
                assert answer.json()["error"] == {"code": -32603, "message": "Internal error"}
                assert f"the route {path} failed" in caplog.messages[0]


async def test_a_function_at_work_is_waited_for_at_the_end() -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow(_: RouteRequest) -> str:
        begun.set()
        await go.wait()
        return "done"

    app = app_of(ours(), routes=[Route("/slow", slow)], max_requests=1, drain=60)
    async with run_app(app, lifespan="off") as port, calling(port) as site:
        asking = asyncio.create_task(site.http.get("/slow"))
        await begun.wait()
        assert (await site.http.get("/slow")).status_code == 503
        closing = asyncio.create_task(app.close())
        await asyncio.sleep(0)
        go.set()
        assert (await asking).text == "done"
        # And no longer.
        await asyncio.wait_for(closing, 20)


def plain(request: RouteRequest) -> str:
    return request.path


async def asgi_app(scope: Any, receive: Any, send: Any) -> None: ...


def two(a: object, b: object) -> None: ...


async def two_methods(request: RouteRequest) -> None: ...


RESOURCE = pkg.ProtectedResource(url="https://a.example/mcp", authorization_servers=("https://b",))
TOKENS = pkg.Authentication(verify=pkg.static_tokens({}), resource=RESOURCE)
KNOWN = "/.well-known/oauth-protected-resource"
FOR_OWNERS = Route("/x", plain, authenticated=True)
BOTH = Route("/x", two_methods, methods=["GET", "POST"])


def test_mistakes_of_a_route_are_named_when_it_is_made() -> None:
    rows: tuple[tuple[str, Any, dict[str, Any], type[Exception], str], ...] = (
        ("x", plain, {}, ValueError, "the route x: the path must begin"),
        ("/{x}", plain, {}, ValueError, "plain, .*: the path must not have parameters"),
        ("/x", plain, {"methods": "GET"}, TypeError, r"methods=\[.GET.\]"),
        ("/x", plain, {"methods": ["get"]}, ValueError, "got 'get'"),
        ("/x", plain, {"methods": ["OPTIONS"]}, ValueError, "'OPTIONS'"),
        ("/x", two, {}, TypeError, "two, .* expected a function of one"),
        ("/x", "x", {}, TypeError, "got 'x'"),
        ("/x", asgi_app, {"methods": ["GET"]}, TypeError, "asgi_app, .* takes no methods"),
    )
    for path, endpoint, options, error, why in rows:
        with case(why), pytest.raises(error, match=why):
            Route(path, cast(Any, endpoint), **options)


def test_mistakes_of_routes_are_named_when_an_application_is_made() -> None:
    rows: tuple[tuple[list[Route], dict[str, Any], str], ...] = (
        ([Route("/mcp", plain)], {}, "plain, the route /mcp: "),
        ([Route("/mcp", asgi_app)], {}, "uses this path"),
        ([Route("/mcp/", asgi_app)], {}, "uses this path"),
        ([FOR_OWNERS], {}, r"plain, the route /x requires a token: set HttpOptions\(authent"),
        ([Route("/x", plain)], {"path": "/x"}, "choose"),
        ([Route("/sse", plain)], {"old_sse": True}, "uses this path itself"),
        ([Route(KNOWN, plain)], {"authentication": TOKENS}, "uses this path itself"),
        ([Route("/x", plain), BOTH], {}, "two_methods, the route /x: plain, .*/x already uses"),
        ([Route("/x", asgi_app), Route("/x/", Starlette())], {}, "asgi_app.* already uses"),
    )
    for routes, options, why in rows:
        with case(why), pytest.raises(ValueError, match=why):
            app_of(ours(), routes=routes, **options)


async def admin(_: Request) -> PlainTextResponse:
    return PlainTextResponse("admin")


class TestApps:
    """Routes of an app."""

    def app(self) -> mcp.App:
        app = mcp.App("any")

        @app.route("/health")
        def health(request: RouteRequest) -> str:
            return request.method

        @app.route("/save", methods=["POST"])
        async def save(request: RouteRequest) -> object:
            return request.json()

        @app.tool
        def paths() -> list[str]:
            return [health.__name__, save.__name__]

        app.route("/admin", Starlette(routes=[Page("/x", admin)]))
        app.route("/again", health)
        return app

    async def uses(self, site: Site) -> None:
        for path, text in {"/health": "GET", "/again": "GET", "/admin/x": "admin"}.items():
            assert (await site.http.get(path)).text == text
        assert (await site.http.post("/save", json={"a": 1})).json() == {"a": 1}
        assert json.loads(text_in(await site.modern("tools/call", name="paths"))) == {
            "result": ["health", "save"]
        }

    async def test_routes_are_served_by_every_kind_of_app(self) -> None:
        app = self.app()
        for asgi in (app.http(), app.http(), pkg.http_app(app), pkg.http_app([app])):
            async with run_app(asgi) as port, calling(port) as site:
                await self.uses(site)

    async def test_routes_are_optional(self) -> None:
        app = self.app()
        async with pkg.connect_in_memory(mcp.Client(), app) as client:
            assert [tool.name async for tool in client.iter_tools()] == ["paths"]

    def test_mistakes_are_named_when_they_are_made(self) -> None:
        app = self.app()
        with pytest.raises(ValueError, match=r"plain, the route /health: health.* already uses"):
            app.route("/health")(plain)
        with pytest.raises(ValueError, match="health, the route /health: the server uses"):
            app.http(http=pkg.HttpOptions(path="/health"))
        app.http()
        with pytest.raises(RuntimeError, match=r"plain, the route /late: .* before .*app.http\(\)"):
            app.route("/late")(plain)
