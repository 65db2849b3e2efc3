"""The rounds of a request whose handler asks the client: questions, answers, and what was done.

In the stateless era a question ends a round: it is sent in the result, and the client makes its
request again with the answer. The client also keeps what was asked, sealed, with the state of the
handler (2026-07-28, basic/patterns/mrtr).

A handler asks in its result, or by awaiting. Then it is stopped at the question and runs again from
its beginning, where the question is answered at once: answers of earlier rounds, and results of
what is done only once, are sealed, too. A question is known by what it asks, and one that is asked
twice is two.
"""

from asyncio import CancelledError, Future, Task, gather, get_running_loop, shield
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from inspect import isawaitable
from json import dumps
from typing import Any, Final, NamedTuple, TypeVar, cast

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from ..core import forms
from ..core.connection_errors import MissingClientCapability
from ..core.errors import INTERNAL_ERROR, InvalidParams, LocalError, McpError, Problem, escape_step
from ..core.json import JSONObject, json_text, read_json
from ..core.models.base import WireModel, validator_of
from ..core.models.validation_errors import problems
from ..core.spec import AnyRequest, Capability
from ..core.tasks import Tasks
from ..rules import capabilities
from .sealed_state import StateSeal

R = TypeVar("R", bound=WireModel)
T = TypeVar("T")

_AT: Final = "/params/inputResponses"

# How often others get a turn before a round ends: what is asked at once is asked together.
_TURNS: Final = 3


class Asking(NamedTuple):
    """The server that asks, the request it asks for, and what the client has declared."""

    seal: StateSeal
    binding: bytes
    specs: Mapping[str, AnyRequest]
    """What may be asked inside a result, by method."""
    declared: Mapping[str, Any]


class Inputs:
    """The answers that came in this round, to what was asked in the round before."""

    __slots__ = ("_answers", "_asked", "state")

    def __init__(self, state: Any, asked: Mapping[str, type], answers: Mapping[str, Any]) -> None:
        self.state: Final = state
        """The JSON value that the handler put aside when it asked."""
        self._asked = asked
        self._answers = answers

    @property
    def given(self) -> Mapping[str, WireModel]:
        return self._answers

    @property
    def missing(self) -> frozenset[str]:
        """The keys of questions that came back without an answer; they may be asked again."""
        return frozenset(self._asked).difference(self._answers)

    def response(self, key: str, kind: type[R]) -> R | None:
        """Return the answer to the question asked under `key`, or None if there is none.

        Raises `LocalError` if no such question was asked, or answers to it are not of `kind`.
        """
        asked = self._asked.get(key)
        if asked is None:
            raise LocalError(f"nothing was asked under {key!r}")
        if not issubclass(asked, kind):
            raise LocalError(f"what was asked under {key!r} is answered by {asked.__name__}")
        answer: R | None = self._answers.get(key)
        return answer


def ask(
    questions: Mapping[str, JSONObject], state: Any, asking: Asking, memo: JSONObject | None = None
) -> str:
    """Return the sealed state to send with `questions`, which are requests as JSON objects.

    `memo` is what the runtime has to know in the next round. Raises `MissingClientCapability`, and
    `LocalError` if there is neither a question nor a state, or the state has no JSON form.
    """
    if not questions and state is None:
        raise LocalError("a result that asks for input has questions or a state")
    missing = [need for asked in questions.values() for need in _unmet(asked, asking)]
    if missing:
        required = capabilities.declare(missing)
        raise MissingClientCapability("The client lacks what this request needs", required)
    noted = {key: _note_question(question) for key, question in questions.items()}
    try:
        return asking.seal.seal({"asked": noted, "state": state, "memo": memo}, asking.binding)
    except PydanticSerializationError as error:
        raise LocalError(f"the state of a request cannot be written: {error}") from error


def _unmet(question: JSONObject, asking: Asking) -> list[Capability]:
    method = question["method"]
    spec = asking.specs.get(method)
    if spec is None:
        raise LocalError(f"{method} cannot be asked inside a result")
    declared: Mapping[Any, Any] = {"client": asking.declared}
    need = capabilities.unmet(spec.requires, "server", question.get("params"), declared)
    return [] if need is None else [need.capability]


def _note_question(question: JSONObject) -> JSONObject:
    schema = question.get("params", {}).get(forms.FORM)
    params = {} if schema is None else {forms.FORM: schema}
    return {"method": question["method"], "params": params}


def read_round(raw: Mapping[str, Any], asking: Asking) -> tuple[Inputs | None, JSONObject | None]:
    """Return the answers that came with params, and the memo; None if they carry no state.

    Raises `InvalidParams` for what does not fit; answers to nothing are passed over ("Error
    Handling").
    """
    state = raw.get("requestState")
    if state is None:
        return None, None
    sealed: JSONObject = asking.seal.open(state, asking.binding)
    given: JSONObject = raw.get("inputResponses", {})
    asked: dict[str, type[WireModel]] = {}
    answers: dict[str, Any] = {}
    faults: list[Problem] = []
    for key, noted in sealed["asked"].items():
        kind = asked[key] = asking.specs[noted["method"]].results[0]
        if key in given:
            answers[key] = read_answer(given[key], kind, noted, f"{_AT}/{escape_step(key)}", faults)
    if faults:
        raise InvalidParams("Invalid answers", faults)
    return Inputs(sealed["state"], asked, answers), sealed["memo"]


