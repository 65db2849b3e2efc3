"""Small programs as users write them, for type checkers.

Wrong lines end in `# wrong`; a checker has to object to these and to no others.
"""

import re

from support.folders import ROOT
from support.generated.golden_package import PACKAGE

HANDSHAKE = """
from typing import assert_type

from mcp_revisions import REVISIONS, load
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25 import capabilities, methods
from mcp_revisions.v2025_11_25 import models as m


class Weather(mcp.Server):
    async def on_list_tools(
        self, session: mcp.Session, params: m.PaginatedRequestParams
    ) -> m.ListToolsResult:
        tool = m.Tool(name="forecast", input_schema={"type": "object"}, icons=[m.Icon(src="")])
        return m.ListToolsResult(tools=[tool], next_cursor=params.cursor)

    async def on_call_tool(
        self, session: mcp.Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult:
        roots = await session.list_roots()
        names = [root.name or root.uri for root in roots.roots]
        question = m.SamplingMessage(role="user", content=m.TextContent(text="?"))
        answer = await session.create_message(
            m.CreateMessageRequestParams(messages=[question], max_tokens=100)
        )
        if isinstance(answer, m.CreateTaskResult):
            assert_type(answer.task.ttl, int | None)
            names.append(answer.task.task_id)
        else:
            names.append(answer.model)
        await session.notify_logging_message(
            m.LoggingMessageNotificationParams(level="info", data=names)
        )
        return m.CallToolResult(content=[m.TextContent(text=name) for name in names])


class Desktop(mcp.Client):
    async def on_elicit(self, params: m.ElicitRequestParams) -> m.ElicitResult:
        if isinstance(params, m.ElicitRequestURLParams):
            return m.ElicitResult(action="decline", content=None)
        return m.ElicitResult(action="accept", content={"age": 3, "tags": ["a"], "ok": True})


async def use(client: Desktop) -> str:
    listed = await client.list_tools(m.PaginatedRequestParams())
    assert_type(listed.next_cursor, str | None)
    result = await client.call_tool(m.CallToolRequestParams(name=listed.tools[0].name))
    if isinstance(result, m.CreateTaskResult):
        return result.task.status
    for block in result.content:
        if isinstance(block, m.TextContent):
            return block.text
        elif isinstance(block, m.EmbeddedResource):
            return block.resource.uri
        elif isinstance(block, m.ImageContent | m.AudioContent):
            return block.mime_type
    return str(result.is_error)


def read(data: bytes) -> str:
    request = methods.parse_request(data, sender="client")
    written = methods.serialise_request(
        methods.CALL_TOOL, request.id, m.CallToolRequestParams(name="forecast")
    )
    answer = methods.parse_answer(written, spec=methods.LIST_TOOLS)
    declared = capabilities.server_capabilities(["tools/call"])
    return str((answer, declared.tools, m.Tool.from_json(data).name, load(REVISIONS[0].id)))
"""

STATELESS = """
from collections.abc import Sequence
from typing import assert_type

from mcp_revisions import Options, Progress, connect, connect_in_memory, page, run_stdio
from mcp_revisions import serve, stdio_client
from mcp_revisions import v2025_11_25 as old
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as m


class Weather(mcp.Server):
    async def on_call_tool(
        self, session: mcp.Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult | m.InputRequiredResult:
        assert_type(params.meta, m.RequestMetaObject)
        await session.progress(0.5, 1, "half way")
        await session.log("info", {"any": ["json"]})
        if session.inputs is None:
            return session.ask({"where": m.ListRootsRequest()}, state={"step": 1})
        answer = session.inputs.response("where", m.ListRootsResult)
        assert_type(answer, m.ListRootsResult | None)
        assert_type(session.client_info, m.Implementation | None)
        return m.CallToolResult(content=[], structured_content=None)

    async def on_list_tools(
        self, session: mcp.Session, params: m.PaginatedRequestParams
    ) -> m.ListToolsResult:
        tools = [m.Tool(name="forecast", input_schema={"type": "object"})]
        one = page(tools, params.cursor, size=10)
        assert_type(one.items, list[m.Tool])
        return m.ListToolsResult(tools=one.items, next_cursor=one.next_cursor)


def told(progress: Progress) -> None:
    assert_type(progress.total, float | None)


async def use(client: mcp.Client) -> int:
    listed = await client.list_tools()
    assert_type(listed.ttl_ms, int)
    found = await client.call_tool(
        m.CallToolRequestParams(name="forecast"), timeout=5, on_progress=told
    )
    assert_type(found, m.CallToolResult)
    async for tool in client.iter_tools():
        assert_type(tool, m.Tool)
    assert_type(client.server_capabilities, m.ServerCapabilities)
    return len(found.content)


async def both(weather: Weather) -> None:
    how = stdio_client(["python", "server.py"], env={"A": "b"}, grace=1)
    async with connect(how, mcp.Client()) as client:
        assert_type(client, mcp.Client)
        await use(client)
    async with connect(how, old.Client(), mcp.Client(), options=Options(timeout=3)) as either:
        assert_type(either, old.Client | mcp.Client)
        if isinstance(either, mcp.Client):
            await either.discover()
        else:
            await either.ping()
    async with connect_in_memory(mcp.Client(), weather) as client:
        assert_type(client, mcp.Client)
    await weather.tools_list_changed()
    await weather.resource_updated("file:///a")


class Wire:
    async def receive(self) -> Sequence[bytes]:
        return []

    async def send(self, messages: Sequence[bytes]) -> None:
        pass

    async def close(self) -> None:
        pass


async def by_hand() -> None:
    await serve({Weather, old.Server}, Wire())
    await serve(Weather(), Wire(), options=Options(drain=1))
    run_stdio([Weather()])
"""

