"""A low-level server of the official SDK, generation 2, on standard input and output.

With an argument it serves over HTTP on that port: at `/mcp`, at `/json` with answers in JSON alone,
and at `/stateless` without sessions.
"""

import asyncio
import sys
import warnings
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import mcp_types as types
import uvicorn
from http_events import Events
from mcp import MCPError
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.subscriptions import ResourceUpdated, ToolsListChanged
from starlette.applications import Starlette

warnings.simplefilter("ignore")

URI = "file:///a"
NAMES = ("ask", "change", "count", "echo", "log", "roots", "sample", "sleep")
FORM: Any = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
BUS = InMemorySubscriptionBus()

Context = ServerRequestContext[Any]


def text_result(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def list_tools(ctx: Context, params: Any) -> types.ListToolsResult:
    start = int(params.cursor) if params is not None and params.cursor else 0
    tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in NAMES]
    following = str(start + 3) if start + 3 < len(tools) else None
    return types.ListToolsResult(tools=tools[start : start + 3], next_cursor=following)


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
    arguments = params.arguments or {}
    modern = ctx.protocol_version == "2026-07-28"
    match params.name:
        case "echo":
            return text_result(str(arguments.get("text")))
        case "count":
            for number in (1, 2, 3):
                await ctx.session.report_progress(number, 3, f"at {number}")
                # A client that lost its connection misses the next message.
                await asyncio.sleep(0.01)
        case "sleep":
            await sleep()
        case "poll":
            # There only for clients that will come back.
            if ctx.close_sse_stream is not None:
                await ctx.close_sse_stream()
        case "media":
            content: Any = [types.TextContent(type="text", text="plain")]
            return types.CallToolResult(content=content, structured_content={"answer": 42})
        case "log":
            await ctx.session.send_log_message(
                "info", {"said": "logged"}, "tools", related_request_id=ctx.request_id
            )
        case "change":
            await change(ctx, modern)
        case _:
            return await question(ctx, params, modern)
    return text_result("done")


async def sleep() -> None:
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        print("sleep was cancelled", file=sys.stderr, flush=True)
        raise


async def change(ctx: Context, modern: bool) -> None:
    if modern:
        await BUS.publish(ResourceUpdated(uri=URI))
        await BUS.publish(ToolsListChanged())
    else:
        await ctx.session.send_resource_updated(URI)
        await ctx.session.send_tool_list_changed()


async def question(ctx: Context, params: types.CallToolRequestParams, modern: bool) -> Any:
    asked = QUESTIONS[params.name]
    if modern and not params.input_responses:
        return types.InputRequiredResult(input_requests={"q": asked}, request_state="state")
    answer: Any
    if modern:
        assert params.request_state == "state"
        answer = (params.input_responses or {})["q"]
    else:
        kinds: Any = {
            "ask": types.ElicitResult,
            "sample": types.CreateMessageResult,
            "roots": types.ListRootsResult,
        }
        # Over HTTP one goes out on the stream that belongs to no request.
        own = None if params.name == "roots" else ctx.request_id
        metadata = ServerMessageMetadata(related_request_id=own)
        answer = await ctx.session.send_request(asked, kinds[params.name], metadata=metadata)
    match params.name:
        case "ask":
            return text_result(f"{answer.action} {answer.content['name']}")
        case "sample":
            return text_result(f"{answer.model} {answer.content.text}")
        case _:
            return text_result(" ".join(str(root.uri) for root in answer.roots))


QUESTIONS: dict[str, Any] = {
    "ask": types.ElicitRequest(
        params=types.ElicitRequestFormParams(message="Your name?", requested_schema=FORM)
    ),
    "sample": types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(
            max_tokens=10,
            messages=[
                types.SamplingMessage(role="user", content=types.TextContent(type="text", text="?"))
            ],
        )
    ),
    "roots": types.ListRootsRequest(),
}


async def list_resources(ctx: Context, params: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[types.Resource(uri=URI, name="a")])


async def read_resource(ctx: Context, params: Any) -> types.ReadResourceResult:
    if params.uri != URI:
        code = -32602 if ctx.protocol_version == "2026-07-28" else -32002
        raise MCPError(code, "Resource not found")
    contents = types.TextResourceContents(uri=params.uri, text="content of a")
    return types.ReadResourceResult(contents=[contents])


async def subscribe(ctx: Context, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


async def list_prompts(ctx: Context, params: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[types.Prompt(name="greet")])


async def get_prompt(ctx: Context, params: Any) -> types.GetPromptResult:
    text = types.TextContent(type="text", text=f"Greet {(params.arguments or {}).get('name')}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])


async def complete(ctx: Context, params: Any) -> types.CompleteResult:
    values = [name for name in ("ada", "alan") if name.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values))


async def set_level(ctx: Context, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


def build_server() -> Any:
    return Server(
        "everything",
        version="1",
        instructions="Call whatever you like.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=subscribe,
        on_subscriptions_listen=ListenHandler(BUS),
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_set_logging_level=set_level,
    )


async def main() -> None:
    server = build_server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def over_http() -> Starlette:
    kinds: dict[str, Any] = {
        "/mcp": {},
        "/json": {"json_response": True},
        "/stateless": {"stateless_http": True},
    }
    apps = [
        build_server().streamable_http_app(
            streamable_http_path=path, event_store=Events(), retry_interval=50, **kind
        )
        for path, kind in kinds.items()
    ]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
        async with AsyncExitStack() as running:
            for application in apps:
                await running.enter_async_context(application.router.lifespan_context(application))
            yield

    return Starlette(routes=[route for app in apps for route in app.routes], lifespan=lifespan)


if sys.argv[1:]:
    # It does not wait for open streams when told to stop.
    port = int(sys.argv[1])
    uvicorn.run(over_http(), port=port, log_level="warning", timeout_graceful_shutdown=0)
else:
    asyncio.run(main())
