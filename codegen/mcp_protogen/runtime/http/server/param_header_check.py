"""Which arguments of which tools are repeated in header fields, found out once for many calls.

The server's own `tools/list` says so. What it says is kept until the server publishes a change of
its tools, or for a time, and for each principal, and for what a client can do, by itself: lists may
differ.
"""

from asyncio import Lock, get_running_loop
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from hashlib import sha256
from logging import getLogger
from typing import Any, Final, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from ...core.errors import HEADER_MISMATCH, InvalidParams, ProtocolError
from ...core.json import JSONObject, is_array, is_object, json_text
from ...messages.envelope import client_capabilities
from ...rpc.incoming import Job
from ...server.connection import ServerConnection
from ..param_headers import BadAnnotation, Mirror, agrees, mirrors_of
from .asgi import HttpRefusal
from .request import HttpRequest

_log: Final = getLogger(__name__)

_LIST: Final = "tools/list"
_CHANGED: Final = "notifications/tools/list_changed"
_MOST: Final = 1000
_SHORT: Final = 200


class _Listed(NamedTuple):
    tools: Mapping[str, tuple[Mirror, ...]]
    """The tools with anything to repeat, by name."""
    change: int
    until: float


_NOTHING: Final = _Listed({}, 0, 0.0)

_Key: TypeAlias = tuple[str, str | None, bytes]
"""For whom a list is good: revision, principal, and what the client can do."""


class ToolHeaders:
    """The check of `Mcp-Param-*` against the arguments; a list is good for `lifetime` seconds."""

    def __init__(self, lifetime: float) -> None:
        self._lifetime = lifetime
        self._listed: OrderedDict[_Key, _Listed] = OrderedDict()
        self._latest: dict[str, _Listed] = {}
        # By key, so that nobody waits for somebody else's list.
        self._asking: WeakValueDictionary[_Key, Lock] = WeakValueDictionary()

    async def check(self, side: ServerConnection, call: Job, request: HttpRequest) -> None:
        """Raise `HttpRefusal` for a call whose header fields do not say what its arguments say.

        2026-07-28, basic/transports/streamable-http, "Server Behavior for Custom Headers".
        """
        can = _digest(client_capabilities(call.request.meta))
        key = side.endpoint.connection.table.revision, call.reply.principal, can
        listed = self._known(side, key)
        if listed is None:
            lock = self._asking.setdefault(key, Lock())
            async with lock:
                listed = self._known(side, key) or await self._ask(side, call, key)
        if not listed.tools:
            return
        id, raw = call.request.id, call.request.raw
        name = raw.get("name")
        for mirror in listed.tools.get(name, ()) if isinstance(name, str) else ():
            value = request.field(mirror.header.encode())
            if not agrees(mirror, value, raw.get("arguments")):
                reason = f"{mirror.header} is not the argument {'.'.join(mirror.path)}"
                text = f"Header mismatch: {reason}"
                raise HttpRefusal(400, text, code=HEADER_MISMATCH, id=id)

    def _known(self, side: ServerConnection, key: _Key) -> _Listed | None:
        listed = self._listed.get(key)
        if listed is None or listed.change != side.server.__mcp_runtime__.changes.get(_CHANGED, 0):
            return None
        return listed if get_running_loop().time() < listed.until else None

    async def _ask(self, side: ServerConnection, call: Job, key: _Key) -> _Listed:
        change = side.server.__mcp_runtime__.changes.get(_CHANGED, 0)
        tools: dict[str, tuple[Mirror, ...]] = {}
        try:
            async for tool in _tools(side, call):
                mirrors = _mirrors(tool)
                if mirrors:
                    tools[str(tool.get("name"))] = mirrors
        except ProtocolError as error:
            _log.warning("tools/list failed, so an earlier list is used: %s", error)
            return self._latest.get(key[0], _NOTHING)
        except Exception:
            # A fault of the server's own, which calls of tools need not suffer for.
            _log.exception("tools/list failed, so an earlier list is used")
            return self._latest.get(key[0], _NOTHING)
        listed = _Listed(tools, change, get_running_loop().time() + self._lifetime)
        self._listed[key] = self._latest[key[0]] = listed
        self._listed.move_to_end(key)
        if len(self._listed) > _MOST:
            self._listed.popitem(last=False)
        return listed


def _digest(capabilities: Mapping[str, Any]) -> bytes:
    text = json_text(capabilities)
    return text if len(text) <= _SHORT else sha256(text).digest()


async def _tools(side: ServerConnection, call: Job) -> AsyncIterator[JSONObject]:
    """Yield the tools as the server lists them to whoever makes a call."""
    cursor: str | None = None
    for _ in range(side.endpoint.options.max_pages):
        page = await side.listed(_LIST, cursor, call)
        tools = page.get("tools")
        for tool in tools if is_array(tools) else ():
            if is_object(tool):
                yield tool
        cursor = page.get("nextCursor")
        if cursor is None:
            return
    raise InvalidParams("tools/list has no end")


def _mirrors(tool: Mapping[str, Any]) -> tuple[Mirror, ...]:
    try:
        return mirrors_of(tool.get("inputSchema"))
    except BadAnnotation as error:
        # Clients have to leave such a tool out.
        _log.warning("the tool %.100r cannot be called over HTTP: %s", tool.get("name"), error)
        return ()
