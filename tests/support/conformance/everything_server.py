"""A server with every fixture of the official conformance suite.

One class, written against 2026-07-28, for all revisions. From the root of the checkout:
PYTHONPATH=tests python -m support.conformance.everything_server --port 8000
"""

from argparse import ArgumentParser
from pathlib import Path

from mcp_revisions import (
    REVISIONS,
    HttpOptions,
    Options,
    RedisEngine,
    ServesSkills,
    Shared,
    SkillFolder,
    run_http,
    tool,
)
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as m
from mcp_revisions.v2026_07_28.ext.skills import SkillsServer
from mcp_revisions.v2026_07_28.ext.tasks import TasksServer
from support.conformance.everything_plain import Plain
from support.conformance.everything_questions import Asking, Rounds
from support.conformance.everything_reading import Reading
from support.conformance.everything_tasks import Working


class Everything(
    TasksServer, ServesSkills, SkillsServer, Working, Rounds, Asking, Reading, Plain, mcp.Server
):
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

    @tool
    async def test_trigger_tool_change(self) -> str:
        """Tell everyone that the list of tools has changed."""
        await self.tools_list_changed()
        return "Told."

    @tool
    async def test_trigger_prompt_change(self) -> str:
        """Tell everyone that the list of prompts has changed."""
        await self.prompts_list_changed()
        return "Told."


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