BETWEEN = """
from typing import assert_type

from mcp_revisions import REVISIONS, Bridge, Loss, Options, connect, handles, open_stdio
from mcp_revisions import run_stdio, stdio_client, translate, v2025_11_25, v2026_07_28
from mcp_revisions.translate.v2024_11_05__v2025_03_26 import UP
from mcp_revisions.v2026_07_28 import models as m


class Asking(v2026_07_28.Server):
    async def on_call_tool(
        self, session: v2026_07_28.Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult | m.InputRequiredResult:
        receipt = await session.once("charge", lambda: 3)
        assert_type(receipt, int)
        roots = await session.list_roots()
        assert_type(roots, m.ListRootsResult)
        return m.CallToolResult(content=[m.TextContent(text=one.uri) for one in roots.roots])

    @handles("tools/call", "2024-11-05", "2025-03-26")
    async def for_the_oldest(
        self, session: v2026_07_28.Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult:
        return m.CallToolResult(content=[m.TextContent(text=session.revision)])


def told(lost: Loss) -> None:
    print(lost.method, lost.pointer, lost.why)


async def main() -> None:
    options = Options(on_loss=told)
    async with connect(stdio_client(["server"]), as_=v2025_11_25) as client:
        assert_type(client, v2025_11_25.Client)
        print([tool.name async for tool in client.iter_tools()], client.revision)
    some = [one for one in REVISIONS if one.era == "handshake"]
    ours = v2026_07_28.Client()
    async with connect(stdio_client(["server"]), ours, revisions=some, options=options) as same:
        assert_type(same, v2026_07_28.Client)
    await Bridge(await open_stdio(), stdio_client(["server"]), server_revisions=some).run()
    outcome = translate(m.TextContent(text=""), v2026_07_28, "2025-11-25")
    print(outcome.losses, UP.source)


if __name__ == "__main__":
    run_stdio(Asking(), revisions=REVISIONS)
"""

HTTP = """
from typing import assert_type

import httpx2
from mcp_revisions import (
    REVISIONS,
    Authentication,
    Bridge,
    HttpApp,
    HttpOptions,
    MemoryEventStore,
    Principal,
    Reconnection,
    connect_http,
    http_app,
    static_tokens,
    open_http,
    open_stdio,
    run_http,
)
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25 import models as m


class Slow(mcp.Server):
    async def on_call_tool(
        self, session: mcp.Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult:
        await session.close_stream()
        return m.CallToolResult(content=[m.TextContent(text=session.principal or "nobody")])


OPTIONS = HttpOptions(
    allowed_hosts=["mcp.example.com"],
    events=MemoryEventStore(max_events=10),
    authentication=Authentication(verify=static_tokens({"t" * 16: Principal("ada")})),
)
app = http_app(Slow, revisions=REVISIONS, http=OPTIONS)
assert_type(app, HttpApp)


async def main(url: str) -> None:
    async with httpx2.AsyncClient() as http, connect_http(url, mcp.Client(), http=http) as client:
        assert_type(client, mcp.Client)
    again = Reconnection(max_attempts=3)
    async with connect_http(url, as_=mcp, headers={"x-key": "1"}, reconnection=again) as plain:
        assert_type(plain, mcp.Client)
    await Bridge(await open_stdio(), open_http(url)).run()


if __name__ == "__main__":
    run_http(Slow(), port=8001, http=OPTIONS)
"""

