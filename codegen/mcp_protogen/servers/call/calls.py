"""One call of a tool: its time limit, its task if any, and its progress on screen."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.runtime.core.connection_errors import Disconnected, RequestTimeout, Strays
from mcp_protogen.runtime.core.errors import LocalError, McpError, ProtocolError, RequestId
from mcp_protogen.runtime.core.models.base import WireModel
from mcp_protogen.runtime.core.options import NO_END, Progress
from mcp_protogen.runtime.core.spec import CALL_TOOL
from mcp_protogen.servers.call.connections import JSON, Client, has_task_extension, request_meta

# 2025-11-25, client/elicitation, "URL Elicitation Required Error".
_NEEDS_PAGES: Final = -32042
# The time to tell a server that a task is cancelled; seconds.
_CANCELLING: Final = 2.0


class ProgressDisplay(Protocol):
    """A display for the progress of a call."""

    def show_progress(self, progress: Progress) -> None:
        """Show the progress of the call."""

    def show_status(self, text: str) -> None:
        """Show the status of a task."""


class CallTimeout:
    """The time for an answer: it stops while the user answers questions; progress restarts it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._limit: asyncio.Timeout | None = None

    @property
    def stands_still(self) -> bool:
        """Return whether the time is stopped."""
        return self._limit is not None and self._limit.when() is None

    @contextmanager
    def pause(self) -> Generator[None, None, None]:
        """Stop the time for the block."""
        self.stop()
        try:
            yield
        finally:
            self.renew()

    def renew(self) -> None:
        """Start the time again."""
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time() + self._seconds)

    def stop(self) -> None:
        """Stop the time."""
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(None)

    async def run(self, work: Callable[[], Any], client: Client) -> Any:
        """Return the result of `work`; cancel it and raise `RequestTimeout` if it takes longer."""
        try:
            async with asyncio.timeout(self._seconds) as self._limit:
                return await work()
        except TimeoutError as error:
            if isinstance(error, RequestTimeout):
                raise
            strays: Strays = client.__mcp_runtime__.endpoint.connection.strays
            method = client.TABLE.name_of(CALL_TOOL)
            raise RequestTimeout(method, self._seconds, strays, _latest_open(strays)) from None
        finally:
            self._limit = None


def _latest_open(strays: Strays) -> RequestId | None:
    """Return the newest request that was open at the latest unexpected answer."""
    ids = strays.answers[-1][1] if strays.answers else frozenset[RequestId]()
    return max(ids, key=lambda id: id if isinstance(id, int) else 0, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool: `tool` is its entry in the list, `log_level` the least level to ask for.

    With `as_task`, the call is a task; without it, the server decides.
    """

    tool: JSON
    arguments: Mapping[str, Any]
    as_task: bool = False
    log_level: str | None = None

    async def run(self, client: Client, display: ProgressDisplay, limit: CallTimeout) -> WireModel:
        """Return the result; raise what `call_tool` raises, and `RequestTimeout`."""

        def on_progress(progress: Progress) -> None:
            limit.renew()
            display.show_progress(progress)

        async def work() -> WireModel:
            options = {**NO_END, "on_progress": on_progress}
            if self._is_task(client):
                return await self._task(client, display, limit, options)
            meta = request_meta(client, self.log_level)
            return await client.call_tool(
                self.tool["name"], dict(self.arguments), **meta, **options
            )

        result: WireModel = await limit.run(work, client)
        return result

    def _is_task(self, client: Client) -> bool:
        support = self.tool.get("execution")
        needed = is_object(support) and support.get("taskSupport") == "required"
        decided = has_task_extension(client) and self.log_level is None
        return self.as_task or (hasattr(client, "start_task") and (needed or decided))

    async def _task(
        self,
        client: Client,
        display: ProgressDisplay,
        limit: CallTimeout,
        options: Mapping[str, Any],
    ) -> WireModel:
        if not hasattr(client, "start_task"):
            raise LocalError(f"tasks do not exist in revision {client.revision}")
        handle = await self._start_task(client, limit, options)
        if handle.id is None:
            result: WireModel = await handle.result()
            return result
        # The client polls its state, and each of these answers has its own time.
        limit.stop()
        try:
            async for state in handle:
                display.show_status(": ".join(filter(None, [str(state.status), state.message])))
            result = await handle.result()
        except asyncio.CancelledError:
            async with _briefly():
                await handle.cancel()
            raise
        return result

    async def _start_task(
        self, client: Client, limit: CallTimeout, options: Mapping[str, Any]
    ) -> Any:
        beginning: asyncio.Future[Any] = asyncio.ensure_future(
            client.start_task(self.tool["name"], dict(self.arguments), **options)
        )
        try:
            return await asyncio.shield(beginning)
        except asyncio.CancelledError:
            # There may be a task already, and only the answer has its id. It does not come while
            # the user is asked.
            if limit.stands_still:
                beginning.cancel()
            async with _briefly():
                handle = await beginning
                if handle.id is not None:
                    await handle.cancel()
            raise


@asynccontextmanager
async def _briefly() -> AsyncGenerator[None, None]:
    """Limit the cancellation of a task to a short time, and ignore its failure."""
    with suppress(TimeoutError, ProtocolError, Disconnected):
        async with asyncio.timeout(_CANCELLING):
            yield


def pages_of(error: McpError) -> list[JSON]:
    """Return the pages that the user must visit before the call."""
    data = error.data
    listed = data.get("elicitations") if is_object(data) else None
    if error.code != _NEEDS_PAGES or not is_array(listed):
        return []
    return [page for page in listed if is_object(page) and isinstance(page.get("url"), str)]
