"""Definitions of fixture tools: functions, and a table of them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from mcp_revisions import McpError
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as m

INVALID_PARAMS: Final = -32602

NO_ARGUMENTS: Final[Mapping[str, Any]] = {"type": "object"}


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool: its params and its session."""

    server: mcp.Server
    session: mcp.Session
    params: m.CallToolRequestParams

    @property
    def arguments(self) -> Mapping[str, Any]:
        """Return the arguments; callers may omit them."""
        return self.params.arguments or {}

    def text(self, name: str) -> str:
        value = self.arguments.get(name)
        if not isinstance(value, str):
            raise McpError(INVALID_PARAMS, f"the argument {name!r} must be a string")
        return value


Answer: TypeAlias = str | m.CallToolResult | m.InputRequiredResult
"""What a tool returns; a text is short for a result that contains it."""

Work: TypeAlias = Callable[[Call], Awaitable[Answer]]


class Toolbox:
    """Tools in listing order."""

    def __init__(self, *boxes: "Toolbox") -> None:
        self._tools: dict[str, m.Tool] = {}
        self._work: dict[str, Work] = {}
        for box in boxes:
            self._tools |= box._tools
            self._work |= box._work

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    @property
    def listed(self) -> list[m.Tool]:
        return list(self._tools.values())

    def tool(
        self, name: str, description: str, schema: Mapping[str, Any] = NO_ARGUMENTS
    ) -> Callable[[Work], Work]:
        """Add a function under its public name."""

        def put(work: Work) -> Work:
            self._tools[name] = m.Tool(
                name=name, description=description, input_schema=dict(schema)
            )
            self._work[name] = work
            return work

        return put

    async def call(self, call: Call) -> m.CallToolResult | m.InputRequiredResult:
        work = self._work.get(call.params.name)
        if work is None:
            raise McpError(INVALID_PARAMS, f"Unknown tool: {call.params.name}")
        answer = await work(call)
        if isinstance(answer, str):
            return m.CallToolResult(content=[m.TextContent(text=answer)])
        return answer


def strings(*names: str) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": list(names),
    }
