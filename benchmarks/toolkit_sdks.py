"""The same echo server with an SDK: `FastMCP` of fastmcp or of mcp 1, or `MCPServer` of mcp 2.

`python -m benchmarks.toolkit_sdks stdio|http async|plain MODULE CLASS`; answers are plain JSON,
without a banner or a log of each request.
"""

import logging
import sys
from importlib import import_module
from typing import Any


async def echo(text: str) -> str:
    """Return the text."""
    return text


def plain(text: str) -> str:
    """Return the text."""
    return text


def make_server(module: str, name: str, kind: str) -> Any:
    """Return the server, whose tool is a coroutine function or a plain one."""
    server: Any = getattr(import_module(module), name)("echo")
    server.tool(name="echo")(echo if kind == "async" else plain)
    return server


def application(server: Any) -> Any:
    """Return the server as an ASGI application that answers with plain JSON."""
    if hasattr(server, "http_app"):  # fastmcp
        return server.http_app(json_response=True)
    if hasattr(server.settings, "json_response"):  # mcp 1
        server.settings.json_response = True
        return server.streamable_http_app()
    return server.streamable_http_app(json_response=True)


if __name__ == "__main__":
    transport, kind, module, name = sys.argv[1:]
    logging.disable(logging.INFO)
    server = make_server(module, name, kind)
    if transport == "http":
        from .http_uvicorn import serve

        serve(application(server))
    elif module == "fastmcp":
        server.run(show_banner=False)
    else:
        server.run()
