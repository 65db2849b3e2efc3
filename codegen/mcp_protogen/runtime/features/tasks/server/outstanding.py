"""Questions of tasks that are put to clients as requests, in the form of 2025-11-25.

They go out on the streams of `tasks/result`, which any worker can answer ("Input Required Status").
"""

from asyncio import FIRST_COMPLETED, create_task, wait
from asyncio import Task as Running
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

from ....core.json import JSONObject
from ..board import TaskBoard, UnknownTask
from ..lifecycle import TaskEnded, answered, has_ended
from ..task import Task

Ask: TypeAlias = Callable[[JSONObject], Awaitable[JSONObject]]


async def until_ended(board: TaskBoard, task: Task, session: str, ask: Ask) -> Task:
    """Put the questions of a task to its client, until it has ended, and return it.

    In one session, a client may wait for the same task on several streams, at several workers, and
    is asked on one of them. Of several sessions each is asked, and the first answer counts.
    """
    asking = dict[str, Running[None]]()
    try:
        while not has_ended(task):
            # A set would not keep the order in which they were asked.
            for key in [one for one in task.questions if one not in asking]:
                asking[key] = create_task(_put(board, task, key, session, ask))
            for key in asking.keys() - task.questions.keys():
                # No key is used again.
                asking[key].cancel()
            task = await _changed(board, task, [one for one in asking.values() if not one.done()])
    finally:
        for one in asking.values():
            one.cancel()
        if asking:
            await wait(asking.values())
    return task


async def _changed(board: TaskBoard, task: Task, asking: list[Running[None]]) -> Task:
    """Wait until a task has changed, and return it; raise what comes of asking meanwhile."""
    changed = create_task(board.changed(task))
    try:
        left = {changed, *asking}
        while not changed.done():
            done, left = await wait(left, return_when=FIRST_COMPLETED)
            for one in done - {changed}:
                if not one.cancelled():
                    one.result()
        return changed.result()
    finally:
        changed.cancel()


async def _put(board: TaskBoard, task: Task, key: str, session: str, ask: Ask) -> None:
    # It may be too late for a question, or for its answer.
    with suppress(TaskEnded, UnknownTask):
        async with board.alone(task, f"{key} {session}"):
            question = (await board.find(task.id)).questions.get(key)
            if question is not None:
                answers = {key: await ask(question)}
                await board.change(task.id, lambda one: answered(one, answers, board.clock()))
