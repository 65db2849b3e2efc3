"""A server of task functions, and a client that calls them and is asked."""

from typing import Any

from mcp_protogen.runtime.core.models import WireModel
from mcp_revisions import McpError, Options, TaskOptions, tool
from mcp_revisions.v2025_11_25 import Client, Server, Session
from mcp_revisions.v2025_11_25 import models as m
from support.tasks.gateway import Tools

OPTIONS = Options(timeout=30, drain=0, tasks=TaskOptions(poll_interval=0.01, max_tasks=20))
RELATED = "io.modelcontextprotocol/related-task"
TASK: Any = {"task": m.TaskMetadata(ttl=60000)}


class Jobs(Tools, Server):
    """Those tools and more, in 2025-11-25."""

    @tool(task="required", immediate_response="It will come by mail.")
    async def needed(self) -> str:
        """Be a task only."""
        return "needed is done"

    @tool(task=True)
    async def greet(self, session: Session) -> str:
        """Ask two things."""
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        form = m.ElicitRequestFormParamsRequestedSchema.from_wire(schema)
        names: list[Any] = []
        for message in ("First?", "Last?"):
            answer = await session.elicit(message, form)
            names.append((answer.content or {}).get("name", answer.action))
        return " ".join(names)


class AnsweringClient(Client):
    """A client that answers with its name, or refuses."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.refuses = False

    async def on_elicit(self, params: m.ElicitRequestParams) -> m.ElicitResult:
        self.asked.append(params)
        if self.refuses:
            raise McpError(-1, "Not now")
        return m.ElicitResult(action="accept", content={"name": params.message[0]})


async def create_job(client: Client, name: str, **options: Any) -> m.CreateTaskResult:
    """Call a tool as a task; return the answer."""
    answer = await client.call_as_task(name, options.pop("arguments", {}), **TASK, **options)
    assert isinstance(answer, m.CreateTaskResult)
    return answer


async def begin_task(client: Client, name: str, **options: Any) -> m.Task:
    """Call a tool as a task; return the task."""
    return (await create_job(client, name, **options)).task


def text_of(result: WireModel) -> str:
    """Return the text of a tool's result, or of a task's payload."""
    block = m.CallToolResult.from_wire(result.to_wire()).content[0]
    assert isinstance(block, m.TextContent)
    return block.text
