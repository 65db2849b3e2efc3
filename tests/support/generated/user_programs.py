"""Small programs in the style of users, for type checkers.

Wrong lines end in `# wrong`; a checker must object to exactly these.
"""

from support.docs.pages import programs

STATELESS = """
from typing import assert_type

from mcp_revisions import REVISIONS, Options, Progress, Transport, connect, load, page, serve
from mcp_revisions import stdio_client, translate
from mcp_revisions import v2025_11_25 as old
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.translate.v2025_03_26 import UP
from mcp_revisions.v2026_07_28 import models as m


class Weather(mcp.Server):
    async def on_call_tool(
        self, session: mcp.Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult | m.InputRequiredResult:
        assert_type(params.meta, m.RequestMetaObject)
        await session.progress(0.5, 1, "half way")
        await session.log("info", {"any": ["json"]})
        if session.inputs is None:
            return session.input_required({"where": m.ListRootsRequest()}, state={"step": 1})
        answer = session.inputs.response("where", m.ListRootsResult)
        assert_type(answer, m.ListRootsResult | None)
        assert_type(session.client_info, m.Implementation | None)
        assert_type(await session.once("charge", lambda: 3), int)
        assert_type(await session.once("roots", lambda: session.list_roots()), m.ListRootsResult)
        return m.CallToolResult(content=[], structured_content=None)

    async def on_list_tools(
        self, session: mcp.Session, params: m.PaginatedRequestParams
    ) -> m.ListToolsResult:
        one = page([m.Tool(name="x", input_schema={"type": "object"})], params.cursor, size=10)
        assert_type(one.items, list[m.Tool])
        return m.ListToolsResult(tools=one.items, next_cursor=one.next_cursor)


def told(progress: Progress) -> None:
    assert_type(progress.total, float | None)


async def use(client: mcp.Client, weather: Weather, wire: Transport) -> None:
    listed = await client.list_tools()
    assert_type(listed.ttl_ms, int)
    found = await client.call_tool("forecast", timeout=5, on_progress=told)
    assert_type(found, m.CallToolResult)
    async for tool in client.iter_tools():
        assert_type(tool, m.Tool)
    assert_type(client.server_capabilities, m.ServerCapabilities)
    await client.discover()
    await weather.tools_list_changed()
    await weather.resource_updated("file:///a")
    await serve({Weather, old.Server}, wire)
    await serve(weather, wire, options=Options(drain=1))
    await serve({Weather, old.Server}, weather)  # wrong


async def between() -> None:
    how = stdio_client(["python", "server.py"], env={"A": "b"}, grace=1)
    async with connect(how, as_=old) as client:
        assert_type(client, old.Client)
    some = [one for one in REVISIONS if one.era == "handshake"]
    ours = mcp.Client()
    async with connect(how, ours, revisions=some, options=Options(drain=1)) as same:
        assert_type(same, mcp.Client)
    outcome = translate(m.TextContent(text=""), mcp, "2025-11-25")
    print(outcome.losses, UP.source, load(REVISIONS[0].id))
"""

