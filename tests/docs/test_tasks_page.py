"""The code on the page about tasks works."""

import re
from dataclasses import fields
from typing import Any

import pytest
from mcp_protogen.runtime.toolkit.decorators import TaskChoice
from mcp_revisions import (
    Options,
    RequestedTask,
    TaskHandle,
    TaskOptions,
    client_of,
)
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2025_11_25 import Client
from mcp_revisions.v2026_07_28.ext.tasks import TasksClient
from support.docs.pages import page, run_page
from support.tables import case

PAGE = page("tasks.md")
OPTIONS = Options(tasks=TaskOptions(poll_interval=0.01))


@pytest.fixture(scope="module")
def page_names() -> dict[str, Any]:
    return run_page("tasks.md")


async def test_books_are_counted_by_a_call_and_by_a_handle(
    page_names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    async with client_of(page_names["library"], page_names["Reader"](), options=OPTIONS) as reader:
        assert await page_names["count"](reader) == 120
    first, *statuses = capsys.readouterr().out.split()
    assert first == "120" and statuses[-1] == "completed"
    assert {*statuses} <= {"working", "input_required", "completed"}


async def test_a_decision_comes_before_the_task(page_names: dict[str, Any]) -> None:
    class Deciding(TasksClient, mcp.Client):
        """A client that says yes or no."""

        sure = True

        async def on_elicit(self, params: mcp.models.ElicitRequestParams) -> Any:
            return mcp.models.ElicitResult(action="accept", content={"value": self.sure})

    async with client_of(
        page_names["Archive"](), client := Deciding(), options=OPTIONS
    ) as deciding:
        handle = await deciding.start_task("empty")
        assert handle.id is not None
        assert await handle.result(as_=str) == "It is empty."
        client.sure = False
        handle = await deciding.start_task("empty")
        assert handle.id is None
        assert await handle.result(as_=str) == "Nothing was thrown away."


async def test_a_story_is_told_with_and_without_tasks(page_names: dict[str, Any]) -> None:
    class Plain(Client):
        """A client without tasks."""

        on_create_message = page_names["Host"].on_create_message

    for host in (page_names["Host"](), Plain()):
        with case(type(host).__name__):
            async with client_of(page_names["Storyteller"](), host) as client:
                assert (await client.call_tool("tell")).text == "a model"


def test_the_tables_have_all_options_and_choices() -> None:
    options = PAGE.split("| of `TaskOptions` |")[1].split("\n\n")[0]
    named = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (.*?) \|", options, re.MULTILINE)))
    assert named == [field.name for field in fields(TaskOptions)]
    choices = PAGE.split("| `task=` |")[1].split("\n\n")[0]
    assert re.findall(r'^\| `"?(\w+)"?` \|', choices, re.MULTILINE) == [
        "True",
        "required",
        "deferred",
    ]
    assert "required" in str(TaskChoice) and "deferred" in str(TaskChoice)


def test_both_kinds_of_tasks_have_what_the_page_names() -> None:
    for name in re.findall(r"`(\w+)\(\)`", PAGE.rpartition("A `RequestedTask` has")[2]):
        with case(name):
            assert callable(getattr(RequestedTask, name)) and callable(getattr(TaskHandle, name))
