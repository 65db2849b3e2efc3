"""The official SDK's client, generation 1; see `driving.py` for its input and output."""

from typing import Any

import anyio
from driving import Host, Steps, drive, wire
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

NEWEST = types.LATEST_PROTOCOL_VERSION


class Generation1(Steps):
    def failures(self) -> Any:
        return McpError

    async def cancel(self, name: str) -> str:
        """This generation tells the server by hand."""
        upcoming = self.client._request_id
        with anyio.move_on_after(0.3):
            return str(await self.call(name, {}))
        params = types.CancelledNotificationParams(requestId=upcoming, reason="enough")
        await self.client.send_notification(
            types.ClientNotification(types.CancelledNotification(params=params))
        )
        return "cancelled"

    async def task(self, name: str, arguments: Any, answers: Any = ()) -> Any:
        """Call a tool as a task; its questions come while the result is awaited."""
        host, tasks = self.host, self.client.experimental
        host.answers, host.asked = list(answers), []
        begun = (await tasks.call_tool_as_task(name, arguments)).task
        result = await tasks.get_task_result(begun.taskId, types.CallToolResult)
        last = await tasks.get_task(begun.taskId)
        return {**wire(result), "asked": host.asked, "statuses": [begun.status, last.status]}

    async def stop(self, name: str, arguments: Any) -> Any:
        """Begin a task, and cancel it."""
        tasks = self.client.experimental
        id = (await tasks.call_tool_as_task(name, arguments)).task.taskId
        await tasks.cancel_task(id)
        return (await tasks.get_task(id)).status

    async def status(self, id: str) -> Any:
        return (await self.client.experimental.get_task(id)).status


def transport(address: Any) -> Any:
    """Return the transport: HTTP for a URL, HTTP+SSE if it ends so, otherwise stdio."""
    if not isinstance(address, str):
        return stdio_client(StdioServerParameters(command=address[0], args=address[1:]))
    return sse_client(address) if address.endswith("/sse") else streamable_http_client(address)


async def run_visit(visit: Any) -> Any:
    host = Host(types, visit)
    types.LATEST_PROTOCOL_VERSION = NEWEST if host.revision == "newest" else host.revision
    async with (
        transport(host.server) as (read, write, *_),
        ClientSession(read, write, **host.callbacks()) as client,
    ):
        agreed = await client.initialize()
        host.seen["revision"] = agreed.protocolVersion
        host.seen["server"] = agreed.serverInfo.name
        host.seen["instructions"] = agreed.instructions
        await Generation1(client, host).walk()
    return host.seen


drive(run_visit)
