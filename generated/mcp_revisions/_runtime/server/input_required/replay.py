"""Questions that a handler asks by awaiting, where a server has no requests of its own.

In the stateless era a question ends the round: it is sent in the result, and the client makes its
request again with the answer. The handler is stopped at the question and runs again from its
beginning, and this time the question is answered at once. The answers of earlier rounds, and the
results of what is done only once, are sealed and kept by the client
(2026-07-28, basic/patterns/mrtr).

A question is known by what it asks: asked otherwise it is another question, and an answer is never
taken for one to something else. The same question asked twice is two questions.
"""

from asyncio import CancelledError, Future, Task, gather, get_running_loop, shield
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from inspect import isawaitable
from json import dumps
from typing import Any, Final, TypeVar, cast

from pydantic_core import from_json

from ...core.errors import INTERNAL_ERROR, LocalError, McpError
from ...core.json import JSONObject, json_text
from ...core.tasks import Tasks
from .inputs import Asking, Round, ask

T = TypeVar("T")

# How often others get a turn before a round ends: what is asked side by side is asked together.
_TURNS: Final = 3


class Once:
    """The results of work that is done only once, by key: JSON values, kept by the client."""

    __slots__ = ("_running", "_tasks", "done")

    def __init__(self, tasks: Tasks) -> None:
        self.done: Final[dict[str, Any]] = {}
        self._tasks = tasks
        self._running: dict[str, tuple[Task[None], Future[None]]] = {}

    async def do(self, key: str, work: Callable[[], Awaitable[T] | T]) -> T:
        """Return the result of `work`, or what it was when this was done before.

        Work that has begun is finished, even if whoever waits for it is stopped. What it raises is
        raised to all who wait for it; then it is not done, and may be tried again. Raises
        `pydantic_core.PydanticSerializationError` for a result that has no JSON form.
        """
        if key not in self.done:
            if key not in self._running:
                ended: Future[None] = get_running_loop().create_future()
                # Nobody may be left to hear of a failure; then it is nobody's.
                ended.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
                self._running[key] = self._tasks.start(self._do(key, work, ended)), ended
            await shield(self._running[key][1])
        return cast(T, self.done[key])

    async def _do(
        self, key: str, work: Callable[[], Awaitable[T] | T], ended: Future[None]
    ) -> None:
        try:
            value = work()
            if isawaitable(value):
                value = await value
            # Later rounds get it as it comes out of JSON, so the first one does, too.
            self.done[key] = from_json(json_text(value))
        except Exception as error:
            ended.set_exception(error)
        else:
            ended.set_result(None)
        finally:
            del self._running[key]
            ended.cancel()

    async def settled(self) -> None:
        """Wait until what has begun is done; cancelling this cancels the work."""
        await gather(*(ended for _, ended in self._running.values()), return_exceptions=True)

    def cancel(self) -> None:
        for task, _ in list(self._running.values()):
            task.cancel()


class Rounds:
    """The questions of a request, whose handler runs in `task`, over all its rounds.

    `limit` is how many rounds there may be; `once` knows what was done in earlier ones.
    """

    def __init__(
        self, asking: Callable[[], Asking], task: Task[Any], limit: int, once: Once
    ) -> None:
        self._number = 0
        self._answers: dict[str, JSONObject] = {}
        self.once = once
        self._before = task.cancelling()
        self._asking = asking
        self._task = task
        self._limit = limit
        self._counts: dict[str, int] = {}
        self._asked: dict[str, JSONObject] = {}
        self._waiting: list[Future[JSONObject]] = []
        self._due = False
        self._over = False
        self.suspended = False
        """Whether the handler was stopped, so that the client can be asked."""

    def remember(self, memo: Mapping[str, Any]) -> None:
        self._number = memo["round"]
        self._answers = dict(memo["answers"])
        self.once.done.update(memo["done"])

    def learn(self, round: Round) -> None:
        """Take in what the client answered to the questions of the round before."""
        self._answers |= {key: answer.to_wire() for key, answer in round.inputs.given.items()}

    async def answer_to(self, question: JSONObject) -> JSONObject:
        """Return the client's answer to a question; end the round if there is none yet."""
        key = self._key(question)
        if key in self._answers:
            return self._answers[key]
        if self.suspended:
            # The round is over: whoever asks now is being stopped, too.
            raise CancelledError
        if self._over:
            raise LocalError("the request this question belongs to has been answered")
        self._asked[key] = question
        answer: Future[JSONObject] = get_running_loop().create_future()
        self._waiting.append(answer)
        if not self._due:
            self._due = True
            self._later(_TURNS)
        return await answer

    def _key(self, question: JSONObject) -> str:
        text = dumps(question, sort_keys=True, separators=(",", ":"))
        digest = sha256(text.encode()).hexdigest()[:16]
        number = self._counts[digest] = self._counts.get(digest, 0) + 1
        return f"{question['method']} {digest} {number}"

    def _later(self, turns: int) -> None:
        if turns:
            get_running_loop().call_soon(self._later, turns - 1)
        elif not self._over:
            self.suspended = True
            self._task.cancel()

    def ask(self, question: JSONObject) -> bool:
        """Ask what no handler awaits; return false if it is answered already."""
        key = self._key(question)
        if key not in self._answers:
            self._asked[key] = question
        return key in self._asked

    def end(self, error: BaseException | None) -> bool:
        """Note that the handler has ended, by `error` if it raised.

        Return whether it was stopped at a question.
        """
        self._over = True
        for waiting in self._waiting:
            waiting.cancel()
        if not self.suspended:
            return False
        if self._task.uncancel() > self._before:
            # Somebody else has cancelled it, too.
            return False
        # If it did not let itself be stopped, its result, without the answer, is worth nothing.
        return error is None or isinstance(error, CancelledError)

    def request(self) -> JSONObject:
        """Return the result that asks the client what has been asked.

        Raises `McpError` if there were too many rounds, or there is too much to remember, and
        `MissingClientCapability`.
        """
        if self._number + 1 >= self._limit:
            raise McpError(INTERNAL_ERROR, "Too many rounds of questions")
        try:
            sealed = ask(self._asked, None, self._asking(), self.memo(own=True))
        except LocalError as error:
            raise McpError(INTERNAL_ERROR, error.message) from error
        asked = {"inputRequests": self._asked, "requestState": sealed}
        return {"resultType": "input_required", **asked}

    def memo(self, *, own: bool) -> JSONObject:
        """Return what the next round has to know; with `own`, questions are asked by awaiting."""
        known = {"answers": self._answers, "done": self.once.done}
        return {"round": self._number + 1, **known, "own": own}
