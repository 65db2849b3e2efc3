"""What programs around the clients of others have in common: each takes visits, one after another.

A line on standard input is a visit: the command line or the URL of a `server`, the `revision` to
pin or `newest`, `steps`, and `oauth` where the server wants a token. A line on standard output is
what was seen. Between two of them, both are what the client, and a server that it has started, say
by themselves.
"""

import asyncio
import json
import sys
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from http.client import HTTPConnection
from typing import Any
from urllib.parse import parse_qsl, urlsplit

MARK = "SEEN "
CHANGES = ("notifications/resources/updated", "notifications/tools/list_changed")


def wire(value: Any) -> Any:
    """Return a model of either generation as JSON."""
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


class Host:
    """The client's side of requests, with a record; `types` are those of the SDK."""

    def __init__(self, types: Any, visit: Any) -> None:
        self.types = types
        self.visit = visit
        self.answers: list[Any] = []
        self.asked: list[str] = []
        self.progress: list[Any] = []
        self.changes: list[str] = []
        self.seen: dict[str, Any] = {"logs": [], "errors": [], "results": []}

    @property
    def server(self) -> Any:
        return self.visit["server"]

    @property
    def revision(self) -> str:
        return str(self.visit["revision"])

    @property
    def oauth(self) -> Any:
        """Return the client's authorization; None without tokens."""
        return self.visit.get("oauth")

    def callbacks(self) -> dict[str, Any]:
        return {
            "elicitation_callback": self.elicit,
            "sampling_callback": self.sample,
            "list_roots_callback": self.roots,
            "logging_callback": self.note_log,
            "message_handler": self.note_message,
        }

    async def elicit(self, context: Any, params: Any) -> Any:
        """Give the next answer of the step; cancel without one."""
        self.asked.append(params.message)
        answer = self.answers.pop(0) if self.answers else {"action": "cancel"}
        return self.types.ElicitResult(**answer)

    async def sample(self, context: Any, params: Any) -> Any:
        text = self.types.TextContent(type="text", text="sampled")
        return self.types.CreateMessageResult(role="assistant", content=text, model="model")

    async def roots(self, context: Any) -> Any:
        return self.types.ListRootsResult(roots=[self.types.Root(uri="file:///root")])

    async def note_log(self, params: Any) -> None:
        self.seen["logs"].append(params.data)

    async def note_message(self, message: Any) -> None:
        if isinstance(message, Exception):
            self.seen["errors"].append(repr(message))
            return
        # Those of generation 1 are wrapped, and questions come here too.
        method = getattr(getattr(message, "root", message), "method", None)
        if method in CHANGES:
            self.changes.append(method)

    async def note_progress(self, done: float, total: float | None, message: str | None) -> None:
        self.progress.append([done, total, message])


class SignIn:
    """What an OAuth provider of the official SDK wants: storage, and a user who agrees at once."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None
        self.redirected: dict[str, str] = {}

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client: Any) -> None:
        self.client = client

    async def open(self, url: str) -> None:
        """Open the page of an authorization server, which sends the user back at once."""
        location = await asyncio.to_thread(_location, url)
        self.redirected = dict(parse_qsl(urlsplit(location).query))


def _location(url: str) -> str:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc)
    connection.request("GET", f"{parts.path}?{parts.query}")
    response = connection.getresponse()
    assert response.status == 302, response.read()
    return response.headers["location"]


class Steps:
    """The steps of a visit with a client of the official SDK; a method for each."""

    def __init__(self, client: Any, host: Host) -> None:
        self.client = client
        self.host = host

    async def walk(self) -> None:
        """Take all steps; one that fails has the code and the text of the error as its result."""
        for name, *arguments in self.host.visit["steps"]:
            try:
                result = await getattr(self, name)(*arguments)
            except self.failures() as error:
                result = {"error": self.error(error)}
            self.host.seen["results"].append(result)

    def failures(self) -> Any:
        """The exceptions of a client for error responses."""
        raise NotImplementedError

    def error(self, error: Any) -> Any:
        return [error.error.code, error.error.message]

    async def pages(self, method: Callable[..., Awaitable[Any]], member: str) -> Any:
        page = wire(await method())
        found = page[member]
        while cursor := page.get("nextCursor"):
            page = wire(await method(cursor=cursor))
            found += page[member]
        return found

    async def tools(self) -> Any:
        return await self.pages(self.client.list_tools, "tools")

    async def resources(self) -> Any:
        return await self.pages(self.client.list_resources, "resources")

    async def templates(self) -> Any:
        return await self.pages(self.client.list_resource_templates, "resourceTemplates")

    async def prompts(self) -> Any:
        return await self.pages(self.client.list_prompts, "prompts")

    async def read(self, uri: str) -> Any:
        return wire(await self.client.read_resource(uri))

    async def prompt(self, name: str, arguments: Any) -> Any:
        return wire(await self.client.get_prompt(name, arguments))

    async def complete(self, kind: str, name: str, argument: str, value: str) -> Any:
        types = self.host.types
        given: dict[str, Any] = {"type": f"ref/{kind}"}
        if kind == "prompt":
            reference = types.PromptReference(**given, name=name)
        else:
            reference = types.ResourceTemplateReference(**given, uri=name)
        completed = await self.client.complete(reference, {"name": argument, "value": value})
        # fastmcp returns the member alone.
        return wire(getattr(completed, "completion", completed))

    async def call_tool(self, name: str, arguments: Any, progressed: Any) -> Any:
        return wire(await self.client.call_tool(name, arguments, progress_callback=progressed))

    async def call(
        self, name: str, arguments: Any, answers: Any = (), progress: bool = False
    ) -> Any:
        """Call a tool with the user's answers to its questions."""
        host = self.host
        host.answers, host.asked, host.progress = list(answers), [], []
        result = await self.call_tool(name, arguments, host.note_progress if progress else None)
        return {**result, "asked": host.asked, "progress": host.progress}

    async def ping(self) -> None:
        await self.client.send_ping()

    async def level(self, level: str) -> None:
        await self.client.set_logging_level(level)

    @asynccontextmanager
    async def watching(self, uri: str) -> AsyncGenerator[None, None]:
        """Return the changes of a resource."""
        await self.client.subscribe_resource(uri)
        yield
        await self.client.unsubscribe_resource(uri)

    async def watch(self, uri: str, changes: int, tool: str, arguments: Any) -> Any:
        """Call a tool that makes changes, and return their notifications."""
        heard = self.host.changes
        heard.clear()
        async with self.watching(uri), asyncio.timeout(10):
            await self.call(tool, arguments)
            while len(heard) < changes:
                await asyncio.sleep(0.01)
        return {"heard": sorted(heard)}

    async def cancel(self, name: str) -> str:
        """Call a tool, and give the call up."""
        try:
            async with asyncio.timeout(0.3):
                return str(await self.call(name, {}))
        except TimeoutError:
            return "cancelled"


async def view_of(steps: type[Steps], client: Any, host: Host) -> Any:
    """Return the view of an open client that knows its negotiated revision."""
    host.seen["revision"] = client.protocol_version
    host.seen["server"] = client.server_info.name if client.server_info else None
    host.seen["instructions"] = client.instructions
    await steps(client, host).walk()
    return host.seen


def drive(visited: Callable[[Any], Coroutine[Any, Any, Any]]) -> None:
    """Run visits until the input ends; `visited` returns the result of one."""
    for line in sys.stdin:
        try:
            seen = asyncio.run(visited(json.loads(line)))
        except BaseException:
            seen = {"failed": traceback.format_exc()}
        print(MARK + json.dumps(seen), flush=True)
