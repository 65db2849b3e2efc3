"""Tasks on the wire of 2025-11-25: functions from a task to JSON, and answers from a registry."""

from dataclasses import replace
from typing import Any

import pytest
from mcp_protogen.runtime.features.tasks import core_wire, lifecycle
from mcp_protogen.runtime.features.tasks.lifecycle import Outcome, error_object
from mcp_protogen.runtime.features.tasks.on_wire import wire_task
from mcp_protogen.runtime.features.tasks.registry import TaskRegistry
from mcp_protogen.runtime.features.tasks.task import Task
from mcp_revisions import InvalidParams, McpError, MemoryTaskStore, TaskOptions
from mcp_revisions.v2025_11_25 import models as m
from support.tables import case

NOW = 1764064800.0
TASK = Task(
    id="t-1",
    form="core",
    revision="2025-11-25",
    method="tools/call",
    params={"name": "count"},
    created_at=NOW,
    updated_at=NOW,
    ttl=60.0,
    poll_interval=0.25,
)
RELATED = {"io.modelcontextprotocol/related-task": {"taskId": "t-1"}}


ID = "taskId"


class Clock:
    """The seconds since the epoch, as a test says."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


def registry(clock: Clock, **limits: Any) -> TaskRegistry:
    return TaskRegistry(MemoryTaskStore(clock), TaskOptions(**limits))


async def answer(
    method: str, kept: TaskRegistry, params: dict[str, Any], owner: str | None
) -> dict[str, Any]:
    return await core_wire.ANSWERS[method](core_wire.TasksRequest(kept, params, owner, ID))


@pytest.mark.shows("TC-05", "TC-11")
def test_a_task_has_dates_in_iso_8601_and_durations_in_milliseconds() -> None:
    task = replace(TASK, ttl=None, status_message="Half of it", updated_at=NOW + 600.5)
    assert wire_task(task, ID) == {
        "taskId": "t-1",
        "status": "working",
        "statusMessage": "Half of it",
        "createdAt": "2025-11-25T10:00:00.000Z",
        "lastUpdatedAt": "2025-11-25T10:10:00.500Z",
        "ttl": None,
        "pollInterval": 250,
    }
    assert "statusMessage" not in wire_task(TASK, ID)
    for kind in (m.GetTaskResult, m.CancelTaskResult, m.TaskStatusNotificationParams, m.Task):
        assert kind.from_wire(wire_task(task, ID)).to_wire() == wire_task(task, ID)


@pytest.mark.shows("TC-05", "TC-13", "TC-22")
def test_a_new_task_is_nested_and_may_say_something_to_the_model() -> None:
    plain, told = (core_wire.creation_result(TASK, ID, *text) for text in ((), ("Counting.",)))
    assert plain == {"task": wire_task(TASK, ID), "_meta": RELATED}
    assert told["_meta"] == {
        **RELATED,
        "io.modelcontextprotocol/model-immediate-response": "Counting.",
    }
    assert m.CreateTaskResult.from_wire(told).task.ttl == 60000


@pytest.mark.shows("TC-11", "TC-21")
def test_a_time_to_live_is_kept_within_limits() -> None:
    options = TaskOptions(ttl=100.0, max_ttl=1000.0, poll_interval=2.0)
    rows: list[tuple[dict[str, Any], float]] = [
        ({}, 100.0),
        ({"ttl": None}, 100.0),
        ({"ttl": 60000}, 60.0),
        ({"ttl": 10**12}, 1000.0),
        ({"ttl": 0}, 2.0),
        ({"ttl": -5}, 2.0),
    ]
    for metadata, seconds in rows:
        with case(metadata):
            assert core_wire.ttl_asked(metadata, options) == seconds


@pytest.mark.shows("TC-12", "TC-13", "TC-18")
def test_a_task_ends_as_its_request_would_have() -> None:
    result: dict[str, Any] = {"content": [{"type": "text", "text": "3"}], "_meta": {"a": 1}}
    ended = Outcome(result=result).of(TASK, NOW)
    assert ended.status == "completed"
    assert core_wire.outcome(ended) == {**result, "_meta": {"a": 1, **RELATED}}

    wrong = {"content": [{"type": "text", "text": "No disk"}], "isError": True}
    ended = Outcome(result=wrong).of(TASK, NOW)
    assert (ended.status, ended.status_message) == ("failed", "No disk")
    assert core_wire.outcome(ended) == {**wrong, "_meta": RELATED}

    ended = Outcome(error=error_object(McpError(-5, "No luck", [1]))).of(TASK, NOW)
    assert (ended.status, ended.status_message) == ("failed", "No luck")
    with pytest.raises(McpError) as raised:
        core_wire.outcome(ended)
    assert (raised.value.code, raised.value.message, raised.value.data) == (-5, "No luck", [1])

    with pytest.raises(McpError, match="cancelled"):
        core_wire.outcome(lifecycle.cancel(TASK, NOW))


@pytest.mark.shows("TC-16", "TC-19", "TC-20")
async def test_a_list_has_all_tasks_of_one_principal_page_by_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(core_wire, "PAGE_SIZE", 2)
    kept = registry(Clock())
    ids = {f"t-{number}" for number in range(5)}
    for id in ids:
        await kept.create(replace(TASK, id=id, principal_id="ann"))
    await kept.create(replace(TASK, id="other", principal_id="bob"))
    await kept.create(replace(TASK, id="nobody"))
    seen: list[str] = []
    params: dict[str, Any] = {}
    sizes: list[int] = []
    while True:
        page = m.ListTasksResult.from_wire(await answer("tasks/list", kept, params, "ann"))
        seen += (task.task_id for task in page.tasks)
        sizes.append(len(page.tasks))
        if page.next_cursor is None:
            break
        params = {"cursor": page.next_cursor}
    assert (sorted(seen), sizes) == (sorted(ids), [2, 2, 1])
    with pytest.raises(InvalidParams):
        await answer("tasks/list", kept, {"cursor": "made up"}, "ann")


@pytest.mark.shows("TC-19", "TC-20")
async def test_a_task_that_is_not_to_be_seen_is_not_there() -> None:
    clock = Clock()
    kept = registry(clock)
    await kept.create(replace(TASK, principal_id="ann"))
    await kept.create(replace(TASK, id="other-kind", form="extension", principal_id="ann"))
    rows = [("t-1", "bob"), ("t-1", None), ("t-2", "ann"), ("other-kind", "ann")]
    clock.now += 1
    told: set[str] = set()
    for method in ("tasks/get", "tasks/cancel", "tasks/result"):
        for id, principal in rows:
            with case((method, id, principal)), pytest.raises(InvalidParams) as raised:
                await answer(method, kept, {"taskId": id}, principal)
            told.add(str(raised.value))
    found = await answer("tasks/get", kept, {"taskId": "t-1"}, "ann")
    assert found["status"] == "working"
    clock.now += 60
    with pytest.raises(InvalidParams) as lapsed:
        await answer("tasks/get", kept, {"taskId": "t-1"}, "ann")
    assert told == {str(lapsed.value)}, "who may not see a task learns nothing of it"


@pytest.mark.shows("TC-08", "TC-17")
async def test_only_a_task_that_goes_on_can_be_cancelled() -> None:
    kept = registry(Clock())
    await kept.create(TASK)
    gone = await answer("tasks/cancel", kept, {"taskId": "t-1"}, None)
    assert gone["status"] == "cancelled"
    assert gone["statusMessage"]
    with pytest.raises(InvalidParams):
        await answer("tasks/cancel", kept, {"taskId": "t-1"}, None)
    with pytest.raises(lifecycle.TaskEnded):
        await kept.change("t-1", lambda task: Outcome(result={"content": []}).of(task, NOW))
    assert (await kept.find("t-1")).status == "cancelled"
