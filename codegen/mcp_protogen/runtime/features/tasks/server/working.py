"""Working on the request of a task, and what comes of it."""

from asyncio import CancelledError, current_task
from collections.abc import Awaitable
from typing import Any

from ....core.errors import LocalError
from ....core.json import read_json
from ....rpc.jobs import Job
from ....server.serve import entered
from ..outcome import Outcome
from .task_context import TaskConnection


async def answered(connection: TaskConnection, job: Job) -> Any:
    """Return the result of a request on a connection of its own, which ends with it."""
    try:
        connection.begin()
        # The session may end before, and with it the lifespan of a server of its own.
        async with entered([connection.server]):
            return await connection.answer_to(job)
    finally:
        connection.unregister()


async def outcome_of(
    connection: TaskConnection, job: Job, working: Awaitable[Any] | None = None
) -> Outcome:
    """Return what comes of a request, as on the wire; `working` is what answers it already."""
    request, wire, jobs = job.request, connection.endpoint.connection, connection.endpoint.jobs
    method = request.spec.method
    try:
        result = await (answered(connection, job) if working is None else working)
    except (Exception, CancelledError) as raised:
        running = current_task()
        if isinstance(raised, CancelledError) and (running is None or running.cancelling()):
            raise
        error = jobs.error_of_handler(raised, method)
    else:
        try:
            data = wire.answer(request, result)
            assert data is not None
            return Outcome(result=read_json(data)["result"])
        except LocalError as unsent:
            error = jobs.error_of_result(unsent, method)
    data = wire.reject(request.id, error, method)
    assert data is not None
    return Outcome(error=read_json(data)["error"])
