"""A server with every fixture of the official conformance suite.

One class, written against 2026-07-28, for all revisions. From the root of the checkout:
PYTHONPATH=tests python -m support.conformance.everything_server --port 8000
"""

from argparse import ArgumentParser
from pathlib import Path

from mcp_revisions import (
    REVISIONS,
    HttpOptions,
    InvalidParams,
    Options,
    RedisEngine,
    ServesSkills,
    Shared,
    SkillFolder,
    run_http,
)
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as m
from mcp_revisions.v2026_07_28.ext.skills import SkillsServer
from mcp_revisions.v2026_07_28.ext.tasks import TasksServer

from support.conformance.everything_plain import PLAIN
from support.conformance.everything_questions import ASKING
from support.conformance.everything_reading import (
    PROMPTS,
    RESOURCES,
    TEMPLATES,
    fill_in,
    proposals,
    read,
)
from support.conformance.everything_rounds import ROUNDS
from support.conformance.everything_tasks import Working
from support.conformance.everything_toolbox import Call, Toolbox


def _check_cursor(params: m.PaginatedRequestParams) -> None:
    if params.cursor is not None:
        raise InvalidParams("there is one page only, and no cursor was given out")


TOOLS = Toolbox(PLAIN, ASKING, ROUNDS)


class Everything(TasksServer, ServesSkills, SkillsServer, Working, mcp.Server):
    """A server that answers every request of the suite."""

    skills = SkillFolder(Path(__file__).with_name("skills"))
    skills_page_size = 1

    info = m.Implementation(name="everything", version="1.0")
    instructions = "Call whatever you like."
    SENDS = frozenset(
        {
            "notifications/message",
            "notifications/prompts/list_changed",
            "notifications/resources/updated",
            "notifications/tools/list_changed",
        }
    )

    async def on_list_tools(
        self, session: mcp.Session, params: m.PaginatedRequestParams
    ) -> m.ListToolsResult:
        working: m.ListToolsResult = await super().on_list_tools(session, params)
        return m.ListToolsResult(tools=[*TOOLS.listed, *working.tools])

    async def on_call_tool(
        self, session: mcp.Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult | m.InputRequiredResult:
        if params.name in TOOLS:
            return await TOOLS.call(Call(self, session, params))
        result: m.CallToolResult = await super().on_call_tool(session, params)
        return result

    async def on_list_resources(
        self, session: mcp.Session, params: m.PaginatedRequestParams
    ) -> m.ListResourcesResult:
        skills: m.ListResourcesResult = await super().on_list_resources(session, params)
        return m.ListResourcesResult(resources=[*RESOURCES, *skills.resources])

    async def on_list_resource_templates(
        self, session: mcp.Session, params: m.PaginatedRequestParams
    ) -> m.ListResourceTemplatesResult:
        _check_cursor(params)
        return m.ListResourceTemplatesResult(resource_templates=TEMPLATES)

    async def on_read_resource(
        self, session: mcp.Session, params: m.ReadResourceRequestParams
    ) -> m.ReadResourceResult:
        if params.uri.startswith("skill:"):
            result: m.ReadResourceResult = await super().on_read_resource(session, params)
            return result
        return m.ReadResourceResult(contents=[read(params.uri)])

    async def on_list_prompts(
        self, session: mcp.Session, params: m.PaginatedRequestParams
    ) -> m.ListPromptsResult:
        _check_cursor(params)
        return m.ListPromptsResult(prompts=PROMPTS)

    async def on_get_prompt(
        self, session: mcp.Session, params: m.GetPromptRequestParams
    ) -> m.GetPromptResult:
        return await fill_in(session, params.name, params.arguments or {})

    async def on_complete(
        self, session: mcp.Session, params: m.CompleteRequestParams
    ) -> m.CompleteResult:
        values = proposals(params.argument.value)
        return m.CompleteResult(completion=m.CompleteResultCompletion(values=values))


if __name__ == "__main__":
    known = {revision.id: revision for revision in REVISIONS}
    parser = ArgumentParser(description="A server with every fixture of the suite.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--revisions", nargs="+", choices=known, default=list(known))
    parser.add_argument("--shared", help="the URL of a Redis that it shares with others")
    given = parser.parse_args()
    spoken = [known[revision] for revision in given.revisions]
    http, options = HttpOptions(), Options()
    if given.shared is not None:
        http = HttpOptions(shared=Shared(engine=RedisEngine(given.shared)))
        options = Options(state_keys=[b"what all of them sign states with"])
    run_http(Everything(), port=given.port, revisions=spoken, options=options, http=http)
