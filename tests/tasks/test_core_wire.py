"""Tasks on the wire of 2025-11-25: functions from a task to JSON, and answers from a registry."""

from dataclasses import replace
from typing import Any

import pytest
from mcp_protogen.runtime.features.tasks import core_wire, lifecycle
from mcp_protogen.runtime.features.tasks.lifecycle import Outcome, error_object
from mcp_protogen.runtime.features.tasks.on_wire import wire_task
from mcp_protogen.runtime.features.tasks.task import Task
from mcp_revisions import McpError, TaskOptions
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