CALLS = """
from typing import Any, assert_type

from mcp_revisions import v2024_11_05, v2025_06_18, v2026_07_28
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25 import capabilities, methods
from mcp_revisions.v2025_11_25 import models as m
from pydantic import BaseModel, TypeAdapter


class Point(BaseModel):
    x: int


class Weather(mcp.Server):
    async def on_ping(self, session: mcp.Session, params: m.Tool) -> m.EmptyResult:  # wrong
        return m.CallToolResult(content=[])  # wrong

    async def on_complete(self, params: m.CompleteRequestParams) -> m.CompleteResult:  # wrong
        raise NotImplementedError


def read(data: bytes, either: m.CallToolResult | m.CreateTaskResult) -> str:
    if isinstance(either, m.CreateTaskResult):
        assert_type(either.task.ttl, int | None)
        return either.task.status
    for block in either.content:
        if isinstance(block, m.EmbeddedResource):
            return block.resource.uri
        elif isinstance(block, m.ImageContent | m.AudioContent):
            return block.mime_type
    request = methods.parse_request(data, sender="client")
    written = methods.serialise_request(
        methods.CALL_TOOL, request.id, m.CallToolRequestParams(name="forecast")
    )
    answer = methods.parse_answer(written, spec=methods.LIST_TOOLS)
    declared = capabilities.server_capabilities(["tools/call"])
    return str((answer, declared.tools, m.Tool.from_json(data).name))


async def use(client: mcp.Client, session: mcp.Session) -> None:
    plain = await client.call_tool("greet", {"name": "Ada"}, timeout=5)
    assert_type(plain, m.CallToolResult)
    assert_type(plain.text, str)
    assert_type(plain.data, Any)
    assert_type(await client.call_tool(name="greet", check=True), m.CallToolResult)
    either = await client.call_as_task("greet", task=m.TaskMetadata(ttl=3))
    assert_type(either, m.CallToolResult | m.CreateTaskResult)
    whole = m.CallToolRequestParams(name="greet")
    assert_type(await client.request(mcp.methods.CALL_TOOL, whole), m.CallToolResult)
    came = await client.request_once(mcp.methods.CALL_TOOL, whole, timeout=5)
    assert_type(came, m.CallToolResult | m.CreateTaskResult)
    assert_type(await client.call_tool("greet", as_=Point), Point)
    assert_type(await client.call_tool("greet", {}, as_=list[int]), list[int])
    adapter = TypeAdapter[int | str](int | str)
    assert_type(await client.call_tool("greet", as_=adapter), int | str)
    unchecked = await client.call_tool("greet", as_=Point, check=False)
    assert_type(unchecked, Point | m.CallToolResult)
    assert_type(await client.read_resource("file:///a"), m.ReadResourceResult)
    assert_type(await client.get_prompt("hello", {"name": "Ada"}), m.GetPromptResult)
    assert_type(await client.set_level("info"), m.EmptyResult)
    assert_type(await client.subscribe("file:///a"), m.EmptyResult)
    assert_type(await client.list_tools("cursor"), m.ListToolsResult)
    assert_type([tool async for tool in client.iter_tools(cursor="cursor")], list[m.Tool])
    ref, argument = m.PromptReference(name="hello"), m.CompleteRequestParamsArgument(
        name="name", value="A"
    )
    assert_type(await client.complete(ref, argument), m.CompleteResult)
    await client.notify_progress("token", 0.5, total=1)
    form = m.ElicitRequestFormParamsRequestedSchema(properties={})
    assert_type(await session.elicit("How old?", form), m.ElicitResult)
    page = await session.elicit_url("Sign in", "1", "https://example.com")
    assert_type(page, m.ElicitResult)
    later = m.ElicitRequestFormParams(
        message="How old?", requested_schema=form, task=m.TaskMetadata()
    )
    started = await session.request_once(mcp.methods.ELICIT, later)
    assert_type(started, m.ElicitResult | m.CreateTaskResult)
    question = m.SamplingMessage(role="user", content=m.TextContent(text="?"))
    answer = await session.create_message([question], max_tokens=100)
    assert_type(answer, m.CreateMessageResult)
    await session.notify_logging_message("info", ["any"], logger="mine")
    await client.ping()


async def use_others(
    first: v2024_11_05.Client, third: v2025_06_18.Session, last: v2026_07_28.Client
) -> None:
    assert_type(await first.call_tool("greet"), v2024_11_05.models.CallToolResult)
    form = v2025_06_18.models.ElicitRequestParamsRequestedSchema(properties={})
    assert_type(await third.elicit("How old?", form), v2025_06_18.models.ElicitResult)
    assert_type(await last.call_tool("greet", {}), v2026_07_28.models.CallToolResult)
    assert_type(await last.call_tool("greet", as_=int), int)


async def misuse(client: mcp.Client, session: mcp.Session) -> None:
    await client.call_tool()  # wrong
    await client.call_tool(1)  # wrong
    await client.call_tool("greet", arguments=[1])  # wrong
    await client.call_tool("greet", {}, "third")  # wrong
    await client.call_tool("greet", patience=5)  # wrong
    await client.call_tool(m.CallToolRequestParams(name="greet"))  # wrong
    await client.call_as_task("greet", task=m.TaskMetadata(), as_=Point)  # wrong
    await client.set_level("loud")  # wrong
    await client.notify_progress("token", 0.5, timeout=1)  # wrong
    await session.elicit("How old?")  # wrong
    await session.create_message([])  # wrong
    print((await client.call_tool("forecast")).contents)  # wrong
    await session.list_tools()  # wrong
    listed = await client.list_tools()
    assert_type(listed.next_cursor, str | None)
    print(listed.next_curser)  # wrong
    print(listed.next_cursor.upper())  # wrong
    await client.list_tools(timeout="soon")  # wrong
    await client.list_tools(patience=5)  # wrong
    await session.log("loud", 1)  # wrong
    m.CallToolRequestParams()  # wrong
    m.TextContent(text=1)  # wrong
    m.TextContent(text="", type="image")  # wrong
    m.LoggingMessageNotificationParams(level="loud", data=1)  # wrong
    methods.parse_request(b"", sender="proxy")  # wrong
    methods.serialise_request(methods.CALL_TOOL, 1, m.PaginatedRequestParams())  # wrong
"""

