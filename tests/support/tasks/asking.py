"""The requests and waits of a client of tasks, played by hand."""

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


def refused(answer: Json) -> int:
    """Return the code of an error response."""
    code: int = answer["error"]["code"]
    return code


def text_in(answer: Json) -> str:
    """Return the text of a tool's result, in a response or a task."""
    (block,) = answer["result"]["content"]
    return str(block["text"])


async def call(hand: Hand, name: str, *, meta: JsonObject = DECLARED, **arguments: Any) -> Json:
    """Call a tool; return the answer."""
    return await hand.ask("tools/call", "call", name=name, arguments=arguments, _meta=meta)


async def begin_task(hand: Hand, name: str, **arguments: Any) -> str:
    """Call a tool; return the id of its task."""
    result = (await call(hand, name, **arguments))["result"]
    assert result["resultType"] == "task", result
    id: str = result["taskId"]
    return id


async def got(hand: Hand, id: str, **members: object) -> Json:
    """Return the answer to `tasks/get`."""
    return await hand.ask("tasks/get", "get", taskId=id, _meta=DECLARED, **members)


async def until(hand: Hand, id: str, status: str) -> dict[str, Any]:
    """Wait until the task has a status; return it."""
    while True:
        answer = await got(hand, id)
        assert "result" in answer, answer
        found: dict[str, Any] = answer["result"]
        if found["status"] == status:
            return found


async def answer_task(hand: Hand, id: str, **answers: object) -> Json:
    return await hand.ask(
        "tasks/update", "update", taskId=id, inputResponses=answers, _meta=DECLARED
    )


async def cancel_task(hand: Hand, id: str) -> Json:
    return await hand.ask("tasks/cancel", "cancel", taskId=id, _meta=DECLARED)