WRONG = """
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25 import methods
from mcp_revisions.v2025_11_25 import models as m


class Weather(mcp.Server):
    async def on_ping(self, session: mcp.Session, params: m.Tool) -> m.EmptyResult:  # wrong
        return m.CallToolResult(content=[])  # wrong

    async def on_complete(self, params: m.CompleteRequestParams) -> m.CompleteResult:  # wrong
        raise NotImplementedError


async def use(client: mcp.Client, session: mcp.Session) -> None:
    await client.call_tool(m.GetPromptRequestParams(name="forecast"))  # wrong
    result = await client.call_tool(m.CallToolRequestParams(name="forecast"))
    print(result.content)  # wrong
    await session.list_tools(m.PaginatedRequestParams())  # wrong
    listed = await client.list_tools(m.PaginatedRequestParams())
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

TOOLKIT = """
from typing import Any, assert_type

from mcp_revisions import CheckedResults, Options, Toolkit, UriTemplate, connect_in_memory
from mcp_revisions import prompt, resource, tool
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as m
from server import Forecast, Weather


class Loud(Toolkit):
    @tool(structured=False, thread=True)
    def shout(self, text: str) -> dict[str, str]:
        return {"loud": text.upper()}


def towns(typed: str) -> list[str]:
    return [typed]


class Both(Loud, mcp.Server):
    SENDS = frozenset({"notifications/tools/list_changed"})

    def __init__(self, name: str) -> None:
        self.info = m.Implementation(name=name, version="1")

    @tool(input_schema={"type": "object"}, output_schema={"type": "object"}, name="raw.tool")
    async def raw(self, session: mcp.Session, arguments: dict[str, Any]) -> m.CallToolResult:
        return m.CallToolResult(content=[], structured_content=arguments)

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


class Checking(CheckedResults, mcp.Client):
    pass


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
    async with connect_in_memory(Checking(), both, options=Options(timeout=3)) as client:
        await client.call_tool(m.CallToolRequestParams(name="shout"))
    assert_type(UriTemplate.parse("a:{x}").match("a:b"), dict[str, str] | None)
    await weather.forecast(3)  # wrong
    weather.add("a", 1)  # wrong
    Both()  # wrong
    both.add_tool(plain, titel="x")  # wrong


@tool(structure=False)  # wrong
def wrong(x: str) -> str:
    return x
"""

APP = """
from collections.abc import AsyncGenerator, Awaitable, Iterator
from contextlib import asynccontextmanager
from typing import Annotated, assert_type

from mcp_revisions import (
    REVISIONS, Depends, HttpApp, HttpOptions, Options, connect_in_memory, run_http, run_stdio,
    tool
)
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25 import models as m
from notes import add_note, app as notes_app


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
def plain(x: int, db: Annotated[Db, Depends(transaction)]) -> int:
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


async def use() -> None:
    assert_type(plain(1, Db()), int)
    assert_type(await waiting(2), str)
    assert_type(read("a"), bytes)
    assert_type(ask(ask_again("x")), str)
    assert_type(Own("own").method(1), int)
    number: Awaitable[int] = add_note("milk", notes_app.lifespan)  # wrong
    async with connect_in_memory(mcp.Client(), app) as client:
        await client.call_tool(m.CallToolRequestParams(name="plain"))
    asgi = app.http(http=HttpOptions(sessions=False), options=Options(timeout=3))
    assert_type(asgi, HttpApp)
    await asgi.close()


app.run()
app.run("stdio", limit=1000, revisions=REVISIONS, options=Options(timeout=3))
app.run("http", port=8000, host="::1", http=HttpOptions(), revisions=REVISIONS[1:])
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


def wrong_lines(program: str) -> set[int]:
    """The numbers of the lines marked as wrong, from 1."""
    lines = program.splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}


def shown_in(page: str, number: int = 0) -> str:
    """A program on a page of the documentation, with the committed package."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    programs: list[str] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return programs[number].replace("pkg", PACKAGE.name)
