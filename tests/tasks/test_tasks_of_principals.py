"""Tasks of both kinds over HTTP: their owners, their number, and their lifetime."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from math import inf, nan
from typing import Any

import pytest
from mcp_revisions import REVISIONS, TaskOptions
from support.http.serving import Site, serving
from support.json_types import JsonObject
from support.revisions import OLD
from support.sessions.talking import request
from support.sharing.task_workers import Work
from support.tables import case
from support.tasks.asking import DECLARED
from support.tasks.principals import PEOPLE, WHO, of

Ask = Callable[..., Awaitable[JsonObject]]
"""Sends a request: `await ask("tasks/get", taskId=…)`."""

METHODS: Mapping[str, tuple[str, ...]] = {
    "core": ("tasks/get", "tasks/cancel", "tasks/result"),
    "extension": ("tasks/get", "tasks/update", "tasks/cancel"),
}


async def kinds_of(site: Site, name: str) -> dict[str, Ask]:
    """Return the ways in which a principal asks, by kind of tasks."""
    session = await site.initialize(OLD, of(name), elicitation={})

    async def core(method: str, **params: Any) -> JsonObject:
        answer: JsonObject = (await session.post(request(method, 1, **params))).json()
        return answer

    async def extension(method: str, **params: Any) -> JsonObject:
        response = await site.modern(method, meta=DECLARED, headers=of(name), **params)
        answer: JsonObject = response.json()
        return answer

    return {"core": core, "extension": extension}


async def begin_task(ask: Ask, kind: str, tool: str = "slow", **task: Any) -> JsonObject:
    """The task that a call becomes, or the error in its place."""
    given: Any = {"task": task} if kind == "core" else {}
    answer = await ask("tools/call", name=tool, arguments={}, **given)
    if "error" in answer:
        return dict(answer["error"])
    result = answer["result"]
    return dict(result["task"] if kind == "core" else result)


@asynccontextmanager
async def serving_tasks(**limits: Any) -> AsyncGenerator[Site, None]:
    """A server whose clients are known."""
    options = TaskOptions(poll_interval=0.01, **limits)
    async with serving(Work(), REVISIONS, tasks=options, authentication=WHO, drain=0) as site:
        yield site


@pytest.mark.shows("TC-16", "TC-19", "TC-20", "TX-14", "TX-20", "TX-22")
async def test_the_task_of_another_is_as_unknown_as_none() -> None:
    async with serving_tasks() as site:
        asks = {name: await kinds_of(site, name) for name in PEOPLE}
        ids = {kind: (await begin_task(ask, kind))["taskId"] for kind, ask in asks["ann"].items()}
        for kind, methods in METHODS.items():
            other = next(key for key in ids if key != kind)
            for method in methods:
                given: Any = {"inputResponses": {}} if method == "tasks/update" else {}
                unknown = await asks["bob"][kind](method, taskId="unknown", **given)
                assert unknown["error"]["code"] == -32602
                rows = (
                    ("somebody else's", "bob", ids[kind]),
                    ("another principal's, of the other kind", "bob", ids[other]),
                    ("their own, of the other kind", "ann", ids[other]),
                )
                for name, who, id in rows:
                    with case(f"{kind} {method} {name}"):
                        answer = await asks[who][kind](method, taskId=id, **given)
                        assert answer["error"] == unknown["error"]
        for kind, ask in asks["ann"].items():
            with case(f"{kind}: nothing came of that"):
                found = (await ask("tasks/get", taskId=ids[kind]))["result"]
                assert found["status"] == "working"
        assert (await asks["bob"]["core"]("tasks/list"))["result"] == {"tasks": []}


@pytest.mark.shows("TC-16")
async def test_the_pages_of_a_list_have_the_tasks_of_one_principal() -> None:
    async with serving_tasks() as site:
        asks = {name: await kinds_of(site, name) for name in PEOPLE}
        ids = {str((await begin_task(asks["ann"]["core"], "core"))["taskId"]) for _ in range(103)}
        await begin_task(asks["ann"]["extension"], "extension")
        await begin_task(asks["bob"]["core"], "core")
        pages, cursor = list[list[str]](), dict[str, Any]()
        while not pages or cursor:
            page = (await asks["ann"]["core"]("tasks/list", **cursor))["result"]
            pages.append([task["taskId"] for task in page["tasks"]])
            cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else {}
        assert [len(page) for page in pages] == [100, 3]
        assert {id for page in pages for id in page} == ids
        # A cursor is a position, and shows nothing of other principals.
        first = (await asks["ann"]["core"]("tasks/list"))["result"]["nextCursor"]
        page = (await asks["bob"]["core"]("tasks/list", cursor=first))["result"]
        assert len(page["tasks"]) <= 1 and not {task["taskId"] for task in page["tasks"]} & ids
        refused = await asks["ann"]["core"]("tasks/list", cursor="nowhere")
        assert refused["error"]["code"] == -32602


def test_limits_that_make_no_sense_are_refused() -> None:
    wrong: list[dict[str, Any]] = [
        {"ttl": 0.0},
        {"max_ttl": -1.0},
        {"ttl": 2.0, "max_ttl": 1.0},
        {"max_tasks": 0},
        {"lease": 0.0},
        {"poll_interval": 0.0},
        {"max_ttl": inf},
        {"lease": nan},
    ]
    for limits in wrong:
        with case(str(limits)), pytest.raises(ValueError, match=next(iter(limits))):
            TaskOptions(**limits)


@pytest.mark.shows("TC-21")
async def test_the_log_says_who_creates_and_ends_tasks_and_who_tries_those_of_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "mcp_protogen.runtime.features.tasks.registry")
    async with serving_tasks(max_tasks=1) as site:
        asks = {name: await kinds_of(site, name) for name in PEOPLE}
        id = (await begin_task(asks["ann"]["core"], "core"))["taskId"]
        await asks["bob"]["core"]("tasks/get", taskId=id)
        await begin_task(asks["ann"]["core"], "core")
        await asks["ann"]["core"]("tasks/cancel", taskId=id)
    said = [record.getMessage() for record in caplog.records]
    key = said[0].split()[1]
    assert said == [
        f"task {key} of 'ann' was created",
        f"task {key} of 'ann' was requested by another principal: 'bob'",
        "'ann' has reached max_tasks",
        f"task {key} of 'ann' is cancelled",
    ]
    assert id[:6] not in caplog.text, "whoever reads the log cannot ask for the task"


@pytest.mark.shows("TX-17", "TX-22")
async def test_a_listen_stream_has_only_ones_own_tasks() -> None:
    async with serving_tasks() as site:
        ask = (await kinds_of(site, "ann"))["extension"]
        id = (await begin_task(ask, "extension"))["taskId"]
        for name, followed in (("ann", [id]), ("bob", None)):
            wanted = {"taskIds": [id], "toolsListChanged": True}
            listening = site.modern_stream(
                "subscriptions/listen", notifications=wanted, meta=DECLARED, headers=of(name)
            )
            with case(name):
                async with listening as events:
                    said = (await events.take())["params"]["notifications"]
                assert said.get("taskIds") == followed
