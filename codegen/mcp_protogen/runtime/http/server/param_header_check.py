"""The check of arguments that are repeated in header fields.

The server's own `tools/list` defines them. A list is kept until the server publishes a change, or
for a time. Lists may differ by principal and by client capabilities.
"""

from asyncio import Lock, get_running_loop
from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from logging import ERROR, WARNING, getLogger
from typing import Any, Final, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from pydantic_core import to_json

from ...core.errors import ProtocolError, RequestId
from ...core.json import is_array, is_object
from ...core.models.base import WireModel
from ...core.pagination import Page, items
from ...core.spec import LIST_TOOLS
from ...messages.envelope import CLIENT_CAPABILITIES
from ...rpc.jobs import Job, Work
from ...rules.param_headers import BadAnnotation, HeaderParam, header_params
from ...server.connection import ServerConnection
from ...server.context import RequestContext
from ..headers import HttpFacts, agrees, facts_of
from .asgi import HttpExchange, HttpRefusal

_log: Final = getLogger(__name__)

_CHANGED: Final = "notifications/tools/list_changed"
_MOST: Final = 1000
_SHORT: Final = 200


class _ToolList(NamedTuple):
    tools: Mapping[str, tuple[HeaderParam, ...]]
    """The tools with repeated arguments."""
    change: int
    until: float


_NOTHING: Final = _ToolList({}, 0, 0.0)

_Key: TypeAlias = tuple[str, str | None, bytes]
"""The validity of a list: revision, principal id, and client capabilities."""


class ToolHeaders:
    """The check of `Mcp-Param-*` against arguments; lists are kept `lifetime` seconds."""

    def __init__(self, lifetime: float) -> None:
        self._lifetime = lifetime
        self._time = get_running_loop().time
        self._listed = OrderedDict[_Key, _ToolList]()
        self._latest: dict[str, _ToolList] = {}
        # By key, so that callers wait only for their own list.
        self._asking = WeakValueDictionary[_Key, Lock]()

    def check(self, connection: ServerConnection, call: Job, exchange: HttpExchange) -> Work | None:
        """Return the check of a call's header fields, which raises `HttpRefusal`.

        None if no tool repeats arguments, as in most servers (2026-07-28,
        basic/transports/streamable-http, "Server Behavior for Custom Headers").
        """
        # Present: stateless requests without it were refused before.
        declared = to_json(call.request.meta[CLIENT_CAPABILITIES])
        digest = declared if len(declared) <= _SHORT else sha256(declared).digest()
        key = connection.endpoint.connection.table.revision, exchange.principal_id, digest
        entry = self._find_list(connection, key)
        if entry is not None and not entry.tools:
            return None
        return self._check(connection, call, exchange, key)

    async def _check(
        self, connection: ServerConnection, call: Job, exchange: HttpExchange, key: _Key
    ) -> None:
        async with self._asking.setdefault(key, Lock()):
            entry = self._find_list(connection, key) or await self._ask(connection, call, key)
        id, raw = call.request.id, call.request.raw
        name = raw.get("name")
        for param in entry.tools.get(name, ()) if isinstance(name, str) else ():
            value = exchange.field(param.header.encode())
            if not agrees(param, value, raw.get("arguments")):
                reason = f"{param.header} differs from the argument {'.'.join(param.path)}"
                facts = facts_of(connection.endpoint.connection.table.wire)
                raise mismatch(facts, reason, id)

    def _find_list(self, connection: ServerConnection, key: _Key) -> _ToolList | None:
        entry = self._listed.get(key)
        change = connection.bound_server.changes.get(_CHANGED, 0)
        is_valid = entry and entry.change == change and self._time() < entry.until
        return entry if is_valid else None

    async def _ask(self, connection: ServerConnection, call: Job, key: _Key) -> _ToolList:
        change = connection.bound_server.changes.get(_CHANGED, 0)
        tools: dict[str, tuple[HeaderParam, ...]] = {}
        most = connection.endpoint.options.max_pages
        try:
            async for tool in items(partial(_page, connection, call), lambda: most):
                if is_object(tool) and (params := _params_of(tool)):
                    tools[str(tool.get("name"))] = params
        except Exception as error:
            # A fault of the server, for which calls must not fail.
            unexpected = not isinstance(error, ProtocolError)
            text = "tools/list failed; using an earlier list: %s"
            _log.log(ERROR if unexpected else WARNING, text, error, exc_info=unexpected)
            return self._latest.get(key[0], _NOTHING)
        entry = _ToolList(tools, change, self._time() + self._lifetime)
        self._listed[key] = self._latest[key[0]] = entry
        self._listed.move_to_end(key)
        if len(self._listed) > _MOST:
            self._listed.popitem(last=False)
        return entry


def mismatch(facts: HttpFacts, reason: str, id: RequestId | None, data: Any = None) -> HttpRefusal:
    status, _ = facts.status_and_delay({"code": facts.mismatch})
    text = f"Header mismatch: {reason}"
    return HttpRefusal(max(status, 400), text, code=facts.mismatch, id=id, data=data)


def _params_of(tool: Mapping[str, Any]) -> tuple[HeaderParam, ...]:
    try:
        return header_params(tool.get("inputSchema"))
    except BadAnnotation as error:
        # Clients must leave out such a tool.
        _log.warning("the tool %.100r is unusable over HTTP: %s", tool.get("name"), error)
        return ()


async def _page(connection: ServerConnection, call: Job, cursor: str | None) -> Page[Any]:
    table = connection.server.TABLE
    method = table.name_of(LIST_TOOLS)
    handler = connection.handlers.get(method)
    if handler is None:
        return Page([], None)
    context = RequestContext(connection, None, call.reply, call.request.meta)
    given = {} if cursor is None else {table.rules.cursor: cursor}
    spec = table.requests[method]
    params = spec.params(**given)
    result: WireModel = await handler(context.session(), params)
    wire = result.to_wire()
    tools = wire.get(spec.items)
    return Page(tools if is_array(tools) else [], wire.get(table.rules.next_cursor))
