"""A server of any era whose lists are JSON, and which can be slow, silent or gone."""

import asyncio
from typing import Any

from support.json_types import Json, JsonObject
from support.revisions import HANDSHAKE, OLD, STATELESS
from support.sessions.talking import Accepting, Hand, error, notification, pkg
from support.sessions.wiretap import ID, LISTEN, TOOLS_CHANGED, acknowledgment, agree, result, shake

MEMBERS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


def tool(name: str, **members: object) -> JsonObject:
    return {"name": name, "inputSchema": {"type": "object"}, **members}


class Listing:
    """Such a server; `connect` gets it as an opener."""

    def __init__(self, *tools: str, revision: str = OLD, tells: bool = True) -> None:
        self.lists: dict[str, list[JsonObject]] = {member: [] for member in MEMBERS.values()}
        self.lists["tools"] = [tool(name) for name in tools]
        self.hints: JsonObject = {"ttlMs": 0, "cacheScope": "private"}
        self.page = 1000
        self.endless = False
        self.delay = 0.0
        self.is_gone = False
        self.unknown: set[str] = set()
        """Methods that it does not know."""
        self.asked: list[str] = []
        """The methods of all requests."""
        self.named: list[Json] = []
        """The names and URIs in all other requests."""
        self._revision = revision
        self._tells = tells
        self._streams: dict[Hand, int | None] = {}
        """The ids of the latest listen streams, by connection."""
        self._opener = Accepting(self._play)

    async def __call__(self) -> pkg.Transport:
        if self.is_gone:
            raise pkg.Disconnected("the server is gone")
        return await self._opener()

    @property
    def opened(self) -> int:
        """The number of connections so far."""
        return self._opener.opened

    @property
    def open(self) -> int:
        """The number of open connections."""
        return len(self._streams)

    @property
    def hands(self) -> list[Hand]:
        """Its ends of all connections."""
        return [*self._streams]

    async def end(self) -> None:
        """Close all connections, and accept no others."""
        self.is_gone = True
        for hand in self._streams:
            await hand.transport.close()

    async def end_streams(self) -> None:
        """End all listen streams, but not their connections."""
        for hand, stream in [*self._streams.items()]:
            await hand.send(result(stream, resultType="complete"))

    async def tell(self, method: str = TOOLS_CHANGED, times: int = 1, **params: str) -> None:
        """Announce a change to all clients."""
        for hand, stream in [*self._streams.items()]:
            meta: JsonObject = {} if stream is None else {"_meta": {ID: stream}}
            await hand.send(*[notification(method, **params, **meta)] * times)

    async def _play(self, hand: Hand) -> None:
        kind: JsonObject = {"listChanged": True} if self._tells else {}
        declared: JsonObject = {"tools": kind, "prompts": kind, "completions": {}}
        declared["resources"] = {"subscribe": True, **kind}
        await (shake if self._revision in HANDSHAKE else agree)(hand, **declared)
        self._streams[hand] = None
        async with asyncio.TaskGroup() as answers:
            while (asked := await hand.take()) is not None:
                if "id" in asked:
                    answers.create_task(self._answer(hand, asked))
        del self._streams[hand]

    async def _answer(self, hand: Hand, asked: Json) -> None:
        method, params, id = asked["method"], asked.get("params", {}), asked["id"]
        if method == LISTEN:
            self._streams[hand] = id
            await hand.send(acknowledgment(id, params["notifications"]))
            return
        self.asked.append(method)
        answer: JsonObject = {} if self._revision in HANDSHAKE else {"resultType": "complete"}
        if method in self.unknown:
            await hand.send(error(id, -32601))
            return
        if method in MEMBERS:
            answer |= self._page_of(MEMBERS[method], int(params.get("cursor", 0)))
        else:
            about = params.get("ref", params)
            self.named.append(about.get("name") or about.get("uri"))
            if method not in ANSWERS:
                await hand.send(error(id, -32601))
                return
            answer |= ANSWERS[method]
        await asyncio.sleep(self.delay)
        try:
            await hand.send(result(id, **answer))
        except pkg.Disconnected:
            assert self.is_gone or self.delay

    def _page_of(self, member: str, start: int) -> JsonObject:
        end = start + self.page
        more = self.endless or end < len(self.lists[member])
        cut: JsonObject = {member: self.lists[member][start:end]}
        cut |= {"nextCursor": str(end)} if more else {}
        return cut | (self.hints if self._revision == STATELESS else {})


ANSWERS: JsonObject = {
    "tools/call": {"content": [{"type": "text", "text": "called"}]},
    "prompts/get": {"messages": []},
    "resources/read": {
        "contents": [{"uri": "x:", "text": "read"}],
        "ttlMs": 0,
        "cacheScope": "private",
    },
    "resources/subscribe": {},
    "resources/unsubscribe": {},
    "completion/complete": {"completion": {"values": ["completed"]}},
}


async def tools_of(one: Any) -> list[str]:
    return [tool.name async for tool in one.iter_tools()]
