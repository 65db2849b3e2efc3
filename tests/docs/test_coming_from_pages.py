"""The pages for users of other packages are right about those packages, and about ours."""

import json
import sys
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from support.docs import names
from support.docs.pages import block_texts, find_pieces, programs
from support.folders import environment
from support.peers.places import python_with
from support.programs import run_program

PACKAGE: Final = "mcp_revisions"
# Classes of the reader, in the examples.
EXAMPLES: Final = ("Age", "Db", "Order")


class Other(NamedTuple):
    """A package that a page compares with, and what the names in its column stand for."""

    page: str
    requirements: str
    column: int
    roots: dict[str, list[str]]
    spaces: list[str]
    elsewhere: tuple[str, ...] = ()
    """Names of the page that another package has."""


FASTMCP: Final = Other(
    "from-fastmcp.md",
    "mcp-2",
    0,
    {
        "mcp": ["fastmcp:FastMCP"],
        "ctx": ["fastmcp:Context"],
        "client": ["fastmcp:Client"],
        "result": ["fastmcp.client.client:CallToolResult"],
    },
    [
        *("fastmcp", "fastmcp.client", "fastmcp.client.group", "fastmcp.dependencies"),
        *("fastmcp.exceptions", "fastmcp.prompts", "fastmcp.resources", "fastmcp.tools"),
        *("fastmcp.server", "fastmcp.server.auth", "fastmcp.server.dependencies"),
        *("fastmcp.server.elicitation", "fastmcp.utilities.tests", "fastmcp.utilities.types"),
        *(
            f"fastmcp.server.middleware{part}"
            for part in (".caching", ".error_handling", ".logging", ".rate_limiting", ".timing", "")
        ),
        *("fastmcp.apps", "fastmcp.server.providers.skills", "fastmcp.skills"),
        *("fastmcp.skills.extension", "fastmcp.utilities.tasks", "mcp_types"),
        *("starlette.middleware.cors", "typing"),
    ],
    elsewhere=("TasksExtension", "ToolTask", "call_tool_task"),
)
FASTMCP_TASKS: Final = FASTMCP._replace(
    requirements="fastmcp-tasks", spaces=[*FASTMCP.spaces, "fastmcp_tasks"], elsewhere=()
)
SDK_1: Final = Other(
    "from-mcp-sdk.md",
    "mcp-1",
    0,
    {
        "mcp": ["mcp.server.fastmcp:FastMCP"],
        "ctx": ["mcp.server.fastmcp:Context"],
        "client": ["mcp:ClientSession"],
        "server": ["mcp.server.lowlevel:Server"],
        "result": ["mcp.types:CallToolResult"],
    },
    [
        *("mcp", "mcp.server.fastmcp", "mcp.server.fastmcp.exceptions", "mcp.server.lowlevel"),
        *("mcp.server.fastmcp.prompts.base", "mcp.server.elicitation", "mcp.shared.memory"),
        *("mcp.server.auth.settings", "mcp.server.transport_security", "mcp.client.auth"),
        *("mcp.client.streamable_http", "mcp.types"),
    ],
)
SDK_2: Final = Other(
    "from-mcp-sdk.md",
    "mcp-2",
    1,
    {
        "mcp": ["mcp.server.mcpserver:MCPServer"],
        "ctx": ["mcp.server.mcpserver:Context"],
        "client": ["mcp:Client"],
        "server": ["mcp.server.lowlevel:Server"],
        "result": ["mcp_types:CallToolResult"],
    },
    [
        *("mcp", "mcp.server.mcpserver", "mcp.server.mcpserver.exceptions", "mcp.server.lowlevel"),
        *("mcp.server.mcpserver.prompts.base", "mcp.server.auth.settings", "mcp.client.auth"),
        *("mcp.server.transport_security", "mcp.client.streamable_http", "mcp_types", "typing"),
    ],
)
OTHERS: Final = (FASTMCP, SDK_1, SDK_2)
# Ours, and theirs.
PROGRAMS: Final = {
    "from-fastmcp.md": (programs("from-fastmcp.md"), block_texts("from-fastmcp.md", "py")),
    "from-mcp-sdk.md": (programs("from-mcp-sdk.md"), block_texts("from-mcp-sdk.md", "py")),
}


@pytest.mark.long
@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "other", (*OTHERS, FASTMCP_TASKS), ids=lambda other: f"{other.page}-{other.requirements}"
)
def test_the_old_names_are_those_of_the_package(other: Other) -> None:
    old = find_pieces(other.page, other.column)
    assert len(old) > 50
    asked = {"pieces": old, "roots": other.roots, "spaces": other.spaces}
    asked["examples"] = [*EXAMPLES, *other.elsewhere]
    command: list[str | Path] = [python_with(other.requirements), names.__file__]
    output = run_program(*command, input=json.dumps(asked))
    assert json.loads(output) == []


# Programs share a process, because their imports take most of the time.
RUN: Final = """
import contextlib, io, json, sys, traceback

said = []
for program in json.load(sys.stdin):
    output, failure = io.StringIO(), ""
    with contextlib.redirect_stdout(output):
        try:
            exec(program, {"__name__": "__main__"})
        except BaseException:
            failure = traceback.format_exc()
    said.append([output.getvalue().splitlines(), failure])
json.dump(said, sys.stdout)
"""


def run(*programs: str, python: str | Path = sys.executable) -> list[tuple[list[str], str]]:
    """Return what programs print, and how they fail."""
    output = run_program(
        python,
        "-W",
        "ignore",
        "-c",
        RUN,
        input=json.dumps(programs),
        env=environment() if python == sys.executable else None,
    )
    return [(lines, failure) for lines, failure in json.loads(output)]


@pytest.mark.long
@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_do_the_same(name: str) -> None:
    (ours,), (theirs,) = PROGRAMS[name]
    modern = ours.replace("User())", f"User(), revisions={PACKAGE}.REVISIONS)")
    assert modern != ours
    (expected, failure), again = run(ours, f"import {PACKAGE}\n{modern}")
    assert failure == again[1] == ""
    assert len(expected) >= 4
    # There the handler runs again, up to the question.
    assert [*dict.fromkeys(again[0])] == expected
    modern = theirs.replace(', mode="legacy"', "")
    assert modern != theirs
    (origin,) = [page for page in (FASTMCP, SDK_2) if page.page == name]
    same, refusal = run(theirs, modern, python=python_with(origin.requirements))
    assert same == (expected, "")
    # Their clients of 2026-07-28 cannot be asked there.
    assert refusal[1]
