"""An echo server over HTTP made with the SDK's low-level server, at its fastest.

Answers are plain JSON, there is no router, and the schema of a tool is looked up where the SDK
would otherwise list all tools for each call (2026-07-28). It serves all revisions.
"""

from importlib import import_module
from typing import Any

from .http_uvicorn import serve

# The SDK is in the environment of the SDKs only.
_types: Any = import_module("mcp_types")
_Server: Any = import_module("mcp.server").Server
_Sessions: Any = import_module("mcp.server.streamable_http_manager").StreamableHTTPSessionManager

_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
_ECHO = _types.Tool(name="echo", description="Says what it is told.", input_schema=_SCHEMA)


async def list_tools(context: Any, params: Any) -> Any:
    return _types.ListToolsResult(tools=[_ECHO])


async def call_tool(context: Any, params: Any) -> Any:
    """Echo, whatever the tool."""
    text = str(params.arguments["text"])
    return _types.CallToolResult(content=[_types.TextContent(type="text", text=text)])


def application() -> Any:
    """Return the server as an ASGI application."""

    def schema_of(name: str) -> Any:
        return _SCHEMA

    server = _Server(
        "echo",
        version="1",
        get_tool_input_schema=schema_of,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    sessions = _Sessions(server, json_response=True)

    async def handle(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await sessions.handle_request(scope, receive, send)
            return
        await receive()
        async with sessions.run():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    return handle


if __name__ == "__main__":
    serve(application())
