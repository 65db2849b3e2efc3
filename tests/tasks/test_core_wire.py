"""Tasks on the wire of 2025-11-25: functions from a task to JSON."""

from dataclasses import replace
from typing import Any

import pytest
from mcp_protogen.runtime.features.tasks import core_wire
from mcp_protogen.runtime.features.tasks.on_wire import wire_task
from mcp_protogen.runtime.features.tasks.task import Task
from mcp_revisions import TaskOptions
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


def test_message_about_a_task_keeps_its_other_metadata() -> None:
    related = {"io.modelcontextprotocol/related-task": {"taskId": "t-1"}}
    told = core_wire.with_related({"_meta": {"a": 1}, "content": []}, "t-1")
    assert told == {"_meta": {"a": 1, **related}, "content": []}