CONNECTING = """
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, assert_type

from mcp_revisions import REVISIONS, Cache, Options, Reconnection, Servers, client_of, connect
from mcp_revisions import connect_config, connect_http, connect_in_memory, in_memory
from mcp_revisions import v2025_11_25 as old
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as m


class Mine(mcp.Client):
    pass


async def each(server: mcp.Server, older: type[old.Server]) -> None:
    async with connect("python server.py") as by_line, connect(Path("server.py")) as by_path:
        assert_type(by_line, mcp.Client)
        assert_type(by_path, mcp.Client)
        by_line.cache = Cache(max_bytes=1000)
    async with connect(["python", Path("server.py")], old.Client()) as by_list:
        assert_type(by_list, old.Client)
    async with connect(server) as near, connect(older, as_=old) as as_old:
        assert_type(near, mcp.Client)
        assert_type(as_old, old.Client)
    async with connect(in_memory(server, tap=print), Mine()) as mine:
        assert_type(mine, Mine)
        mine.cache = 3  # wrong
    async with connect("server.py", old.Client(), Mine()) as either:
        assert_type(either, old.Client | Mine)
    async with connect_in_memory(server, Mine()) as one, connect_in_memory(Mine(), older) as two:
        assert_type((one, two), tuple[Mine, Mine])
    async with connect_http("https://a") as far, connect_http("https://a", as_=old) as as_old:
        assert_type((far, as_old), tuple[mcp.Client, old.Client])
    again = Reconnection(max_attempts=3)
    async with connect_http("https://a", Mine(), reconnection=again) as mine:
        assert_type(mine, Mine)
    async with connect_in_memory(older) as near, connect_in_memory(older, as_=old) as as_old:
        assert_type((near, as_old), tuple[mcp.Client, old.Client])
    connect(3)  # wrong
    connect_http(3)  # wrong
    connect("server.py", older)  # wrong
    connect("server.py", mcp.Client)  # wrong
    connect_in_memory(server, older)  # wrong


async def tests(server: mcp.Server, older: type[old.Server], app: mcp.App) -> None:
    async with client_of(app) as plain, client_of(older, Mine()) as mine:
        assert_type((plain, mine), tuple[mcp.Client, Mine])
    settings = Options(timeout=1)
    async with client_of(
        [older, server], as_=old, revisions=REVISIONS, options=settings, tap=print
    ) as one:
        assert_type(one, old.Client)
    assert_type(app.tool_schemas(), list[dict[str, Any]])
    app.tool_schemas("2025-11-25")
    fixture = client_of.fixture(app, Mine, revisions=REVISIONS, decorator=staticmethod)
    client_of.fixture(older, as_=old)
    client_of(3)  # wrong
    client_of(app, Mine)  # wrong
    client_of(app, patience=3)  # wrong
    client_of.fixture(app, Mine())  # wrong
    app.tool_schemas(mcp)  # wrong
    print(fixture)


async def several(config: dict[str, object]) -> AsyncIterator[str]:
    async with connect_config("mcp.json") as all_of:
        assert_type(all_of, Servers[mcp.Client, m.Tool, m.CallToolResult])
        assert_type(all_of["weather"], mcp.Client)
        result = await all_of.call_tool("weather_forecast", {"a": 1}, timeout=3)
        assert_type(result, m.CallToolResult)
        async for tool in all_of.iter_tools():
            yield tool.name
        await all_of.call_tool(3)  # wrong
    inputs = {"key": "text"}
    async with connect_config(config, client=Mine, separator="/", inputs=inputs) as ours:
        assert_type(ours["weather"], Mine)
    connect_config(config, skip_failed=True, inputs={"key": 3})  # wrong
"""

