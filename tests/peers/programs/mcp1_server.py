"""A low-level server of the official SDK, generation 1, on standard input and output.

With an argument it serves over HTTP on that port: at `/mcp`, at `/json` with answers in JSON alone,
at `/stateless` without sessions, and at `/sse` over the old transport.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import uvicorn
from http_events import Events
from mcp import McpError, types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import AnyUrl
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route

URI = AnyUrl("file:///a")
NAMES = ("ask", "change", "count", "echo", "log", "roots", "sample", "sleep")
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

server: Any = Server("everything", version="1", instructions="Call whatever you like.")


@server.list_tools()
async def list_tools(request: types.ListToolsRequest) -> types.ListToolsResult:
    # The SDK itself asks, without a request, for a tool that it has not seen yet.
    params: Any = request and request.params
    start = int(params.cursor) if params and params.cursor else 0
    tools = [types.Tool(name=name, inputSchema={"type": "object"}) for name in NAMES]
    following = str(start + 3) if start + 3 < len(tools) else None
    return types.ListToolsResult(tools=tools[start : start + 3], nextCursor=following)


@server.call_tool(validate_input=False)
async def call_tool(name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    content: Any = [types.TextContent(type="text", text=await answer_text(name, arguments))]
    structured = {"answer": 42} if name == "media" else None
    return types.CallToolResult(content=content, structuredContent=structured)


async def answer_text(name: str, arguments: dict[str, Any]) -> str:
    context = server.request_context
    session = context.session
    own = context.request_id
    match name:
        case "echo":
            return str(arguments.get("text"))
        case "count":
            for number in (1, 2, 3):
                await session.send_progress_notification(
                    context.meta.progressToken, number, 3, f"at {number}", own
                )
                # A client that lost its connection misses the next message.
                await asyncio.sleep(0.01)
        case "sleep":
            await sleep()
        case "poll":
            # There only for clients that will come back.
            if context.close_sse_stream is not None:
                await context.close_sse_stream()
        case "media":
            return "plain"
        case "log":
            await session.send_log_message("info", {"said": "logged"}, "tools", own)
        case "change":
            await session.send_resource_updated(URI)
            await session.send_tool_list_changed()
        case "ask":
            answer = await session.elicit("Your name?", FORM, own)
            return f"{answer.action} {answer.content['name']}"
        case "sample":
            text = types.TextContent(type="text", text="?")
            question = types.SamplingMessage(role="user", content=text)
            answer = await session.create_message([question], max_tokens=10, related_request_id=own)
            return f"{answer.model} {answer.content.text}"
        case _:
            # Over HTTP this one goes out on the stream that belongs to no request.
            return " ".join(str(root.uri) for root in (await session.list_roots()).roots)
    return "done"


async def sleep() -> None:
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        print("sleep was cancelled", file=sys.stderr, flush=True)
        raise


@server.list_resources()
async def list_resources() -> list[types.Resource]:
    return [types.Resource(uri=URI, name="a")]


@server.read_resource()
async def read_resource(uri: AnyUrl) -> str:
    if uri != URI:
        raise McpError(types.ErrorData(code=-32002, message="Resource not found"))
    return "content of a"


@server.subscribe_resource()
async def subscribe(uri: AnyUrl) -> None:
    pass


@server.unsubscribe_resource()
async def unsubscribe(uri: AnyUrl) -> None:
    pass


@server.list_prompts()
async def list_prompts() -> list[types.Prompt]:
    return [types.Prompt(name="greet")]


@server.get_prompt()
async def get_prompt(name: str, arguments: dict[str, str] | None) -> types.GetPromptResult:
    text = types.TextContent(type="text", text=f"Greet {(arguments or {}).get('name')}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])


@server.completion()
async def complete(ref: Any, argument: Any, context: Any) -> types.Completion:
    return types.Completion(values=[n for n in ("ada", "alan") if n.startswith(argument.value)])


@server.set_logging_level()
async def set_level(level: types.LoggingLevel) -> None:
    pass


def options() -> Any:
    changes = NotificationOptions(tools_changed=True)
    made = server.create_initialization_options(changes)
    # The SDK never declares it, whatever handlers there are.
    made.capabilities.resources.subscribe = True
    return made


class Endpoint:
    """One that handles requests by itself, whatever their method."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self.manager = manager

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.manager.handle_request(scope, receive, send)


def over_http() -> Starlette:
    kinds: dict[str, Any] = {
        "/mcp": {},
        "/json": {"json_response": True},
        "/stateless": {"stateless": True},
    }
    managers = {
        path: StreamableHTTPSessionManager(server, Events(), retry_interval=50, **kind)
        for path, kind in kinds.items()
    }
    made = options()
    # The manager asks for them itself, and knows of no changes.
    server.create_initialization_options = lambda: made

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
        async with AsyncExitStack() as running:
            for manager in managers.values():
                await running.enter_async_context(manager.run())
            yield

    routes: list[Any] = [Route(path, Endpoint(manager)) for path, manager in managers.items()]
    return Starlette(routes=[*routes, *over_sse(made)], lifespan=lifespan)


def over_sse(made: Any) -> list[Any]:
    transport = SseServerTransport("/messages/")

    async def serve(request: Any) -> Response:
        scope, receive, send = request.scope, request.receive, request._send
        async with transport.connect_sse(scope, receive, send) as (read, write):
            await server.run(read, write, made)
        return Response()

    return [Route("/sse", serve), Mount("/messages/", transport.handle_post_message)]


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, options())


if sys.argv[1:]:
    # It does not wait for open streams when told to stop.
    port = int(sys.argv[1])
    uvicorn.run(over_http(), port=port, log_level="warning", timeout_graceful_shutdown=0)
else:
    asyncio.run(main())
