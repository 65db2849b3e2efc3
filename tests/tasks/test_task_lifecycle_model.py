"""Clients, workers and time change tasks of both kinds: the registry agrees with a model."""

from collections.abc import Coroutine
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any, Literal, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from mcp_protogen.runtime.core.base64url import base64url
from mcp_protogen.runtime.features.tasks import lifecycle
from mcp_protogen.runtime.features.tasks.leases import LeaseLost, Step, TaskLease
from mcp_protogen.runtime.features.tasks.registry import (
    TaskOptions,
    TaskRegistry,
    TooManyTasks,
    UnknownTask,
)
from mcp_protogen.runtime.features.tasks.task import LAPSED_FOR, Task
from mcp_protogen.runtime.storage.memory_tasks import MemoryTaskStore
from support.coroutines import run
from support.sharing.task_stores import a_task
from support.tables import case

MOST = 3
LEASE = 10.0
PRINCIPALS = ("ann", "bob", None)
KEYS = ("1", "2", "3")

T = TypeVar("T")
Kind = Literal["core", "extension"]


@dataclass
class Known:
    """What the model knows of a task."""

    kind: Kind
    owner: str | None
    ends_at: float
    status: str = "working"
    asked: set[str] = field(default_factory=set[str])
    answered: set[str] = field(default_factory=set[str])
    updated_at: float = 0.0
    due: float = 0.0
    """When its worker counts as gone."""
    workers: dict[int, str | None] = field(default_factory=dict[int, str | None])
    """By worker, the name under which it has begun to run it; the last one has it."""
    worker: str | None = None

    @property
    def live(self) -> bool:
        return self.status in ("working", "input_required")