TOOLKIT = """
from typing import Any, assert_type

from mcp_revisions import Audio, File, Image, Toolkit, UriTemplate, prompt, resource, tool
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as m
from toolkit_0 import Forecast, Weather


class Loud(Toolkit):
    max_threads = 4

    @tool(structured=False, thread=True)
    def shout(self, text: str) -> dict[str, str]:
        return {"loud": text.upper()}


def towns(typed: str) -> list[str]:
    return [typed]


def towns_of() -> list[str]:
    return towns("")


class Both(Loud, mcp.Server):
    SENDS = frozenset({"notifications/tools/list_changed"})

    def __init__(self, name: str) -> None:
        self.info = m.Implementation(name=name, version="1")

    @tool(input_schema={"type": "object"}, output_schema={"type": "object"}, name="raw.tool")
    async def raw(self, session: mcp.Session, arguments: dict[str, Any]) -> m.CallToolResult:
        return m.CallToolResult(content=[], structured_content=arguments)

    @tool(thread=False)
    def draw(self, path: str) -> list[Image | str]:
        return [Image(path), Image(data=b"", format="png"), "and so on"]

    @prompt
    def hum(self, session: mcp.Session) -> list[Audio | File]:
        assert_type(session.from_thread(session.once("key", towns_of)), list[str])
        session.from_thread(session.log("info", "humming"))
        return [Audio(data=b"", mime_type="audio/wav"), File(data=b"", name="a.md")]

    @tool
    @staticmethod
    def twice(number: int) -> int:
        return 2 * number

    @resource("a:{x}", completions={"x": towns}, annotations=m.Annotations(priority=1))
    def read(self, x: str) -> bytes:
        return x.encode()

    @classmethod
    def names(cls, typed: str, others: dict[str, str]) -> list[str]:
        return [*others, typed]

    def villages(self, typed: str) -> list[str]:
        return [typed]

    @prompt(
        completions={
            "x": ["a", "b"],
            "y": lambda typed: [typed.upper()],
            "z": lambda typed, others: [typed, *others],
        },
        icons=[m.Icon(src="a:b")],
    )
    async def say(self, x: str, y: str, z: str) -> list[m.PromptMessage]:
        return []

    @prompt(completions={"x": names, "y": villages})
    def tell(self, x: str, y: str) -> str:
        return x + y

    async def on_call_tool(
        self, session: mcp.Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult | m.InputRequiredResult:
        result: m.CallToolResult = await super().on_call_tool(session, params)
        return result


def plain(text: str) -> str:
    return text


async def use() -> None:
    weather = Weather()
    assert_type(await weather.forecast("Oslo", days=2), list[Forecast])
    assert_type(weather.add(1, 2), float)
    both = Both("x")
    assert_type(both.twice(2), int)
    assert_type(both.shout("a"), dict[str, str])
    assert_type(both.read("x"), bytes)
    both.add_tool(plain, title="Plain")
    both.add_resource(plain, uri="a:{text}", mime_type="text/plain")
    both.remove_tool("plain")
    assert_type(UriTemplate.parse("a:{x}").match("a:b"), dict[str, str] | None)
    await weather.forecast(3)  # wrong
    weather.add("a", 1)  # wrong
    Both()  # wrong
    both.add_tool(plain, titel="x")  # wrong


@tool(structure=False)  # wrong
def wrong(x: str) -> str:
    return x
"""

