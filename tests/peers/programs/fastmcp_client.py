"""The client of fastmcp; see `driving.py` for its input and output."""

import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

import mcp_types as types
from driving import Host, Steps, drive, view_of, wire
from fastmcp import Client
from fastmcp.client.auth import OAuth
from fastmcp.client.transports import StdioTransport
from mcp import MCPError

# Importing it makes clients declare the extension; one of two environments has it.
if find_spec("fastmcp_tasks"):
    from fastmcp_tasks.client import call_tool_task
    from fastmcp_tasks.client_models import (
        ClientGetTaskResult,
        GetTaskRequest,
        GetTaskRequestParams,
    )

warnings.simplefilter("ignore")


# Without it, servers of the stateless revision have to keep their logs to themselves.
LOGS = {"io.modelcontextprotocol/logLevel": "debug"}


class FastHost(Host):
    """The host's side, with the signatures of fastmcp's handlers."""

    def callbacks(self) -> dict[str, Any]:
        return {
            "elicitation_handler": self.fill,
            "sampling_handler": self.model,
            "roots": ["file:///root"],
            "log_handler": self.note_log,
            "message_handler": self.note_message,
        }

    async def fill(self, message: str, form: Any, params: Any, context: Any) -> Any:
        return await self.elicit(context, params)

    async def model(self, messages: Any, params: Any, context: Any) -> Any:
        return await self.sample(context, params)


def read(found: Any) -> Any:
    """The result of a tool as it was sent."""
    return {
        "content": [wire(block) for block in found.content],
        "structuredContent": found.structured_content,
        "isError": found.is_error,
    }


class Fast(Steps):
    """fastmcp follows pages of lists by itself, and parses structured content."""

    def failures(self) -> Any:
        return MCPError

    async def tools(self) -> Any:
        return [wire(tool) for tool in await self.client.list_tools()]

    async def resources(self) -> Any:
        return [wire(resource) for resource in await self.client.list_resources()]

    async def templates(self) -> Any:
        return [wire(template) for template in await self.client.list_resource_templates()]

    async def prompts(self) -> Any:
        return [wire(prompt) for prompt in await self.client.list_prompts()]

    async def read(self, uri: str) -> Any:
        return {"contents": [wire(content) for content in await self.client.read_resource(uri)]}

    async def call_tool(self, name: str, arguments: Any, progressed: Any) -> Any:
        stateless = self.client.protocol_version == "2026-07-28"
        found = await self.client.call_tool(
            name,
            arguments,
            raise_on_error=False,
            progress_handler=progressed,
            meta=LOGS if stateless else None,
        )
        return read(found)

    async def task(self, name: str, arguments: Any, answers: Any = ()) -> Any:
        """Call a tool as a task, and answer its questions."""
        host = self.host
        host.answers, host.asked = list(answers), []
        task = await call_tool_task(self.client, name, arguments, raise_on_error=False)
        result = read(await task.result())
        statuses = [task.create_result.status, (await task.status()).status]
        return {**result, "asked": host.asked, "statuses": statuses}

    async def stop(self, name: str, arguments: Any) -> Any:
        """Begin a task, and cancel it."""
        task = await call_tool_task(self.client, name, arguments)
        await task.cancel()
        return (await task.wait()).status

    async def status(self, id: str) -> Any:
        """fastmcp has no handle for a foreign task."""
        request = GetTaskRequest(params=GetTaskRequestParams(task_id=id))
        return (await self.client.session.send_request(request, ClientGetTaskResult)).status

    async def ping(self) -> None:
        await self.client.ping()

    @asynccontextmanager
    async def watching(self, uri: str) -> AsyncGenerator[None, None]:
        """fastmcp leaves this to the SDK below it."""
        await self.client.session.subscribe_resource(uri)
        yield
        await self.client.session.unsubscribe_resource(uri)


async def run_visit(visit: Any) -> Any:
    host = FastHost(types, visit)
    address, auth = host.server, None
    if not isinstance(address, str):
        address = StdioTransport(address[0], address[1:], keep_alive=False)
    if host.oauth is not None:
        auth = OAuth(address, client_metadata_url=host.oauth.get("document"))
    mode: Any = "auto" if host.revision in ("2026-07-28", "newest") else "legacy"
    async with Client(address, mode=mode, auth=auth, **host.callbacks()) as client:
        return await view_of(Fast, client, host)


drive(run_visit)