def read_answer(
    value: Any, kind: type[WireModel], noted: JSONObject, at: str, faults: list[Problem]
) -> WireModel | None:
    """Return the answer to a question; None for one that does not fit, which adds to `faults`."""
    try:
        answer: WireModel = validator_of(kind)(value)
    except ValidationError as error:
        faults += problems(error, value, at)
        return None
    if noted["method"] != forms.ELICIT:
        return answer
    asked = noted["params"]
    kept = forms.as_asked(value, asked, asked)
    faults += forms.faults_of(kept, asked, at)
    return kind.from_wire(kept)


class Once:
    """The results of work that is done only once, by key: JSON values.

    The client keeps them, or `keep`, if there is one.
    """

    __slots__ = ("_running", "_tasks", "done", "keep")

    def __init__(self, tasks: Tasks) -> None:
        self.done: Final[dict[str, Any]] = {}
        self.keep: Callable[[str, Any], Awaitable[None]] | None = None
        self._tasks = tasks
        self._running: dict[str, tuple[Task[None], Future[None]]] = {}

    async def do(self, key: str, work: Callable[[], Awaitable[T] | T]) -> T:
        """Return the result of `work`, or what it was before.

        Work that has begun is finished, even if whoever waits for it is stopped. If it raises, it
        may be tried again.
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
            value = read_json(json_text(value))
            if self.keep is not None:
                await self.keep(key, value)
            self.done[key] = value
        except Exception as error:
            ended.set_exception(error)
        else:
            ended.set_result(None)
        finally:
            del self._running[key]
            ended.cancel()

    async def wait_running(self) -> None:
        """Wait until what has begun is done."""
        await gather(*(ended for _, ended in self._running.values()), return_exceptions=True)

    def cancel(self) -> None:
        for task, _ in list(self._running.values()):
            task.cancel()


class QuestionKeys:
    """Keys of the questions of a handler, which are the same in each of its runs."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def key(self, question: JSONObject) -> str:
        text = dumps(question, sort_keys=True, separators=(",", ":"))
        digest = sha256(text.encode()).hexdigest()[:16]
        number = self._counts[digest] = self._counts.get(digest, 0) + 1
        return f"{question['method']} {digest} {number}"


class Rounds:
    """The questions of a request, whose handler runs in `task`, over all its rounds.

    `limit` is how many rounds there may be; `tasks` has what is done only once.
    """

    def __init__(self, task: Task[Any], limit: int, tasks: Tasks) -> None:
        self._number = 0
        self.answers: dict[str, JSONObject] = {}
        self.once = Once(tasks)
        self._before = task.cancelling()
        self._task = task
        self._limit = limit
        self.keys = QuestionKeys()
        self._asked: dict[str, JSONObject] = {}
        self._waiting: list[Future[JSONObject]] = []
        self._over = False
        self.suspended = False
        """Whether the handler was stopped, so that the client can be asked."""

    def remember(self, memo: JSONObject, inputs: Inputs | None) -> None:
        self._number = memo["round"]
        self.answers = dict(memo["answers"])
        self.once.done.update(memo["done"])
        if memo["own"] and inputs is not None:
            self.answers |= {key: answer.to_wire() for key, answer in inputs.given.items()}

    async def answer_to(self, question: JSONObject) -> JSONObject:
        """Return the client's answer to a question; end the round if there is none yet."""
        key = self.keys.key(question)
        if key in self.answers:
            return self.answers[key]
        if self.suspended:
            # The round is over: whoever asks now is being stopped, too.
            raise CancelledError
        if self._over:
            raise LocalError("the request this question belongs to has been answered")
        self._asked[key] = question
        answer: Future[JSONObject] = get_running_loop().create_future()
        self._waiting.append(answer)
        if len(self._waiting) == 1:
            self._later(_TURNS)
        return await answer

    def _later(self, turns: int) -> None:
        if turns:
            get_running_loop().call_soon(self._later, turns - 1)
        elif not self._over:
            self.suspended = True
            self._task.cancel()

    def ask(self, question: JSONObject) -> bool:
        """Ask what no handler awaits; return false if it is answered already."""
        key = self.keys.key(question)
        if key not in self.answers:
            self._asked[key] = question
        return key in self._asked

    def end(self, error: BaseException | None) -> bool:
        """Note the end of the handler, and return whether it was stopped at a question."""
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

    def request(self, asking: Asking) -> JSONObject:
        """Return the result that asks the client; raise `McpError` if that is too much."""
        if self._number + 1 >= self._limit:
            raise McpError(INTERNAL_ERROR, "Too many rounds of questions")
        try:
            sealed = ask(self._asked, None, asking, self.memo(own=True))
        except LocalError as error:
            raise McpError(INTERNAL_ERROR, error.message) from error
        asked = {"inputRequests": self._asked, "requestState": sealed}
        return {"resultType": "input_required", **asked}

    def memo(self, *, own: bool) -> JSONObject:
        """Return what the next round has to know; with `own`, questions are asked by awaiting."""
        known = {"answers": self.answers, "done": self.once.done}
        return {"round": self._number + 1, **known, "own": own}