class Tasks(RuleBasedStateMachine):
    """Two workers with wrong clocks on one store.

    A worker that is killed, or stopped for a while, renews nothing: its tasks are taken over, and
    its later writes are refused.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.wrong = [0.0, 0.0]
        store = self.store = MemoryTaskStore(lambda: self.now)
        options = TaskOptions(max_tasks=MOST, lease=LEASE)
        self.registries = [TaskRegistry(store, options) for _ in range(2)]
        for number, registry in enumerate(self.registries):
            registry.clock = partial(self._clock, number)
        self.known: dict[str, Known] = {}
        self.numbers = self.numbers_of_runs = 0

    def _clock(self, number: int) -> float:
        return self.now + self.wrong[number]

    def pass_time(self) -> None:
        """Do what time does to the tasks of the model."""
        for id, task in [*self.known.items()]:
            kept = LAPSED_FOR if task.kind == "extension" else 0.0
            if self.now >= task.ends_at + kept:
                del self.known[id]
            elif self.now >= task.ends_at and task.live:
                task.status, task.asked = "failed", set()

    def take(self, data: st.DataObject, step: Step, allowed: bool) -> bool:
        """Take a step of the task that `data` chose last; return whether it was taken."""
        registry = data.draw(st.sampled_from(self.registries))
        before = run_at_once(registry.find(self.chosen))
        try:
            after = run_at_once(registry.change(self.chosen, step))
        except (lifecycle.TaskEnded, ValueError):
            assert not allowed
            return False
        assert allowed
        if after.version != before.version:
            self.renew_lease()
        return True

    def renew_lease(self) -> None:
        """A writer does not know of dead workers."""
        self.known[self.chosen].due = self.now + LEASE

    def choose(self, data: st.DataObject) -> Known | None:
        if not self.known:
            return None
        self.chosen = data.draw(st.sampled_from(sorted(self.known)))
        return self.known[self.chosen]

    @rule(kind=st.sampled_from(["core", "extension"]), owner=st.sampled_from(PRINCIPALS))
    def create(self, kind: Kind, owner: str | None) -> None:
        self.numbers += 1
        id = f"task {self.numbers}"
        task = a_task(id, form=kind, principal_id=owner, created_at=self.now, ttl=100.0)
        full = sum(entry.owner == owner for entry in self.known.values()) >= MOST
        try:
            assert run_at_once(self.registries[0].create(task)).version == 1
        except TooManyTasks:
            assert full
        else:
            assert not full
            self.known[id] = Known(kind, owner, self.now + 100.0, due=self.now + LEASE)

    @rule(seconds=st.sampled_from([1.0, 9.0, 10.0, 30.0, 99.0, 100.0, 1000.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.pass_time()

    @rule(which=st.sampled_from([0, 1]), wrong=st.sampled_from([-1e4, 0.0, 1e4]))
    def jump(self, which: int, wrong: float) -> None:
        self.wrong[which] = wrong

    @rule(data=st.data(), key=st.sampled_from(KEYS))
    def ask(self, data: st.DataObject, key: str) -> None:
        if (task := self.choose(data)) is None:
            return
        allowed = task.live and key not in task.asked | task.answered
        if self.take(
            data, lambda one: lifecycle.add_questions(one, {key: {}}, self.clock(0)), allowed
        ):
            task.status = "input_required"
            task.asked.add(key)

    @rule(data=st.data(), keys=st.sets(st.sampled_from(KEYS)))
    def answer(self, data: st.DataObject, keys: set[str]) -> None:
        if (task := self.choose(data)) is None:
            return
        answers: dict[str, dict[str, Any]] = {key: {} for key in keys}
        step: Step = lambda one: lifecycle.add_answers(one, answers, self.clock(1))  # noqa: E731
        if self.take(data, step, task.live):
            new = keys & task.asked
            task.asked -= new
            task.answered |= new
            if new and not task.asked:
                task.status = "working"

    @rule(data=st.data(), end=st.sampled_from(["completed", "failed", "cancelled"]))
    def end(self, data: st.DataObject, end: str) -> None:
        if (task := self.choose(data)) is None:
            return
        steps: dict[str, Step] = {
            "completed": lambda one: lifecycle.complete(one, {}, self.clock(0)),
            "failed": lambda one: lifecycle.fail(one, self.clock(0), error={}),
            "cancelled": lambda one: lifecycle.cancel(one, self.clock(0)),
        }
        if self.take(data, steps[end], task.live):
            task.status, task.asked = end, set()

    # Workers.

    @rule(data=st.data(), which=st.sampled_from([0, 1]))
    def start(self, data: st.DataObject, which: int) -> None:
        """Begin to run a task, as its first worker does."""
        task = self.choose(data)
        if task is None or task.worker is not None:
            return
        self.run(task, which)

    def run(self, task: Known, which: int) -> None:
        self.numbers_of_runs += 1
        name = f"run {self.numbers_of_runs} of {which}"
        step: Step = lambda one: lifecycle.assign(one, name, self.clock(which))  # noqa: E731
        try:
            run_at_once(self.registries[which].change(self.chosen, step))
        except lifecycle.TaskEnded:
            assert not task.live
        else:
            assert task.live
            task.workers[which] = task.worker = name
            self.renew_lease()

    @rule(which=st.sampled_from([0, 1]))
    def renew(self, which: int) -> None:
        """Renew the leases of a worker, which it does while it is not stopped."""
        held = {
            id: task for id, task in self.known.items() if task.workers.get(which) and task.live
        }
        run_at_once(self.store.renew([_key(id) for id in held], LEASE))
        for task in held.values():
            task.due = self.now + LEASE

    @rule(which=st.sampled_from([0, 1]), again=st.booleans())
    def take_over(self, which: int, again: bool) -> None:
        """Run again, or end, the tasks whose workers are gone."""
        gone = {id for id, entry in self.known.items() if entry.live and self.now >= entry.due}
        found = run_at_once(orphans_of(self.registries[which]))
        assert {task.id for task in found} == gone
        for self.chosen in sorted(gone):
            task = self.known[self.chosen]
            self.run(task, which)
            if not again:
                self.finish_as(task, which, "failed")

    @rule(data=st.data(), which=st.sampled_from([0, 1]))
    def finish(self, data: st.DataObject, which: int) -> None:
        """End a task that a worker has begun to run, before it was stopped for a while or not."""
        task = self.choose(data)
        if task is not None and task.workers.get(which) is not None:
            self.finish_as(task, which, "completed")

    @rule(data=st.data(), which=st.sampled_from([0, 1]))
    def stop_for_a_lease(self, data: st.DataObject, which: int) -> None:
        """Stop a worker so long that another one runs its task; then it goes on, and ends it."""
        task = self.choose(data)
        if task is None or task.worker is not None or not task.live:
            return
        id = self.chosen
        self.run(task, which)
        self.wait(LEASE)
        self.take_over(1 - which, again=True)
        if id in self.known:
            self.chosen = id
            self.finish_as(task, which, "completed")

    def finish_as(self, task: Known, which: int, end: str) -> None:
        registry, worker = self.registries[which], task.workers[which]
        steps: dict[str, Step] = {
            "completed": lambda one: lifecycle.complete(one, {}, registry.clock()),
            "failed": lambda one: lifecycle.fail(one, registry.clock(), error={}),
        }

        async def change() -> None:
            await TaskLease(await registry.find(self.chosen), str(worker), registry.change).change(
                steps[end]
            )

        try:
            run(change())
        except lifecycle.TaskEnded:
            assert not task.live
        except LeaseLost:
            assert task.live and task.worker != worker
        else:
            assert task.live and task.worker == worker
            task.status, task.asked = end, set()
            self.renew_lease()

    def clock(self, which: int) -> float:
        return self.registries[which].clock()

    @invariant()
    def who_asks_sees_what_the_model_knows(self) -> None:
        for number in range(1, self.numbers + 1):
            id = f"task {number}"
            known = self.known.get(id)
            for who in PRINCIPALS:
                for kind in ("core", "extension"):
                    mine = known is not None and (known.kind, known.owner) == (kind, who)
                    try:
                        task = run_at_once(self.registries[number % 2].get(id, kind, who))
                    except UnknownTask:
                        assert not mine
                        continue
                    assert mine and known is not None
                    seen = task.status, set(task.questions), set(task.answers)
                    assert seen == (known.status, known.asked, known.answered)
                    assert task.updated_at >= known.updated_at
                    known.updated_at = task.updated_at

    @invariant()
    def each_sees_a_list_of_its_own(self) -> None:
        for who in PRINCIPALS:
            listed, _ = run_at_once(self.registries[0].page(who, None, 10))
            assert {task.id for task in listed} == {
                id for id, entry in self.known.items() if (entry.kind, entry.owner) == ("core", who)
            }


def run_at_once(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, and return its result."""
    with pytest.raises(StopIteration) as end:
        work.send(None)
    result: T = end.value.value
    return result


