"""The rounds of a request whose handler asks the client: questions, answers, results of `once`.

In the stateless era a question ends a round: it is sent in the result, and the client repeats its
request with the answer. The client also keeps the questions and the handler's state, sealed
(2026-07-28, basic/patterns/mrtr).

A handler asks in its result, or by awaiting. In the second case it is stopped at the question and
runs again from its beginning, where the question returns at once: answers of earlier rounds and
results of `once` are sealed, too. A question is identified by its content; the same question asked
twice counts as two.
"""

from asyncio import CancelledError, Future, Task, gather, get_running_loop, shield
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any, Final, NamedTuple, TypeVar, cast

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from ..core import forms
from ..core.connection_errors import MissingClientCapability
from ..core.errors import INTERNAL_ERROR, InvalidParams, LocalError, McpError, Problem, escape_step
from ..core.json import JSONObject, json_text, read_json
from ..core.models.base import WireModel, validator_of
from ..core.models.validation_errors import problems
from ..core.spec import ELICIT, AnyRequest, Capability
from ..core.tasks import Tasks
from ..rules import capabilities
from .sealed_state import StateSeal, digest

R = TypeVar("R", bound=WireModel)
T = TypeVar("T")

# Iterations of the event loop before a round ends, so that concurrent questions are asked together.
_TICKS: Final = 3


class Asking(NamedTuple):
    """How a request asks its client: the seal of its state, and the questions it may ask."""

    seal: StateSeal
    binding: bytes
    specs: Mapping[str, AnyRequest]
    declared: Mapping[str, Any]


class Inputs:
    """The answers of this round to the questions of the previous one."""

    __slots__ = ("_answers", "_types", "state")

    def __init__(self, state: Any, types: Mapping[str, type], answers: Mapping[str, Any]) -> None:
        self.state: Final = state
        """The JSON value that the handler stored when it asked."""
        self._types = types
        self._answers = answers

    @property
    def given(self) -> Mapping[str, WireModel]:
        return self._answers

    @property
    def missing(self) -> frozenset[str]:
        """The keys of unanswered questions; they may be asked again."""
        return frozenset(self._types).difference(self._answers)

    def response(self, key: str, kind: type[R]) -> R | None:
        """Return the answer to the question asked under `key`, if there is one.

        Raise `LocalError` if no such question was asked, or its answers are not of `kind`.
        """
        if (asked := self._types.get(key)) is None:
            raise LocalError(f"no question was asked under {key!r}")
        if not issubclass(asked, kind):
            raise LocalError(f"the answer to {key!r} is a {asked.__name__}, not a {kind.__name__}")
        answer: R | None = self._answers.get(key)
        return answer


def ask(
    questions: Mapping[str, JSONObject], state: Any, asking: Asking, memo: JSONObject | None = None
) -> str:
    """Return the sealed state to send with `questions`, which are requests as JSON objects.

    `memo` is for the runtime in the next round. Raise `MissingClientCapability`, and `LocalError`
    if questions and state are both missing, or the state cannot be JSON.
    """
    if not questions and state is None:
        raise LocalError("a result that asks for input needs questions or a state")
    missing = [need for asked in questions.values() for need in _unmet(asked, asking)]
    if missing:
        required = capabilities.declare(missing)
        raise MissingClientCapability(
            "The client has not declared a capability that this request needs", required
        )
    notes = {key: _note_question(question) for key, question in questions.items()}
    try:
        return asking.seal.seal({"asked": notes, "state": state, "memo": memo}, asking.binding)
    except PydanticSerializationError as error:
        raise LocalError(f"the state of a request cannot be JSON: {error}") from error


def _unmet(question: JSONObject, asking: Asking) -> list[Capability]:
    method = question["method"]
    if (spec := asking.specs.get(method)) is None:
        raise LocalError(f"{method} cannot be asked inside a result")
    declared: Mapping[Any, Any] = {"client": asking.declared}
    need = capabilities.unmet(spec.requires, "server", question.get("params"), declared)
    return [] if need is None else [need.capability]


def _note_question(question: JSONObject) -> JSONObject:
    schema = question.get("params", {}).get(forms.FORM)
    params = {} if schema is None else {forms.FORM: schema}
    return {"method": question["method"], "params": params}


def read_round(raw: Mapping[str, Any], asking: Asking) -> tuple[Inputs | None, JSONObject | None]:
    """Return the answers in params, and the memo; None without a state.

    Raise `InvalidParams` for invalid answers; answers to unknown questions are ignored ("Error
    Handling").
    """
    if (state := raw.get("requestState")) is None:
        return None, None
    sealed: JSONObject = asking.seal.open(state, asking.binding)
    values: JSONObject = raw.get("inputResponses", {})
    types: dict[str, type[WireModel]] = {}
    answers: dict[str, Any] = {}
    faults: list[Problem] = []
    for key, note in sealed["asked"].items():
        spec, at = asking.specs[note["method"]], f"/params/inputResponses/{escape_step(key)}"
        types[key] = spec.results[0]
        if key in values:
            answers[key] = read_answer(values[key], spec, note, at, faults)
    if faults:
        raise InvalidParams("Invalid answers", faults)
    return Inputs(sealed["state"], types, answers), sealed["memo"]


