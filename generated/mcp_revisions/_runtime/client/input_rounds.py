"""The rounds of a request whose server asks back: a client answers, and makes the request again.

Each round is a request of its own, with a new id (2026-07-28, basic/patterns/mrtr).
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from ..core.errors import InvalidAnswer
from ..core.models.validation_errors import escaped
from ..core.spec import RequestSpec
from ..core.tasks import together
from ..rules import capabilities

Work: TypeAlias = Callable[[], Awaitable[Any]]
"""Answers one question."""

Again: TypeAlias = Callable[[dict[str, Any] | None, str | None], Awaitable[Any]]
"""Makes a request again, with answers if there are any, and the state if there is one."""


async def complete(
    spec: RequestSpec[Any, Any],
    result: Any,
    prepare: Callable[[str, Any], Work],
    again: Again,
    limit: int,
) -> Any:
    """Return the plain result of a request, of whose first round `result` came.

    `prepare` checks a question, which has a key, and gives what answers it, once all questions of a
    round are checked. Raise `InvalidAnswer` if there would be more than `limit` rounds.
    """
    asking: type[Any] = spec.results[-1]
    answers: dict[str, Any]

    async def answer(key: str, work: Work) -> None:
        answers[key] = await work()

    for _ in range(limit - 1):
        if not isinstance(result, asking):
            return result
        questions: Mapping[str, Any] = result.input_requests or {}
        prepared = {key: prepare(key, question) for key, question in questions.items()}
        answers = {}
        await together([answer(key, work) for key, work in prepared.items()])
        result = await again(answers or None, result.request_state)
    if isinstance(result, asking):
        raise InvalidAnswer(f"{spec.method} asks for more input again and again")
    return result


def check(
    key: str, spec: RequestSpec[Any, Any], params: object, declared: capabilities.Declared
) -> None:
    """Raise `InvalidAnswer` for a question that needs what the client has not declared."""
    need = capabilities.unmet(spec.requires, "server", params, declared)
    if need is not None:
        raise unfit(key, f"needs {need.capability.name}, which is not declared")


def unfit(key: str, problem: str) -> InvalidAnswer:
    """Return what is wrong with a question."""
    return InvalidAnswer("Invalid question", [(f"/result/inputRequests/{escaped(key)}", problem)])
