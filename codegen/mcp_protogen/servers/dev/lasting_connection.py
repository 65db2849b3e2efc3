"""A connection that outlasts the processes of its server.

A new process is told what the last one was told: the introduction of the client, the level of log
entries, subscriptions and listen streams. It takes over once it has answered that.
"""

from asyncio import Future, Lock, gather, get_running_loop, timeout
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from logging import getLogger
from typing import Any, Final

from pydantic_core import from_json, to_json

from mcp_protogen.runtime.connection import CANCELLED, INITIALIZED
from mcp_protogen.runtime.core.connection_errors import (
    Disconnected,
    NegotiationError,
    RequestTimeout,
)
from mcp_protogen.runtime.core.errors import INTERNAL_ERROR, McpError, RequestId
from mcp_protogen.runtime.core.json import JSONObject, is_object
from mcp_protogen.runtime.core.spec import SET_LEVEL
from mcp_protogen.runtime.core.subscriptions import (
    ACKNOWLEDGED,
    LISTEN,
    RESOURCE_UPDATED,
    SUBSCRIBE,
    UNSUBSCRIBE,
    Selectors,
)
from mcp_protogen.runtime.core.tasks import Signal, Tasks
from mcp_protogen.runtime.messages.envelope import SUBSCRIPTION_ID, meta_in
from mcp_protogen.runtime.messages.jsonrpc import Call, Parsed, Response, id_of
from mcp_protogen.runtime.messages.reading import Batch, read_messages
from mcp_protogen.runtime.rules.server_negotiation import DISCOVER, INITIALIZE
from mcp_protogen.runtime.transports.base import (
    Inbox,
    Opener,
    Received,
    RestartableTransport,
    Transport,
    Unanswered,
    wait_within,
)

_log: Final = getLogger("mcp_protogen.dev")

LISTS: Final = ("tools", "prompts", "resources")

# Seconds for a new process to answer, and for open requests to the old one.
_START: Final = 30.0
_FINISH: Final = 10.0

_MOVED: Final = (LISTEN, INITIALIZE, DISCOVER)
"""Requests that a new process answers in place of the old one."""