ASKING = """
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, assert_type

from mcp_revisions import Accepted, Answer, Cancelled, Declined, Form, form
from mcp_revisions import v2025_06_18 as first
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions import v2026_07_28 as stateless
from mcp_revisions.v2025_11_25 import models as m
from pydantic import BaseModel, Field


class Person(BaseModel):
    age: int


@dataclass
class Point:
    x: float


class Size(Enum):
    SMALL = "s"


PERSON = form(Person)
CHOICE: Form[Literal["a", "b"]] = form(Literal["a", "b"])


async def ask(session: mcp.Session, old: first.Session, new: stateless.Session) -> str:
    assert_type(PERSON, Form[Person])
    answer = await session.ask("Who?", PERSON, timeout=5)
    assert_type(answer, Accepted[Person] | Declined | Cancelled)
    print(answer.value)  # wrong
    match answer:
        case Accepted(person):
            assert_type(person, Person)
        case Declined() | Cancelled():
            return ""
    assert_type(await old.ask("Where?", Point), Answer[Point])
    assert_type(await new.ask("When?", date), Answer[date])
    assert_type(await session.ask("Which?", Size), Answer[Size])
    assert_type(await session.ask("Which?", list[Size]), Answer[list[Size]])
    assert_type(await session.ask("Sure?", bool), Answer[bool])
    assert_type(await session.ask("Which?", CHOICE), Answer[Literal["a", "b"]])
    assert_type(form(Annotated[int, Field(ge=1)]), Form[Any])
    assert_type(PERSON.read(m.ElicitResult(action="cancel")), Answer[Person])
    await session.ask("Who?")  # wrong
    await session.ask("Who?", 3)  # wrong
    await session.ask("Who?", Person(age=3))  # wrong
    await session.ask(Person, "Who?")  # wrong
    await session.ask("Who?", Person, timeout="soon")  # wrong
    await session.ask("Who?", Person, task=m.TaskMetadata(ttl=5))  # wrong
    return str(person.age)
"""

MIDDLEWARE = """
from logging import getLogger
from typing import Any, assert_type

from mcp_revisions import CallNext, MethodCall, RateLimit, ResultCache, Telemetry
from mcp_revisions import Network, SessionEnd, Timing
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25 import models as m


class Counting:
    def __init__(self) -> None:
        self.ended: list[float] = []

    async def __call__(self, call: MethodCall, next: CallNext) -> Any:
        assert_type(call.network, Network | None)
        print(call.is_sent, *call.sent_ids)
        return await next(call)

    def on_session_end(self, end: SessionEnd) -> None:
        assert_type(end.network, Network | None)
        self.ended.append(end.seconds)
        end.seconds = 0  # wrong


def per_tool(call: MethodCall) -> str | None:
    assert_type(call.meta.get("a"), Any | None)
    return call.target


async def not_next(call: MethodCall) -> Any:
    return None


class Ours(mcp.Server):
    middleware = [Timing(logger=getLogger("calls")), Counting(), ResultCache(5, size=10)]

    async def around(self, call: MethodCall, next: CallNext) -> m.CallToolResult | None:
        result: Any = await next(call.with_meta({"a": 1}))
        call.revision = ""  # wrong
        call.replace(method="")  # wrong
        return m.CallToolResult(content=[]) if call.method == "tools/call" else result


class Mine(mcp.Client):
    middleware = (Telemetry(arguments=True), Counting())

    async def around(self, call: MethodCall, next: CallNext) -> Any:
        return await next(call.replace(params=call.params)) if call.is_sent else await next(call)


class Wrong(mcp.Server):
    middleware = (not_next,)  # wrong


def limit(server: Ours) -> None:
    server.middleware = [*server.middleware, RateLimit(2, key=per_tool)]
"""

