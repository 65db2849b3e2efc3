"""An application for other processes: `support.http.worker:app`, under any ASGI server.

With the URL of a server in `WORKER_REDIS`, it is one of several workers that share it. As a
program, two workers of `run_http` serve it.
"""

import asyncio
import logging
import os
import sys
from typing import Any

from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import (
    CallToolRequestParams,
    ReadResourceRequestParams,
)
from support.json_types import JsonObject
from support.revisions import STATELESS
from support.sessions.talking import models, pkg, server

TOLD = frozenset({"notifications/message", "notifications/resources/updated"})


async def on_call_tool(self: Any, session: Session, params: CallToolRequestParams) -> object:
    m = models(STATELESS)
    given: JsonObject = params.arguments or {}
    said = str(os.getpid())
    if params.name == "publish":
        # The caller does not know which process answers.
        if given["pid"] == said:
            await self.resource_updated(f"file:///{said}")
        else:
            said = "another"
    elif params.name == "says":
        await session.log("info", "low")
        await session.log("error", "high")
    elif params.name == "lets_go":
        await session.close_stream()
    elif params.name == "waits":
        await session.progress(1)
        await asyncio.sleep(0.5)
    elif params.name == "asks":
        began: object = await session.once("began", os.getpid)
        question = m.SamplingMessage(role="user", content=m.TextContent(text="?"))
        await session.create_message([question], 1)
        said = f"{began} {said}"
    return m.CallToolResult(content=[m.TextContent(text=said)])


async def on_read_resource(
    self: object, session: Session, params: ReadResourceRequestParams
) -> object:
    m = models(STATELESS)
    return m.ReadResourceResult(contents=[m.TextResourceContents(uri=params.uri, text="")])


def build_app() -> pkg.HttpApp:
    url = os.environ.get("WORKER_REDIS")
    shared = None if url is None else pkg.Shared(engine=pkg.RedisEngine(url))
    ours = server(
        STATELESS, on_call_tool=on_call_tool, on_read_resource=on_read_resource, SENDS=TOLD
    )
    http = pkg.HttpOptions(shared=shared)
    return pkg.http_app(ours, revisions=pkg.REVISIONS, http=http)


app = build_app()

if __name__ == "__main__":
    logging.basicConfig(format="%(levelname)s %(message)s")
    pkg.run_http("support.http.worker:app", port=int(sys.argv[1]), workers=2)
