"""An application for processes of their own: `support.http.worker:app`, under any ASGI server.

With `WORKER_STORE` in the environment, the path of a file, sessions and events are kept there for
all processes that have the same one. Run as a program, it is served by two workers of `run_http`.
"""

import asyncio
import json
import logging
import os
import sqlite3
import sys
from collections.abc import Sequence
from dataclasses import asdict
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


class FileStore:
    """Both stores in one file, which all processes open; small, and not quick."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, timeout=10, isolation_level=None)
        self._db.execute("create table if not exists sessions (id primary key, record)")
        self._db.execute(
            "create table if not exists events (session, stream, number, message,"
            " primary key (session, stream, number))"
        )

    async def save(self, id: str, record: pkg.SessionRecord, lifetime: float) -> None:
        self._db.execute(
            "insert or replace into sessions values (?, ?)", (id, json.dumps(asdict(record)))
        )

    async def load(self, id: str) -> pkg.SessionRecord | None:
        found = self._db.execute("select record from sessions where id = ?", (id,)).fetchone()
        return None if found is None else pkg.SessionRecord(**json.loads(found[0]))

    async def delete(self, id: str) -> None:
        self._db.execute("delete from sessions where id = ?", (id,))

    async def append(self, session: str, stream: str, event: pkg.StoredEvent) -> None:
        row = (session, stream, event.number, event.message)
        self._db.execute("insert into events values (?, ?, ?, ?)", row)

    async def after(
        self, session: str, stream: str, number: int
    ) -> Sequence[pkg.StoredEvent] | None:
        rows = self._db.execute(
            "select number, message from events where session = ? and stream = ?"
            " and number >= ? order by number",
            (session, stream, number),
        ).fetchall()
        known = rows and rows[0][0] <= max(number, 1)
        return [pkg.StoredEvent(*row) for row in rows if row[0] > number] if known else None

    async def forget(self, session: str) -> None:
        self._db.execute("delete from events where session = ?", (session,))


async def on_call_tool(self: Any, session: Session, params: CallToolRequestParams) -> object:
    m = models(STATELESS)
    given: JsonObject = params.arguments or {}
    said = str(os.getpid())
    if params.name == "publish":
        # Whoever calls does not know which process answers.
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
        await asyncio.sleep(0.5)
    elif params.name == "asks":
        began: object = await session.once("began", os.getpid)
        question = m.SamplingMessage(role="user", content=m.TextContent(text="?"))
        await session.create_message(
            m.CreateMessageRequestParams(messages=[question], max_tokens=1)
        )
        said = f"{began} {said}"
    return m.CallToolResult(content=[m.TextContent(text=said)])


async def on_read_resource(
    self: object, session: Session, params: ReadResourceRequestParams
) -> object:
    m = models(STATELESS)
    return m.ReadResourceResult(contents=[m.TextResourceContents(uri=params.uri, text="")])


def made() -> pkg.HttpApp:
    """The application."""
    store = os.environ.get("WORKER_STORE")
    kept = None if store is None else FileStore(store)
    ours = server(
        STATELESS, on_call_tool=on_call_tool, on_read_resource=on_read_resource, SENDS=TOLD
    )
    http = pkg.HttpOptions(session_store=kept, events=kept)
    return pkg.http_app(ours, revisions=pkg.REVISIONS, http=http)


app = made()

if __name__ == "__main__":
    logging.basicConfig(format="%(levelname)s %(message)s")
    pkg.run_http("support.http.worker:app", port=int(sys.argv[1]), workers=2)