def read_answer(
    value: Any, spec: AnyRequest, note: JSONObject, at: str, faults: list[Problem]
) -> WireModel | None:
    """Return the answer to a question; if invalid, add to `faults` and return None."""
    kind: type[WireModel] = spec.results[0]
    try:
        answer: WireModel = validator_of(kind)(value)
    except ValidationError as error:
        faults += problems(error, value, at)
        return None
    if spec.known_as != ELICIT:
        return answer
    params = note["params"]
    fitted = forms.fit_answer(value, params, params)
    faults += forms.faults_of(fitted, params, at)
    return kind.from_wire(fitted)


class Once:
    """The results of work done only once, by key: JSON, stored by the client, or `keep` if set."""

    __slots__ = ("_running", "_tasks", "done", "keep")

    def __init__(self, tasks: Tasks) -> None:
        self.done: Final[dict[str, Any]] = {}
        self.keep: Callable[[str, Any], Awaitable[None]] | None = None
        self._tasks = tasks
        self._running: dict[str, tuple[Task[None], Future[None]]] = {}

    async def do(self, key: str, work: Callable[[], Awaitable[T] | T]) -> T:
        """Return the result of `work`, or its earlier result.

        Work that has begun is finished even if its caller is stopped. If it raises, it may be tried
        again.
        """
        if key not in self.done:
            if key not in self._running:
                ended: Future[None] = get_running_loop().create_future()
                # A failure may have no listener left, and asyncio would log it.
                ended.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
                self._running[key] = self._tasks.start(self._do(key, work, ended)), ended
            await shield(self._running[key][1])
        return cast(T, self.done[key])

    async def _do(self, key: str, work: Callable[[], Awaitable[T] | T], end: Future[None]) -> None:
        try:
            value = work()
            if isawaitable(value):
                value = await value
            # Later rounds get the value decoded from JSON, so the first one does, too.
            value = read_json(json_text(value))
            if self.keep is not None:
                await self.keep(key, value)
            self.done[key] = value
        except Exception as error:
            end.set_exception(error)
        else:
            end.set_result(None)
        finally:
            del self._running[key]
            end.cancel()

    async def wait_running(self) -> None:
        await gather(*(ended for _, ended in self._running.values()), return_exceptions=True)

    def cancel(self) -> None:
        for task, _ in list(self._running.values()):
            task.cancel()


class QuestionKeys:
    """Keys of a handler's questions, the same in each of its runs."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts = Counter[str]()

    def key(self, question: JSONObject) -> str:
        name = f"{question['method']} {digest(question)[:16]}"
        self._counts[name] += 1
        return f"{name} {self._counts[name]}"


class Rounds:
    """The questions of a request over all its rounds; its handler runs in `task`.

    `limit` is the number of rounds; `tasks` runs the work of `once`.
    """

    def __init__(self, task: Task[Any], limit: int, tasks: Tasks) -> None:
        self._number = 0
        self.answers: dict[str, JSONObject] = {}
        self.once = Once(tasks)
        self._cancelling_before = task.cancelling()
        self._task = task
        self._limit = limit
        self.keys = QuestionKeys()
        self._asked: dict[str, JSONObject] = {}
        self._waiting: list[Future[JSONObject]] = []
        self._has_ended = False
        self.suspended = False

    def remember(self, memo: JSONObject, inputs: Inputs | None) -> None:
        self._number = memo["round"]
        self.answers = dict(memo["answers"])
        self.once.done.update(memo["done"])
        if memo["own"] and inputs is not None:
            self.answers |= {key: answer.to_wire() for key, answer in inputs.given.items()}

    async def answer_to(self, question: JSONObject) -> JSONObject:
        """Return the client's answer to a question; end the round without one."""
        key = self.keys.key(question)
        if key in self.answers:
            return self.answers[key]
        if self.suspended:
            raise CancelledError
        if self._has_ended:
            raise LocalError("the request that this question belongs to has been answered")
        self._asked[key] = question
        answer: Future[JSONObject] = get_running_loop().create_future()
        self._waiting.append(answer)
        if len(self._waiting) == 1:
            self._end_round_after(_TICKS)
        return await answer

    def _end_round_after(self, ticks: int) -> None:
        if ticks:
            get_running_loop().call_soon(self._end_round_after, ticks - 1)
        elif not self._has_ended:
            self.suspended = True
            self._task.cancel()

    def ask(self, question: JSONObject) -> bool:
        """Ask a question without awaiting it; return false if it is answered already."""
        key = self.keys.key(question)
        if key not in self.answers:
            self._asked[key] = question
        return key in self._asked

    def end(self, error: BaseException | None) -> bool:
        """Note the end of the handler, and return whether it was stopped at a question."""
        self._has_ended = True
        for future in self._waiting:
            future.cancel()
        # It may also be cancelled for another reason.
        if not self.suspended or self._task.uncancel() > self._cancelling_before:
            return False
        # If the handler caught the cancellation, its result lacks the answer.
        return error is None or isinstance(error, CancelledError)

    def input_required_result(self, asking: Asking) -> JSONObject:
        """Return the result that asks the client; raise `McpError` after too many rounds."""
        if self._number + 1 >= self._limit:
            raise McpError(INTERNAL_ERROR, "Too many rounds of questions")
        try:
            sealed = ask(self._asked, None, asking, self.memo(own=True))
        except LocalError as error:
            raise McpError(INTERNAL_ERROR, error.message) from error
        members = {"inputRequests": self._asked, "requestState": sealed}
        return {"resultType": "input_required", **members}

    def memo(self, *, own: bool) -> JSONObject:
        """Return the runtime's data for the next round; `own` if questions were awaited."""
        memo = {"answers": self.answers, "done": self.once.done}
        return {"round": self._number + 1, **memo, "own": own}