APP = """
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Annotated, Any, assert_type, cast

from mcp_revisions import (
    REVISIONS, Cors, Depends, HttpApp, HttpOptions, HttpRequest, Options, Route, RouteRequest,
    RouteResponse, StatusError, connect_in_memory, http_app, run_http, run_stdio, tool
)
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25 import models as m
from state_0 import add_note, app as notes_app


class Db:
    def count(self) -> int:
        return 1


@asynccontextmanager
async def lifespan(app: mcp.App) -> AsyncGenerator[Db, None]:
    yield Db()


app = mcp.App(
    "typed", version="1", title="Typed", instructions="", icons=[m.Icon(src="a:b")],
    website_url="https://example.org", lifespan=lifespan
)
assert_type(app.info, m.Implementation | None)


def transaction(session: mcp.Session) -> Iterator[Db]:
    db: Db = session.state
    yield db


@app.tool
def plain(x: int, db: Annotated[Db, Depends(transaction, thread=False)]) -> int:
    Depends(transaction, False)  # wrong
    return x + db.count()


@app.tool(title="Waiting", annotations=m.ToolAnnotations(read_only_hint=True))
async def waiting(x: int, session: mcp.Session | None = None) -> str:
    return str(x)


@app.resource("a://{x}", mime_type="text/plain", completions={"x": ["a"]})
def read(x: str) -> bytes:
    return x.encode()


@app.prompt
def ask(x: str) -> str:
    return x


@app.prompt(name="again", completions={"x": lambda typed: [typed]})
def ask_again(x: str) -> str:
    return x


class Own(mcp.App):
    REVISIONS = REVISIONS[:2]
    SENDS = frozenset({"notifications/tools/list_changed"})

    @tool
    def method(self, x: int) -> int:
        return x


class Server(mcp.Server):
    REVISIONS = REVISIONS

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[Db, None]:
        yield Db()


def asgi_of(app: mcp.App) -> HttpApp:
    return app.http(routes=[Route("/routes", lambda request: request.body)])


async def use() -> None:
    assert_type(plain(1, Db()), int)
    assert_type(await waiting(2), str)
    assert_type(read("a"), bytes)
    assert_type(ask(ask_again("x")), str)
    assert_type(Own("own").method(1), int)
    number: Awaitable[int] = add_note("milk", notes_app.lifespan)  # wrong
    async with connect_in_memory(mcp.Client(), app) as client:
        await client.call_tool("plain")
    asgi = app.http(http=HttpOptions(sessions=False), options=Options(timeout=3))
    assert_type(asgi, HttpApp)
    await asgi.close()


app.run()
app.run("stdio", limit=1000, revisions=REVISIONS, options=Options(timeout=3))
app.run("http", port=8000, host="::1", http=HttpOptions(), revisions=REVISIONS[1:])
app.run("http", workers=2, http=HttpOptions(cors=Cors(headers=["x"], max_age=5)))
app.run("stdio", workers=2)  # wrong


@app.route("/health")
def health(request: HttpRequest) -> dict[str, bool]:
    return {"ok": request.client is not None}


@app.route("/save", methods=["POST"], authenticated=True)
async def save(request: RouteRequest) -> RouteResponse:
    return RouteResponse(request.json(), status=201, headers={"x": request.headers["y"]})


@app.route("/many")  # wrong
def many(one: int, other: int) -> str:
    return ""


async def admin(
    scope: MutableMapping[str, Any],
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
    send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
) -> None: ...


app.route("/admin", admin)
app.route("/other", asgi_of(app))
app.route("/again", health)
app.route("/no", methods="GET", size=1)  # wrong
http_app(Server, routes=[Route("/x", save), Route("/y", admin), Route("/z", health)])


def tenant(session: mcp.Session) -> str:
    request = session.http_request
    assert_type(request, HttpRequest | None)
    if request is None or request.principal is None:
        raise StatusError(-32000, "no", status=403, headers={"x": "y"})
    assert_type(request.principal.scopes, frozenset[str])
    assert_type(request.query["a"], list[str])
    return request.headers["x-tenant"] + request.headers.getlist("a")[0]


async def use_routes() -> None:
    assert_type(health(cast(RouteRequest, None)), dict[str, bool])
    assert_type(await save(cast(RouteRequest, None)), RouteResponse)
Own("own").run()
run_stdio(app)
run_http(Server())
plain("a", Db())  # wrong
plain(1)  # wrong
waiting(x="a")  # wrong
app.run("sse")  # wrong
app.run("stdio", port=1)  # wrong
app.run("http", limit=1)  # wrong
app.http(port=1)  # wrong
mcp.App()  # wrong
mcp.App("x", lifespan=Db)  # wrong
app.tool(titel="x")  # wrong


@app.resource  # wrong
def unnamed(x: str) -> str:
    return x


@app.prompt(mime_type="a/b")  # wrong
def wrong(x: str) -> str:
    return x
"""