@pytest.mark.shows("TC-08")
def test_status_allows_only_its_successors() -> None:
    steps: dict[str, Step] = {
        "input_required": lambda task: lifecycle.add_questions(task, {"key": {}}, 1.0),
        "working": lambda task: lifecycle.add_answers(task, {"key": {}}, 1.0),
        "completed": lambda task: lifecycle.complete(task, {}, 1.0),
        "failed": lambda task: lifecycle.fail(task, 1.0, error={}),
        "cancelled": lambda task: lifecycle.cancel(task, 1.0),
    }
    new = a_task("task")
    assert new.status == "working"
    asked = steps["input_required"](new)
    rows = {"working": new, "input_required": asked}
    rows |= {end: steps[end](new) for end in ("completed", "failed", "cancelled")}
    for status, task in rows.items():
        for step, take in steps.items():
            with case((status, step)):
                if status in ("working", "input_required"):
                    assert take(task if step != "input_required" else new).status == step
                else:
                    with pytest.raises(lifecycle.TaskEnded):
                        take(task)


async def orphans_of(registry: TaskRegistry) -> list[Task]:
    """The tasks whose workers are gone."""
    return [task async for task in registry.orphans()]


def _key(id: str) -> str:
    return base64url(sha256(id.encode()).digest())


TestTasks = Tasks.TestCase
TestTasks.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


def test_result_that_a_task_has_noted_stays() -> None:
    task = lifecycle.note_result(a_task(), "a", 1)
    assert lifecycle.note_result(task, "a", 2) is task
    assert lifecycle.note_result(task, "b", 2).done == {"a": 1, "b": 2}
    with pytest.raises(lifecycle.TaskEnded):
        lifecycle.note_result(lifecycle.complete(task, {}, 5.0), "c", 3)
