"""Random schedules of calls through gateways whose servers and workers stop, die and change.

No call is answered with what belongs to another, done twice, or fails without its reason; and all
is well when the servers are.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from random import Random
from typing import Any, Final

import pytest
from mcp_protogen.servers.gateway.endpoint import make_app
from mcp_protogen.servers.gateway.settings import GatewaySettings, ServerSettings
from support import tables
from support.auth.guarding import OTHER, WRITING, authentication, bearing
from support.gateway.gateways import behind, gateway_settings
from support.gateway.listing import tools_of
from support.http.memory_http import MemoryHttp
from support.revisions import ERAS
from support.sessions.talking import pkg
from support.tables import case
from support.toolkit.mounting import app, only, text_of

SCHEDULES: Final = 1000
STEPS: Final = 14
NAMES: Final = ("s0", "s1", "s2", "s3")
STEADY: Final = "s0"
"""A server to which nothing happens."""
USERS: Final = (WRITING, OTHER)
REASONS: Final = {"unreachable", "interrupted", "timeout", "open"}
URL: Final = "http://localhost/mcp"


class StoppableServer:
    """A server over HTTP that does work, and can be stopped, killed and started again."""

    def __init__(self, name: str, random: Random) -> None:
        self.name = name
        self.revision = random.choice(ERAS)
        self.done = Counter[str]()
        """How often each work was finished, by its text."""
        self.list_delay = 0.0
        self.http = MemoryHttp()
        self._old: list[Any] = []
        self.start()

    def start(self) -> None:
        """Serve without any session of before."""
        made = app(self.revision, self.name)
        made.tool(self._work_tool())
        made.middleware = (self._delay_lists,)
        if self.http.app is not None:
            self._old.append(self.http.app)
        self.http.app = pkg.http_app(only(made))

    def _work_tool(self) -> Any:
        session_type: Any = pkg.load(self.revision).Session

        async def work(text: str, seconds: float, session: Any, asks: bool = False) -> str:
            await session.progress(1, message=text)
            await asyncio.sleep(seconds)
            if asks:
                answer = await session.ask(text, int)
                text += f" {answer.value}"
            self.done[text] += 1
            return f"{self.name} {text}"

        work.__annotations__["session"] = session_type
        return work

    async def _delay_lists(self, call: Any, next: Any) -> Any:
        if call.method == "tools/list":
            await asyncio.sleep(self.list_delay)
        return await next(call)

    def stop(self) -> None:
        """Answer what has come, and take no more."""
        if self.http.app is not None:
            self._old.append(self.http.app)
        self.http.app = None

    def kill(self) -> None:
        self.stop()
        self.http.cut()

    async def close(self) -> None:
        self.stop()
        for old in self._old:
            await old.close()

    def settings(self, **options: Any) -> ServerSettings:
        opener = pkg.open_http(URL, http=self.http.client)
        return behind(self.name, opener, **options)


class User:
    """A client with a token, which counts what it hears."""

    def __init__(self, number: int, revision: str, worker: MemoryHttp) -> None:
        self.number = number
        self.token = USERS[number % len(USERS)]
        self.revision = revision
        self.heard: list[str] = []
        m: Any = pkg.load(revision).models

        async def on_elicit(_: object, params: Any) -> Any:
            self.heard.append(params.message)
            return m.ElicitResult(action="accept", content={"value": 42})

        kind = pkg.load(revision).Client
        self.client: Any = type("Asked", (kind,), {"on_elicit": on_elicit})()
        self._opener = pkg.open_http(URL, http=worker.client, headers=bearing(self.token))

    def connect(self) -> Any:
        return pkg.connect(self._opener, self.client, revisions=(pkg.load(self.revision).REVISION,))
