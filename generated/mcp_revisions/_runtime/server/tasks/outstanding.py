"""Questions of tasks that are put to clients as requests, in the form of 2025-11-25.

They go out on the stream of `tasks/result`, which any worker can answer: it need not be the one
that runs the task (basic/utilities/tasks, "Input Required Status").
"""

from asyncio import FIRST_COMPLETED, Future, create_task, wait
from asyncio import Task as Running
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from ...core.json import JSONObject
from ...core.tasks import Signal
from ...rpc.tasks.board import TaskBoard, UnknownTask
from ...rpc.tasks.lifecycle import TaskEnded, answered, has_ended
from ...rpc.tasks.task import Task

Ask: TypeAlias = Callable[[JSONObject], Awaitable[JSONObject]]
"""Puts a question of a task to the client, and returns the answer."""


class OutstandingQuestions:
    """The questions of tasks that this worker puts to clients, each one on one stream."""

    def __init__(self) -> None:
        self._asked: set[tuple[str, str]] = set()
        self._given_up = Signal()

    async def until_ended(self, board: TaskBoard, task: Task, ask: Ask) -> Task:
        """Put the questions of a task to its client, until it has ended.

        A client may wait for the same task on several streams, and is asked on one of them. Raise
        `UnknownTask`, and what `ask` does.
        """
        asking: set[Running[None]] = set()
        try:
            while not has_ended(task):
                asking |= self._begin(board, task, ask)
                free = create_task(self._given_up.heard())
                changed = create_task(board.changed(task))
                try:
                    await wait({changed, free, *asking}, return_when=FIRST_COMPLETED)
                    for one in [one for one in asking if one.done()]:
                        asking.discard(one)
                        one.result()
                    task = changed.result() if changed.done() else task
                finally:
                    changed.cancel()
                    free.cancel()
        finally:
            for one in asking:
                one.cancel()
        return task

    def _begin(self, board: TaskBoard, task: Task, ask: Ask) -> set[Running[None]]:
        begun: set[Running[None]] = set()
        for key, question in task.questions.items():
            if (task.id, key) not in self._asked:
                self._asked.add((task.id, key))
                work = create_task(_put(board, task.id, key, ask(question)))
                work.add_done_callback(partial(self._end, (task.id, key)))
                begun.add(work)
        return begun

    def _end(self, asked: tuple[str, str], done: Future[None]) -> None:
        self._asked.discard(asked)
        if done.cancelled() or done.exception() is not None:
            self._given_up.ring()


async def _put(board: TaskBoard, id: str, key: str, asking: Awaitable[JSONObject]) -> None:
    answers = {key: await asking}
    # It may be too late for an answer.
    with suppress(TaskEnded, UnknownTask):
        await board.change(id, lambda task: answered(task, answers, board.clock()))