class _ProcessLink:
    """A process of the server, with the requests that it has not answered."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.pending: dict[RequestId, tuple[str, bytes]] = {}
        """The requests of the client: methods and messages."""
        self.repeated: dict[RequestId, Future[Response]] = {}
        """Requests that only repeat what another process has answered."""
        self.moved: set[RequestId] = set()
        """Requests that it answers in place of an old process, or a new one in its place."""
        self.over: Disconnected | None = None
        self.answered = Signal()

    async def send(self, data: bytes) -> None:
        try:
            await self.transport.send([data])
        except Disconnected as error:
            # Its end is handled where its messages are read.
            _log.debug("a message was not sent: %s", error)

    async def until_idle(self) -> None:
        while self.pending and self.over is None:
            await self.answered.wait()

    def end(self, error: Disconnected) -> None:
        self.over = error
        self.answered.notify_all()
        for waiting in self.repeated.values():
            if not waiting.done():
                waiting.set_exception(error)


class LastingConnection:
    """A `Transport` to the process that serves now.

    `replace_ended` returns the opener of what takes the place of a process that has ended by
    itself. `filters` read listen streams.
    """

    def __init__(
        self,
        replace_ended: Callable[[str], Opener],
        filters: Selectors,
        on_close: Callable[["LastingConnection"], object],
    ) -> None:
        self._replace_ended, self._filters, self._on_close = replace_ended, filters, on_close
        self._inbox = Inbox()
        self.receive = self._inbox.receive
        self._tasks = Tasks()
        self._processes: list[_ProcessLink] = []
        """The one that serves is last, unless a new one is being introduced."""
        self._renewing = Lock()
        self._introduction: list[bytes] = []
        self._result: Mapping[str, Any] = {}
        """The answer to the introduction."""
        self._level: bytes | None = None
        self._subscriptions: dict[str, bytes] = {}
        self._questions: dict[RequestId, tuple[_ProcessLink, RequestId]] = {}
        """The requests of servers, by the ids that the client knows."""
        self._numbers = count(1)
        self._is_closed = False

    async def begin(self, opener: Opener) -> None:
        """Start the first process, or what takes its place."""
        async with self._renewing:
            try:
                transport = await opener()
            except Disconnected as error:
                transport = await self._replace_ended(str(error))()
            self._current = self._start(transport)

    def _start(self, transport: Transport) -> _ProcessLink:
        process = _ProcessLink(transport)
        self._processes.append(process)
        self._tasks.start(self._read(process))
        return process

    async def send(self, messages: Sequence[bytes]) -> None:
        for data in messages:
            for message in read_messages(data):
                process: _ProcessLink | None = self._current
                if isinstance(message, Response):
                    process, data = self._route_answer(message, data)
                elif isinstance(message, Call):
                    process = self._route_call(message, data)
                if process is not None:
                    await process.send(data)

    def _route_answer(self, message: Response, data: bytes) -> tuple[_ProcessLink | None, bytes]:
        if message.id is None or (asked := self._questions.pop(message.id, None)) is None:
            return None, data  # its process has ended
        process, id = asked
        return process, data if id == message.id else to_json({**from_json(data), "id": id})

    def _route_call(self, call: Call, data: bytes) -> _ProcessLink | None:
        process, method, uri = self._current, call.method, call.params.get("uri")
        if method == INITIALIZE:
            self._introduction, self._result = [data], {}
        elif method == INITIALIZED:
            self._introduction.append(data)
        elif method == SET_LEVEL:
            self._level = data
        elif method == SUBSCRIBE and isinstance(uri, str):
            self._subscriptions[uri] = data
        elif method == UNSUBSCRIBE and isinstance(uri, str):
            self._subscriptions.pop(uri, None)
        elif method == CANCELLED:
            return self._route_cancellation(call)
        if call.id is not None:
            if process.over is not None:
                self._inbox.put(Unanswered(call.id, process.over))
                return None
            process.pending[call.id] = method, data
        return process

    def _route_cancellation(self, call: Call) -> _ProcessLink | None:
        id = id_of({"id": call.params.get("requestId")})
        for process in self._processes:
            if id is not None and process.pending.pop(id, None) is not None:
                process.answered.notify_all()
                return process
        return None

    async def _read(self, process: _ProcessLink) -> None:
        end = Disconnected("the server closed the connection")
        try:
            while received := await process.transport.receive():
                for message in received:
                    self._take(process, message)
                await self._inbox.room()
        except Disconnected as error:
            end = error
        process.end(end)
        if process is self._current and not self._is_closed:
            await self._replace(process, str(end))

    async def _replace(self, ended: _ProcessLink, why: str) -> None:
        async with self._renewing:
            if ended is self._current:
                await self._take_over(self._replace_ended(why))

    def _take(self, process: _ProcessLink, received: Received) -> None:
        if not isinstance(received, bytes):
            self._inbox.put(received)
            return
        messages = read_messages(received)
        told = [self._note(process, message, received) for message in messages]
        # Several messages in one text only have their answers noted.
        if (data := told[0] if len(told) == 1 else received) is not None:
            self._inbox.put(data)

    def _note(self, process: _ProcessLink, message: Parsed | Batch, data: bytes) -> bytes | None:
        """Return a message as the client gets it; None if it is not for the client."""
        if isinstance(message, Batch):
            for member in message.members:
                self._note(process, member, data)
        elif isinstance(message, Response) and message.id is not None:
            return self._note_answer(process, message.id, message, data)
        elif isinstance(message, Call):
            if message.id is not None:
                return self._note_question(process, message.id, message, data)
            if message.method == ACKNOWLEDGED and meta_in(message.params).get(SUBSCRIPTION_ID) in (
                process.moved
            ):
                return None
            if message.method == CANCELLED:
                return self._note_cancellation(process, message, data)
        return data

    def _note_answer(
        self, process: _ProcessLink, id: RequestId, message: Response, data: bytes
    ) -> bytes | None:
        if (waiting := process.repeated.pop(id, None)) is not None:
            if not waiting.done():
                waiting.set_result(message)
            return None
        method, _ = process.pending.pop(id, ("", b""))
        process.answered.notify_all()
        if not method and id in process.moved:
            return None
        if method in (INITIALIZE, DISCOVER) and is_object(message.result):
            result = _with_changing_lists(message.result)
            if method == INITIALIZE:
                self._result = result
            return to_json({"jsonrpc": "2.0", "id": id, "result": result})
        return data

    def _note_question(
        self, process: _ProcessLink, id: RequestId, message: Call, data: bytes
    ) -> bytes:
        # Two processes may use the same ids.
        known_as = f"{next(self._numbers)}-{id}" if id in self._questions else id
        self._questions[known_as] = process, id
        return data if known_as == id else to_json({**message.message, "id": known_as})

    def _note_cancellation(self, process: _ProcessLink, message: Call, data: bytes) -> bytes:
        id = message.params.get("requestId")
        known_as = next((key for key, at in self._questions.items() if at == (process, id)), id)
        if known_as == id:
            return data
        return to_json({**message.message, "params": {**message.params, "requestId": known_as}})

    async def renew(self, opener: Opener) -> None:
        """Continue with a new process. Raise one of `ERRORS` if it cannot take over."""
        async with self._renewing:
            await self._take_over(opener)
            self._report_changes()

    async def _take_over(self, opener: Opener) -> None:
        transport = await opener()
        if self._is_closed:
            await transport.close()
            return
        process = self._start(transport)
        try:
            async with timeout(_START):
                await self._introduce(process)
        except BaseException as error:
            self._processes.remove(process)
            await process.transport.close()
            if isinstance(error, TimeoutError):
                raise RequestTimeout(INITIALIZE, _START) from None
            raise
        old, self._current = self._current, process
        for id, (method, data) in list(old.pending.items()):
            if method in _MOVED:
                process.pending[id] = old.pending.pop(id)
                process.moved.add(id)
                old.moved.add(id)
                await process.send(data)
        self._tasks.start(self._retire(old))

    async def _introduce(self, process: _ProcessLink) -> None:
        if not self._result:
            return  # a request that waits for its answer is moved
        introduction, *initialized = self._introduction
        answer = await self._repeat(process, introduction)
        if answer.error is not None:
            raise McpError(answer.error["code"], answer.error["message"])
        result: JSONObject = answer.result if is_object(answer.result) else {}
        now, before = result.get("protocolVersion"), self._result["protocolVersion"]
        if now != before:
            raise NegotiationError(f"it speaks {now}, and no longer {before}: connect again")
        self._result = _with_changing_lists(result)
        for data in initialized:
            await process.send(data)
        for data in filter(None, (self._level, *self._subscriptions.values())):
            answer = await self._repeat(process, data)
            if answer.error is not None:
                _log.warning("after the start, the server refuses %s: %s", data, answer.error)

    async def _repeat(self, process: _ProcessLink, data: bytes) -> Response:
        waiting: Future[Response] = get_running_loop().create_future()
        if process.over is not None:
            raise process.over
        process.repeated[from_json(data)["id"]] = waiting
        await process.send(data)
        return await waiting

    def _report_changes(self) -> None:
        """Tell the client that everything that it follows may have changed."""
        declared = self._result.get("capabilities", {})
        methods = [f"notifications/{kind}/list_changed" for kind in LISTS if kind in declared]
        changes: list[tuple[str, str | None]] = [(method, None) for method in methods]
        changes += [(RESOURCE_UPDATED, uri) for uri in self._subscriptions]
        for method, uri in changes:
            self._notify(method, {} if uri is None else {"uri": uri})
        for id, (method, data) in self._current.pending.items():
            if method == LISTEN:
                wanted = from_json(data)["params"].get("notifications", {})
                for changed, uri in sorted(self._filters.read(wanted), key=repr):
                    about: JSONObject = {"_meta": {SUBSCRIPTION_ID: id}}
                    self._notify(changed, about if uri is None else {**about, "uri": uri})

    def _notify(self, method: str, params: JSONObject) -> None:
        self._inbox.put(to_json({"jsonrpc": "2.0", "method": method, "params": params}))

    async def _retire(self, process: _ProcessLink) -> None:
        """Let a process finish its open requests for a limited time, and end it."""
        await wait_within(_FINISH, process.until_idle())
        text = f"the server was started again, and had not answered within {_FINISH:g} s"
        for id in process.pending:
            self._inbox.put(Unanswered(id, process.over or McpError(INTERNAL_ERROR, text)))
        for known_as, (asking, _) in list(self._questions.items()):
            if asking is process:
                del self._questions[known_as]
                self._notify(CANCELLED, {"requestId": known_as})
        process.moved |= process.pending.keys()
        process.pending.clear()
        await process.transport.close()
        self._processes.remove(process)

    async def close_within(self, grace: float) -> None:
        """Close the connection; end processes that run for more than `grace` seconds."""
        for process in self._processes:
            if isinstance(process.transport, RestartableTransport):
                await process.transport.close_within(grace)
        await self.close()

    async def close(self) -> None:
        self._is_closed = True
        self._on_close(self)
        for process in self._processes:
            process.end(Disconnected("the connection was closed"))
        await gather(*(process.transport.close() for process in self._processes))
        await self._tasks.cancel()
        self._inbox.end()


def _with_changing_lists(result: Mapping[str, Any]) -> JSONObject:
    """Return an introduction that announces changes of lists: each start is one."""
    declared = result.get("capabilities")
    if not is_object(declared):
        return {**result}
    changing = {
        kind: {**declared[kind], "listChanged": True}
        for kind in LISTS
        if is_object(declared.get(kind))
    }
    return {**result, "capabilities": {**declared, **changing}}
