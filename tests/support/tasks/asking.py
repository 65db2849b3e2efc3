"""A client of tasks, played by hand: what it sends, and what it waits for."""

from typing import Any, Final

from mcp_revisions.v2026_07_28.ext.tasks import methods

from support.json_types import Json, JsonObject
from support.sessions.talking import CAPABILITIES, META, Hand

TASKS: Final = methods.EXTENSION.identifier

DECLARED: Final[JsonObject] = {
    **META,
    CAPABILITIES: {"elicitation": {}, "sampling": {}, "extensions": {TASKS: {}}},
}
"""The `_meta` of a client that can have tasks, of the extension."""


async def call(hand: Hand, name: str, *, meta: JsonObject = DECLARED, **arguments: Any) -> Json:
    """The answer to a call of a tool."""
    return await hand.ask("tools/call", "call", name=name, arguments=arguments, _meta=meta)


async def begin_task(hand: Hand, name: str, **arguments: Any) -> str:
    """The id of the task that a call becomes."""
    result = (await call(hand, name, **arguments))["result"]
    assert result["resultType"] == "task", result
    id: str = result["taskId"]
    return id


async def got(hand: Hand, id: str, **members: object) -> Json:
    """The answer to `tasks/get`."""
    return await hand.ask("tasks/get", "get", taskId=id, _meta=DECLARED, **members)


async def until(hand: Hand, id: str, status: str) -> dict[str, Any]:
    """The task, once it has a status."""
    while True:
        answer = await got(hand, id)
        assert "result" in answer, answer
        found: dict[str, Any] = answer["result"]
        if found["status"] == status:
            return found


async def answer_task(hand: Hand, id: str, **answers: object) -> Json:
    """The answer to `tasks/update`."""
    return await hand.ask(
        "tasks/update", "update", taskId=id, inputResponses=answers, _meta=DECLARED
    )


async def cancel_task(hand: Hand, id: str) -> Json:
    """The answer to `tasks/cancel`."""
    return await hand.ask("tasks/cancel", "cancel", taskId=id, _meta=DECLARED)