MOUNTING = """
from typing import assert_type

from mcp_revisions import InsufficientScope, Principal, Toolkit, open_http, prompt, resource, tool
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions import v2026_07_28 as new


class Weather(Toolkit, new.Server):
    @tool(enabled=False, tags={"admin"})
    def reset(self) -> str:
        return ""

    @resource("a://{x}", enabled=lambda session: session.principal == Principal("admin"))
    def read(self, x: str) -> str:
        return x

    @prompt(tags=["t"], scopes=["ask"])
    def ask(self) -> str:
        return ""

    @tool(scopes={"write"})
    def write(self, session: new.Session) -> None:
        session.require_scopes("write", "all")
        raise InsufficientScope({"all"}, "not everything")


async def is_admin(session: mcp.Session) -> bool:
    return session.principal is not None and session.principal.id == "admin"


app = mcp.App("above")
app.mount("weather", Weather(), separator=".")
app.mount("other", mcp.App("other"))
app.mount(mcp.App("third"))
app.mount("files", connect_to="python files.py")
app.mount("more", connect_to=["python", "more.py"])
app.mount("search", connect_to=open_http("https://example.org/mcp", headers={"a": "b"}))
app.mount("far", connect_to=mcp.Server, separator="-")


@app.tool(tags={"admin"}, enabled=is_admin)
def unlock(session: mcp.Session) -> str:
    app.enable("reset", tags={"admin"}, session=session)
    app.disable("a", "b", principal_id="ada")
    return ""


assert_type(Weather().reset(), str)
app.mount("x")  # wrong
app.mount(Weather(), separator=".")  # wrong
app.mount(connect_to="x")  # wrong
app.mount("x", mcp.Server())  # wrong
app.mount("x", Weather)  # wrong
app.mount("x", Weather(), connect_to="x")  # wrong
app.mount("x", connect_to=1)  # wrong
app.enable(1)  # wrong
app.enable(tags={1})  # wrong
app.disable(session=app)  # wrong
app.tool(enabled="no")  # wrong
"""

EXTENSIONS = """
from typing import assert_type

from mcp_revisions import TaskHandle, Toolkit, tool
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28.ext.tasks import TasksClient, TasksServer, TasksSession
from mcp_revisions.v2026_07_28.ext.tasks import models as m


class Worker(TasksServer, Toolkit, mcp.Server):
    @tool(task=True)
    async def grow(self, session: TasksSession, n: int) -> str:
        return "x" * n


class ByHand(TasksServer, mcp.Server):
    async def on_get_task(
        self, session: TasksSession, params: m.GetTaskRequestParams
    ) -> m.GetTaskResultFailed:
        error = m.Error(code=1, message="")
        return m.GetTaskResultFailed(
            task_id=params.task_id, created_at="", last_updated_at="", ttl_ms=None, error=error
        )

    async def on_call_tool(
        self, session: mcp.Session, params: mcp.models.CallToolRequestParams
    ) -> mcp.models.CallToolResult:
        return mcp.models.CallToolResult(content=[])


class Functions(TasksServer, mcp.App):
    pass


app = Functions("functions")


@app.tool(task="deferred")
async def later(n: int) -> str:
    return str(n)


class Patient(TasksClient, mcp.Client):
    heard: list[m.TaskStatusNotificationParams] = []

    async def on_task_status(self, params: m.TaskStatusNotificationParams) -> None:
        self.heard.append(params)

    async def on_subscriptions_acknowledged(
        self, params: mcp.models.SubscriptionsAcknowledgedNotificationParams
    ) -> None:
        if isinstance(params.notifications, m.TaskSubscriptionAcknowledgedNotifications):
            assert_type(params.notifications.task_ids, list[str] | None)


async def use(client: Patient) -> None:
    assert_type(await client.start_task("grow", {"n": 3}), TaskHandle)
    assert_type((await client.call_tool("grow", {"n": 3})).text, str)
    assert_type(await client.cancel_task("7"), m.CancelTaskResult)
    await client.cancel_task(7)  # wrong
    await client.subscriptions_listen(m.TaskSubscriptionNotifications(task_ids=["7"]))
    state = await client.get_task("7")
    assert isinstance(state, m.CompletedTask | m.FailedTask)
    await client.start_task(3)  # wrong
"""


def wrong_lines(program: str) -> set[int]:
    """The numbers of the lines marked as wrong, from 1."""
    lines = program.splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}


def of_pages(*pages: str) -> dict[str, str]:
    return {
        f"{page.removesuffix('.md').replace('-', '_')}_{number}.py": program
        for page in pages
        for number, program in enumerate(programs(page))
    }
