"""The one path of all requests: in a new task, or in the sender's."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from types import coroutine
from typing import Any

import pytest
from mcp_protogen.runtime.connection import Connection
from mcp_protogen.runtime.core.errors import ProtocolError
from mcp_protogen.runtime.core.options import Options
from mcp_protogen.runtime.core.tasks import Tasks
from mcp_protogen.runtime.messages.codec import Request
from mcp_protogen.runtime.messages.jsonrpc import Call, message_of
from mcp_protogen.runtime.rpc.endpoint import Endpoint
from mcp_protogen.runtime.rpc.jobs import Job
from mcp_protogen.runtime.rpc.null_sink import NullSink
from mcp_revisions.v2025_11_25 import methods
from mcp_revisions.v2025_11_25 import models as m

BUSY = -32603


class Answered:
    """A channel that records its messages."""

    principal = None
    http_request = None
    beside = NullSink()

    def __init__(self) -> None:
        self.told: list[object] = []

    def awaits(self, id: object, /) -> bool:
        return not self.told

    async def answer(self, data: bytes, error: ProtocolError | None, /) -> None:
        message = json.loads(data)
        assert (error is None) == ("result" in message)
        self.told.append(message["id"] if error is None else error.code)

    def skip(self) -> None:
        self.told.append("skipped")

    async def release(self) -> None:
        raise AssertionError("nobody asks for this here")


class Site:
    """An endpoint whose handlers wait until they are let go; `log` says what becomes of them."""

    def __init__(
        self,
        *,
        shared: bool = False,
        serve: Callable[[Job], Awaitable[Any]] | None = None,
        **options: Any,
    ) -> None:
        connection = Connection(methods.TABLE, "server", {"server": {"tools": {}}, "client": {}})
        connection.shared = shared
        self.log: list[object] = []
        self.go = asyncio.Event()
        self.endpoint = Endpoint(
            connection, NullSink(), Tasks(), Options(**options), serve or self.serve, ignore
        )

    async def serve(self, job: Job) -> Any:
        self.log.append(job.request.id)
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.log.append("cancelled")
            raise
        return m.CallToolResult(content=[])

    def job(self, id: object) -> tuple[Job, Answered]:
        event = self.endpoint.connection.take(call(id))
        assert isinstance(event, Request)
        reply = Answered()
        return Job(event, reply), reply


def call(id: object) -> Call:
    params = {"name": "x"}
    found = message_of({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    assert isinstance(found, Call)
    return found


def ignore(*_: object) -> None:
    """Ignore a notification, as without a handler."""


Run = Callable[[Site, Job], Coroutine[Any, Any, None]]


async def in_its_own_task(site: Site, job: Job) -> None:
    site.endpoint.jobs.start(job)
    while job in site.endpoint.jobs.running:
        await asyncio.sleep(0)


async def in_ours(site: Site, job: Job) -> None:
    await site.endpoint.jobs.run(job)


@pytest.mark.parametrize("way", [in_its_own_task, in_ours])
async def test_a_request_is_answered_or_cancelled_alike(way: Run) -> None:
    site = Site()
    (one, first), (other, second) = site.job(1), site.job(2)
    both = [asyncio.create_task(way(site, job)) for job in (one, other)]
    while site.log != [1, 2]:
        await asyncio.sleep(0)
    assert site.endpoint.jobs.working == 2
    site.endpoint.jobs.cancel(other)
    site.endpoint.jobs.cancel(other)
    site.go.set()
    # The waiting task continues.
    await asyncio.gather(*both)
    assert (first.told, second.told) == ([1], ["skipped"])
    assert site.log == [1, 2, "cancelled"]
    assert (one.open, other.open) == (False, False)
    assert not site.endpoint.jobs.running
    assert site.endpoint.jobs.working == 0
    assert [task.cancelling() for task in both] == [0, 0]


async def test_the_limit_is_one_for_both() -> None:
    site = Site(max_in_flight=1)
    (one, first), (other, second), (third, last) = site.job(1), site.job(2), site.job(3)
    site.endpoint.jobs.start(one)
    # A task that waits for the answer gets it at once; others get a turn.
    await site.endpoint.jobs.run(other)
    assert second.told == [BUSY]
    site.endpoint.jobs.start(third)
    assert (site.endpoint.jobs.working, site.endpoint.jobs.waiting) == (1, 1)
    site.go.set()
    while not last.told:
        await asyncio.sleep(0)
    assert (first.told, last.told, site.log) == ([1], [3], [1, 3])
    assert site.endpoint.jobs.waiting == 0


async def test_many_clients_may_use_one_id_at_a_time() -> None:
    site = Site(shared=True)
    jobs = [site.job(7) for _ in range(3)]
    waiting = [asyncio.create_task(site.endpoint.jobs.run(job)) for job, _ in jobs]
    await asyncio.sleep(0)
    site.endpoint.jobs.cancel(jobs[1][0])
    site.go.set()
    await asyncio.gather(*waiting)
    assert [reply.told for _, reply in jobs] == [[7], ["skipped"], [7]]


async def test_notifications_before_answer_belong_to_request() -> None:
    site = Site()
    (one, first), (other, second) = site.job(1), site.job(2)

    async def refuse() -> None:
        raise LookupError("not today")

    async def last_long() -> None:
        await asyncio.Event().wait()

    with pytest.raises(LookupError, match="not today"):
        await site.endpoint.jobs.run(one, refuse())
    assert first.told == ["skipped"]
    assert site.job(1)[0].open, "the id may not be used again"
    waiting = asyncio.create_task(site.endpoint.jobs.run(other, last_long()))
    await asyncio.sleep(0)
    site.endpoint.jobs.cancel(other)
    await waiting
    assert (second.told, site.log) == (["skipped"], [])
    assert not site.endpoint.jobs.running


async def test_whoever_is_cancelled_does_not_go_on_and_the_id_may_be_used_again() -> None:
    site = Site()
    job, reply = site.job(1)
    waiting = asyncio.create_task(site.endpoint.jobs.run(job))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert reply.told == ["skipped"]
    again, answered = site.job(1)
    site.go.set()
    await site.endpoint.jobs.run(again)
    assert answered.told == [1]


async def test_at_the_end_nothing_is_begun_and_all_that_runs_is_cancelled() -> None:
    site = Site(shared=True)
    job, reply = site.job(1)
    waiting = asyncio.create_task(site.endpoint.jobs.run(job))
    await asyncio.sleep(0)
    site.endpoint.cancel_all()
    await waiting
    late, refused = site.job(2)
    await site.endpoint.jobs.run(late)
    assert (reply.told, refused.told, site.log) == (["skipped"], [BUSY], [1, "cancelled"])


@pytest.mark.parametrize("way", [in_its_own_task, in_ours])
async def test_at_an_orderly_end_what_takes_too_long_is_answered_with_an_error_and_ended(
    way: Run,
) -> None:
    site = Site(max_in_flight=1)
    job, reply = site.job(1)
    waiting = asyncio.create_task(way(site, job))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await site.endpoint.close(0)
    await waiting
    late, refused = site.job(2)
    await site.endpoint.jobs.run(late)
    assert (reply.told, refused.told, site.log) == ([BUSY], [BUSY], [1, "cancelled"])


_CALLER: ContextVar[object] = ContextVar("_CALLER", default=None)


async def answers_to_burst(
    serve: Callable[[int], Awaitable[None]], number: int, **options: Any
) -> list[list[object]]:
    """Return the answers to this number of requests, which came at once."""

    async def answer(job: Job) -> Any:
        await serve(int(job.request.id))
        return m.CallToolResult(content=[])

    site = Site(serve=answer, **options)
    jobs = [site.job(id) for id in range(1, number + 1)]
    for job, _ in jobs:
        site.endpoint.jobs.start(job)
    while site.endpoint.jobs.running:
        await asyncio.sleep(0)
    return [reply.told for _, reply in jobs]


@pytest.mark.parametrize("limit", [1, 4, 100])
def test_requests_that_come_together_share_nothing_that_a_handler_changes(limit: int) -> None:
    seen: dict[int, object] = {}

    async def serve(id: int) -> None:
        task = asyncio.current_task()
        assert task is not None
        seen[id] = (_CALLER.get(), task.cancelling())
        _CALLER.set(id)
        if id == 2:
            task.cancel()
        elif id == 3:
            task.cancel()
            raise asyncio.CancelledError
        elif id == 4:
            task.cancel()
            await asyncio.sleep(0)
        elif id == 5:
            raise LookupError

    told = asyncio.run(answers_to_burst(serve, 6, max_in_flight=limit))
    assert seen == dict.fromkeys(range(1, 7), (None, 0))
    assert told == [[1], [2], ["skipped"], ["skipped"], [BUSY], [6]]


def test_a_value_of_a_handler_is_not_seen_by_another_though_it_is_equal_to_that_before() -> None:
    before = object(), [0]
    seen: list[object] = []

    async def serve(id: int) -> None:
        seen.append(_CALLER.get())
        _CALLER.set((before[0], [0]))

    async def main() -> None:
        _CALLER.set(before)
        await answers_to_burst(serve, 3)

    asyncio.run(main())
    assert all(value is before for value in seen)


def test_who_keeps_the_task_of_a_handler_cannot_cancel_another_with_it() -> None:
    async def serve(id: int) -> None:
        task = asyncio.current_task()
        assert task is not None
        if id == 1:
            asyncio.get_running_loop().call_later(0.01, task.cancel)
        else:
            await asyncio.sleep(0.02)

    assert asyncio.run(answers_to_burst(serve, 3)) == [[1], [2], [3]]


async def test_requests_are_served_where_tasks_begin_at_once() -> None:
    async def serve(id: int) -> None:
        if id % 2:
            await asyncio.sleep(0)

    loop = asyncio.get_running_loop()
    loop.set_task_factory(eager)
    assert await answers_to_burst(serve, 9, max_in_flight=2) == [[id] for id in range(1, 10)]
    loop.set_task_factory(None)


@coroutine
def resume(work: Coroutine[Any, Any, Any], waiting: Any) -> Generator[Any, Any, Any]:
    """Continue a coroutine that has made its first step, and now waits for `waiting`."""
    while True:
        try:
            try:
                sent = yield waiting
            except BaseException as error:
                waiting = work.throw(error)
            else:
                waiting = work.send(sent)
        except StopIteration as done:
            return done.value


def eager(
    loop: asyncio.AbstractEventLoop, work: Any, *, context: Context | None = None
) -> asyncio.Task[Any]:
    """Make a task that has made its first step, as `asyncio.eager_task_factory` does."""
    made: Any = asyncio.tasks
    first = copy_context() if context is None else context
    waiting: list[Any] = []

    async def rest() -> Any:
        return await resume(work, waiting[0]) if waiting else None

    task = asyncio.Task(rest(), loop=loop, context=first)
    caller = asyncio.current_task(loop)
    if caller is not None:
        made._leave_task(loop, caller)
    made._enter_task(loop, task)
    with suppress(StopIteration):
        waiting.append(first.run(work.send, None))
    made._leave_task(loop, task)
    if caller is not None:
        made._enter_task(loop, caller)
    return task


def test_requests_that_come_together_may_limit_their_time_and_have_tasks_of_their_own() -> None:
    ended: list[object] = []

    async def serve(id: int) -> None:
        try:
            async with asyncio.timeout(0.01 if id == 3 else None), asyncio.TaskGroup() as group:
                if id % 2:
                    group.create_task(asyncio.sleep(60 if id == 3 else 0))
        except TimeoutError:
            ended.append((id, "late"))
        else:
            ended.append(id)

    told = asyncio.run(answers_to_burst(serve, 6))
    assert told == [[id] for id in range(1, 7)]
    assert ended[-1] == (3, "late")
    assert set(ended[:-1]) == {1, 2, 4, 5, 6}


async def test_waiting_request_delays_no_other_of_its_batch() -> None:
    site = Site()
    jobs = [site.job(id) for id in range(1, 9)]
    for job, _ in jobs:
        site.endpoint.jobs.start(job)
    # One step for the first, and one for all others.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert site.log == [*range(1, 9)]
    site.go.set()
    while site.endpoint.jobs.running:
        await asyncio.sleep(0)
    assert [reply.told for _, reply in jobs] == [[id] for id in range(1, 9)]


async def test_a_request_that_is_cancelled_before_it_begins_never_begins() -> None:
    site = Site()
    (one, first), (other, second), (third, last) = site.job(1), site.job(2), site.job(3)
    for job in (one, other, third):
        site.endpoint.jobs.start(job)
    site.endpoint.jobs.cancel(other)
    site.go.set()
    while site.endpoint.jobs.running:
        await asyncio.sleep(0)
    assert (first.told, second.told, last.told) == ([1], ["skipped"], [3])
    assert (site.log, site.endpoint.jobs.working) == ([1, 3], 0)


async def test_the_handler_of_a_notification_begins_before_the_requests_that_follow() -> None:
    site = Site()

    async def note() -> None:
        site.log.append("noted")

    site.go.set()
    site.endpoint.jobs.start(site.job(1)[0])
    site.endpoint.jobs.run_beside(note(), "notifications/x")
    site.endpoint.jobs.start(site.job(2)[0])
    while site.endpoint.jobs.running:
        await asyncio.sleep(0)
    assert site.log == [1, "noted", 2]
