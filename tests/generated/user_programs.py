"""Small programs as users write them, for type checkers: two that are right, one that is not.

Wrong lines end in `# wrong`; a checker has to object to these and to no others.
"""

HANDSHAKE = """
from typing import assert_type

from mcp_revisions import REVISIONS, load
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25 import capabilities, methods
from mcp_revisions.v2025_11_25 import models as m


class Weather(mcp.Server):
    async def on_list_tools(
        self, session: mcp.Session, params: m.PaginatedRequestParams
    ) -> m.ListToolsResult:
        tool = m.Tool(name="forecast", input_schema={"type": "object"}, icons=[m.Icon(src="")])
        return m.ListToolsResult(tools=[tool], next_cursor=params.cursor)

    async def on_call_tool(
        self, session: mcp.Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult:
        roots = await session.list_roots()
        names = [root.name or root.uri for root in roots.roots]
        question = m.SamplingMessage(role="user", content=m.TextContent(text="?"))
        answer = await session.create_message(
            m.CreateMessageRequestParams(messages=[question], max_tokens=100)
        )
        if isinstance(answer, m.CreateTaskResult):
            assert_type(answer.task.ttl, int | None)
            names.append(answer.task.task_id)
        else:
            names.append(answer.model)
        await session.notify_logging_message(
            m.LoggingMessageNotificationParams(level="info", data=names)
        )
        return m.CallToolResult(content=[m.TextContent(text=name) for name in names])


class Desktop(mcp.Client):
    async def on_elicit(self, params: m.ElicitRequestParams) -> m.ElicitResult:
        if isinstance(params, m.ElicitRequestURLParams):
            return m.ElicitResult(action="decline", content=None)
        return m.ElicitResult(action="accept", content={"age": 3, "tags": ["a"], "ok": True})


async def use(client: Desktop) -> str:
    listed = await client.list_tools(m.PaginatedRequestParams())
    assert_type(listed.next_cursor, str | None)
    result = await client.call_tool(m.CallToolRequestParams(name=listed.tools[0].name))
    if isinstance(result, m.CreateTaskResult):
        return result.task.status
    for block in result.content:
        if isinstance(block, m.TextContent):
            return block.text
        elif isinstance(block, m.EmbeddedResource):
            return block.resource.uri
        elif isinstance(block, m.ImageContent | m.AudioContent):
            return block.mime_type
    return str(result.is_error)


def read(data: bytes) -> str:
    request = methods.parse_request(data, sender="client")
    written = methods.serialise_request(
        methods.CALL_TOOL, request.id, m.CallToolRequestParams(name="forecast")
    )
    answer = methods.parse_answer(written, spec=methods.LIST_TOOLS)
    declared = capabilities.server_capabilities(["tools/call"])
    return str((answer, declared.tools, m.Tool.from_json(data).name, load(REVISIONS[0].id)))
"""

STATELESS = """
from typing import assert_type

from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as m


class Weather(mcp.Server):
    async def on_call_tool(
        self, session: mcp.Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult | m.InputRequiredResult:
        assert_type(params.meta, m.RequestMetaObject)
        if params.input_responses is None:
            return m.InputRequiredResult(request_state="1")
        return m.CallToolResult(content=[], structured_content=None)


async def use(client: mcp.Client, meta: m.RequestMetaObject) -> int:
    listed = await client.list_tools(m.PaginatedRequestParams(meta=meta))
    assert_type(listed.ttl_ms, int)
    found = await client.call_tool(m.CallToolRequestParams(name="forecast", meta=meta))
    if isinstance(found, m.InputRequiredResult):
        return len(found.input_requests or {})
    assert_type(found, m.CallToolResult)
    return len(found.content)
"""

WRONG = """
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25 import methods
from mcp_revisions.v2025_11_25 import models as m


class Weather(mcp.Server):
    async def on_ping(self, session: mcp.Session, params: m.Tool) -> m.EmptyResult:  # wrong
        return m.CallToolResult(content=[])  # wrong

    async def on_complete(self, params: m.CompleteRequestParams) -> m.CompleteResult:  # wrong
        raise NotImplementedError


async def use(client: mcp.Client, session: mcp.Session) -> None:
    await client.call_tool(m.GetPromptRequestParams(name="forecast"))  # wrong
    result = await client.call_tool(m.CallToolRequestParams(name="forecast"))
    print(result.content)  # wrong
    await session.list_tools(m.PaginatedRequestParams())  # wrong
    listed = await client.list_tools(m.PaginatedRequestParams())
    print(listed.next_curser)  # wrong
    print(listed.next_cursor.upper())  # wrong
    m.CallToolRequestParams()  # wrong
    m.TextContent(text=1)  # wrong
    m.TextContent(text="", type="image")  # wrong
    m.LoggingMessageNotificationParams(level="loud", data=1)  # wrong
    methods.parse_request(b"", sender="proxy")  # wrong
    methods.serialise_request(methods.CALL_TOOL, 1, m.PaginatedRequestParams())  # wrong
"""


def wrong_lines(program: str) -> set[int]:
    """The numbers of the lines marked as wrong, from 1."""
    lines = program.splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
