"""Tools that are tasks, over HTTP, on the port that is the first argument.

The second argument is the revision of the server class, which serves all revisions.
"""

import sys
from typing import Any, Final

from mcp_revisions import REVISIONS, Options, RequestedTask, TaskOptions, run_http, tool
from mcp_revisions import v2025_11_25 as handshake
from mcp_revisions import v2026_07_28 as stateless
from mcp_revisions.v2025_11_25 import models as m
from mcp_revisions.v2026_07_28.ext.tasks import TasksServer
from support.conformance.everything_tasks import Working

OPTIONS: Final = Options(drain=1.0, tasks=TaskOptions(poll_interval=0.05))
TASK: Final = m.TaskMetadata(ttl=60000)


class OfHandshake(Working, handshake.Server):
    """Also asks for tasks of the client, which only this revision knows."""

    info = m.Implementation(name="tasks", version="1")

    @tool
    async def sample_as_task(self, session: handshake.Session) -> str:
        """Let a model of the client say something."""
        said = m.SamplingMessage(role="user", content=m.TextContent(text="?"))
        params = m.CreateMessageRequestParams(messages=[said], max_tokens=10, task=TASK)
        created = await session.request_once(handshake.methods.CREATE_MESSAGE, params)
        answer: Any = await RequestedTask(session, created, m.CreateMessageResult).result()
        return f"{answer.model} {answer.content.text}"

    @tool
    async def ask_as_task(self, session: handshake.Session) -> str:
        """Ask for a name."""
        form = m.ElicitRequestFormParamsRequestedSchema.from_wire(
            {"type": "object", "properties": {"name": {"type": "string"}}}
        )
        params = m.ElicitRequestFormParams(message="Your name?", requested_schema=form, task=TASK)
        created = await session.request_once(handshake.methods.ELICIT, params)
        answer = await RequestedTask(session, created, m.ElicitResult).result()
        return f"{answer.action} {(answer.content or {}).get('name')}"


class OfStateless(TasksServer, Working, stateless.Server):
    """Has the extension."""

    info = stateless.models.Implementation(name="tasks", version="1")


CLASSES: Final = {"2025-11-25": OfHandshake, "2026-07-28": OfStateless}

if __name__ == "__main__":
    port, own = sys.argv[1:]
    run_http(CLASSES[own](), port=int(port), revisions=REVISIONS, options=OPTIONS)
