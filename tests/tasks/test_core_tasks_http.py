"""Tasks of 2025-11-25 over HTTP: who may see which, and several workers with one store."""

from asyncio import wait_for
from typing import Any

import pytest
from mcp_revisions import MemoryTaskStore, TaskOptions, connect_http
from support.http.serving import serving
from support.tasks.jobs import AnsweringClient, Jobs, begin_task, text_of
from support.tasks.principals import WHO, of


def tasks(**limits: Any) -> TaskOptions:
    return TaskOptions(poll_interval=0.01, **limits)


@pytest.mark.shows("TC-01", "TC-20")
async def test_where_clients_are_not_known_nothing_is_listed() -> None:
    async with (
        serving(Jobs(), tasks=tasks()) as site,
        connect_http(site.url, AnsweringClient()) as client,
    ):
        declared = client.server_capabilities.to_wire()["tasks"]
        assert declared == {"cancel": {}, "requests": {"tools": {"call": {}}}}
        task = await begin_task(client, "needed")
        assert text_of(await client.get_task_payload(task.task_id)) == "needed is done"


@pytest.mark.shows("TC-09", "TC-10", "TC-12")
async def test_a_worker_asks_for_a_task_that_another_one_runs() -> None:
    store, answerer = MemoryTaskStore(), AnsweringClient()
    async with (
        serving(Jobs(), tasks=tasks(store=store), authentication=WHO) as one,
        serving(Jobs(), tasks=tasks(store=store), authentication=WHO) as other,
        connect_http(one.url, AnsweringClient(), headers=of("ann")) as client,
        connect_http(other.url, answerer, headers=of("ann")) as later,
    ):
        task = await begin_task(client, "greet")
        assert text_of(await wait_for(later.get_task_payload(task.task_id), 10)) == "F L"
        assert [question.message for question in answerer.asked] == ["First?", "Last?"]
        assert (await client.get_task(task.task_id)).status == "completed"
