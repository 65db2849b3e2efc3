"""A server with a bit of everything, one class for each revision, on standard input and output.

Arguments are the revisions to serve; without any, all of them.
"""

import asyncio
import sys
from typing import Any

import mcp_revisions
from mcp_revisions import McpError, run_stdio

URI = "file:///a"
FIELDS = {
    "name": {"type": "string"},
    "color": {"type": "string", "enum": ["red", "green"]},
    "sizes": {"type": "array", "items": {"type": "string", "enum": ["s", "m", "l"]}},
    "taste": {"type": "string", "enum": ["sweet", "sour"]},
}


def tool(m: Any, name: str) -> Any:
    return m.Tool(name=name, input_schema={"type": "object"})


def server_of(revision: str) -> Any:
    """A server class of one revision."""
    mcp: Any = mcp_revisions.load(revision)
    m = mcp.models

    class Everything(Tools, mcp.Server):
        info = m.Implementation(name="everything", version="1")
        instructions = "Call whatever you like."
        models = m
        SENDS = frozenset(
            {"notifications/message", "notifications/tools/list_changed"}
            | {"notifications/resources/updated"}
        )

        async def on_list_tools(self, session: Any, params: Any) -> Any:
            page = mcp_revisions.page(TOOL_NAMES, params.cursor, size=3)
            tools = [tool(m, name) for name in page.items]
            return m.ListToolsResult(tools=tools, next_cursor=page.next_cursor)

        async def on_call_tool(self, session: Any, params: Any) -> Any:
            result = await getattr(self, f"tool_{params.name}")(session, params.arguments or {})
            if not isinstance(result, str):
                return result
            return m.CallToolResult(content=[m.TextContent(text=result)])

        async def on_list_resources(self, session: Any, params: Any) -> Any:
            return m.ListResourcesResult(resources=[m.Resource(uri=URI, name="a")])

        async def on_read_resource(self, session: Any, params: Any) -> Any:
            if params.uri != URI:
                code = self.TABLE.rules.resource_not_found
                raise McpError(code, "Resource not found", {"uri": params.uri})
            contents = m.TextResourceContents(uri=URI, text="content of a")
            return m.ReadResourceResult(contents=[contents])

        async def on_list_prompts(self, session: Any, params: Any) -> Any:
            argument = m.PromptArgument(name="name", required=True)
            return m.ListPromptsResult(prompts=[m.Prompt(name="greet", arguments=[argument])])

        async def on_get_prompt(self, session: Any, params: Any) -> Any:
            name = (params.arguments or {}).get("name", "nobody")
            text = m.TextContent(text=f"Greet {name}")
            return m.GetPromptResult(messages=[m.PromptMessage(role="user", content=text)])

        async def on_complete(self, session: Any, params: Any) -> Any:
            values = [name for name in ("ada", "alan") if name.startswith(params.argument.value)]
            return m.CompleteResult(completion=m.CompleteResultCompletion(values=values))

    return Everything


class Tools:
    """The tools, in terms that fit every revision."""

    models: Any

    async def tool_echo(self, session: Any, arguments: Any) -> str:
        return str(arguments.get("text"))

    async def tool_count(self, session: Any, arguments: Any) -> str:
        for number in range(1, arguments["to"] + 1):
            await session.progress(number, arguments["to"], f"at {number}")
            await asyncio.sleep(0.06)
        return "counted"

    async def tool_sleep(self, session: Any, arguments: Any) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            print("sleep was cancelled", file=sys.stderr, flush=True)
            raise
        return "slept"

    async def tool_crash(self, session: Any, arguments: Any) -> str:
        raise RuntimeError("the password is hunter2")

    async def tool_log(self, session: Any, arguments: Any) -> str:
        await session.log("info", {"said": "logged"}, "tools")
        return "logged"

    async def tool_change(self, session: Any, arguments: Any) -> str:
        server: Any = self
        await server.resource_updated(URI)
        await server.tools_list_changed()
        return "changed"

    async def tool_ask(self, session: Any, arguments: Any) -> str:
        # The first revision with elicitation has but one kind of it.
        kind = getattr(self.models, "ElicitRequestFormParams", None) or getattr(
            self.models, "ElicitRequestParams", None
        )
        name = arguments.get("form", "name")
        if kind is None or (
            name == "sizes" and not hasattr(self.models, "ElicitRequestFormParams")
        ):
            return "not asked"
        form = {"type": "object", "properties": {name: FIELDS[name]}, "required": [name]}
        answer = await session.elicit(f"Your {name}?", form)
        return f"{answer.action} {answer.content[name]}"

    async def tool_sample(self, session: Any, arguments: Any) -> str:
        m = self.models
        question = m.SamplingMessage(role="user", content=m.TextContent(text="?"))
        answer = await session.create_message([question], 10)
        return f"{answer.model} {answer.content.text}"

    async def tool_roots(self, session: Any, arguments: Any) -> str:
        answer = await session.list_roots()
        return " ".join(root.uri for root in answer.roots)

    async def tool_media(self, session: Any, arguments: Any) -> Any:
        """Everything a tool can return in the revision of the class."""
        m = self.models
        content = [m.TextContent(text="plain")]
        if hasattr(m, "AudioContent"):
            content.append(m.AudioContent(data="aGk=", mime_type="audio/wav"))
        if hasattr(m, "ResourceLink"):
            content.append(m.ResourceLink(uri=URI, name="a"))
        more = {"structured_content": {"answer": 42}} if "title" in m.Tool.model_fields else {}
        return m.CallToolResult(content=content, **more)

    async def tool_stray(self, session: Any, arguments: Any) -> str:
        print("stray output")
        return "printed"


TOOL_NAMES = sorted(name.removeprefix("tool_") for name in vars(Tools) if name.startswith("tool_"))


if __name__ == "__main__":
    known = [revision.id for revision in mcp_revisions.REVISIONS]
    run_stdio([server_of(revision) for revision in sys.argv[1:] or known])
