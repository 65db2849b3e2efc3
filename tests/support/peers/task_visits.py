"""The visit of foreign clients to the tools of `everything_tasks.py`, and its expected results."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from support.peers.http_peers import with_packages
from support.peers.places import PROGRAMS, Command
from support.peers.visits import Expected, Step

TaskKind: TypeAlias = Literal["core", "extension", "none"]
"""Tasks of 2025-11-25, those of the extension of 2026-07-28, or calls without any."""


class Visitor(NamedTuple):
    """A client, its revision, and the kind of its tasks."""

    client: str
    kind: TaskKind
    revision: str = "newest"


VISITORS: Final = (
    Visitor("mcp 1", "core"),
    Visitor("TypeScript 1", "core"),
    Visitor("ext-tasks", "core", "2025-11-25"),
    Visitor("ext-tasks", "extension"),
    Visitor("fastmcp-tasks", "extension"),
    Visitor("mcp 2", "none"),
    Visitor("mcp 2", "none", "2025-11-25"),
    Visitor("TypeScript 2", "none"),
)

AGREED: Final = {"TypeScript 1": "2025-11-25", "mcp 1": "2025-11-25"}
"""What clients speak that do not know the newest revision."""

_YES: Final = {"action": "accept", "content": {"confirm": True}}
_ADA: Final = {"action": "accept", "content": {"name": "ada"}}

_COMPLETED: Final = {"statuses": ["working", "completed"]}
_FAILED: Final = {"statuses": ["working", "failed"]}
_DELETED: Final = {"text": "Deleted a.txt", "asked": ["Delete a.txt?"]}
_BOTH: Final = {"text": str, "asked": ["What is your name?", "Are you sure?"]}
_GREETED: Final = {"text": "Hello, ada, from a task!", "asked": ["What is your name?"]}
_COMPUTED: Final = {"text": "computed x in 0.1 s"}
_FAILURE: Final = {"failure": "This job always fails"}
_BROKEN: Final = "This job always breaks"

_SLOW: Final = ("slow_compute", {"seconds": 0.1, "label": "x"})
_DELETE: Final = ("confirm_delete", {"filename": "a.txt"}, (_YES,))


class Row(NamedTuple):
    """A step with tasks, and its expected result for each kind of tasks."""

    step: Step
    core: Expected
    extension: Expected


_TASKS: Final = (
    Row(("task", *_SLOW), {**_COMPUTED, **_COMPLETED}, {**_COMPUTED, **_COMPLETED}),
    Row(("task", "failing_job", {}), {**_FAILURE, **_FAILED}, {**_FAILURE, **_COMPLETED}),
    Row(("task", "protocol_error_job", {}), -32603, -32603),
    Row(("task", *_DELETE), {**_DELETED, **_COMPLETED}, {**_DELETED, **_COMPLETED}),
    Row(("task", "multi_input", {}, (_ADA, _YES)), _BOTH, _BOTH),
    Row(("stop", "slow_compute", {"seconds": 60}), "cancelled", "cancelled"),
    Row(("status", "nobody"), -32602, -32602),
    # In the extension it asks first, and then becomes a task.
    Row(("call", "test_tool_with_task", {}, (_ADA,)), _GREETED, _GREETED),
)

_PLAIN: Final[tuple[tuple[Step, Expected], ...]] = (
    (("call", *_SLOW), _COMPUTED),
    (("call", "protocol_error_job", {}), -32603),
    (("call", *_DELETE), _DELETED),
    (("call", "multi_input", {}, (_ADA, _YES)), _BOTH),
    (("call", "test_tool_with_task", {}, (_ADA,)), _GREETED),
)

_SHOWN: Final[Mapping[tuple[str, TaskKind, str], Expected]] = {
    # They know that the task failed, and do not ask for its result.
    ("TypeScript 1", "core", "failing_job"): -32603,
    ("ext-tasks", "core", "failing_job"): "This job always fails",
    ("ext-tasks", "core", "protocol_error_job"): _BROKEN,
    # It shows errors of tasks as those of tools.
    ("fastmcp-tasks", "extension", "protocol_error_job"): {
        "failure": "This job always breaks",
        **_FAILED,
    },
}
"""What clients make of an end, by the name of the tool."""


def uses(visitor: Visitor) -> Iterator[tuple[Step, Expected]]:
    """Return the steps of a client, with their expected results."""
    yield ("call", "greet", {"name": "Ada"}), {"text": "Hello, Ada!"}
    if visitor.kind == "none":
        yield from _PLAIN
        stateless = visitor.revision == "newest"
        yield ("call", "failing_job", {}), -32021 if stateless else -32601
        return
    for row in _TASKS:
        expected = row.core if visitor.kind == "core" else row.extension
        name: Any = row.step[1]
        yield row.step, _SHOWN.get((visitor.client, visitor.kind, name), expected)


def tasks_server(own: str) -> Command:
    """Return the command of our server with a class of a revision."""
    return (*with_packages(), sys.executable, PROGRAMS / "http_tasks_server.py", "PORT", own)
