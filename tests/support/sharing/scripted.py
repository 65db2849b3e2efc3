"""A server whose tool follows the steps of its caller, and reports their outcomes."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from support.json_types import JsonObject
from support.revisions import STATELESS
from support.sessions.talking import models, pkg, server

Note = Callable[[str], None]
"""Takes down that something has happened in a handler, such as `began 7`."""

SENDS: Final = frozenset({"notifications/message", "notifications/resources/updated"})
_SOON: Final = 0.01
"""Seconds within which a call is answered once its handler has returned."""
KEY: Final = b"what all workers seal their states with"


def tokens(names: Sequence[str]) -> dict[str, pkg.Principal]:
    """Return the tokens of clients; the principals have the same names."""
    return {token(name): pkg.Principal(name) for name in names}


def token(name: str) -> str:
    return f"the-token-of-{name}-which-is-long-enough"


class Script:
    """The steps of one call; its texts begin with the number of the call."""

    def __init__(self, ours: Any, session: Any, number: str, hooks: "Hooks") -> None:
        self.answers: list[str] = []
        self._ours = ours
        self._session = session
        self._number = number
        self._hooks = hooks
        self._m = models(STATELESS)
        self._over = asyncio.Event()

    async def play(self, steps: Sequence[Sequence[Any]]) -> None:
        for index, (name, *given) in enumerate(steps):
            await getattr(self, name)(f"{self._number}/{index}", *given)
        self._over.set()

    async def log(self, text: str, level: Any = "error") -> None:
        await self._session.log(level, text)

    async def progress(self, text: str) -> None:
        await self._session.progress(int(text.rpartition("/")[2]), None, text)

    async def sleep(self, text: str, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def ask(self, text: str, pause: float = 0.0) -> None:
        """Ask the client, which answers after a pause, and then twice."""
        m = self._m
        question = m.SamplingMessage(role="user", content=m.TextContent(text=text))
        self._hooks.note(f"asks {self._number}")
        said = await self._session.create_message([question], 1)
        self.answers.append(said.content.text)

    async def publish(self, text: str, uri: str) -> None:
        await self._ours.resource_updated(uri)

    async def let_go(self, text: str) -> None:
        await self._session.close_stream()

    async def later(self, text: str, times: int, pause: float) -> None:
        """Log after the call, outside any request's stream."""
        self._hooks.start(self._say(text, times, pause))

    async def _say(self, text: str, times: int, pause: float) -> None:
        await self._over.wait()
        for index in range(times):
            await asyncio.sleep(pause + _SOON)
            await self._session.log("error", f"{text}/{index}")

    async def die(self, text: str, when: str) -> None:
        self._hooks.die(when)


class Hooks:
    """The effects of handlers on the test and their worker."""

    def __init__(self, note: Note, die: Callable[[str], None]) -> None:
        self.note = note
        self.die = die
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(self._until_over(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _until_over(self, work: Awaitable[None]) -> None:
        try:
            await work
        except pkg.Disconnected:
            self.note("over")

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def scripted_server(hooks: Hooks) -> Any:
    """Return a server with this tool."""
    m = models(STATELESS)

    async def on_call_tool(self: Any, session: Any, params: Any) -> object:
        given: JsonObject = params.arguments or {}
        number = given["number"]
        script = Script(self, session, number, hooks)
        hooks.note(f"began {number}")
        try:
            await script.play(given["steps"])
        except asyncio.CancelledError:
            hooks.note(f"cancelled {number}")
            raise
        said = json.dumps({"number": number, "answers": script.answers})
        return m.CallToolResult(content=[m.TextContent(text=said)])

    async def on_read_resource(self: Any, session: Any, params: Any) -> object:
        return m.ReadResourceResult(contents=[m.TextResourceContents(uri=params.uri, text="")])

    return server(
        STATELESS, on_call_tool=on_call_tool, on_read_resource=on_read_resource, SENDS=SENDS
    )


def app_of(engine: Any, names: Sequence[str], hooks: Hooks, lease: float) -> pkg.HttpApp:
    """Return an application that shares an engine, for clients with these names."""
    who = pkg.Authentication(verify=pkg.static_tokens(tokens(names)))
    shared = pkg.Shared(engine=engine, lease=lease)
    options = pkg.Options(state_keys=[KEY], drain=0.2)
    http = pkg.HttpOptions(shared=shared, authentication=who, retry=0.01)
    return pkg.http_app(scripted_server(hooks), revisions=pkg.REVISIONS, options=options, http=http)
